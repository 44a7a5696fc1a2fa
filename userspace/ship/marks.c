/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of marks, oldest first; bounded, so that a fast log costs precision and not memory. */
#include "ship/marks.h"

static struct rf_mark *at(struct rf_marks *marks, size_t i)
{
	return &marks->mark[(marks->first + i) % RF_MARKS_MAX];
}

void rf_marks_add(struct rf_marks *marks, uint64_t end, const struct rf_position *position, uint64_t lines, int64_t now,
		  int64_t settle_ms)
{
	struct rf_mark *last = marks->n ? at(marks, marks->n - 1) : NULL;
	bool close = last && last->acknowledged < 0 && now - last->since < settle_ms / 128;

	if (close || marks->n == RF_MARKS_MAX) {
		last->end = end;
		last->position = *position;
		last->lines += lines;
		last->acknowledged = -1;
		return;
	}
	*at(marks, marks->n++) = (struct rf_mark){
		.end = end,
		.position = *position,
		.lines = lines,
		.since = now,
		.acknowledged = -1,
	};
}

size_t rf_marks_acknowledge(struct rf_marks *marks, uint64_t end, int64_t now)
{
	size_t fresh = 0;

	for (size_t i = 0; i < marks->n; i++) {
		struct rf_mark *mark = at(marks, i);

		if (mark->end > end)
			break;
		if (mark->acknowledged >= 0)
			continue;
		mark->acknowledged = now;
		fresh++;
	}
	return fresh;
}

bool rf_marks_settle(struct rf_marks *marks, int64_t now, int64_t settle_ms, struct rf_position *ret_position,
		     uint64_t *ret_lines)
{
	bool any = false;

	while (marks->n) {
		const struct rf_mark *mark = at(marks, 0);

		if (mark->acknowledged < 0 || now - mark->acknowledged < settle_ms)
			break;
		*ret_position = mark->position;
		*ret_lines += mark->lines;
		marks->first = (marks->first + 1) % RF_MARKS_MAX;
		marks->n--;
		any = true;
	}
	return any;
}

void rf_marks_clear(struct rf_marks *marks)
{
	marks->first = marks->n = 0;
}

bool rf_marks_all_acknowledged(const struct rf_marks *marks)
{
	for (size_t i = 0; i < marks->n; i++)
		if (marks->mark[(marks->first + i) % RF_MARKS_MAX].acknowledged < 0)
			return false;
	return true;
}
