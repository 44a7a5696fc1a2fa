/* SPDX-License-Identifier: Apache-2.0 */
/* lib/options.c: values land where the table says, wrong command lines are refused with the remedy, help shows all. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/cleanup.h"
#include "lib/options.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

struct values {
	bool flag;
	const char *text;
	uint64_t number;
	struct rf_option_list list;
};

static const struct rf_option_row rows[] = {
	{"json", 'j', RF_OPTION_FLAG, offsetof(struct values, flag), NULL, "as JSON"},
	{"policy", 'p', RF_OPTION_STRING, offsetof(struct values, text), "NAME", "which one"},
	{"log-max", 0, RF_OPTION_NUMBER, offsetof(struct values, number), "BYTES", "how large"},
	{"policies", 0, RF_OPTION_LIST, offsetof(struct values, list), "DIR", "where"},
};
static const struct rf_command mixed = {"prog verb", "[OPTIONS] FILE", "About.", rows, COUNT(rows),
					false,	     "  prog x\n"};
static const struct rf_command wrapper = {"prog run", "-- CMD", "About.", rows, COUNT(rows), true, NULL};

/* Splits line at spaces and parses it. */
static int parse(const struct rf_command *command, const char *line, struct values *v, char **args, int *n, char *why)
{
	static char copy[1024];
	int argc = 0;

	*v = (struct values){};
	snprintf(copy, sizeof(copy), "%s", line);
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		args[argc++] = word;
	*n = -1;
	return rf_options_parse(command, argc, args, v, n, why, 256);
}

static void kinds(void **state)
{
	struct values v;
	char *args[32], why[256];
	int n;

	(void)state;
	assert_int_equal(
		parse(&mixed, "a -j b --policy x --log-max=3 --policies d1 --policies=d2 c", &v, args, &n, why), 0);
	assert_int_equal(n, 3);
	assert_string_equal(args[0], "a");
	assert_string_equal(args[1], "b");
	assert_string_equal(args[2], "c");
	assert_true(v.flag);
	assert_string_equal(v.text, "x");
	assert_int_equal(v.number, 3);
	assert_int_equal(v.list.n, 2);
	assert_string_equal(v.list.value[0], "d1");
	assert_string_equal(v.list.value[1], "d2");
	assert_int_equal(parse(&mixed, "", &v, args, &n, why), 0);
	assert_int_equal(n, 0);
	assert_false(v.flag);
	assert_null(v.text);
	assert_int_equal(parse(&mixed, "-p --json", &v, args, &n, why), 0);
	assert_string_equal(v.text, "--json");
	assert_false(v.flag);
}

/* What a wrapped command gets is its own, whether "--" is written or not. */
static void commands(void **state)
{
	static const char *const lines[] = {"-j -- ls -p -j --", "-j ls -p -j --"};
	struct values v;
	char *args[32], why[256];
	int n;

	(void)state;
	for (size_t i = 0; i < COUNT(lines); i++) {
		assert_int_equal(parse(&wrapper, lines[i], &v, args, &n, why), 0);
		assert_int_equal(n, 4);
		assert_string_equal(args[0], "ls");
		assert_string_equal(args[1], "-p");
		assert_string_equal(args[3], "--");
		assert_true(v.flag);
		assert_null(v.text);
	}
	assert_int_equal(parse(&mixed, "a -- -j", &v, args, &n, why), 0);
	assert_int_equal(n, 2);
	assert_string_equal(args[1], "-j");
	assert_false(v.flag);
	assert_int_equal(parse(&mixed, "-", &v, args, &n, why), 0);
	assert_int_equal(n, 1);
}

static void numbers(void **state)
{
	static const struct {
		const char *text;
		uint64_t value;
	} good[] = {{"0", 0}, {"4K", 4096}, {"2M", 2 << 20}, {"3G", 3ULL << 30}, {"18446744073709551615", UINT64_MAX}};
	static const char *const bad[] = {
		"x", "-1", "+1", "1k", "1KK", "1 ", "0x10", "18446744073709551616", "18014398509481984K"};
	struct values v;
	char *args[32], why[256], line[128];
	int n;

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++) {
		snprintf(line, sizeof(line), "--log-max %s", good[i].text);
		assert_int_equal(parse(&mixed, line, &v, args, &n, why), 0);
		assert_true(v.number == good[i].value);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		char *argv[] = {"--log-max", (char *)(uintptr_t)bad[i]};

		assert_int_equal(rf_options_parse(&mixed, 2, argv, &v, &n, why, sizeof(why)), -EINVAL);
		assert_non_null(strstr(why, "is no number"));
	}
}

static void refuses(const char *line, const char *reason)
{
	struct values v;
	char *args[64], why[256] = "";
	int n;

	assert_int_equal(parse(&mixed, line, &v, args, &n, why), -EINVAL);
	if (!strstr(why, reason))
		print_error("%s: \"%s\" does not say \"%s\"\n", line, why, reason);
	assert_non_null(strstr(why, reason));
	assert_int_equal(n, -1);
}

static void wrong(void **state)
{
	char many[1024] = "";

	(void)state;
	refuses("--polcy x", "unknown option --polcy: did you mean --policy?; see `prog verb --help`");
	refuses("--xyzzy", "unknown option --xyzzy; see");
	refuses("--polic", "did you mean --policy?");
	refuses("-x", "unknown option -x");
	refuses("-jp", "unknown option -jp");
	refuses("--policy", "needs a value: --policy NAME");
	refuses("--policy=", "needs a value");
	refuses("--json=1", "takes no value");
	refuses("--=x", "unknown option --");
	for (int i = 0; i <= RF_OPTION_LIST_MAX; i++)
		strcat(many, "--policies d ");
	refuses(many, "more than 16 times");
}

static void help(void **state)
{
	__cleanup(freep) char *text = NULL;
	struct values v;
	char *args[32], why[256];
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int n;

	(void)state;
	assert_int_equal(parse(&mixed, "a --help --nonsense", &v, args, &n, why), 1);
	assert_int_equal(parse(&mixed, "-h", &v, args, &n, why), 1);
	/* Not behind "--", and not the wrapped command's. */
	assert_int_equal(parse(&wrapper, "ls --help", &v, args, &n, why), 0);
	rf_options_help(&mixed, out);
	fclose(out);
	assert_non_null(strstr(text, "usage: prog verb [OPTIONS] FILE\n"));
	assert_non_null(strstr(text, "  -j, --json "));
	assert_non_null(strstr(text, "      --log-max BYTES "));
	assert_non_null(strstr(text, "  -h, --help "));
	assert_non_null(strstr(text, "examples:\n  prog x\n"));
}

static void nearest(void **state)
{
	static const char *const words[] = {"run", "tag", "untag", "policy"};

	(void)state;
	assert_string_equal(rf_nearest("polcy", words, 4), "policy");
	assert_string_equal(rf_nearest("untga", words, 4), "untag");
	assert_string_equal(rf_nearest("rn", words, 4), "run");
	assert_null(rf_nearest("xyz", words, 4));
	assert_null(rf_nearest("", words, 4));
	assert_null(rf_nearest("an extremely long word that is nothing of ours", words, 4));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds), cmocka_unit_test(commands), cmocka_unit_test(numbers),
		cmocka_unit_test(wrong), cmocka_unit_test(help),     cmocka_unit_test(nearest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
