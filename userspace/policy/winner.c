/* SPDX-License-Identifier: Apache-2.0 */
/* Which pattern of a set of positions decides: for each name of the file the last that matches, access by access. */
#include "policy/nfa.h"

static void raise_to(uint32_t *place, uint32_t value)
{
	if (*place < value)
		*place = value;
}

/*
 * whole[]: the last pattern + 1 of one name that matches whatever follows, access by access; whether there is one.
 * *ret_next: the least other name behind it.
 */
static bool whole_of(const struct rf_nfa *nfa, const uint32_t *set, size_t n, uint32_t name, uint32_t *whole,
		     uint32_t *ret_next)
{
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		if (!(nfa->traits[set[i]] & RF_NFA_WHOLE))
			continue;
		for (uint32_t e = nfa->nodes[set[i]].accept; e != RF_NFA_NONE; e = nfa->accepts[e].next) {
			uint32_t pattern = nfa->accepts[e].pattern, its = nfa->patterns[pattern].name;

			if (its > name && its < *ret_next)
				*ret_next = its;
			if (its != name)
				continue;
			any = true;
			for (uint64_t bits = nfa->patterns[pattern].accesses; bits; bits &= bits - 1)
				raise_to(&whole[__builtin_ctzll(bits)], pattern + 1);
		}
	}
	return any;
}

/* Can a position still lead to a pattern that wins, when these match whatever follows? */
static bool can_win(const struct rf_nfa_reach *reach, const uint32_t *whole)
{
	for (uint32_t bits = reach->accesses; bits; bits &= bits - 1)
		if (reach->last >= whole[__builtin_ctz(bits)])
			return true;
	return false;
}

/*
 * Beneath a directory that a pattern takes whole, no earlier pattern of the same name can win any more: drop the positions
 * that only lead to such. Without this, each of ten thousand such directories would go on spelling out every earlier
 * suffix.
 */
size_t rf_nfa_prune(const struct rf_nfa *nfa, uint32_t *set, size_t n)
{
	for (uint32_t name = 0, next; name != UINT32_MAX; name = next) {
		uint32_t whole[RF_ACCESSES] = {};
		size_t out = 0;

		next = UINT32_MAX;
		if (!whole_of(nfa, set, n, name, whole, &next))
			continue;
		for (size_t i = 0; i < n; i++)
			if (nfa->reach[set[i]].name != name || can_win(&nfa->reach[set[i]], whole))
				set[out++] = set[i];
		n = out;
	}
	return n;
}

/* last[]: the last pattern + 1 of one name, access by access. *ret_next: the least other name behind it. */
static void last_of(const struct rf_nfa *nfa, const uint32_t *set, size_t n, uint32_t name, uint32_t *last,
		    uint32_t *ret_next)
{
	for (size_t i = 0; i < n; i++) {
		if (!(nfa->traits[set[i]] & RF_NFA_ACCEPTS))
			continue;
		for (uint32_t e = nfa->nodes[set[i]].accept; e != RF_NFA_NONE; e = nfa->accepts[e].next) {
			uint32_t pattern = nfa->accepts[e].pattern;

			if (nfa->patterns[pattern].name > name && nfa->patterns[pattern].name < *ret_next)
				*ret_next = nfa->patterns[pattern].name;
			if (nfa->patterns[pattern].name != name)
				continue;
			for (uint64_t bits = nfa->patterns[pattern].accesses; bits; bits &= bits - 1)
				raise_to(&last[__builtin_ctzll(bits)], pattern + 1);
		}
	}
}

void rf_nfa_verdicts(const struct rf_nfa *nfa, const uint32_t *set, size_t n, struct rf_verdicts *ret)
{
	uint32_t name = 0, next;

	*ret = (struct rf_verdicts){};
	for (unsigned int i = 0; i < RF_ACCESSES; i++)
		ret->rule[i] = RF_RULE_NONE;
	for (;; name = next) {
		uint32_t last[RF_ACCESSES] = {};

		next = UINT32_MAX;
		last_of(nfa, set, n, name, last, &next);
		for (unsigned int i = 0; i < RF_ACCESSES; i++) {
			const struct rf_pattern *pattern = last[i] ? &nfa->patterns[last[i] - 1] : NULL;
			bool decided = ret->rule[i] != RF_RULE_NONE, allowed = ret->allow >> i & 1;

			/* The first name that is denied, or else the first that is allowed. */
			if (!pattern || pattern->hole || (decided && (!allowed || pattern->allow)))
				continue;
			ret->rule[i] = pattern->rule;
			ret->allow = pattern->allow ? ret->allow | 1ULL << i : ret->allow & ~(1ULL << i);
		}
		if (next == UINT32_MAX)
			return;
	}
}
