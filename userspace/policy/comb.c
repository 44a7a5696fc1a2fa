/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Row displacement: long rows first, each at the first base where all its cells are free. Cells are only ever taken, so
 * rows of one shape (the same classes) go on where the last of them was placed: whole families cost one pass.
 */
#include "policy/comb.h"

#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"

/* Places tried for one row before it goes to the end: bounds the time, and the next row of the shape goes on there. */
#define TRIES_MAX 512

struct placer {
	struct rf_comb *comb;
	const struct rf_automaton *a;
	struct rf_index shapes;
	struct shape {
		uint32_t row; /* a state that has it */
		uint32_t from; /* no base before this is free */
	} * v;
	size_t n, cap;
	uint32_t *order; /* states, longest row first */
	uint32_t wanted;
};

static void placer_done(struct placer *p)
{
	rf_index_done(&p->shapes);
	free(p->v);
	free(p->order);
}

void rf_comb_done(struct rf_comb *comb)
{
	free(comb->used);
	*comb = (struct rf_comb){};
}

static size_t row_len(const struct rf_automaton *a, uint32_t s)
{
	return a->row[s + 1] - a->row[s];
}

static bool same_shape(const void *ctx, uint32_t number)
{
	const struct placer *p = ctx;
	uint32_t other = p->v[number].row;
	size_t n = row_len(p->a, p->wanted);

	return n == row_len(p->a, other) &&
	       !memcmp(p->a->class + p->a->row[p->wanted], p->a->class + p->a->row[other], n);
}

static int find_shape(struct placer *p, uint32_t s, struct shape **ret)
{
	const uint8_t *class = p->a->class + p->a->row[s];
	uint32_t number = (uint32_t)p->n;
	uint64_t hash = 0;
	int err;

	for (size_t i = 0; i < row_len(p->a, s); i++)
		hash = rf_mix(hash + class[i] + 1);
	p->wanted = s;
	err = rf_index_add(&p->shapes, hash, same_shape, p, &number);
	if (err < 0)
		return err;
	if (!err) {
		if (RF_GROW(p->v, p->cap, p->n + 1))
			return -ENOMEM;
		p->v[p->n++] = (struct shape){s, 0};
	}
	*ret = &p->v[number];
	return 0;
}

static bool is_used(const struct rf_comb *comb, size_t cell)
{
	return cell < comb->n && comb->used[cell >> 6] >> (cell & 63) & 1;
}

static size_t next_free(const struct rf_comb *comb, size_t cell)
{
	while (cell < comb->n) {
		uint64_t gaps = ~comb->used[cell >> 6] >> (cell & 63);

		if (gaps)
			return cell + (size_t)__builtin_ctzll(gaps);
		cell = (cell | 63) + 1;
	}
	return cell;
}

/* Room for cells up to `end`; new ones are free. */
static int extend(struct rf_comb *comb, size_t end)
{
	size_t words = (comb->n + 63) / 64, need = (end + 63) / 64;

	if (end <= comb->n)
		return 0;
	if (RF_GROW(comb->used, comb->used_cap, need))
		return -ENOMEM;
	if (need > words)
		memset(comb->used + words, 0, (need - words) * sizeof(*comb->used));
	comb->n = end;
	return 0;
}

static bool fits(const struct rf_comb *comb, const uint8_t *class, size_t n, size_t base)
{
	for (size_t i = 0; i < n; i++) {
		if (is_used(comb, base + class[i]))
			return false;
	}
	return true;
}

static int place(struct placer *p, uint32_t s, uint32_t *ret)
{
	struct rf_comb *comb = p->comb;
	const uint8_t *class = p->a->class + p->a->row[s];
	size_t n = row_len(p->a, s), base;
	struct shape *shape;
	int err = find_shape(p, s, &shape);

	if (err)
		return err;
	base = next_free(comb, shape->from + class[0]) - class[0];
	for (unsigned int tries = 0; !fits(comb, class, n, base); tries++) {
		if (tries < TRIES_MAX)
			base = next_free(comb, base + class[0] + 1) - class[0];
		else
			base = comb->n > class[0] ? comb->n - class[0] : 0;
	}
	shape->from = (uint32_t)base + 1;
	if (extend(comb, base + class[n - 1] + 1))
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		size_t cell = base + class[i];

		comb->used[cell >> 6] |= 1ULL << (cell & 63);
	}
	if (comb->end < base + 256)
		comb->end = base + 256;
	*ret = (uint32_t)base;
	return 0;
}

static int sort_rows(struct placer *p)
{
	const struct rf_automaton *a = p->a;
	size_t at[258] = {};

	p->order = calloc(a->n, sizeof(*p->order));
	if (!p->order)
		return -ENOMEM;
	for (uint32_t s = 0; s < a->n; s++)
		at[257 - row_len(a, s)]++;
	for (int i = 1; i < 258; i++)
		at[i] += at[i - 1];
	for (uint32_t s = 0; s < a->n; s++)
		p->order[at[256 - row_len(a, s)]++] = s;
	return 0;
}

int rf_comb_add(struct rf_comb *comb, const struct rf_automaton *a, uint32_t *base)
{
	__cleanup(placer_done) struct placer p = {.comb = comb, .a = a};
	int err = sort_rows(&p);

	/* A row of no transitions may begin anywhere: no cell names its state as the owner. */
	if (comb->end < 256)
		comb->end = 256;
	for (size_t i = 0; !err && i < a->n; i++) {
		uint32_t s = p.order[i];

		if (row_len(a, s))
			err = place(&p, s, &base[s]);
		else
			base[s] = 0;
	}
	return err;
}
