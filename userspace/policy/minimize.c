/* SPDX-License-Identifier: Apache-2.0 */
/* The automaton over blocks of equivalent states, and over classes that all states agree on. */
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "policy/dfa.h"

struct quotient {
	const struct rf_automaton *a;
	uint32_t *block_of;
	uint32_t *number; /* of a block, or RF_DFA_NONE: not met yet */
	uint32_t *state; /* number -> one state of the block */
	uint32_t met;
};

static void quotient_done(struct quotient *q)
{
	free(q->block_of);
	free(q->number);
	free(q->state);
}

static uint32_t number_of(struct quotient *q, uint32_t state)
{
	uint32_t block = q->block_of[state];

	if (q->number[block] == RF_DFA_NONE) {
		q->state[q->met] = state;
		q->number[block] = q->met++;
	}
	return q->number[block];
}

static int copy_rows(struct quotient *q, struct rf_automaton *out)
{
	const struct rf_automaton *a = q->a;
	int err;

	number_of(q, 0);
	for (uint32_t i = 0; i < q->met; i++) {
		uint32_t state = q->state[i];

		err = rf_dfa_states(out, i + 1);
		if (!err)
			err = rf_records_add(&out->records, &a->records.v[a->record[state]], &out->record[i]);
		if (err)
			return err;
		out->fallback[i] = number_of(q, a->fallback[state]);
		for (uint32_t e = a->row[state]; e < a->row[state + 1]; e++) {
			uint32_t target = number_of(q, a->target[e]);

			if (target == out->fallback[i])
				continue;
			err = rf_dfa_edge(out, a->class[e], target);
			if (err)
				return err;
		}
		out->row[i + 1] = (uint32_t)out->edges;
		out->n = i + 1;
	}
	return 0;
}

int rf_dfa_minimize(const struct rf_automaton *a, struct rf_automaton **ret)
{
	__cleanup(rf_automaton_free) struct rf_automaton *out = rf_dfa_new();
	__cleanup(quotient_done) struct quotient q = {
		.a = a,
		.block_of = calloc(a->n, sizeof(*q.block_of)),
		.number = calloc(a->n, sizeof(*q.number)),
		.state = calloc(a->n, sizeof(*q.state)),
	};
	uint32_t blocks;
	int err;

	if (!out || !q.block_of || !q.number || !q.state)
		return -ENOMEM;
	err = rf_dfa_partition(a, q.block_of, &blocks);
	if (err)
		return err;
	memset(q.number, 0xff, a->n * sizeof(*q.number));
	memcpy(out->class_of, a->class_of, sizeof(out->class_of));
	out->classes = a->classes;
	err = copy_rows(&q, out);
	if (err)
		return err;
	*ret = TAKE_PTR(out);
	return 0;
}

/* The exceptions of one class, by state: what two classes must share to be one. */
struct columns {
	uint32_t *state, *target;
	size_t at[258];
};

static int make_columns(const struct rf_automaton *a, struct columns *c)
{
	c->state = calloc(a->edges + 1, sizeof(*c->state));
	c->target = calloc(a->edges + 1, sizeof(*c->target));
	if (!c->state || !c->target)
		return -ENOMEM;
	for (size_t e = 0; e < a->edges; e++)
		c->at[a->class[e] + 2]++;
	for (int i = 2; i < 258; i++)
		c->at[i] += c->at[i - 1];
	for (uint32_t s = 0; s < a->n; s++) {
		for (uint32_t e = a->row[s]; e < a->row[s + 1]; e++) {
			size_t at = c->at[a->class[e] + 1]++;

			c->state[at] = s;
			c->target[at] = a->target[e];
		}
	}
	return 0;
}

static void columns_done(struct columns *c)
{
	free(c->state);
	free(c->target);
}

