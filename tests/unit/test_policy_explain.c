// SPDX-License-Identifier: Apache-2.0
/* Variables, resolution, addresses and objects: what a policy says when it is asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy_help.h"

static void values_are_never_patterns(void **state)
{
	static const char *const odd[] = {"workspace=/w/a*b/{c,d}/[e]\\f?", "home=/home/$", "user=*", NULL};
	__cleanup(rf_policy_free) struct rf_policy *p = compile_args((struct rf_policy_args){
		.text = FILES(
			"{\"allow\": [\"read\"], \"paths\": [\"${workspace}/**\", \"/home/${user}/x\", \"${home}/y\","
			"\"/lit/$\\\\{home\\\\}\", \"/in/{a,${user}}/z\"]}"),
		.vars = odd});

	(void)state;
	says(p, "file.read", "/w/a*b/{c,d}/[e]\\f?", "allow x:files[0]");
	says(p, "file.read", "/w/a*b/{c,d}/[e]\\f?/x", "allow x:files[0]");
	says(p, "file.read", "/w/aXb/c/e\\fX", "deny none");
	says(p, "file.read", "/w/a*b/c/[e]\\f?", "deny none");
	says(p, "file.read", "/home/*/x", "allow x:files[0]");
	says(p, "file.read", "/home/u/x", "deny none");
	says(p, "file.read", "/home/$/y", "allow x:files[0]");
	says(p, "file.read", "/lit/${home}", "allow x:files[0]");
	says(p, "file.read", "/in/*/z", "allow x:files[0]");
	says(p, "file.read", "/in/b/z", "deny none");
}

