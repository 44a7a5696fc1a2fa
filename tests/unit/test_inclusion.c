/* SPDX-License-Identifier: Apache-2.0 */
/* Second names that widen, and those that do not: what is said of them, and at which continuation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/cleanup.h"
#include "policy/automaton.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define ALL 0x7f
#define READ (1 << RF_FILE_READ)
#define WRITE (1 << RF_FILE_WRITE)
#define CREATE RF_ACCESS_BIT(RF_FILE_CREATE)
#define UNIX (1 << RF_NET_UNIX)

struct image {
	union rf_cell *cells;
	size_t n;
};

static struct image image_of(const struct rf_pattern *patterns, size_t n)
{
	__cleanup(rf_automaton_free) struct rf_automaton *path = NULL, *addr = NULL;
	struct rf_automaton *automata[RF_AUTOMATON_MAX];
	struct rf_image header = {};
	struct image image;
	size_t blamed;

	assert_int_equal(rf_automaton_build(RF_AUTOMATON_PATH, patterns, n, 100000, &path, &blamed), 0);
	assert_int_equal(rf_automaton_build(RF_AUTOMATON_ADDR, NULL, 0, 1, &addr, &blamed), 0);
	automata[RF_AUTOMATON_PATH] = path;
	automata[RF_AUTOMATON_ADDR] = addr;
	assert_int_equal(rf_image_layout(&header, automata, &image.cells, &image.n), 0);
	assert_int_equal(rf_image_check(image.cells, image.n), 0);
	return image;
}

static void ask(const struct image *image, const char *old, const char *new, bool directory, struct rf_second_name *ret)
{
	assert_int_equal(
		rf_image_second_name(image->cells, image->n, old, strlen(old), new, strlen(new), directory, ret), 0);
	assert_int_equal(ret->len, strlen(ret->below));
}

/* gained 0: allowed. below: of a directory; of a file it is always "". */
struct expected {
	const char *old, *new;
	bool directory;
	uint64_t gained;
	const char *below;
};

static void check(const struct rf_pattern *patterns, size_t n, const struct expected *expected, size_t n_expected)
{
	struct image image = image_of(patterns, n);

	for (size_t i = 0; i < n_expected; i++) {
		const struct expected *e = &expected[i];
		struct rf_second_name got;

		ask(&image, e->old, e->new, e->directory, &got);
		if (got.answer != (e->gained ? RF_INCLUSION_WIDENS : RF_INCLUSION_HOLDS) || got.gained != e->gained ||
		    strcmp(got.below, e->below))
			fail_msg("%s -> %s: answer %d, gains %#llx below \"%s\"", e->old, e->new, got.answer,
				 (unsigned long long)got.gained, got.below);
	}
	free(image.cells);
}

#define PATTERN(text, bits, yes, number)                                                                      \
	{                                                                                                     \
		.glob = (text), .len = sizeof(text) - 1, .accesses = (bits), .allow = (yes), .rule = (number) \
	}

static void hooks_stay_denied(void **state)
{
	static const struct rf_pattern patterns[] = {
		PATTERN("/w/**", ALL, true, 0),
		PATTERN("/t/**", ALL, true, 1),
		PATTERN("**/.git/hooks/**", WRITE, false, 2),
		PATTERN("/w/**/.env", READ, false, 3),
	};
	static const struct expected expected[] = {
		{"/w/.git", "/w/foo", true, WRITE, "/hooks"},
		{"/w/.git", "/w/foo", false, 0, ""},
		{"/w/foo", "/w/.git", true, 0, ""},
		{"/w/.git/hooks", "/w/foo", false, WRITE, ""},
		{"/w/.git/hooks", "/w/foo", true, WRITE, ""},
		{"/w/a", "/w/b/c", true, 0, ""},
		{"/w/a/.git", "/w/b/.git", true, 0, ""},
		{"/w/.git", "/w/.git/.git", true, 0, ""},
		/* other rules, the same said; but .env is denied in /w alone */
		{"/t/a", "/w/a", true, 0, ""},
		{"/w/a", "/t/a", true, READ, "/.env"},
		{"/w/a", "/t/a", false, 0, ""},
		{"/w/.git", "/t/.git", true, READ, "/.env"},
		/* nothing is allowed there, so nothing may be made there */
		{"/w/a", "/elsewhere", true, CREATE, "/a"},
		{"/w/a", "/elsewhere", false, 0, ""},
		{"/elsewhere", "/w/a", true, ALL, ""},
		{"/elsewhere", "/other", true, 0, ""},
		{"/", "/", true, 0, ""},
		{"/", "/w", true, ALL, ""},
	};

	(void)state;
	check(patterns, COUNT(patterns), expected, COUNT(expected));
}

