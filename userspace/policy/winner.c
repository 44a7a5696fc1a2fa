/* SPDX-License-Identifier: Apache-2.0 */
/* Which pattern of a set of positions decides: the last that matches, access by access. */
#include "policy/nfa.h"

static void raise_to(uint32_t *place, uint32_t value)
{
	if (*place < value)
		*place = value;
}

/*
 * Beneath a directory that a pattern takes whole, no earlier pattern can win any more: drop the positions that only lead
 * to such. Without this, each of ten thousand such directories would go on spelling out every earlier suffix.
 */
size_t rf_nfa_prune(const struct rf_nfa *nfa, uint32_t *set, size_t n)
{
	uint32_t whole[RF_ACCESSES] = {}; /* last pattern + 1 that matches whatever follows */
	size_t out = 0;
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		if (!(nfa->traits[set[i]] & RF_NFA_WHOLE))
			continue;
		any = true;
		for (uint32_t e = nfa->nodes[set[i]].accept; e != RF_NFA_NONE; e = nfa->accepts[e].next) {
			uint32_t pattern = nfa->accepts[e].pattern;

			for (uint64_t bits = nfa->patterns[pattern].accesses; bits; bits &= bits - 1)
				raise_to(&whole[__builtin_ctzll(bits)], pattern + 1);
		}
	}
	for (size_t i = 0; any && i < n; i++) {
		const struct rf_nfa_reach *reach = &nfa->reach[set[i]];
		bool wins = false;

		for (uint32_t bits = reach->accesses; bits && !wins; bits &= bits - 1)
			wins = reach->last >= whole[__builtin_ctz(bits)];
		if (wins)
			set[out++] = set[i];
	}
	return any ? out : n;
}

void rf_nfa_verdicts(const struct rf_nfa *nfa, const uint32_t *set, size_t n, struct rf_verdicts *ret)
{
	uint32_t last[RF_ACCESSES] = {}; /* pattern + 1 */

	for (size_t i = 0; i < n; i++) {
		if (!(nfa->traits[set[i]] & RF_NFA_ACCEPTS))
			continue;
		for (uint32_t e = nfa->nodes[set[i]].accept; e != RF_NFA_NONE; e = nfa->accepts[e].next) {
			uint32_t pattern = nfa->accepts[e].pattern;

			for (uint64_t bits = nfa->patterns[pattern].accesses; bits; bits &= bits - 1)
				raise_to(&last[__builtin_ctzll(bits)], pattern + 1);
		}
	}
	*ret = (struct rf_verdicts){};
	for (unsigned int i = 0; i < RF_ACCESSES; i++) {
		ret->rule[i] = last[i] ? nfa->patterns[last[i] - 1].rule : RF_RULE_NONE;
		if (last[i] && nfa->patterns[last[i] - 1].allow)
			ret->allow |= 1ULL << i;
	}
}
