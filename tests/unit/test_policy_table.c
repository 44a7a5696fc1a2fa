// SPDX-License-Identifier: Apache-2.0
/* The tables beside the policies that are shipped, and the tables themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy/table.h"
#include "policy_files.h"

#define ROWS_MIN 25

static int find(void *ctx, const char *name, char **ret_text, size_t *ret_len, char **ret_file)
{
	char path[300];
	int err;

	(void)ctx;
	snprintf(path, sizeof(path), "policies/%s.json", name);
	err = slurp(path, ret_text, ret_len);
	if (!err)
		*ret_file = strdup(path);
	return err;
}

static void check_policy(const char *name)
{
	__cleanup(freep) char *text = NULL, *table_text = NULL;
	__cleanup(rf_policy_table_free) struct rf_table *table = NULL;
	struct rf_policy_args args = {.find = find, .now = NOW};
	char file[100], table_file[100];
	struct rf_diag diag = {};
	size_t len, denials = 0;

	snprintf(file, sizeof(file), "policies/%s.json", name);
	snprintf(table_file, sizeof(table_file), "policies/%s.tests.json", name);
	assert_int_equal(slurp(file, &text, &args.len), 0);
	assert_int_equal(slurp(table_file, &table_text, &len), 0);
	args.name = file;
	args.text = text;
	if (rf_policy_table_run(&args, table_file, table_text, len, &table, &diag)) {
		rf_diag_print(&diag, stderr);
		fail();
	}
	assert_true(rf_policy_table_rows(table) >= ROWS_MIN);
	for (size_t i = 0; i < rf_policy_table_rows(table); i++) {
		const struct rf_table_row *row = rf_policy_table_row(table, i);

		denials += !row->expect_allow;
		if (!row->passed)
			print_error("%s:%u: %s %s: %s by %s\n", table_file, row->line, row->access, row->object,
				    row->allow ? "allow" : "deny", row->rule);
	}
	assert_int_equal(rf_policy_table_failed(table), 0);
	/* each denial has its permitted twin */
	assert_true(denials >= 10 && rf_policy_table_rows(table) - denials >= 10);
}

static void linux_base(void **state)
{
	(void)state;
	check_policy("linux-base");
}

static void coding_agent(void **state)
{
	(void)state;
	check_policy("coding-agent");
}

static void read_only_review(void **state)
{
	(void)state;
	check_policy("read-only-review");
}

static void ci_build(void **state)
{
	(void)state;
	check_policy("ci-build");
}

static void workspace(void **state)
{
	(void)state;
	check_policy("workspace");
}

static void protect_project(void **state)
{
	(void)state;
	check_policy("protect-project");
}

static void sealed_repositories(void **state)
{
	(void)state;
	check_policy("sealed-repositories");
}

static const char policy[] = "{\"ringfence\": 1, \"name\": \"x\", \"files\": ["
			     "{\"id\": \"w\", \"allow\": [\"read\"], \"paths\": [\"${workspace}/**\"]}]}";

static int run(const char *table_text, struct rf_table **ret, struct rf_diag *diag)
{
	static const char *const other[] = {"workspace=/elsewhere", NULL};
	const struct rf_policy_args args = {
		.name = "x.json", .text = policy, .len = strlen(policy), .vars = other, .now = NOW};

	return rf_policy_table_run(&args, "t.json", table_text, strlen(table_text), ret, diag);
}

