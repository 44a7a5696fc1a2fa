// SPDX-License-Identifier: Apache-2.0
/* Mount tables, the directories they show at several places, and what a policy says of those. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/cleanup.h"
#include "lib/mounts.h"
#include "policy_help.h"

static struct rf_mounts table(const char *text)
{
	__cleanup(freep) char *copy = strdup(text);
	struct rf_mounts mounts = {};

	assert_int_equal(rf_mounts_parse(copy, &mounts), 0);
	return mounts;
}

static struct rf_aliases aliases_of(const char *text)
{
	__cleanup(rf_mounts_done) struct rf_mounts mounts = table(text);
	struct rf_aliases aliases = {};

	assert_int_equal(rf_mounts_aliases(&mounts, 64, &aliases), 0);
	return aliases;
}

static void expect(const char *text, const char *const *wanted)
{
	__cleanup(rf_aliases_done) struct rf_aliases aliases = aliases_of(text);
	size_t n = 0;

	for (; wanted[2 * n]; n++) {
		assert_true(n < aliases.n);
		assert_string_equal(aliases.v[n].from, wanted[2 * n]);
		assert_string_equal(aliases.v[n].to, wanted[2 * n + 1]);
	}
	assert_int_equal(aliases.n, n);
}

static void parses(void **state)
{
	__cleanup(rf_mounts_done) struct rf_mounts mounts =
		table("21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
		      "22 21 0:40 /a\\040b /mnt/x\\134y\\012z rw - tmpfs tmpfs rw\n");
	char broken[] = "21 1 8:1 /\n", *const bad[] = {broken};
	struct rf_mounts none = {};

	(void)state;
	assert_int_equal(mounts.n, 2);
	assert_int_equal(mounts.v[0].id, 21);
	assert_int_equal(mounts.v[0].major, 8);
	assert_int_equal(mounts.v[0].minor, 1);
	assert_string_equal(mounts.v[0].point, "/");
	assert_string_equal(mounts.v[1].root, "/a b");
	assert_string_equal(mounts.v[1].point, "/mnt/x\\y\nz");
	assert_ptr_equal(rf_mounts_find(&mounts, 22), &mounts.v[1]);
	assert_null(rf_mounts_find(&mounts, 23));
	assert_int_equal(rf_mounts_parse(bad[0], &none), -EBADMSG);
}

#define LINE(id, dev, root, point) #id " 1 " dev " " root " " point " rw - ext4 x rw\n"

static void finds_aliases(void **state)
{
	(void)state;
	/* a bind mount of a directory and of a file */
	expect(LINE(1, "8:1", "/", "/") LINE(2, "8:1", "/srv/secret", "/mnt/x") LINE(3, "8:1", "/etc/f", "/g"),
	       (const char *const[]){"/etc/f", "/g", "/srv/secret", "/mnt/x", NULL});
	/* one directory at two places: the shorter one names it */
	expect(LINE(1, "8:1", "/", "/") LINE(2, "8:2", "/", "/data/long") LINE(3, "8:2", "/", "/d"),
	       (const char *const[]){"/data/long", "/d", NULL});
	/* the root itself is a subvolume of what is mounted elsewhere */
	expect(LINE(1, "0:30", "/@", "/") LINE(2, "0:30", "/", "/top"), (const char *const[]){"/top/@", "", NULL});
	/* bound onto itself; and another filesystem lies over the place */
	expect(LINE(1, "8:1", "/", "/") LINE(2, "8:1", "/box", "/box"), (const char *const[]){NULL});
	expect(LINE(1, "8:1", "/", "/") LINE(2, "8:3", "/", "/srv") LINE(3, "8:1", "/srv/a", "/b"),
	       (const char *const[]){NULL});
	/* equal beginnings are no directories */
	expect(LINE(1, "8:1", "/ab", "/ab") LINE(2, "8:1", "/abc", "/x"), (const char *const[]){NULL});
}

