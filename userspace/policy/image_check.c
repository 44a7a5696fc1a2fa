/* SPDX-License-Identifier: Apache-2.0 */
/* Is an image that came from anywhere whole? After this, no byte from any of its states leads outside of it. */
#include <errno.h>
#include <string.h>

#include "policy/automaton.h"

#define CLASS_CELLS (256 / sizeof(union rf_cell))
#define RECORD_CELLS (sizeof(struct rf_verdicts) / sizeof(union rf_cell))
#define HEADER_CELLS (sizeof(struct rf_image) / sizeof(union rf_cell))

static bool inside(size_t n, uint64_t at, uint64_t cells)
{
	return at >= HEADER_CELLS && at + cells <= n;
}

/* The states lie in one row from the start. */
static bool is_state(const struct rf_automaton_header *a, uint32_t at)
{
	return at >= a->start && (at - a->start) % 2 == 0 && (at - a->start) / 2 < a->states;
}

static bool states_whole(const union rf_cell *cells, size_t n, const struct rf_automaton_header *a)
{
	for (uint32_t i = 0; i < a->states; i++) {
		const union rf_cell *node = &cells[a->start + 2 * i];

		if (!is_state(a, node[0].lo) || !inside(n, node[0].hi, 256) || !inside(n, node[1].lo, RECORD_CELLS) ||
		    (node[1].hi & RF_STATE_FIXED && node[0].lo != a->start + 2 * i))
			return false;
	}
	return true;
}

/* A walk over classes meets every byte, and reads no cell that is no transition. */
static bool classes_whole(const union rf_cell *cells, const struct rf_automaton_header *a, bool paths)
{
	uint8_t class_of[256];

	if (!a->n_classes || a->n_classes > 256)
		return false;
	memcpy(class_of, &cells[a->classes], sizeof(class_of));
	for (unsigned int byte = 0; byte < 256; byte++) {
		if (class_of[byte] >= a->n_classes || (paths && byte != '/' && class_of[byte] == class_of['/']))
			return false;
	}
	return true;
}

/*
 * A cell is a transition of a state when it names it as owner and lies within 256 cells of its base, wherever in the
 * image that is: one pass over the cells finds them all.
 */
static bool transitions_whole(const union rf_cell *cells, size_t n, const struct rf_automaton_header *a)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t base;

		if (!is_state(a, cells[i].lo))
			continue;
		base = cells[cells[i].lo].hi;
		if (i < base || i - base > 255)
			continue;
		/* The dead state is where a walk may stop, as any that is fixed: nothing leads out of it. */
		if (!is_state(a, cells[i].hi) ||
		    (cells[i].hi != cells[i].lo &&
		     (cells[i].lo == a->dead || cells[cells[i].lo + 1].hi & RF_STATE_FIXED)))
			return false;
	}
	return true;
}

static bool dead_is_dead(const union rf_cell *cells, const struct rf_automaton_header *a)
{
	struct rf_verdicts record;

	if (!a->dead)
		return true;
	if (!is_state(a, a->dead) || cells[a->dead].lo != a->dead)
		return false;
	memcpy(&record, &cells[cells[a->dead + 1].lo], sizeof(record));
	for (int i = 0; i < RF_ACCESSES; i++) {
		if (record.rule[i] != RF_RULE_NONE)
			return false;
	}
	return !record.allow;
}

int rf_image_check(const union rf_cell *cells, size_t n)
{
	struct rf_image header;

	if (n < HEADER_CELLS || n > RF_CELLS_MAX)
		return -EBADMSG;
	memcpy(&header, cells, sizeof(header));
	if (header.magic != RF_IMAGE_MAGIC || header.cells != n)
		return -EBADMSG;
	for (int k = 0; k < RF_AUTOMATON_MAX; k++) {
		const struct rf_automaton_header *a = &header.automaton[k];

		if (!a->states || !inside(n, a->start, 2ULL * a->states) || !inside(n, a->classes, CLASS_CELLS))
			return -EBADMSG;
		if (!classes_whole(cells, a, k == RF_AUTOMATON_PATH))
			return -EBADMSG;
		if (!states_whole(cells, n, a) || !transitions_whole(cells, n, a) || !dead_is_dead(cells, a))
			return -EBADMSG;
	}
	return 0;
}
