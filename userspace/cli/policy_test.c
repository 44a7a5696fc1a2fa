// SPDX-License-Identifier: Apache-2.0
/* ringfence policy test: X.tests.json holds the questions, X.json beside it must give the answers. */
#define _GNU_SOURCE 1 /* asprintf */

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/texts.h"
#include "lib/cleanup.h"
#include "lib/fdio.h"
#include "lib/msg.h"
#include "policy/table.h"

#define SUFFIX ".tests.json"

static int report(const struct rf_table *table, const char *path)
{
	struct cli_colours c = cli_colours(stdout);
	size_t rows = rf_policy_table_rows(table), failed = rf_policy_table_failed(table);

	for (size_t i = 0; i < rows; i++) {
		const struct rf_table_row *row = rf_policy_table_row(table, i);

		if (row->passed)
			continue;
		printf("%s:%u: %s%s ", path, row->line, c.bad, row->access);
		cli_print(stdout, row->object, 0);
		if (row->to) {
			printf(" -> ");
			cli_print(stdout, row->to, 0);
		}
		printf("%s: expected %s%s%s, the policy says %s by %s\n", c.off, row->expect_allow ? "allow" : "deny",
		       row->expect_rule ? " by " : "", row->expect_rule ? row->expect_rule : "",
		       row->allow ? "allow" : "deny", row->rule);
	}
	printf("%s: %zu of %zu passed\n", path, rows - failed, rows);
	/* A table without rows proves nothing. */
	return failed || !rows ? CLI_FAILED : CLI_OK;
}

static int test_one(const char *path, struct rf_option_list dirs, const char *floor)
{
	__cleanup(rf_texts_done) struct rf_texts texts = {};
	__cleanup(freep) char *policy = NULL, *text = NULL;
	__cleanup(rf_policy_table_free) struct rf_table *table = NULL;
	size_t len, n = strlen(path), suffix = strlen(SUFFIX);
	struct rf_policy_args args;
	struct rf_diag diag = {};
	int err;

	if (n <= suffix || strcmp(path + n - suffix, SUFFIX))
		return rf_err(CLI_USAGE, "%s: a table of tests is called NAME" SUFFIX ", beside NAME.json", path);
	if (asprintf(&policy, "%.*s.json", (int)(n - suffix), path) < 0) {
		policy = NULL;
		return rf_err(CLI_FAILED, "out of memory");
	}
	err = rf_read_file(AT_FDCWD, path, RF_POLICY_BYTES_MAX, &text, &len);
	if (err)
		return rf_err(CLI_BAD_POLICY, "%s: %s", path, strerror(-err));
	err = cli_load_policy(&texts, &dirs, policy, floor);
	if (err)
		return err;
	rf_texts_args(&texts, &dirs, false, &args);
	err = rf_policy_table_run(&args, path, text, len, &table, &diag);
	if (err == -EINVAL) {
		rf_diag_print(&diag, stderr);
		return CLI_BAD_POLICY;
	}
	return err ? rf_err(CLI_FAILED, "%s: %s", path, strerror(-err)) : report(table, path);
}

/* No table named: those of all policy directories. */
static int test_all(const struct policy_options *options)
{
	int worst = 0, found = 0;

	for (size_t i = 0; i < options->dirs.n; i++) {
		__cleanup(freep) char *pattern = NULL;
		glob_t tables = {};

		if (asprintf(&pattern, "%s/*" SUFFIX, options->dirs.value[i]) < 0) {
			pattern = NULL;
			return rf_err(CLI_FAILED, "out of memory");
		}
		if (!glob(pattern, 0, NULL, &tables))
			for (size_t j = 0; j < tables.gl_pathc; j++, found++) {
				int status = test_one(tables.gl_pathv[j], options->dirs, options->floor);

				worst = status > worst ? status : worst;
			}
		globfree(&tables);
	}
	if (!found)
		return rf_err(CLI_FAILED, "no *" SUFFIX " in the policy directories; name one, or give --policies DIR");
	return worst;
}

int cli_policy_test(int argc, char **argv)
{
	static const struct rf_option_row rows[] = {
		POLICY_DIR_ROW(struct policy_options, dirs),
		{"floor", 0, RF_OPTION_STRING, offsetof(struct policy_options, floor), "FILE", "the host's floor"},
	};
	static const struct rf_command command = {
		.name = "ringfence policy test",
		.usage = "[OPTIONS] [TABLE.tests.json...]",
		.about = "Asks each table's policy (NAME.json beside NAME.tests.json) the table's questions. Exit "
			 "status 1:\n"
			 "an answer is not the expected one; 4: a policy or table is malformed.",
		.rows = rows,
		.n = sizeof(rows) / sizeof(rows[0]),
		.examples = "  ringfence policy test policies/coding-agent.tests.json\n",
	};
	struct policy_options options = {};
	int n, worst = 0, status = cli_parse(&command, argc, argv, &options, 0, -1, &n);

	if (status >= 0)
		return status;
	cli_policy_dirs(&options.dirs);
	if (!n)
		return test_all(&options);
	for (int i = 0; i < n; i++) {
		status = test_one(argv[i], options.dirs, options.floor);
		worst = status > worst ? status : worst;
	}
	return worst;
}
