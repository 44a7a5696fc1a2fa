/* SPDX-License-Identifier: Apache-2.0 */
/* Private to policy/: places rows of transitions into each other's gaps. */
#pragma once

#include "policy/dfa.h"

/* One comb serves both automata of an image: state numbers are unique in it, so no row takes another's cell. */
struct rf_comb {
	uint64_t *used; /* a bit for each cell */
	size_t n, used_cap; /* n: one more than the last cell in use */
	size_t end; /* every base + 255 lies before it */
};

/* base[s]: the cell of class 0 of state s, counted from the first cell of the comb. 0 or -ENOMEM. */
int rf_comb_add(struct rf_comb *comb, const struct rf_automaton *a, uint32_t *base);
void rf_comb_done(struct rf_comb *comb);
