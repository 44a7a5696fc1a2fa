/* SPDX-License-Identifier: Apache-2.0 */
/* The finished tree of positions -> classes of bytes, edges by position, closures over empty moves. */
#include <errno.h>
#include <stdlib.h>

#include "lib/cleanup.h"
#include "policy/grow.h"
#include "policy/nfa.h"

/* All closures together, 64 MiB. A row of braces with empty alternatives has closures as long as itself. */
#define CLOSURE_MAX (1U << 24)

/* Splits the classes by a set: bytes of one class inside and outside of it part. */
static void split_classes(struct rf_nfa *nfa, const struct rf_byteset *set)
{
	int inside[256], outside[256];

	for (int i = 0; i < 256; i++)
		inside[i] = outside[i] = -1;
	nfa->classes = 0;
	for (unsigned int b = 0; b < 256; b++) {
		int *twin = rf_byteset_has(set, b) ? &inside[nfa->class_of[b]] : &outside[nfa->class_of[b]];

		if (*twin < 0)
			*twin = (int)nfa->classes++;
		nfa->class_of[b] = (uint8_t)*twin;
	}
}

static void count_labels(const struct rf_nfa *nfa, struct rf_byteset *bytes, uint8_t *used)
{
	if (nfa->kind == RF_AUTOMATON_PATH)
		rf_byteset_add(bytes, '/');
	for (size_t i = 0; i < nfa->n_nodes; i++) {
		uint32_t token = nfa->nodes[i].token;

		if (RF_NFA_KIND(token) == RF_NFA_BYTE)
			rf_byteset_add(bytes, RF_NFA_VALUE(token));
		if (RF_NFA_KIND(token) == RF_NFA_SET)
			used[RF_NFA_VALUE(token)] = 1;
	}
}

/* Also turns the sets of bytes into sets of classes. */
static int make_classes(struct rf_nfa *nfa)
{
	__cleanup(freep) uint8_t *used = calloc(nfa->n_sets, 1);
	struct rf_byteset bytes = {};
	int rest = -1;

	nfa->wide = calloc(nfa->n_sets, 1);
	nfa->outside = calloc(nfa->n_sets, sizeof(*nfa->outside));
	if (!used || !nfa->wide || !nfa->outside)
		return -ENOMEM;
	count_labels(nfa, &bytes, used);
	/* A class for each byte that stands by itself somewhere, one for the others; then the sets split them. */
	nfa->classes = 0;
	for (unsigned int b = 0; b < 256; b++) {
		bool own = rf_byteset_has(&bytes, b);

		if (own || rest < 0)
			nfa->class_of[b] = (uint8_t)nfa->classes++;
		else
			nfa->class_of[b] = (uint8_t)rest;
		if (!own)
			rest = nfa->class_of[b];
	}
	for (size_t i = 0; i < nfa->n_sets && nfa->classes < 256; i++) {
		if (used[i])
			split_classes(nfa, &nfa->sets[i]);
	}
	for (size_t i = 0; i < nfa->n_sets; i++) {
		struct rf_byteset set = {};

		for (unsigned int b = 0; b < 256; b++)
			rf_byteset_add(rf_byteset_has(&nfa->sets[i], b) ? &set : &nfa->outside[i], nfa->class_of[b]);
		nfa->sets[i] = set;
		nfa->wide[i] = rf_byteset_count(&set) * 2 > nfa->classes;
	}
	return 0;
}

/* The edge that leads to a node from its parent, and the one with which it stays; label RF_NFA_NONE: none. */
static void labels_of(const struct rf_nfa *nfa, uint32_t token, uint32_t *in, uint32_t *stay)
{
	*in = *stay = RF_NFA_NONE;
	switch (RF_NFA_KIND(token)) {
	case RF_NFA_BYTE:
		*in = nfa->class_of[RF_NFA_VALUE(token)];
		break;
	case RF_NFA_SET:
		*in = 256 + RF_NFA_VALUE(token);
		break;
	case RF_NFA_IN_NAME:
		*in = nfa->class_of['/'];
		*stay = 256 + RF_NFA_SET_NAME;
		break;
	case RF_NFA_BENEATH:
		*in = nfa->class_of['/'];
		*stay = 256 + RF_NFA_SET_ALL;
		break;
	case RF_NFA_STAR:
		*stay = 256 + RF_NFA_SET_NAME;
		break;
	default:
		break;
	}
}