/* What a directory holds comes along, so its names must be ones that may be made. */
static void names_come_along(void **state)
{
	static const struct rf_pattern patterns[] = {
		PATTERN("/w/**", ALL, true, 0),
		PATTERN("/w/.kiro/hooks/**", ALL & ~READ, false, 1),
		PATTERN("/w/kept/**", CREATE, false, 2),
	};
	static const struct expected expected[] = {
		{"/w/full", "/w/.kiro", true, CREATE, "/hooks"},
		{"/w/full", "/w/.kiro", false, 0, ""},
		{"/w/full", "/w/kiro", true, 0, ""},
		/* nothing may be made in kept either, whatever lies there */
		{"/w/kept/full", "/w/kept/.kiro", true, 0, ""},
		{"/w/kept", "/w/.kiro", true, CREATE, ""},
	};

	(void)state;
	check(patterns, COUNT(patterns), expected, COUNT(expected));
}

static void each_access_counts(void **state)
{
	static const struct rf_pattern patterns[] = {
		PATTERN("/a/**", ALL, true, 0),
		PATTERN("/b/**", ALL & ~UNIX, true, 1),
		PATTERN("/c/**", ALL & ~READ, true, 2),
		PATTERN("/d/**", 0x3f, true, 3),
	};
	static const struct expected expected[] = {
		{"/a/x", "/b/x", true, 0, ""},	   {"/b/x", "/a/x", true, UNIX, ""}, {"/c/x", "/b/x", true, READ, ""},
		{"/b/x", "/c/x", true, UNIX, ""},  {"/b/x", "/d/x", true, 0, ""},    {"/d/x", "/b/x", true, 0, ""},
		{"/d/x", "/a/x", false, UNIX, ""},
	};

	(void)state;
	check(patterns, COUNT(patterns), expected, COUNT(expected));
}

/* Equal for the directory and for a while below it; the last class, bytes that no pattern names, odd ones. */
static void deep_differences(void **state)
{
	static const struct rf_pattern patterns[] = {
		PATTERN("/a/**", READ, true, 0),
		PATTERN("/b/**", READ, true, 1),
		PATTERN("/b/one/two/three/*.c", WRITE, true, 2),
		PATTERN("/c", READ, true, 3),
		PATTERN("/c/[!\xff]/**", READ, true, 3),
		PATTERN("/c/??*/**", READ, true, 4),
		PATTERN("/d/**", READ, true, 5),
		PATTERN("/d/*/*", READ, false, 6),
		PATTERN("/d/*/[a-z]*", READ, true, 7),
		PATTERN("/d/*/\x01", READ, true, 7),
	};
	static const struct expected expected[] = {
		{"/a", "/b", true, WRITE, "/one/two/three/.c"},
		{"/b", "/a", true, 0, ""},
		{"/b/one", "/b", true, WRITE, "/one/two/three/.c"},
		{"/a", "/b/one/two/three", true, WRITE, "/.c"},
		{"/a", "/c", true, 0, ""},
		{"/c", "/a", true, READ, "/\xff"},
		{"/d", "/a", true, READ, "/A/A"},
		{"/a", "/d", true, 0, ""},
	};

	(void)state;
	check(patterns, COUNT(patterns), expected, COUNT(expected));
}