static void bad_values_are_refused(void **state)
{
	static const struct {
		const char *var, *line;
	} cases[] = {
		{"home=", "x.json: the value of ${home}, \"\", is empty: leave it out or fill it in\n"},
		{"home=/", "x.json: the value of ${home}, \"/\", is \"/\": name a directory of its own\n"},
		{"home=//",
		 "x.json: the value of ${home}, \"//\", must be written without \"//\" and without '/' at its "
		 "end\n"},
		{"home=/.", "x.json: the value of ${home}, \"/.\", must not hold \".\" or \"..\"\n"},
		{"workspace=w", "x.json: the value of ${workspace}, \"w\", must be an absolute path\n"},
		{"workspace=/w/../etc",
		 "x.json: the value of ${workspace}, \"/w/../etc\", must not hold \".\" or \"..\"\n"},
		{"tmp=/t/",
		 "x.json: the value of ${tmp}, \"/t/\", must be written without \"//\" and without '/' at its "
		 "end\n"},
		{"tmp=/t\xff",
		 "x.json: the value of ${tmp}, \"/t\\xff\", is not UTF-8: a policy can't name such a path\n"},
		{"user=a/b", "x.json: the value of ${user}, \"a/b\", must be one name without '/'\n"},
		{"run=..", "x.json: the value of ${run}, \"..\", must be one name without '/'\n"},
		{"shell=/bin/sh",
		 "x.json: variable \"shell=/bin/sh\" is not known: known are ${workspace}, ${home}, ${tmp}, "
		 "${user}, ${run}\n"},
		{"home", "x.json: variable \"home\" is not known: known are ${workspace}, ${home}, ${tmp}, ${user}, "
			 "${run}\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *const one[] = {cases[i].var, NULL};

		refused((struct rf_policy_args){.text = HEAD "}", .vars = one}, cases[i].line);
	}
	{
		const char *const twice[] = {"user=a", "user=b", NULL}, *const fine[] = {"home=/h", "run=...", NULL};
		__cleanup(rf_policy_free) struct rf_policy *p =
			compile_args((struct rf_policy_args){.text = HEAD "}", .vars = fine});

		assert_non_null(p);
		refused((struct rf_policy_args){.text = HEAD "}", .vars = twice},
			"x.json: variable ${user} is given twice: keep one\n");
	}
}

static void both_spellings_of_a_symlink_work(void **state)
{
	static const char *const links[] = {
		"/bin", "/usr/bin", "/usr", "/usr", "/w",   "/data/w", "/w/cc",	  "/usr/bin/gcc", "/var/run", "/run",
		"/odd", "/a*b",	    "/",    "/",    "/var", "/var",    "/dev/fd", "/proc/7/fd",	  NULL,
	};
	struct host host = {.links = links};
	__cleanup(rf_policy_free) struct rf_policy *p = compile_args((struct rf_policy_args){
		.text = HEAD
		", \"files\": [{\"allow\": [\"*\"], \"paths\": [\"/bin/**\", \"/w/cc\", \"${workspace}/new/*.c\","
		"\"/odd/{x,y}\", \"/dev/fd/*\", \"/proc/[0-9]*/stat\", \"**/anywhere\"]}],"
		"\"network\": {\"unix\": [{\"allow\": [\"/var/run/x.sock\"]}]}}",
		.resolve = resolve,
		.ctx = &host});
	struct rf_explanation e;
	struct rf_diag diag;

	(void)state;
	says(p, "file.execute", "/bin/ls", "allow x:files[0]");
	says(p, "file.execute", "/usr/bin/ls", "allow x:files[0]");
	says(p, "file.execute", "/usr/lib/ls", "deny none");
	assert_int_equal(rf_policy_explain(p, "file.execute", "/bin/ls", &e, &diag), 0);
	assert_string_equal(e.object, "/usr/bin/ls");
	/* read follows the last link, delete acts on the link itself, wherever its directory is */
	says(p, "file.read", "/usr/bin/gcc", "allow x:files[0]");
	says(p, "file.delete", "/w/cc", "allow x:files[0]");
	assert_int_equal(rf_policy_explain(p, "file.delete", "/w/cc", &e, &diag), 0);
	assert_string_equal(e.object, "/data/w/cc");
	assert_int_equal(rf_policy_explain(p, "file.read", "/w/cc", &e, &diag), 0);
	assert_string_equal(e.object, "/usr/bin/gcc");
	/* what doesn't exist yet is found by its parent */
	says(p, "file.create", "/w/new/a.c", "allow x:files[0]");
	says(p, "file.create", "/data/w/new/a.c", "allow x:files[0]");
	says(p, "file.create", "/data/w/old/a.c", "deny none");
	/* what a link leads to is literal */
	says(p, "file.read", "/a*b/x", "allow x:files[0]");
	says(p, "file.read", "/aXb/x", "deny none");
	/* what it leads to in /proc belongs to whoever asked */
	says(p, "file.read", "/proc/7/fd/1", "deny none");
	says(p, "file.read", "/proc/7/stat", "allow x:files[0]");
	says(p, "file.read", "/deep/down/anywhere", "allow x:files[0]");
	says(p, "net.unix", "/run/x.sock", "allow x:network.unix[0]");
	says(p, "net.unix", "/run/y.sock", "deny none");
}

static void a_link_to_the_root_is_refused(void **state)
{
	static const char *const links[] = {"/all", "/", "/", "/", NULL};
	struct host host = {.links = links};
	__cleanup(rf_policy_free) struct rf_policy *p = compile_args((struct rf_policy_args){
		.text = FILES("{\"allow\": [\"read\"], \"paths\": [\"/\"]}"), .resolve = resolve, .ctx = &host});

	(void)state;
	says(p, "file.read", "/", "allow x:files[0]");
	says(p, "file.read", "/a", "deny none");
	refused((struct rf_policy_args){.text = FILES("{\"allow\": [\"read\"], \"paths\": [\"/all/**\"]}"),
					.resolve = resolve,
					.ctx = &host},
		"x.json:1:71: \"/all\" is a symlink to \"/\": the rule would mean the whole host\n");
}

static void addresses_and_ports(void **state)
{
	__cleanup(rf_policy_free) struct rf_policy *p = compile(
		HEAD
		", \"network\": {\"connect\": ["
		"{\"allow\": [\"10.0.0.0/8\", \"2001:db8::/32\"], \"ports\": [\"443\", \"8080-8090\"], \"protocol\": "
		"\"tcp\"},"
		"{\"deny\": [\"10.1.0.0/16\"]},"
		"{\"allow\": [\"::ffff:192.0.2.0/120\"], \"protocol\": \"udp\"},"
		"{\"allow\": [\"::1\"]}]}}");
	struct rf_explanation e;
	struct rf_diag diag;

	(void)state;
	says(p, "net.connect", "10.2.3.4:443", "allow x:network.connect[0]");
	says(p, "net.connect", "10.2.3.4:443/tcp", "allow x:network.connect[0]");
	says(p, "net.connect", "10.2.3.4:443/udp", "deny none");
	says(p, "net.connect", "10.2.3.4:8079", "deny none");
	says(p, "net.connect", "10.2.3.4:8080", "allow x:network.connect[0]");
	says(p, "net.connect", "10.2.3.4:8090", "allow x:network.connect[0]");
	says(p, "net.connect", "10.2.3.4:8091", "deny none");
	says(p, "net.connect", "11.2.3.4:443", "deny none");
	says(p, "net.connect", "10.1.3.4:443", "deny x:network.connect[1]");
	says(p, "net.connect", "[2001:db8:1::9]:443", "allow x:network.connect[0]");
	says(p, "net.connect", "[2001:db9::9]:443", "deny none");
	says(p, "net.connect", "192.0.2.7:53/udp", "allow x:network.connect[2]");
	says(p, "net.connect", "192.0.3.7:53/udp", "deny none");
	says(p, "net.connect", "192.0.2.7:53/tcp", "deny none");
	says(p, "net.connect", "[::]:1", "allow x:network.connect[3]");
	says(p, "net.connect", "[::ffff:10.2.3.4]:443", "allow x:network.connect[0]");
	assert_int_equal(rf_policy_explain(p, "net.connect", "[::ffff:10.2.3.4]:443", &e, &diag), 0);
	assert_string_equal(e.object, "10.2.3.4:443/tcp");
	assert_int_equal(rf_policy_explain(p, "net.connect", "[2001:DB8::0]:443/udp", &e, &diag), 0);
	assert_string_equal(e.object, "[2001:db8::]:443/udp");
}

static void specials(void **state)
{
	__cleanup(rf_policy_free) struct rf_policy *p =
		compile(HEAD ", \"exec\": [{\"allow\": [\"anonymous\"]}, {\"deny\": [\"anonymous\"], \"id\": \"no\"}],"
			     "\"files\": [{\"deny\": [\"*\"], \"unknown-filesystem\": true},"
			     "{\"allow\": [\"*\"], \"unknown-filesystem\": true, \"id\": \"tmpfs\"}]}");
	size_t n;
	const struct rf_image *header = (const struct rf_image *)rf_policy_image(p, &n);

	(void)state;
	says(p, "file.execute", "anonymous", "deny x:no");
	says(p, "file.write", "unknown-filesystem", "allow x:tmpfs");
	assert_int_equal(header->special_allow, 1U << RF_SPECIAL_UNKNOWN_FS);
	assert_int_equal(header->special_rule[RF_SPECIAL_ANONYMOUS_EXEC], 3);
	assert_int_equal(header->special_rule[RF_SPECIAL_UNKNOWN_FS], 1);
}

static void objects_are_checked(void **state)
{
	static const struct {
		const char *access, *object, *line;
	} cases[] = {
		{"file.raed", "/a", "access: unknown access \"file.raed\": did you mean \"file.read\"?\n"},
		{"everything", "/a", "access: unknown access \"everything\": write names like \"file.read\"\n"},
		{"file.renam", "/a", "access: unknown access \"file.renam\": did you mean \"file.rename\"?\n"},
		{"file.rename", "/a", "access: file.rename takes two names, the old and the new one\n"},
		{"file.read", "a", "object: \"a\" is no absolute path: write it from \"/\"\n"},
		{"file.read", "", "object: \"\" is no absolute path: write it from \"/\"\n"},
		{"file.read", "/a/../b", "object: \"/a/../b\": write the path without \"..\"\n"},
		{"net.unix", "@abstract", "object: \"@abstract\" is no absolute path: write it from \"/\"\n"},
#define FORM ": write ADDRESS:PORT or ADDRESS:PORT/udp, an IPv6 address in brackets\n"
		{"net.connect", "10.0.0.1", "object: \"10.0.0.1\"" FORM},
		{"net.connect", "10.0.0.1:", "object: \"10.0.0.1:\"" FORM},
		{"net.connect", "10.0.0.1:65536", "object: \"10.0.0.1:65536\"" FORM},
		{"net.connect", "10.0.0.1:80/sctp", "object: \"10.0.0.1:80/sctp\"" FORM},
		{"net.connect", "10.0.0.1:80x", "object: \"10.0.0.1:80x\"" FORM},
		{"net.connect", "::1:80", "object: \"::1:80\"" FORM},
		{"net.connect", "[::1]80", "object: \"[::1]80\"" FORM},
		{"net.connect", "[10.0.0.1]:80", "object: \"[10.0.0.1]:80\"" FORM},
		{"net.connect", "github.com:443", "object: \"github.com:443\"" FORM},
	};
	__cleanup(rf_policy_free) struct rf_policy *p =
		compile(FILES("{\"allow\": [\"read\"], \"paths\": [\"/a/b\"]}"));
	static char longest[RF_PATH_MAX + 2];
	struct rf_explanation e;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rf_diag diag = {};
		char line[512] = "";
		FILE *out = fmemopen(line, sizeof(line), "w");

		assert_int_equal(rf_policy_explain(p, cases[i].access, cases[i].object, &e, &diag), -EINVAL);
		rf_diag_print(&diag, out);
		fclose(out);
		assert_string_equal(line, cases[i].line);
	}
	says(p, "file.read", "//a/./b/", "allow x:files[0]");
	memset(longest, '/', RF_PATH_MAX + 1);
	{
		struct rf_diag diag = {};

		assert_int_equal(rf_policy_explain(p, "file.read", longest, &e, &diag), -EINVAL);
		assert_string_equal(diag.text, "the path is longer than 4096 bytes");
		longest[RF_PATH_MAX] = 0;
		says(p, "file.read", longest, "deny none");
	}
}

