/* SPDX-License-Identifier: Apache-2.0 */
/* Positions -> states: the subset construction. A state is a sorted set of positions, held once in an arena. */
#include "policy/dfa.h"

#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "policy/nfa.h"

/* Positions of all states together, per allowed state. Keeps a policy from taking the host's memory: see -E2BIG. */
#define POSITIONS_PER_STATE 32
/* Likewise the steps of its making, a second at the worst: sets can be long although few of them differ. */
#define WORK_PER_STATE 512
#define WORK_PER_NODE 64

/* States found last, in front of the index: fits the first-level cache. A power of two. */
#define RECENT 1024

struct narrow {
	uint32_t target;
	uint32_t next; /* of the same class, or RF_DFA_NONE */
};

struct builder {
	const struct rf_nfa *nfa;
	struct rf_automaton *a;
	size_t max_states, max_positions, max_work, work;
	struct rf_index index;
	bool known; /* the record of the states that accept at known_node alone */
	uint32_t known_node, known_record;
	uint32_t *arena; /* positions of state s: arena[at[s]] to arena[at[s + 1] - 1]; behind them a candidate */
	size_t arena_cap, candidate;
	uint32_t *added; /* position -> the last candidate that it was added to */
	uint32_t candidates; /* number of the one at hand, from 1 */
	uint32_t *at;
	size_t at_cap;
	struct row {
		uint32_t from, to; /* in the edges of a, which come in the order of expansion */
	} * rows;
	size_t rows_cap;
	uint32_t *todo; /* a stack: what belongs to one directory is made, and looked up, close together */
	size_t n_todo, todo_cap;
	struct recent {
		uint64_t hash;
		uint32_t state;
	} recent[RECENT];

	/* Of the state at hand: edges by class, and edges that most classes take */
	uint32_t head[256];
	struct rf_byteset touched;
	struct narrow *narrow;
	size_t n_narrow, narrow_cap;
	struct rf_nfa_edge *wide;
	size_t n_wide, wide_cap;
};

static void builder_done(struct builder *b)
{
	rf_index_done(&b->index);
	rf_automaton_free(&b->a);
	free(b->arena);
	free(b->added);
	free(b->at);
	free(b->rows);
	free(b->todo);
	free(b->narrow);
	free(b->wide);
}

static size_t positions(const struct builder *b)
{
	return b->a->n ? b->at[b->a->n] : 0;
}

