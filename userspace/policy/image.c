/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Automata -> the cells of an image.
 *
 *   header | class maps | states of PATH, states of ADDR | comb of both | verdict records
 *
 * The states of an automaton lie in one row, two cells each, the start first.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "policy/automaton.h"
#include "policy/comb.h"

#define HEADER_CELLS (sizeof(struct rf_image) / sizeof(union rf_cell))
#define CLASS_CELLS (256 / sizeof(union rf_cell))
#define RECORD_CELLS (sizeof(struct rf_verdicts) / sizeof(union rf_cell))

_Static_assert(sizeof(struct rf_image) % sizeof(union rf_cell) == 0, "whole cells");
_Static_assert(sizeof(struct rf_verdicts) % sizeof(union rf_cell) == 0, "whole cells");

struct layout {
	struct rf_image header;
	struct rf_automaton *const *automata;
	struct rf_comb comb;
	uint32_t *base[RF_AUTOMATON_MAX];
	struct rf_records records; /* of both automata */
	size_t comb_at, records_at;
	union rf_cell *cells;
};

static void layout_done(struct layout *l)
{
	rf_comb_done(&l->comb);
	rf_records_done(&l->records);
	for (int k = 0; k < RF_AUTOMATON_MAX; k++)
		free(l->base[k]);
	free(l->cells);
}

/* Numbers that depend on sizes only, and the comb. */
static int plan(struct layout *l)
{
	size_t at = HEADER_CELLS + RF_AUTOMATON_MAX * CLASS_CELLS;

	for (int k = 0; k < RF_AUTOMATON_MAX; k++) {
		const struct rf_automaton *a = l->automata[k];

		if (at + 2 * a->n > RF_CELLS_MAX)
			return -E2BIG;
		l->header.automaton[k] = (struct rf_automaton_header){
			.classes = (uint32_t)(HEADER_CELLS + (size_t)k * CLASS_CELLS),
			.start = (uint32_t)at,
			.states = (uint32_t)a->n,
			.n_classes = a->classes,
		};
		l->base[k] = calloc(a->n, sizeof(*l->base[k]));
		if (!l->base[k])
			return -ENOMEM;
		at += 2 * a->n;
	}
	l->comb_at = at;
	for (int k = 0; k < RF_AUTOMATON_MAX; k++) {
		int err = rf_comb_add(&l->comb, l->automata[k], l->base[k]);

		if (err)
			return err;
	}
	l->records_at = at + l->comb.end;
	return 0;
}

static bool says_nothing(const struct rf_verdicts *record)
{
	for (int i = 0; i < RF_ACCESSES; i++) {
		if (record->rule[i] != RF_RULE_NONE)
			return false;
	}
	return !record->allow;
}

static void write_states(struct layout *l, int k, uint32_t *const *number)
{
	const struct rf_automaton *a = l->automata[k];
	struct rf_automaton_header *header = &l->header.automaton[k];

	for (uint32_t s = 0; s < a->n; s++) {
		union rf_cell *node = &l->cells[header->start + 2 * s];

		node[0].lo = header->start + 2 * a->fallback[s];
		node[0].hi = (uint32_t)l->comb_at + l->base[k][s];
		node[1].hi = a->alike[s];
		node[1].lo = (uint32_t)(l->records_at + number[k][a->record[s]] * RECORD_CELLS);
		if (a->row[s] == a->row[s + 1] && a->fallback[s] == s)
			node[1].hi |= RF_STATE_FIXED;
		if (node[1].hi & RF_STATE_FIXED && says_nothing(&a->records.v[a->record[s]]))
			header->dead = header->start + 2 * s;
		for (uint32_t e = a->row[s]; e < a->row[s + 1]; e++) {
			union rf_cell *edge = &l->cells[node[0].hi + a->class[e]];

			edge->lo = header->start + 2 * s;
			edge->hi = header->start + 2 * a->target[e];
		}
	}
	memcpy(&l->cells[header->classes], a->class_of, sizeof(a->class_of));
}

static int number_records(struct layout *l, uint32_t **number)
{
	for (int k = 0; k < RF_AUTOMATON_MAX; k++) {
		const struct rf_automaton *a = l->automata[k];

		number[k] = calloc(a->records.n + 1, sizeof(*number[k]));
		if (!number[k])
			return -ENOMEM;
		for (size_t r = 0; r < a->records.n; r++) {
			int err = rf_records_add(&l->records, &a->records.v[r], &number[k][r]);

			if (err)
				return err;
		}
	}
	return 0;
}

static int fill(struct layout *l, size_t *ret_n)
{
	uint32_t *number[RF_AUTOMATON_MAX] = {};
	int err = number_records(l, number);
	size_t n = l->records_at + l->records.n * RECORD_CELLS;

	if (!err && n > RF_CELLS_MAX)
		err = -E2BIG;
	if (!err) {
		l->cells = calloc(n, sizeof(*l->cells));
		err = l->cells ? 0 : -ENOMEM;
	}
	if (!err) {
		for (int k = 0; k < RF_AUTOMATON_MAX; k++)
			write_states(l, k, number);
		memcpy(&l->cells[l->records_at], l->records.v, l->records.n * sizeof(*l->records.v));
		l->header.magic = RF_IMAGE_MAGIC;
		l->header.cells = (uint32_t)n;
		memcpy(l->cells, &l->header, sizeof(l->header));
		*ret_n = n;
	}
	for (int k = 0; k < RF_AUTOMATON_MAX; k++)
		free(number[k]);
	return err;
}

int rf_image_layout(const struct rf_image *header, struct rf_automaton *const automata[RF_AUTOMATON_MAX],
		    union rf_cell **ret_cells, size_t *ret_n)
{
	__cleanup(layout_done) struct layout l = {.header = *header, .automata = automata};
	int err = plan(&l);

	if (!err)
		err = fill(&l, ret_n);
	if (err)
		return err;
	*ret_cells = TAKE_PTR(l.cells);
	return 0;
}