/* A row that should fail does: otherwise every other test here would be worth nothing. */
static void rows_can_fail(void **state)
{
	static const char text[] =
		"{\"variables\": {\"workspace\": \"/w\"}, \"rows\": [\n"
		"{\"access\": \"file.read\", \"object\": \"${workspace}/a\", \"expect\": \"allow\", \"rule\": "
		"\"x:w\"},\n"
		"{\"access\": \"file.read\", \"object\": \"/w/a\", \"expect\": \"deny\"},\n"
		"{\"access\": \"file.write\", \"object\": \"/w/a\", \"expect\": \"allow\"},\n"
		"{\"access\": \"file.read\", \"object\": \"/w/a\", \"expect\": \"allow\", \"rule\": \"v\"},\n"
		"{\"access\": \"file.read\", \"object\": \"/w/a\", \"expect\": \"allow\", \"rule\": \"none\"},\n"
		"{\"access\": \"file.read\", \"object\": \"/elsewhere/a\", \"expect\": \"deny\", \"rule\": \"none\"}]}";
	static const bool passed[] = {true, false, false, false, false, true};
	__cleanup(rf_policy_table_free) struct rf_table *table = NULL;
	struct rf_diag diag = {};

	(void)state;
	assert_int_equal(run(text, &table, &diag), 0);
	assert_int_equal(rf_policy_table_rows(table), 6);
	assert_int_equal(rf_policy_table_failed(table), 4);
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(rf_policy_table_row(table, i)->passed, passed[i]);
		assert_int_equal(rf_policy_table_row(table, i)->line, i + 2);
	}
	assert_string_equal(rf_policy_table_row(table, 0)->object, "/w/a");
	assert_string_equal(rf_policy_table_row(table, 1)->rule, "x:w");
	assert_string_equal(rf_policy_table_row(table, 5)->rule, "none");
	assert_null(rf_policy_table_row(table, 6));
}

static void second_names(void **state)
{
	static const char text[] =
		"{\"variables\": {\"workspace\": \"/w\"}, \"rows\": [\n"
		"{\"access\": \"file.link\", \"object\": \"/x\", \"to\": \"${workspace}/a\", \"expect\": \"deny\", "
		"\"rule\": \"none\"},\n"
		"{\"access\": \"file.link\", \"object\": \"/w/.git/\", \"to\": \"/l/x\", \"expect\": \"deny\", "
		"\"rule\": \"widening\"},\n"
		"{\"access\": \"file.link\", \"object\": \"/w/.git\", \"to\": \"/l/x\", \"expect\": \"allow\", "
		"\"rule\": \"x:l\"},\n"
		"{\"access\": \"file.link\", \"object\": \"/w/.git\", \"to\": \"/l/x\", \"expect\": \"deny\"},\n"
		"{\"access\": \"file.link\", \"object\": \"/w/.git/\", \"to\": \"/l/x\", \"expect\": \"deny\", "
		"\"rule\": \"none\"}]}";
	static const char linking[] = "{\"ringfence\": 1, \"name\": \"x\", \"files\": ["
				      "{\"allow\": [\"create\", \"read\"], \"paths\": [\"/l/**\"], \"id\": \"l\"},"
				      "{\"allow\": [\"create\", \"read\"], \"paths\": [\"/w/.git/**\"]},"
				      "{\"deny\": [\"read\"], \"paths\": [\"/w/.git/hooks\"]}]}";
	static const bool passed[] = {true, true, true, false, false};
	const struct rf_policy_args args = {.name = "x.json", .text = linking, .len = strlen(linking), .now = NOW};
	__cleanup(rf_policy_table_free) struct rf_table *table = NULL;
	struct rf_diag diag = {};

	(void)state;
	assert_int_equal(rf_policy_table_run(&args, "t.json", text, strlen(text), &table, &diag), 0);
	assert_int_equal(rf_policy_table_rows(table), 5);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(rf_policy_table_row(table, i)->passed, passed[i]);
	assert_string_equal(rf_policy_table_row(table, 0)->to, "/w/a");
	assert_string_equal(rf_policy_table_row(table, 0)->rule, "none");
	assert_string_equal(rf_policy_table_row(table, 1)->rule, "widening");
	assert_string_equal(rf_policy_table_row(table, 4)->rule, "widening");
	assert_null(rf_policy_table_row(table, 5));
}

#define ROW "{\"access\": \"file.read\", \"object\": \"/a\", \"expect\": \"deny\"}"

