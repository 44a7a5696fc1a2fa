/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is under way: places in the stream and the places in the log that they stand for.
 *
 *	taken by the sink -> acknowledged by the peer's host -> settled: so for a while, and the connection still stands
 *
 * Only a settled mark moves the cursor. A receiver that ends loses what its kernel had acknowledged and it had not read;
 * as long as it reads within the settling time, that part is sent again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ship/reader.h"

#define RF_MARKS_MAX 256

struct rf_mark {
	uint64_t end; /* of the stream */
	struct rf_position position;
	uint64_t lines;
	int64_t since; /* ms: when it was made */
	int64_t acknowledged; /* ms, or -1 */
};

/* Zeroed memory is an empty set. */
struct rf_marks {
	struct rf_mark mark[RF_MARKS_MAX];
	size_t first, n;
};

/*
 * Notes that the stream up to end carries the log up to position; lines: 1, or 0 for bytes that were skipped. Marks
 * closer together than settle_ms / 128 become one, and so does everything beyond RF_MARKS_MAX: later is always safe.
 */
void rf_marks_add(struct rf_marks *marks, uint64_t end, const struct rf_position *position, uint64_t lines, int64_t now,
		  int64_t settle_ms);
/* Everything up to end of the stream is acknowledged. How many marks were not before. */
size_t rf_marks_acknowledge(struct rf_marks *marks, uint64_t end, int64_t now);
/* Takes out what has settled: false if nothing has. *ret_lines is added to. */
bool rf_marks_settle(struct rf_marks *marks, int64_t now, int64_t settle_ms, struct rf_position *ret_position,
		     uint64_t *ret_lines);
/* The connection is gone: nothing is under way any more. */
void rf_marks_clear(struct rf_marks *marks);
/* Is everything that was added acknowledged (or settled)? */
bool rf_marks_all_acknowledged(const struct rf_marks *marks);
