/* SPDX-License-Identifier: Apache-2.0 */
/* What rf_policy_compile() leaves. Private to policy.c, show.c and explain.c. */
#pragma once

#include "policy/ast.h"

struct rf_policy {
	struct rf_mem mem; /* everything below but cells */
	const char *name, *owner, *stage, *expires;
	bool observes;
	const char *own; /* layer of the policy itself */
	struct rf_rule *rules;
	enum rf_ast_section *sections;
	size_t n_rules;
	uint64_t record;
	char digest[65];
	union rf_cell *cells;
	size_t n_cells;
	bool aliased;
	const struct rf_aliases *aliases;
	int (*resolve)(void *ctx, const char *path, char **ret);
	void *ctx;
};