/* Of "a" all real names; what lies in "b" has "" and those below it besides, which are no names. */
static void names_are_never_empty(void **state)
{
	static const struct rf_pattern patterns[] = {
		PATTERN("/a", READ, true, 0), PATTERN("/a/?*/**", READ, true, 0),  PATTERN("/b/**", READ, true, 1),
		PATTERN("/c", READ, true, 2), PATTERN("/c/??*/**", READ, true, 2),
	};
	static const struct expected expected[] = {
		{"/a", "/b", true, 0, ""},
		{"/b", "/a", true, 0, ""},
		{"/c", "/b", true, READ, "/d"},
		{"/b", "/c", true, 0, ""},
	};

	(void)state;
	check(patterns, COUNT(patterns), expected, COUNT(expected));
}

/* Many names denied anywhere in one place: the other differs from it in as many ways. Returns the pairs compared. */
static uint32_t compare_names(size_t names, enum rf_inclusion_answer expected, enum rf_inclusion_answer back)
{
	__cleanup(freep) struct rf_pattern *patterns = calloc(names + 2, sizeof(*patterns));
	char(*text)[32] = calloc(names, sizeof(*text));
	struct rf_second_name got;
	struct image image;
	uint32_t pairs;

	assert_true(patterns && text);
	patterns[0] = (struct rf_pattern)PATTERN("/a/**", ALL, true, 0);
	patterns[1] = (struct rf_pattern)PATTERN("/b/**", ALL, true, 1);
	for (size_t i = 0; i < names; i++) {
		size_t len = (size_t)snprintf(text[i], sizeof(text[i]), "/b/**/%08x", (uint32_t)(i + 1) * 0x9e3779b1U);

		patterns[i + 2] =
			(struct rf_pattern){.glob = text[i], .len = len, .accesses = ALL & ~CREATE, .rule = 2};
	}
	image = image_of(patterns, names + 2);
	ask(&image, "/a/x", "/b/x", true, &got);
	assert_int_equal(got.answer, expected);
	assert_true(expected == RF_INCLUSION_HOLDS || got.pairs == RF_PAIRS_MAX);
	pairs = got.pairs;
	/* Equal states and files need no walk. */
	ask(&image, "/b/x", "/a/x", true, &got);
	assert_int_equal(got.answer, back);
	ask(&image, "/b/x", "/b/y", true, &got);
	assert_int_equal(got.answer, RF_INCLUSION_HOLDS);
	assert_int_equal(got.pairs, 0);
	ask(&image, "/a/x", "/b/x", false, &got);
	assert_int_equal(got.answer, RF_INCLUSION_HOLDS);
	free(text);
	free(image.cells);
	return pairs;
}

static void bound(void **state)
{
	uint32_t few, most;

	(void)state;
	few = compare_names(50, RF_INCLUSION_HOLDS, RF_INCLUSION_WIDENS);
	/* every name adds some pairs, none twice */
	assert_true(few > 250 && few < 400);
	most = compare_names(1050, RF_INCLUSION_HOLDS, RF_INCLUSION_WIDENS);
	assert_true(most > 3400 && most <= RF_PAIRS_MAX);
	/* refused either way: names so long are not reached before the bound */
	compare_names(1500, RF_INCLUSION_TOO_COMPLEX, RF_INCLUSION_TOO_COMPLEX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hooks_stay_denied),	 cmocka_unit_test(names_come_along),
		cmocka_unit_test(each_access_counts),	 cmocka_unit_test(deep_differences),
		cmocka_unit_test(names_are_never_empty), cmocka_unit_test(bound),
	};

	return cmocka_run_group_tests_name("inclusion", tests, NULL, NULL);
}