static void malformed_tables(void **state)
{
	static const struct {
		const char *text, *line;
	} cases[] = {
		{"", "t.json:1:1: is empty: a policy is a JSON object, {\"ringfence\": 1, ...}\n"},
		{"[]", "t.json:1:1: a table must be an object with \"rows\", not a list\n"},
		{"{}", "t.json:1:1: \"rows\" is missing: a table without rows tests nothing\n"},
		{"{\"rows\": []}", "t.json:1:10: \"rows\" must be a list of rows, not an empty one\n"},
		{"{\"rows\": {}}", "t.json:1:10: \"rows\" must be a list of rows, not an object\n"},
		{"{\"row\": []}", "t.json:1:2: unknown key \"row\" in a table: did you mean \"rows\"?\n"},
		{"{\"rows\": [1]}", "t.json:1:11: a row must be an object, not a number\n"},
		{"{\"rows\": [{\"acess\": \"a\"}]}",
		 "t.json:1:12: unknown key \"acess\" in a row: did you mean \"access\"?\n"},
		{"{\"rows\": [{\"access\": \"file.read\"}]}",
		 "t.json:1:11: a row needs \"access\", \"object\" and \"expect\": add \"object\"\n"},
		{"{\"rows\": [{\"access\": \"file.read\", \"object\": \"/a\", \"expect\": \"ok\"}]}",
		 "t.json:1:61: \"expect\" is \"ok\": write \"allow\" or \"deny\"\n"},
		{"{\"rows\": [{\"access\": \"file.rename\", \"object\": \"/a\", \"expect\": \"deny\"}]}",
		 "t.json:1:11: file.rename needs \"to\", the new name\n"},
		{"{\"rows\": [{\"access\": \"file.read\", \"object\": \"/a\", \"to\": \"/b\", \"expect\": \"deny\"}]}",
		 "t.json:1:11: only file.rename and file.link take \"to\", not file.read\n"},
		{"{\"rows\": [{\"access\": 1}]}",
		 "t.json:1:22: \"access\" must be a string that is not empty, not a number\n"},
		{"{\"variables\": [], \"rows\": [" ROW "]}",
		 "t.json:1:15: \"variables\" must be an object, {\"workspace\": \"/w\"}, not a list\n"},
		{"{\"variables\": {\"home\": \"/\"}, \"rows\": [" ROW "]}",
		 "t.json:1:16: the value of ${home}, \"/\", is \"/\": name a directory of its own\n"},
		{"{\"variables\": {\"work\": \"/w\"}, \"rows\": [" ROW "]}",
		 "t.json:1:16: variable \"work=/w\" is not known: known are ${workspace}, ${home}, ${tmp}, ${user}, "
		 "${run}\n"},
		{"{\"rows\": [" ROW "]}", "x.json:1:82: variable ${workspace} has no value here: give it one\n"},
		{"{\"variables\": {\"workspace\": \"/w\"}, \"rows\": [{\"access\": \"file.raed\", \"object\": \"/a\", "
		 "\"expect\": \"deny\"}]}",
		 "t.json:1:79: unknown access \"file.raed\": did you mean \"file.read\"?\n"},
		{"{\"variables\": {\"workspace\": \"/w\"}, \"rows\": [{\"access\": \"file.read\", \"object\": \"a\", "
		 "\"expect\": \"deny\"}]}",
		 "t.json:1:79: \"a\" is no absolute path: write it from \"/\"\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		__cleanup(rf_policy_table_free) struct rf_table *table = NULL;
		struct rf_diag diag = {};
		char line[1024] = "";
		FILE *out = fmemopen(line, sizeof(line), "w");

		assert_non_null(out);
		assert_int_equal(run(cases[i].text, &table, &diag), -EINVAL);
		rf_diag_print(&diag, out);
		fclose(out);
		assert_string_equal(line, cases[i].line);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(linux_base),	       cmocka_unit_test(coding_agent),
		cmocka_unit_test(read_only_review),    cmocka_unit_test(ci_build),
		cmocka_unit_test(workspace),	       cmocka_unit_test(protect_project),
		cmocka_unit_test(sealed_repositories), cmocka_unit_test(rows_can_fail),
		cmocka_unit_test(second_names),	       cmocka_unit_test(malformed_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