static int add_closure(struct builder *b, uint32_t node)
{
	const struct rf_nfa *nfa = b->nfa;
	uint32_t from = nfa->closure_at[node], to = nfa->closure_at[node + 1];
	size_t end = positions(b) + b->candidate;

	b->work += to - from;
	if (b->work > b->max_work)
		return -E2BIG;
	if (RF_GROW(b->arena, b->arena_cap, end + to - from))
		return -ENOMEM;
	for (; from < to; from++) {
		uint32_t position = nfa->closure[from];

		if (b->added[position] == b->candidates)
			continue;
		b->added[position] = b->candidates;
		b->arena[end++] = position;
	}
	b->candidate = end - positions(b);
	return 0;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void sort(uint32_t *v, size_t n)
{
	if (n > 24) {
		qsort(v, n, sizeof(*v), compare);
		return;
	}
	for (size_t i = 1; i < n; i++) {
		uint32_t x = v[i];
		size_t j = i;

		for (; j && v[j - 1] > x; j--)
			v[j] = v[j - 1];
		v[j] = x;
	}
}

/* Most states accept nowhere, or where the state before them did. */
static int record_of(struct builder *b, const uint32_t *set, size_t n, uint32_t *ret)
{
	uint32_t only = RF_NFA_NONE;
	struct rf_verdicts record;
	size_t accepting = 0;
	int err;

	for (size_t i = 0; i < n; i++) {
		if (b->nfa->traits[set[i]] & RF_NFA_ACCEPTS) {
			only = set[i];
			accepting++;
		}
	}
	if (accepting < 2 && b->known && b->known_node == only) {
		*ret = b->known_record;
		return 0;
	}
	rf_nfa_verdicts(b->nfa, set, n, &record);
	err = rf_records_add(&b->a->records, &record, ret);
	if (!err && accepting < 2) {
		b->known = true;
		b->known_node = only;
		b->known_record = *ret;
	}
	return err;
}

static bool same_set(const void *ctx, uint32_t state)
{
	const struct builder *b = ctx;
	size_t n = b->at[state + 1] - b->at[state];

	return n == b->candidate &&
	       (!n || !memcmp(b->arena + b->at[state], b->arena + positions(b), n * sizeof(*b->arena)));
}

/* The candidate becomes state number b->a->n. */
static int new_state(struct builder *b)
{
	uint32_t state = (uint32_t)b->a->n;
	size_t end = positions(b) + b->candidate;

	if (b->a->n >= b->max_states || end > b->max_positions)
		return -E2BIG;
	if (rf_dfa_states(b->a, b->a->n + 1) || RF_GROW(b->at, b->at_cap, b->a->n + 2) ||
	    RF_GROW(b->rows, b->rows_cap, b->a->n + 1) || RF_GROW(b->todo, b->todo_cap, b->n_todo + 1))
		return -ENOMEM;
	b->at[0] = 0;
	b->at[state + 1] = (uint32_t)end;
	b->todo[b->n_todo++] = state;
	b->a->n++;
	return record_of(b, b->arena + b->at[state], b->candidate, &b->a->record[state]);
}

/* The state of the candidate, which is taken over when it is new. */
static int take_candidate(struct builder *b, uint32_t *ret)
{
	uint32_t *set = b->arena + positions(b);
	uint32_t state = (uint32_t)b->a->n;
	struct recent *recent;
	uint64_t hash;
	int err = 0;

	sort(set, b->candidate);
	b->candidate = rf_nfa_prune(b->nfa, set, b->candidate);
	hash = rf_hash_words(set, b->candidate);
	recent = &b->recent[hash >> 32 & (RECENT - 1)];
	if (recent->hash == hash && recent->state < b->a->n && same_set(b, recent->state)) {
		state = recent->state;
	} else {
		err = rf_index_add(&b->index, hash, same_set, b, &state);
		if (!err)
			err = new_state(b);
		if (err < 0)
			return err;
		*recent = (struct recent){hash, state};
	}
	b->candidate = 0;
	b->candidates++;
	*ret = state;
	return 0;
}

static int touch(struct builder *b, unsigned int class, uint32_t target)
{
	if (RF_GROW(b->narrow, b->narrow_cap, b->n_narrow + 1))
		return -ENOMEM;
	if (!rf_byteset_has(&b->touched, class))
		b->head[class] = RF_DFA_NONE;
	rf_byteset_add(&b->touched, class);
	if (target == RF_DFA_NONE)
		return 0;
	b->narrow[b->n_narrow] = (struct narrow){target, b->head[class]};
	b->head[class] = (uint32_t)b->n_narrow++;
	return 0;
}

/* A wide edge touches the classes that it does not take: what they lead to lacks its target. */
static int sort_edge(struct builder *b, struct rf_nfa_edge edge)
{
	const struct rf_byteset *set;
	bool wide;
	int err = 0;

	if (edge.label < 256)
		return touch(b, edge.label, edge.target);
	edge.label -= 256;
	wide = b->nfa->wide[edge.label];
	set = wide ? &b->nfa->outside[edge.label] : &b->nfa->sets[edge.label];
	if (wide) {
		if (RF_GROW(b->wide, b->wide_cap, b->n_wide + 1))
			return -ENOMEM;
		b->wide[b->n_wide++] = edge;
	}
	for (unsigned int w = 0; w < 4; w++) {
		for (uint64_t bits = set->w[w]; !err && bits; bits &= bits - 1)
			err = touch(b, w * 64 + (unsigned int)__builtin_ctzll(bits), wide ? RF_DFA_NONE : edge.target);
	}
	return err;
}

/* Where `class` leads from the state at hand; class RF_DFA_NONE: where all untouched classes lead. */
static int step(struct builder *b, uint32_t class, uint32_t *ret)
{
	int err = 0;

	for (size_t i = 0; !err && i < b->n_wide; i++) {
		if (class == RF_DFA_NONE || rf_byteset_has(&b->nfa->sets[b->wide[i].label], class))
			err = add_closure(b, b->wide[i].target);
	}
	if (class != RF_DFA_NONE) {
		for (uint32_t e = b->head[class]; !err && e != RF_DFA_NONE; e = b->narrow[e].next)
			err = add_closure(b, b->narrow[e].target);
	}
	return err ? err : take_candidate(b, ret);
}

static int expand(struct builder *b, uint32_t state)
{
	const struct rf_nfa *nfa = b->nfa;
	uint32_t fallback = RF_DFA_NONE, target;
	int err = 0;

	b->rows[state].from = (uint32_t)b->a->edges;
	b->n_narrow = b->n_wide = 0;
	b->touched = (struct rf_byteset){};
	for (uint32_t i = b->at[state]; i < b->at[state + 1]; i++) {
		uint32_t node = b->arena[i];

		for (uint32_t e = nfa->edge_at[node]; !err && e < nfa->edge_at[node + 1]; e++)
			err = sort_edge(b, nfa->edges[e]);
	}
	if (!err && rf_byteset_count(&b->touched) < nfa->classes)
		err = step(b, RF_DFA_NONE, &fallback);
	for (unsigned int w = 0; w < 4; w++) {
		for (uint64_t bits = b->touched.w[w]; !err && bits; bits &= bits - 1) {
			unsigned int class = w * 64 + (unsigned int)__builtin_ctzll(bits);

			err = step(b, class, &target);
			if (!err && fallback == RF_DFA_NONE)
				fallback = target;
			if (!err && target != fallback)
				err = rf_dfa_edge(b->a, (uint8_t) class, target);
		}
	}
	b->a->fallback[state] = fallback;
	b->rows[state].to = (uint32_t)b->a->edges;
	return err;
}

/* The rows in the order of their states. */
static int order_rows(struct builder *b)
{
	struct rf_automaton *a = b->a;
	size_t edges = a->edges, n = 0;
	__cleanup(freep) uint8_t *class = calloc(edges + 1, sizeof(*class));
	__cleanup(freep) uint32_t *target = calloc(edges + 1, sizeof(*target));

	if (!class || !target)
		return -ENOMEM;
	for (size_t s = 0; s < a->n; s++) {
		for (uint32_t e = b->rows[s].from; e < b->rows[s].to; e++) {
			class[n] = a->class[e];
			target[n++] = a->target[e];
		}
		a->row[s + 1] = (uint32_t)n;
	}
	free(a->class);
	free(a->target);
	a->class = TAKE_PTR(class);
	a->target = TAKE_PTR(target);
	a->class_cap = a->target_cap = edges + 1;
	return 0;
}

/* The pattern that has most positions in the states so far; the first of equals. */
static void blame(const struct builder *b, size_t *reterr_pattern)
{
	const struct rf_nfa *nfa = b->nfa;
	__cleanup(freep) uint32_t *count = calloc(nfa->n_patterns + 1, sizeof(*count));
	size_t worst = 0;

	*reterr_pattern = 0;
	if (!count)
		return;
	for (size_t i = 0; i < positions(b); i++)
		count[nfa->nodes[b->arena[i]].owner]++;
	for (size_t i = 1; i < nfa->n_patterns; i++) {
		if (count[i] > count[worst])
			worst = i;
	}
	*reterr_pattern = worst;
}

int rf_dfa_build(const struct rf_nfa *nfa, size_t max_states, struct rf_automaton **ret, size_t *reterr_pattern)
{
	__cleanup(builder_done) struct builder b = {
		.nfa = nfa,
		.a = rf_dfa_new(),
		.max_states = max_states,
		.max_positions = max_states * POSITIONS_PER_STATE + nfa->n_nodes,
		.max_work = max_states * WORK_PER_STATE + nfa->n_nodes * WORK_PER_NODE,
		.added = calloc(nfa->n_nodes, sizeof(*b.added)),
		.candidates = 1,
	};
	uint32_t start;
	int err;

	if (!b.a || !b.added || RF_GROW(b.arena, b.arena_cap, 1))
		return -ENOMEM;
	memcpy(b.a->class_of, nfa->class_of, sizeof(b.a->class_of));
	b.a->classes = nfa->classes;
	err = add_closure(&b, 0);
	if (!err)
		err = take_candidate(&b, &start);
	while (!err && b.n_todo)
		err = expand(&b, b.todo[--b.n_todo]);
	if (err == -E2BIG)
		blame(&b, reterr_pattern);
	if (!err)
		err = order_rows(&b);
	if (err)
		return err;
	*ret = TAKE_PTR(b.a);
	return 0;
}
