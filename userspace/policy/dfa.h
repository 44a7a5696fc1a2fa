/* SPDX-License-Identifier: Apache-2.0 */
/* Private to policy/: a deterministic automaton with sparse rows, before and after minimisation. */
#pragma once

#include "policy/automaton.h"
#include "policy/grow.h"

struct rf_nfa;

#define RF_DFA_NONE UINT32_MAX

/* Equal records have one number. */
struct rf_records {
	struct rf_verdicts *v;
	size_t n, cap;
	struct rf_index index;
};
int rf_records_add(struct rf_records *r, const struct rf_verdicts *record, uint32_t *ret);
void rf_records_done(struct rf_records *r);

/*
 * Row of state s: by default to fallback[s], which at least one class takes; the classes class[i] to target[i] for i in
 * row[s]..row[s + 1] - 1, in ascending order, none of them equal to the default. State 0 is the start.
 */
struct rf_automaton {
	uint8_t class_of[256];
	unsigned int classes;

	size_t n;
	uint32_t *fallback;
	uint32_t *record; /* number in records */
	size_t fallback_cap, record_cap;
	uint32_t *row; /* n + 1 */
	size_t row_cap;

	uint8_t *class;
	uint32_t *target;
	size_t edges, class_cap, target_cap;

	struct rf_records records;

	/* Equal numbers: whatever follows, the same is allowed, if by other rules. For abi/inclusion.h. */
	uint32_t *alike;
};

/* No states yet; NULL: no memory. */
struct rf_automaton *rf_dfa_new(void);
/* Appends one transition to the row that is being written. */
int rf_dfa_edge(struct rf_automaton *a, uint8_t class, uint32_t target);
/* Room for state number n - 1. */
int rf_dfa_states(struct rf_automaton *a, size_t n);

/* Subset construction. -E2BIG: *reterr_pattern has most positions in the states. */
int rf_dfa_build(const struct rf_nfa *nfa, size_t max_states, struct rf_automaton **ret, size_t *reterr_pattern);

/* The smallest automaton that decides alike, states in the order in which a walk from the start meets them. */
int rf_dfa_minimize(const struct rf_automaton *a, struct rf_automaton **ret);
/* Coarsest partition of the states: block_of[state], *ret_blocks of them. */
int rf_dfa_partition(const struct rf_automaton *a, uint32_t *block_of, uint32_t *ret_blocks);

/* Merges classes that no state tells apart and gives each row the default that saves most transitions. In place. */
int rf_dfa_squeeze(struct rf_automaton *a);
