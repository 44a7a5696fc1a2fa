/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of `ringfence policy test`: what a policy must answer, row by row.
 *
 *   {"variables": {"workspace": "/home/dev/project"},
 *    "rows": [{"access": "file.read", "object": "${workspace}/a.c", "expect": "allow", "rule": "files[2]"}]}
 */
#pragma once

#include "policy/policy.h"

struct rf_table_row {
	unsigned int line; /* of the row, in the table's file */
	const char *access, *object;
	const char *to; /* the new name of file.rename and file.link; NULL otherwise */
	bool expect_allow;
	const char *expect_rule; /* "id", "layer:id", "none" (no rule matched), "widening"; NULL: any */
	bool passed;
	bool allow; /* what the policy says */
	const char *rule; /* "layer:id" of the rule that decided, "none", or the reason of a refused second name */
};

struct rf_table; /* owns its rows and their strings */

/*
 * Compiles the policy with the table's variables instead of args->vars and without args->resolve, so that a table says
 * the same on every host, and asks every row. 0: the rows were asked, see passed; -EINVAL with *diag: the policy or
 * the table is malformed; -ENOMEM. Caller frees *ret with rf_policy_table_free().
 */
int rf_policy_table_run(const struct rf_policy_args *args, const char *name, const char *text, size_t len,
			struct rf_table **ret, struct rf_diag *diag);
size_t rf_policy_table_rows(const struct rf_table *table);
const struct rf_table_row *rf_policy_table_row(const struct rf_table *table, size_t i);
size_t rf_policy_table_failed(const struct rf_table *table);
void rf_policy_table_free(struct rf_table **table);