static void strangers_hide_nothing(void **state)
{
	__cleanup(rf_mounts_done) struct rf_mounts mounts = table(LINE(1, "8:1", "/", "/") LINE(
		2, "8:1", "/srv/a", "/b") LINE(3, "8:3", "/", "/srv") LINE(4, "8:1", "/home", "/b/own"));
	__cleanup(rf_aliases_done) struct rf_aliases aliases = {};

	(void)state;
	mounts.v[2].strange = mounts.v[3].strange = true;
	assert_int_equal(rf_mounts_aliases(&mounts, 64, &aliases), 0);
	assert_int_equal(aliases.n, 1);
	assert_string_equal(aliases.v[0].from, "/srv/a");
	rf_aliases_done(&aliases);
	assert_int_equal(rf_mounts_aliases(&mounts, 0, &aliases), -E2BIG);
}

struct answer {
	const char *path;
	bool allow;
	const char *id; /* NULL: no rule */
};

static void ask(const char *text, const char *mounts, const struct answer *answers)
{
	__cleanup(rf_aliases_done) struct rf_aliases aliases = aliases_of(mounts);
	__cleanup(rf_policy_free) struct rf_policy *p =
		compile_args((struct rf_policy_args){.text = text, .aliases = &aliases});
	__cleanup(rf_policy_free) struct rf_policy *plain = compile(text);

	for (; answers->path; answers++) {
		struct rf_explanation e;
		struct rf_diag diag = {};

		print_message("%s\n", answers->path);
		assert_int_equal(rf_policy_explain(p, "file.read", answers->path, &e, &diag), 0);
		assert_int_equal(e.decision.allow, answers->allow);
		if (answers->id)
			assert_string_equal(e.rule->id, answers->id);
		else
			assert_null(e.rule);
	}
	/* Mounts come and go, the policy is the same. */
	assert_string_equal(rf_policy_digest(p), rf_policy_digest(plain));
	assert_true(rf_policy_aliased(p));
	assert_false(rf_policy_aliased(plain));
}

static void one_name_denied(void **state)
{
	(void)state;
	ask(FILES("{\"id\": \"secret\", \"deny\": [\"*\"], \"paths\": [\"/srv/s*/**\"]},"
		  "{\"id\": \"open\", \"allow\": [\"*\"], \"paths\": [\"/mnt/**\", \"/home/u/src/**\"]},"
		  "{\"id\": \"env\", \"deny\": [\"*\"], \"paths\": [\"**/{.env,.key[0-9]}\"]}"),
	    LINE(1, "8:1", "/", "/") LINE(2, "8:1", "/srv/secret", "/mnt/x") LINE(3, "8:1", "/home/u/src", "/ws")
		    LINE(4, "8:2", "/", "/ws/disk"),
	    (const struct answer[]){
		    {"/mnt/x/k", false, "secret"},
		    {"/mnt/x", false, "secret"},
		    {"/srv/secret/k", false, "secret"},
		    {"/mnt/y/k", true, "open"},
		    {"/ws/f", true, "open"},
		    {"/home/u/src/a/f", true, "open"},
		    {"/ws/.env", false, "env"},
		    {"/ws/.key7", false, "env"},
		    {"/ws/.keyx", true, "open"},
		    /* on a mount of its own: nothing that /home/u/src shows */
		    {"/ws/disk/f", false, NULL},
		    {"/home/u/f", false, NULL},
		    {},
	    });
}

static void each_name_for_itself(void **state)
{
	(void)state;
	/* What the last rule about one name says is not undone by an earlier one about it. */
	ask(FILES("{\"id\": \"all\", \"deny\": [\"*\"], \"paths\": [\"/srv/**\"]},"
		  "{\"id\": \"but\", \"allow\": [\"*\"], \"paths\": [\"/srv/pub/**/doc/{a,b?}\", \"/x/**\"]}"),
	    LINE(1, "8:1", "/", "/") LINE(2, "8:1", "/srv/pub/v1", "/x"),
	    (const struct answer[]){
		    {"/x/doc/a", true, "but"},
		    {"/x/deep/er/doc/bc", true, "but"},
		    {"/x/doc/c", false, "all"},
		    {"/srv/pub/v1/doc/a", true, "but"},
		    {"/srv/pub/v2/doc/a", true, "but"},
		    {"/srv/pub/v1/doc/c", false, "all"},
		    {},
	    });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parses),
		cmocka_unit_test(finds_aliases),
		cmocka_unit_test(strangers_hide_nothing),
		cmocka_unit_test(one_name_denied),
		cmocka_unit_test(each_name_for_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
