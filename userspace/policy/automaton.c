/* SPDX-License-Identifier: Apache-2.0 */
/* The way from patterns to the smallest automaton, and the parts that all its stations use. */
#include "policy/automaton.h"

#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "policy/dfa.h"
#include "policy/nfa.h"

/* Positions per allowed state: 400,000 states then cost at most 200 MB of tree, and numbers fit RF_NFA_TOKEN. */
#define NODES_PER_STATE 8
#define NODES_MAX (1U << 22)

struct candidate {
	const struct rf_records *records;
	const struct rf_verdicts *record;
};

static bool same_record(const void *ctx, uint32_t number)
{
	const struct candidate *c = ctx;

	return !memcmp(&c->records->v[number], c->record, sizeof(*c->record));
}

int rf_records_add(struct rf_records *r, const struct rf_verdicts *record, uint32_t *ret)
{
	struct candidate c = {r, record};
	uint32_t words[sizeof(*record) / 4], number = (uint32_t)r->n;
	int err;

	memcpy(words, record, sizeof(words));
	err = rf_index_add(&r->index, rf_hash_words(words, sizeof(words) / 4), same_record, &c, &number);
	if (err < 0)
		return err;
	if (!err) {
		if (RF_GROW(r->v, r->cap, r->n + 1))
			return -ENOMEM;
		r->v[r->n++] = *record;
	}
	*ret = number;
	return 0;
}

void rf_records_done(struct rf_records *r)
{
	free(r->v);
	rf_index_done(&r->index);
	*r = (struct rf_records){};
}

struct rf_automaton *rf_dfa_new(void)
{
	__cleanup(rf_automaton_free) struct rf_automaton *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	/* Row 0 begins at 0. */
	a->row_cap = 64;
	a->row = calloc(a->row_cap, sizeof(*a->row));
	return a->row ? TAKE_PTR(a) : NULL;
}

int rf_dfa_edge(struct rf_automaton *a, uint8_t class, uint32_t target)
{
	if (RF_GROW(a->class, a->class_cap, a->edges + 1) || RF_GROW(a->target, a->target_cap, a->edges + 1))
		return -ENOMEM;
	a->class[a->edges] = class;
	a->target[a->edges++] = target;
	return 0;
}

int rf_dfa_states(struct rf_automaton *a, size_t n)
{
	if (RF_GROW(a->fallback, a->fallback_cap, n) || RF_GROW(a->record, a->record_cap, n) ||
	    RF_GROW(a->row, a->row_cap, n + 1))
		return -ENOMEM;
	return 0;
}

void rf_automaton_free(struct rf_automaton **a)
{
	if (!*a)
		return;
	free((*a)->fallback);
	free((*a)->record);
	free((*a)->row);
	free((*a)->class);
	free((*a)->target);
	free((*a)->alike);
	rf_records_done(&(*a)->records);
	free(*a);
	*a = NULL;
}

size_t rf_automaton_states(const struct rf_automaton *a)
{
	return a->n;
}

/* The partition of the states when rules don't count: as if there were one record for each set of allowed accesses. */
static int number_alike(struct rf_automaton *a)
{
	__cleanup(rf_records_done) struct rf_records allows = {};
	__cleanup(freep) uint32_t *record = calloc(a->n, sizeof(*record));
	struct rf_automaton ruleless = *a;
	uint32_t blocks;

	a->alike = calloc(a->n, sizeof(*a->alike));
	if (!record || !a->alike)
		return -ENOMEM;
	for (size_t s = 0; s < a->n; s++) {
		const struct rf_verdicts allow = {.allow = a->records.v[a->record[s]].allow};
		int err = rf_records_add(&allows, &allow, &record[s]);

		if (err < 0)
			return err;
	}
	ruleless.record = record;
	ruleless.records = allows;
	return rf_dfa_partition(&ruleless, a->alike, &blocks);
}

int rf_automaton_build(enum rf_automaton_kind kind, const struct rf_pattern *patterns, size_t n, size_t max_states,
		       struct rf_automaton **ret, size_t *reterr_pattern)
{
	size_t max_nodes = max_states < NODES_MAX / NODES_PER_STATE ? max_states * NODES_PER_STATE : NODES_MAX;
	__cleanup(rf_automaton_free) struct rf_automaton *subsets = NULL, *minimal = NULL;
	__cleanup(rf_nfa_done) struct rf_nfa nfa = {};
	size_t blamed = 0;
	int err;

	if (kind < 0 || kind >= RF_AUTOMATON_MAX || n >= UINT32_MAX || max_states >= UINT32_MAX / 64)
		return -EINVAL;
	err = rf_nfa_build(kind, patterns, n, max_nodes, &nfa, &blamed);
	if (!err)
		err = rf_dfa_build(&nfa, max_states, &subsets, &blamed);
	rf_nfa_done(&nfa);
	if (!err)
		err = rf_dfa_minimize(subsets, &minimal);
	rf_automaton_free(&subsets);
	if (!err)
		err = rf_dfa_squeeze(minimal);
	if (!err)
		err = number_alike(minimal);
	if (err) {
		*reterr_pattern = blamed;
		return err;
	}
	*ret = TAKE_PTR(minimal);
	return 0;
}