static bool same_column(const struct columns *c, unsigned int x, unsigned int y)
{
	size_t n = c->at[x + 1] - c->at[x];

	return n == c->at[y + 1] - c->at[y] &&
	       !memcmp(c->state + c->at[x], c->state + c->at[y], n * sizeof(*c->state)) &&
	       !memcmp(c->target + c->at[x], c->target + c->at[y], n * sizeof(*c->target));
}

/*
 * New numbers of the classes, in the order of their first byte; duplicates of an earlier one get its number. '/' keeps
 * its class to itself, for abi/inclusion.h.
 */
static int merge_classes(struct rf_automaton *a)
{
	__cleanup(columns_done) struct columns columns = {};
	uint8_t to[256], first[256];
	bool known[256] = {}, drop[256] = {};
	unsigned int classes = 0, n, slash = a->class_of['/'];
	size_t out = 0, in = 0;
	int err = make_columns(a, &columns);

	if (err)
		return err;
	for (unsigned int b = 0; b < 256; b++) {
		unsigned int old = a->class_of[b];

		if (!known[old]) {
			n = old == slash ? classes : 0;
			while (n < classes && (first[n] == slash || !same_column(&columns, first[n], old)))
				n++;
			drop[old] = n < classes;
			known[old] = true;
			to[old] = (uint8_t)n;
			if (n == classes)
				first[classes++] = (uint8_t)old;
		}
		a->class_of[b] = to[old];
	}
	a->classes = classes;
	for (size_t s = 0; s < a->n; s++) {
		for (; in < a->row[s + 1]; in++) {
			if (drop[a->class[in]])
				continue;
			a->class[out] = to[a->class[in]];
			a->target[out++] = a->target[in];
		}
		a->row[s + 1] = (uint32_t)out;
	}
	a->edges = out;
	return 0;
}

/* Writes row s anew at *out, which is not behind its old place: in ascending order, with the commonest default. */
static void rewrite_row(struct rf_automaton *a, uint32_t s, size_t from, size_t to, uint32_t *count, size_t *out)
{
	uint32_t full[256], best = a->fallback[s];

	for (unsigned int c = 0; c < a->classes; c++)
		full[c] = a->fallback[s];
	for (size_t e = from; e < to; e++)
		full[a->class[e]] = a->target[e];
	for (unsigned int c = 0; c < a->classes; c++)
		count[full[c]]++;
	for (unsigned int c = 0; c < a->classes; c++) {
		if (count[full[c]] > count[best])
			best = full[c];
	}
	for (unsigned int c = 0; c < a->classes; c++) {
		count[full[c]] = 0;
		if (full[c] == best)
			continue;
		a->class[*out] = (uint8_t)c;
		a->target[(*out)++] = full[c];
	}
	a->fallback[s] = best;
}

/* Short rows only need their order: their default is the commonest already. */
static void sort_row(struct rf_automaton *a, size_t from, size_t to, size_t *out)
{
	size_t start = *out;

	for (size_t e = from; e < to; e++) {
		uint8_t class = a->class[e];
		uint32_t target = a->target[e];
		size_t at = (*out)++;

		for (; at > start && a->class[at - 1] > class; at--) {
			a->class[at] = a->class[at - 1];
			a->target[at] = a->target[at - 1];
		}
		a->class[at] = class;
		a->target[at] = target;
	}
}

int rf_dfa_squeeze(struct rf_automaton *a)
{
	__cleanup(freep) uint32_t *count = calloc(a->n, sizeof(*count));
	size_t out = 0, from = 0, to;
	int err;

	if (!count)
		return -ENOMEM;
	err = merge_classes(a);
	if (err)
		return err;
	for (uint32_t s = 0; s < a->n; s++, from = to) {
		to = a->row[s + 1];
		if ((to - from) * 2 > a->classes)
			rewrite_row(a, s, from, to, count, &out);
		else
			sort_row(a, from, to, &out);
		a->row[s + 1] = (uint32_t)out;
	}
	a->edges = out;
	return 0;
}