static void second_names(void **state)
{
	static const char *const links[] = {"/w/dir", "/w/real", NULL};
	struct host host = {.links = links};
	__cleanup(rf_policy_free) struct rf_policy *p = compile_args((struct rf_policy_args){
		.text = FILES("{\"id\": \"w\", \"allow\": [\"*\"], \"paths\": [\"${workspace}/**\"]},"
			      "{\"id\": \"hooks\", \"deny\": [\"execute\"], \"paths\": [\"**/.git/hooks/**\"]},"
			      "{\"id\": \"keep\", \"deny\": [\"delete\"], \"paths\": [\"/w/keep\"]},"
			      "{\"id\": \"shut\", \"deny\": [\"create\", \"read\"], \"paths\": [\"/w/shut/**\"]}"),
		.resolve = resolve,
		.ctx = &host});
	struct rf_second_explanation e;
	struct rf_diag diag = {};

	(void)state;
	says_second(p, "file.rename", "/w/a", "/w/b", "allow");
	says_second(p, "file.rename", "/w/a/", "/w/b", "allow");
	says_second(p, "file.rename", "/w/.git/", "/w/b", "widening file.execute /hooks x:hooks x:w");
	says_second(p, "file.rename", "/w/.git", "/w/b", "allow");
	says_second(p, "file.rename", "/w/b/", "/w/.git", "allow");
	says_second(p, "file.link", "/w/.git/hooks/x", "/w/x", "widening file.execute  x:hooks x:w");
	/* in the kernel's order: the new name, the old one, what would be gained */
	says_second(p, "file.rename", "/w/keep", "/w/shut/x", "deny file.create x:shut");
	says_second(p, "file.rename", "/w/keep", "/w/x", "deny file.delete x:keep");
	/* in the order of accesses; deleting is not asked for a link, and yet would be gained */
	says_second(p, "file.link", "/w/keep", "/w/x", "widening file.delete  x:keep x:w");
	says_second(p, "file.rename", "/w/shut/a", "/w/a", "widening file.read  x:shut x:w");
	says_second(p, "file.rename", "/w/a", "/e", "deny file.create :none");
	says_second(p, "file.rename", "/e/", "/w/a", "deny file.delete :none");
	says_second(p, "file.link", "/e", "/w/a", "widening file.read  :none x:w");
	/* links on the way are followed, the last name stays */
	assert_int_equal(rf_policy_explain_second(p, "file.rename", "/w/dir/x//", "/w/dir", &e, &diag), 0);
	assert_string_equal(e.object, "/w/real/x");
	assert_string_equal(e.to, "/w/dir");
	assert_true(e.allow && e.directory);

	assert_int_equal(rf_policy_explain_second(p, "file.read", "/w/a", "/w/b", &e, &diag), -EINVAL);
	assert_string_equal(diag.text, "\"file.read\" takes one object: only file.rename and file.link take two");
	assert_int_equal(rf_policy_explain_second(p, "file.link", "/w/a", "b", &e, &diag), -EINVAL);
	assert_string_equal(diag.text, "\"b\" is no absolute path: write it from \"/\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_never_patterns),
		cmocka_unit_test(bad_values_are_refused),
		cmocka_unit_test(both_spellings_of_a_symlink_work),
		cmocka_unit_test(a_link_to_the_root_is_refused),
		cmocka_unit_test(addresses_and_ports),
		cmocka_unit_test(specials),
		cmocka_unit_test(objects_are_checked),
		cmocka_unit_test(second_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
