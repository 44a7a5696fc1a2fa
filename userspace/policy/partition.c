/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which states are equivalent: Moore's refinement, driven by change. Blocks begin as "same verdicts". A state's signature
 * is a hash of the blocks that its whole row leads to; blocks split by signature; the largest part keeps its number, so
 * that only states which lead into the smaller ones must be looked at again: n log n, a default counting as one edge.
 *
 * Hashes decide only while refining. At the end every state is compared with the first of its block, class by class.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "policy/dfa.h"

struct signed_state {
	uint64_t sig;
	uint32_t state;
};

struct partition {
	const struct rf_automaton *a;
	uint32_t *block_of; /* borrowed */
	uint64_t weight[256], weight_all; /* of the classes, random odd numbers */
	uint64_t seed;

	uint32_t *states; /* grouped by block; the first marked[b] of a block are due */
	uint32_t *place; /* of a state in states */
	uint32_t *first, *end, *marked;
	uint32_t blocks;

	uint32_t *from, *from_at; /* states that lead to a state */
	uint32_t *due, *next_due, *touched;
	size_t n_due, n_next, n_touched;
	uint8_t *is_due;
	struct signed_state *sort, *spare;
};

static void partition_done(struct partition *p)
{
	free(p->states);
	free(p->place);
	free(p->first);
	free(p->end);
	free(p->marked);
	free(p->from);
	free(p->from_at);
	free(p->due);
	free(p->next_due);
	free(p->touched);
	free(p->is_due);
	free(p->sort);
	free(p->spare);
}

static int partition_alloc(struct partition *p)
{
	size_t n = p->a->n;

	p->states = calloc(n, sizeof(*p->states));
	p->place = calloc(n, sizeof(*p->place));
	p->first = calloc(n + 1, sizeof(*p->first));
	p->end = calloc(n + 1, sizeof(*p->end));
	p->marked = calloc(n + 1, sizeof(*p->marked));
	p->from = calloc(n + p->a->edges, sizeof(*p->from));
	p->from_at = calloc(n + 2, sizeof(*p->from_at));
	p->due = calloc(n, sizeof(*p->due));
	p->next_due = calloc(n, sizeof(*p->next_due));
	p->touched = calloc(n, sizeof(*p->touched));
	p->is_due = calloc(n, sizeof(*p->is_due));
	p->sort = calloc(n, sizeof(*p->sort));
	p->spare = calloc(n, sizeof(*p->spare));
	if (!p->states || !p->place || !p->first || !p->end || !p->marked || !p->from || !p->from_at || !p->due ||
	    !p->next_due || !p->touched || !p->is_due || !p->sort || !p->spare)
		return -ENOMEM;
	return 0;
}

static void init_from(struct partition *p)
{
	const struct rf_automaton *a = p->a;
	uint32_t *at = p->from_at;

	for (size_t s = 0; s < a->n; s++)
		at[a->fallback[s] + 2]++;
	for (size_t e = 0; e < a->edges; e++)
		at[a->target[e] + 2]++;
	for (size_t i = 2; i < a->n + 2; i++)
		at[i] += at[i - 1];
	for (uint32_t s = 0; s < a->n; s++) {
		p->from[at[a->fallback[s] + 1]++] = s;
		for (uint32_t e = a->row[s]; e < a->row[s + 1]; e++)
			p->from[at[a->target[e] + 1]++] = s;
	}
}