static int make_edges(struct rf_nfa *nfa)
{
	size_t n = nfa->n_nodes, edges = 0;
	uint32_t in, stay, *at = calloc(n + 2, sizeof(*at));

	nfa->edge_at = at;
	if (!at)
		return -ENOMEM;
	/* at[i + 2] counts, then at[i + 1] is where node i's next edge goes, then at[i] is where they begin. */
	for (size_t i = 0; i < n; i++) {
		labels_of(nfa, nfa->nodes[i].token, &in, &stay);
		if (in != RF_NFA_NONE)
			at[nfa->nodes[i].parent + 2]++, edges++;
		if (stay != RF_NFA_NONE)
			at[i + 2]++, edges++;
	}
	for (size_t i = 2; i < n + 2; i++)
		at[i] += at[i - 1];
	nfa->edges = calloc(edges + 1, sizeof(*nfa->edges));
	if (!nfa->edges)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		labels_of(nfa, nfa->nodes[i].token, &in, &stay);
		if (in != RF_NFA_NONE)
			nfa->edges[at[nfa->nodes[i].parent + 1]++] = (struct rf_nfa_edge){in, i};
		if (stay != RF_NFA_NONE)
			nfa->edges[at[i + 1]++] = (struct rf_nfa_edge){stay, i};
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* A position that neither reads nor accepts only matters for where it leads by nothing. */
static bool matters(const struct rf_nfa *nfa, uint32_t node)
{
	return nfa->edge_at[node] != nfa->edge_at[node + 1] || nfa->nodes[node].accept != RF_NFA_NONE;
}

struct walk {
	uint32_t *stack;
	size_t n, cap;
	uint32_t *seen; /* node -> last node + 1 whose closure held it */
};

static void walk_done(struct walk *w)
{
	free(w->stack);
	free(w->seen);
}

static int close_over(struct rf_nfa *nfa, const struct rf_nfa_empty *empties, uint32_t node, struct walk *w, size_t *n)
{
	w->n = 0;
	w->seen[node] = node + 1;
	for (uint32_t at = node;; at = w->stack[--w->n]) {
		if (RF_GROW(nfa->closure, nfa->closure_cap, *n + 1))
			return -ENOMEM;
		if (matters(nfa, at))
			nfa->closure[(*n)++] = at;
		for (uint32_t e = nfa->nodes[at].empty; e != RF_NFA_NONE; e = empties[e].next) {
			uint32_t to = empties[e].to;

			if (w->seen[to] == node + 1)
				continue;
			w->seen[to] = node + 1;
			if (RF_GROW(w->stack, w->cap, w->n + 1))
				return -ENOMEM;
			w->stack[w->n++] = to;
		}
		if (!w->n)
			return 0;
	}
}

static int make_closures(struct rf_nfa *nfa, const struct rf_nfa_empty *empties, size_t *reterr_pattern)
{
	__cleanup(walk_done) struct walk w = {.seen = calloc(nfa->n_nodes, sizeof(*w.seen))};
	size_t n = 0, from;
	int err;

	nfa->closure_at = calloc(nfa->n_nodes + 1, sizeof(*nfa->closure_at));
	if (!w.seen || !nfa->closure_at || RF_GROW(nfa->closure, nfa->closure_cap, 1))
		return -ENOMEM;
	for (uint32_t i = 0; i < nfa->n_nodes; i++) {
		from = n;
		err = close_over(nfa, empties, i, &w, &n);
		if (err)
			return err;
		if (n - from > 1)
			qsort(nfa->closure + from, n - from, sizeof(*nfa->closure), compare);
		if (n > CLOSURE_MAX) {
			*reterr_pattern = nfa->nodes[i].owner;
			return -E2BIG;
		}
		nfa->closure_at[i + 1] = (uint32_t)n;
	}
	return 0;
}

static bool raise_to(struct rf_nfa_reach *to, const struct rf_nfa_reach *from)
{
	struct rf_nfa_reach old = *to;

	if (from->last && (!old.last || old.name != from->name))
		to->name = old.last ? RF_NFA_MANY : from->name;
	if (to->last < from->last)
		to->last = from->last;
	to->accesses |= from->accesses;
	return to->last != old.last || to->accesses != old.accesses || to->name != old.name;
}

/* Backwards, as children come after their parents; again for the moves that lead back, out of braces and names. */
static int make_reach(struct rf_nfa *nfa, const struct rf_nfa_empty *empties)
{
	bool again;

	nfa->reach = calloc(nfa->n_nodes, sizeof(*nfa->reach));
	nfa->traits = calloc(nfa->n_nodes, 1);
	if (!nfa->reach || !nfa->traits)
		return -ENOMEM;
	for (size_t i = 0; i < nfa->n_nodes; i++) {
		for (uint32_t e = nfa->nodes[i].accept; e != RF_NFA_NONE; e = nfa->accepts[e].next) {
			uint32_t pattern = nfa->accepts[e].pattern;

			nfa->traits[i] |= RF_NFA_ACCEPTS;
			raise_to(&nfa->reach[i],
				 &(struct rf_nfa_reach){pattern + 1, (uint32_t)nfa->patterns[pattern].accesses,
							nfa->patterns[pattern].name});
		}
		if (nfa->traits[i] && RF_NFA_KIND(nfa->nodes[i].token) == RF_NFA_BENEATH)
			nfa->traits[i] |= RF_NFA_WHOLE;
	}
	do {
		again = false;
		for (size_t i = nfa->n_nodes; i--;) {
			for (uint32_t e = nfa->nodes[i].empty; e != RF_NFA_NONE; e = empties[e].next)
				again |= raise_to(&nfa->reach[i], &nfa->reach[empties[e].to]);
			if (i)
				again |= raise_to(&nfa->reach[nfa->nodes[i].parent], &nfa->reach[i]);
		}
	} while (again);
	return 0;
}

int rf_nfa_freeze(struct rf_nfa *nfa, const struct rf_nfa_empty *empties, size_t *reterr_pattern)
{
	int err = make_classes(nfa);

	if (!err)
		err = make_edges(nfa);
	if (!err)
		err = make_reach(nfa, empties);
	if (!err)
		err = make_closures(nfa, empties, reterr_pattern);
	return err;
}
