/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to policy/: all patterns of one automaton as one tree of positions.
 *
 * A position stands for the texts that the tokens on the way to it match, so patterns with equal beginnings share
 * positions. Edges read one byte; empty moves (into stars and out of braces) are folded into closures.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "policy/automaton.h"
#include "policy/glob.h"

#define RF_NFA_NONE UINT32_MAX

struct rf_nfa_edge {
	uint32_t label; /* a class, or 256 + index of sets */
	uint32_t target;
};

struct rf_nfa_accept {
	uint32_t pattern;
	uint32_t next; /* in accepts, or RF_NFA_NONE */
};

struct rf_nfa_node {
	uint32_t parent;
	uint32_t token; /* what leads here from the parent */
	uint32_t accept; /* first in accepts, or RF_NFA_NONE */
	uint32_t empty; /* first of empties, or RF_NFA_NONE */
	uint32_t owner; /* the pattern that made it */
};

/* What can still be accepted from a position on. */
struct rf_nfa_reach {
	uint32_t last; /* the last such pattern + 1 */
	uint32_t accesses;
	uint32_t name; /* rf_pattern.name of all of them, or RF_NFA_MANY */
};
#define RF_NFA_MANY UINT32_MAX

struct rf_nfa {
	enum rf_automaton_kind kind;
	const struct rf_pattern *patterns;
	size_t n_patterns;

	struct rf_nfa_node *nodes;
	size_t n_nodes, nodes_cap;
	struct rf_nfa_accept *accepts;
	size_t n_accepts, accepts_cap;

	/* Sets of classes, and the classes outside of each; wide[i]: more in it than outside. */
	struct rf_byteset *sets, *outside;
	size_t n_sets, sets_cap;
	uint8_t *wide;

	uint8_t class_of[256]; /* bytes that no edge tells apart share a class */
	unsigned int classes;

	/* Edges of node i: edges[edge_at[i]] to edges[edge_at[i + 1] - 1]; likewise the closures, sorted. */
	struct rf_nfa_edge *edges;
	uint32_t *edge_at;
	uint32_t *closure;
	size_t closure_cap;
	uint32_t *closure_at;
	struct rf_nfa_reach *reach;
	uint8_t *traits; /* RF_NFA_ACCEPTS, RF_NFA_WHOLE: what is asked of every position, in one byte */
};

/* At most max_nodes positions (-E2BIG). On failure *reterr_pattern is the pattern that could not be added. */
int rf_nfa_build(enum rf_automaton_kind kind, const struct rf_pattern *patterns, size_t n, size_t max_nodes,
		 struct rf_nfa *ret, size_t *reterr_pattern);
void rf_nfa_done(struct rf_nfa *nfa);

/* Drops the positions of a set from which nothing can win any more; how many are left. */
size_t rf_nfa_prune(const struct rf_nfa *nfa, uint32_t *set, size_t n);
/* What a set of positions says of each access. */
void rf_nfa_verdicts(const struct rf_nfa *nfa, const uint32_t *set, size_t n, struct rf_verdicts *ret);

/* The second half of rf_nfa_build(), in closure.c: classes, edges and closures of the finished tree. */
struct rf_nfa_empty {
	uint32_t to;
	uint32_t next;
};
int rf_nfa_freeze(struct rf_nfa *nfa, const struct rf_nfa_empty *empties, size_t *reterr_pattern);

/* Kinds of rf_nfa_node.token, above 24 bits of value. */
enum rf_nfa_token {
	RF_NFA_ROOT = 0,
	RF_NFA_BYTE = 1,
	RF_NFA_SET = 2,
	RF_NFA_STAR = 3, /* reached by nothing, stays with every byte but '/' */
	RF_NFA_NAMES = 4, /* reached by nothing, or by any number of names through its child: */
	RF_NFA_IN_NAME = 5, /* reached by '/', stays with every byte but '/', falls back to its parent */
	RF_NFA_TAIL = 6, /* reached by nothing */
	RF_NFA_BENEATH = 7, /* child of the above, reached by '/', stays for ever */
	RF_NFA_BRACE = 8, /* reached from the ends of the alternatives */
};
#define RF_NFA_TOKEN(kind, value) ((uint32_t)(kind) << 24 | (value))
#define RF_NFA_KIND(token) ((enum rf_nfa_token)((token) >> 24))
#define RF_NFA_VALUE(token) ((token)&0xffffff)

#define RF_NFA_ACCEPTS 1
#define RF_NFA_WHOLE 2 /* accepts whatever follows */

/* Sets that exist in every automaton. */
#define RF_NFA_SET_NAME 0 /* all but '/' */
#define RF_NFA_SET_ALL 1