/* One block for each verdict record that is in use; every state is due. */
static int init_blocks(struct partition *p)
{
	const struct rf_automaton *a = p->a;
	size_t records = a->records.n;
	__cleanup(freep) uint32_t *count = calloc(records + 1, sizeof(*count));

	if (!count)
		return -ENOMEM;
	for (size_t s = 0; s < a->n; s++)
		count[a->record[s] + 1]++;
	for (size_t r = 0; r < records; r++)
		count[r + 1] += count[r];
	p->blocks = 0;
	for (size_t r = 0; r < records; r++) {
		if (count[r] == count[r + 1])
			continue;
		for (uint32_t at = count[r]; at < count[r + 1]; at++)
			p->due[at] = p->blocks; /* for a moment: the block of each place */
		p->first[p->blocks] = count[r];
		p->end[p->blocks++] = count[r + 1];
	}
	for (uint32_t s = 0; s < a->n; s++) {
		uint32_t at = count[a->record[s]]++;

		p->states[at] = s;
		p->place[s] = at;
		p->block_of[s] = p->due[at];
	}
	for (uint32_t s = 0; s < a->n; s++) {
		p->due[s] = s;
		p->is_due[s] = 1;
	}
	p->n_due = a->n;
	return 0;
}

/*
 * sum over all classes of weight(class) * hash(block it leads to): the same for the same row, however that row is split
 * into default and exceptions.
 */
static uint64_t signature(const struct partition *p, uint32_t state)
{
	const struct rf_automaton *a = p->a;
	uint64_t rest = p->weight_all, sum = 0;

	for (uint32_t e = a->row[state]; e < a->row[state + 1]; e++) {
		uint64_t weight = p->weight[a->class[e]];

		rest -= weight;
		sum += weight * rf_mix(p->block_of[a->target[e]] + p->seed);
	}
	return sum + rest * rf_mix(p->block_of[a->fallback[state]] + p->seed);
}

/* By signature. Radix: the first round sorts nearly all states. */
static void sort_signed(struct signed_state *v, struct signed_state *spare, size_t n)
{
	struct signed_state *from = v, *to = spare, *swap;

	if (n < 64) {
		for (size_t i = 1; i < n; i++) {
			struct signed_state x = v[i];
			size_t j = i;

			for (; j && v[j - 1].sig > x.sig; j--)
				v[j] = v[j - 1];
			v[j] = x;
		}
		return;
	}
	for (unsigned int shift = 0; shift < 64; shift += 8) {
		size_t at[257] = {};

		for (size_t i = 0; i < n; i++)
			at[(from[i].sig >> shift & 255) + 1]++;
		for (int i = 0; i < 256; i++)
			at[i + 1] += at[i];
		for (size_t i = 0; i < n; i++)
			to[at[from[i].sig >> shift & 255]++] = from[i];
		swap = from;
		from = to;
		to = swap;
	}
}

static void mark(struct partition *p, uint32_t state)
{
	uint32_t block = p->block_of[state];
	uint32_t at = p->first[block] + p->marked[block], other = p->states[at];

	if (!p->marked[block]++)
		p->touched[p->n_touched++] = block;
	p->states[p->place[state]] = other;
	p->place[other] = p->place[state];
	p->states[at] = state;
	p->place[state] = at;
}

/* [from, to) of states becomes a block of its own; who leads there is due in the next round. */
static void move_out(struct partition *p, uint32_t from, uint32_t to)
{
	uint32_t block = p->blocks++;

	p->first[block] = from;
	p->end[block] = to;
	for (uint32_t i = from; i < to; i++) {
		uint32_t state = p->states[i];

		p->block_of[state] = block;
		for (uint32_t e = p->from_at[state]; e < p->from_at[state + 1]; e++) {
			uint32_t source = p->from[e];

			if (p->is_due[source])
				continue;
			p->is_due[source] = 1;
			p->next_due[p->n_next++] = source;
		}
	}
}

