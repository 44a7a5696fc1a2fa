/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel would say: the same step function, over an image in memory. */
#include "abi/match.h"
#include "policy/automaton.h"

static struct rf_decision run(const union rf_cell *cells, size_t n, unsigned int access, const uint8_t *bytes,
			      size_t len)
{
	struct rf_decision decision = {.allow = false, .rule = RF_RULE_NONE};
	const struct rf_image *image = (const struct rf_image *)cells;
	const struct rf_automaton_header *a;
	const struct rf_verdicts *verdicts;
	uint32_t mask = 1, state;

	/* Covers every index of an image that rf_image_check() accepts, so it bends none of them. */
	while (mask < n - 1)
		mask = mask << 1 | 1;
	a = &image->automaton[access / RF_ACCESSES];
	state = a->start;
	for (size_t i = 0; i < len; i++)
		state = rf_step(cells, mask, 0, a->classes, state, bytes[i]);
	verdicts = rf_state_verdicts(cells, mask, 0, state);
	decision.rule = verdicts->rule[access % RF_ACCESSES];
	decision.allow = verdicts->allow >> (access % RF_ACCESSES) & 1;
	return decision;
}

struct rf_decision rf_image_path(const union rf_cell *cells, size_t n, unsigned int access, const char *path,
				 size_t len)
{
	if (access / RF_ACCESSES != RF_AUTOMATON_PATH)
		return (struct rf_decision){.allow = false, .rule = RF_RULE_NONE};
	/* The root is the empty string: the kernel adds '/' and a name for each level below it. */
	if (len == 1 && path[0] == '/')
		len = 0;
	return run(cells, n, access, (const uint8_t *)path, len);
}

struct rf_decision rf_image_addr(const union rf_cell *cells, size_t n, unsigned int access, const uint8_t *key,
				 size_t len)
{
	if (access / RF_ACCESSES != RF_AUTOMATON_ADDR)
		return (struct rf_decision){.allow = false, .rule = RF_RULE_NONE};
	return run(cells, n, access, key, len);
}
