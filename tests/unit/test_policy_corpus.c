// SPDX-License-Identifier: Apache-2.0
/*
 * Malformed policies, each with the exact line it must be refused with: tests/corpus/policies/expected holds one
 * "file: line:column: text" for each. A file of the corpus without a line there fails, and the other way round.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "policy/policy.h"
#include "policy_files.h"

/* Of CPU time. The sanitizers under which the tests run make the compiler some four times slower. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define SECONDS_MAX (2.0 * 5)
#else
#define SECONDS_MAX 2.0
#endif

static const char good[] = "{\"ringfence\": 1, \"name\": \"good\"}";

/* name: of a file in tests/corpus/policies */
static int corpus(const char *name, char **ret_text, size_t *ret_len)
{
	char path[512];

	snprintf(path, sizeof(path), "tests/corpus/policies/%s", name);
	return slurp(path, ret_text, ret_len);
}

static int find(void *ctx, const char *name, char **ret_text, size_t *ret_len, char **ret_file)
{
	char base[300];
	int err;

	(void)ctx;
	if (!strcmp(name, "unreadable"))
		return -EACCES;
	snprintf(base, sizeof(base), "extends/%s.json", name);
	err = corpus(base, ret_text, ret_len);
	if (err)
		return err;
	*ret_file = strdup(base);
	return *ret_file ? 0 : -ENOMEM;
}

/* Of this process: what else the machine does must not fail a test. */
static double seconds(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}

/* Compiles what must not compile; line: "file:line:column: text". */
static int refuse(const char *name, const char *text, size_t len, char *line, size_t size)
{
	static const char *const vars[] = {"workspace=/w", "home=/home/u", "tmp=/t", "user=u", NULL};
	struct rf_policy_args args = {.name = name, .text = text, .len = len, .find = find, .vars = vars, .now = NOW};
	__cleanup(rf_policy_free) struct rf_policy *p = NULL;
	struct rf_diag diag = {};
	double start = seconds();
	__cleanup(fclosep) FILE *out = NULL;
	int err;

	if (strstr(name, ".floor.")) {
		args.name = "good.json";
		args.text = good;
		args.len = strlen(good);
		args.floor_name = name;
		args.floor_text = text;
		args.floor_len = len;
	}
	err = rf_policy_compile(&args, &p, &diag);
	if (seconds() - start > SECONDS_MAX)
		fail_msg("%s took %.1f s", name, seconds() - start);
	memset(line, 0, size);
	out = fmemopen(line, size, "w");
	assert_non_null(out);
	if (err == -EINVAL)
		rf_diag_print(&diag, out);
	else
		fprintf(out, "%s: compiled to %d\n", name, err);
	return err;
}

static bool check_line(const char *name, const char *expected)
{
	__cleanup(freep) char *text = NULL;
	char line[1024];
	size_t len;

	if (corpus(name, &text, &len)) {
		print_error("%s is in expected, but not in the corpus\n", name);
		return false;
	}
	refuse(name, text, len, line, sizeof(line));
	if (!strcmp(line, expected))
		return true;
	print_error("expected %s     got %s", expected, line);
	return false;
}

static void every_policy_is_refused_with_its_line(void **state)
{
	char path[4096], line[1024];
	FILE *expected;
	size_t n = 0, wrong = 0;

	(void)state;
	source_path(path, sizeof(path), "tests/corpus/policies/expected");
	expected = fopen(path, "re");
	assert_non_null(expected);
	while (fgets(line, sizeof(line), expected)) {
		char name[256];

		assert_true(strcspn(line, ":") < sizeof(name));
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(line, ":"), line);
		/* an error of a file that is extended names that file, behind "case > " */
		if (strstr(line, " > ")) {
			snprintf(name, sizeof(name), "%.*s", (int)(strstr(line, " > ") - line), line);
			memmove(line, strstr(line, " > ") + 3, strlen(strstr(line, " > ") + 3) + 1);
		}
		n++;
		wrong += !check_line(name, line);
	}
	fclose(expected);
	assert_int_equal(wrong, 0);
	assert_true(n >= 60);
}

static void every_policy_has_a_line(void **state)
{
	__cleanup(freep) char *expected = NULL;
	char path[4096];
	size_t len, missing = 0;
	struct dirent *entry;
	DIR *dir;

	(void)state;
	assert_int_equal(corpus("expected", &expected, &len), 0);
	source_path(path, sizeof(path), "tests/corpus/policies");
	dir = opendir(path);
	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		const char *found = expected;
		size_t n = strlen(entry->d_name);

		if (n < 5 || strcmp(entry->d_name + n - 5, ".json"))
			continue;
		while ((found = strstr(found, entry->d_name)) && found != expected && found[-1] != '\n')
			found++;
		if (!found) {
			print_error("%s has no line in expected\n", entry->d_name);
			missing++;
		}
	}
	closedir(dir);
	assert_int_equal(missing, 0);
}

/* What would be too large to keep. */
static void bounds_are_refused(void **state)
{
	static const char head[] = "{\"ringfence\": 1, \"name\": \"x\", \"exec\": [";
	static const char rule[] = "{\"deny\": [\"anonymous\"]}";
	__cleanup(freep) char *large = malloc(10 << 20), *rules = NULL;
	char line[1024];
	size_t size;
	FILE *out;

	(void)state;
	assert_non_null(large);
	memset(large, ' ', 10 << 20);
	memcpy(large, good, strlen(good)); /* NOLINT(bugprone-not-null-terminated-result): spaces follow */
	assert_int_equal(refuse("large.json", large, 10 << 20, line, sizeof(line)), -EINVAL);
	assert_string_equal(line, "large.json: is larger than 1048576 bytes: split it into layers\n");
	refuse("large.json", large, (1 << 20) + 1, line, sizeof(line));
	assert_string_equal(line, "large.json: is larger than 1048576 bytes: split it into layers\n");
	assert_int_equal(refuse("large.json", large, 1 << 20, line, sizeof(line)), 0);

	for (int n = 32769; n >= 32768; n--) {
		out = open_memstream(&rules, &size);
		assert_non_null(out);
		fputs(head, out);
		for (int i = 0; i < n; i++)
			fprintf(out, "%s%s", i ? ",\n" : "\n", rule);
		fputs("]}", out);
		fclose(out);
		if (n > 32768) {
			assert_int_equal(refuse("rules.json", rules, size, line, sizeof(line)), -EINVAL);
			assert_string_equal(line, "rules.json:32770:1: more than 32768 rules, all layers together: "
						  "join rules of one kind\n");
		} else {
			assert_int_equal(refuse("rules.json", rules, size, line, sizeof(line)), 0);
		}
		free(TAKE_PTR(rules));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_policy_is_refused_with_its_line),
		cmocka_unit_test(every_policy_has_a_line),
		cmocka_unit_test(bounds_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