/* sort[0..n): the due states of the block with their signatures; those that were not due still agree among themselves. */
static void split(struct partition *p, uint32_t block, size_t n)
{
	uint32_t first = p->first[block], end = p->end[block], keep = first + (uint32_t)n, keep_end = end, from, to;

	sort_signed(p->sort, p->spare, n);
	for (size_t i = 0; i < n; i++) {
		p->states[first + i] = p->sort[i].state;
		p->place[p->sort[i].state] = first + (uint32_t)i;
	}
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i + 1; j < n && p->sort[j].sig == p->sort[i].sig; j++)
			;
		if (j - i > keep_end - keep) {
			keep = first + (uint32_t)i;
			keep_end = first + (uint32_t)j;
		}
	}
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i + 1; j < n && p->sort[j].sig == p->sort[i].sig; j++)
			;
		from = first + (uint32_t)i;
		to = first + (uint32_t)j;
		if (from != keep)
			move_out(p, from, to);
	}
	from = first + (uint32_t)n;
	if (from != end && from != keep)
		move_out(p, from, end);
	p->first[block] = keep;
	p->end[block] = keep_end;
}

static void refine_round(struct partition *p, uint64_t *sig)
{
	uint32_t *swap;

	p->n_touched = p->n_next = 0;
	for (size_t i = 0; i < p->n_due; i++) {
		/* All signatures first: a split changes what they are made of. */
		sig[p->due[i]] = signature(p, p->due[i]);
		mark(p, p->due[i]);
		p->is_due[p->due[i]] = 0;
	}
	for (size_t t = 0; t < p->n_touched; t++) {
		uint32_t block = p->touched[t], n = p->marked[block];

		p->marked[block] = 0;
		if (p->end[block] - p->first[block] == 1)
			continue;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t state = p->states[p->first[block] + i];

			p->sort[i] = (struct signed_state){sig[state], state};
		}
		split(p, block, n);
	}
	swap = p->due;
	p->due = p->next_due;
	p->next_due = swap;
	p->n_due = p->n_next;
}

/* Do two rows lead to the same blocks, class by class? */
static bool same_row(const struct partition *p, uint32_t x, uint32_t y)
{
	const struct rf_automaton *a = p->a;
	uint32_t i = a->row[x], j = a->row[y], x_rest = p->block_of[a->fallback[x]],
		 y_rest = p->block_of[a->fallback[y]];
	unsigned int seen = 0;

	for (; i < a->row[x + 1] || j < a->row[y + 1]; seen++) {
		unsigned int cx = i < a->row[x + 1] ? a->class[i] : 256, cy = j < a->row[y + 1] ? a->class[j] : 256;
		uint32_t bx = cx <= cy ? p->block_of[a->target[i++]] : x_rest;
		uint32_t by = cy <= cx ? p->block_of[a->target[j++]] : y_rest;

		if (bx != by)
			return false;
	}
	return seen == a->classes || x_rest == y_rest;
}

static bool is_stable(const struct partition *p)
{
	for (uint32_t b = 0; b < p->blocks; b++) {
		uint32_t x = p->states[p->first[b]];

		for (uint32_t i = p->first[b] + 1; i < p->end[b]; i++) {
			uint32_t y = p->states[i];

			if (p->a->record[x] != p->a->record[y] || !same_row(p, x, y))
				return false;
		}
	}
	return true;
}

int rf_dfa_partition(const struct rf_automaton *a, uint32_t *block_of, uint32_t *ret_blocks)
{
	__cleanup(partition_done) struct partition p = {.a = a, .block_of = block_of};
	__cleanup(freep) uint64_t *sig = calloc(a->n, sizeof(*sig));
	int err = partition_alloc(&p);

	if (err || !sig)
		return -ENOMEM;
	init_from(&p);
	/* Equal signatures of unequal rows have a chance of 2^-64 for each pair; then the next seed tells them apart. */
	for (p.seed = 1;; p.seed++) {
		p.weight_all = 0;
		for (unsigned int c = 0; c < a->classes; c++) {
			p.weight[c] = rf_mix((p.seed << 32) + c * 0x9e3779b97f4a7c15ULL + 1) | 1;
			p.weight_all += p.weight[c];
		}
		err = init_blocks(&p);
		if (err)
			return err;
		while (p.n_due)
			refine_round(&p, sig);
		if (is_stable(&p))
			break;
	}
	*ret_blocks = p.blocks;
	return 0;
}
