/* SPDX-License-Identifier: Apache-2.0 */
/* control/request.c: each refused request has an accepted twin, and accepted ones carry the right values. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "control/request.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void accepts(const char *text)
{
	struct rf_request r;
	char why[256] = "";
	int err = rf_request_parse(text, strlen(text), &r, why, sizeof(why));

	if (err)
		print_error("%s: %s\n", text, why);
	assert_int_equal(err, 0);
	rf_request_done(&r);
}

/* The reason must name what is wrong: a refusal for another reason would hide that the check is gone. */
static void refuses(const char *text, const char *reason)
{
	struct rf_request r;
	char why[256] = "";

	assert_int_equal(rf_request_parse(text, strlen(text), &r, why, sizeof(why)), -EINVAL);
	if (!strstr(why, reason))
		print_error("%s: \"%s\" does not say \"%s\"\n", text, why, reason);
	assert_non_null(strstr(why, reason));
	assert_null(strchr(why, '\n'));
}

static void values(void **state)
{
	static const char text[] =
		"{\"op\":\"run.start\",\"policy\":\"x\",\"text\":\"{}\",\"layers\":{\"base\":\"{\\n}\"},"
		"\"workspace\":\"/w\",\"home\":\"/h\",\"tmp\":\"/t\",\"user\":\"u\",\"person\":\"p\","
		"\"sudo_user\":\"s\",\"agent\":\"a\",\"task\":\"T-1 \\u00e9\"}";
	struct rf_request r;
	char why[256];

	(void)state;
	assert_int_equal(rf_request_parse(text, strlen(text), &r, why, sizeof(why)), 0);
	assert_int_equal(r.op, RF_OP_RUN_START);
	assert_string_equal(r.policy, "x");
	assert_string_equal(r.text, "{}");
	assert_int_equal(r.layer_count, 1);
	assert_string_equal(r.layers[0].name, "base");
	assert_string_equal(r.layers[0].text, "{\n}");
	assert_int_equal(r.layers[0].len, 3);
	assert_string_equal(r.workspace, "/w");
	assert_string_equal(r.home, "/h");
	assert_string_equal(r.tmp, "/t");
	assert_string_equal(r.user, "u");
	assert_string_equal(r.person, "p");
	assert_string_equal(r.sudo_user, "s");
	assert_string_equal(r.agent, "a");
	assert_string_equal(r.task, "T-1 \xc3\xa9");
	assert_null(r.run);
	assert_null(r.cgroup);
	assert_int_equal(r.pid, 0);
	assert_int_equal(r.status, -1);
	rf_request_done(&r);
}

static void numbers(void **state)
{
	struct rf_request r;
	char why[256];
	static const char end[] = "{\"op\":\"run.end\",\"run\":\"r-1\",\"status\":255}";
	static const char tag[] = "{\"op\":\"tag\",\"policy\":\"x\",\"pid\":2147483647}";

	(void)state;
	assert_int_equal(rf_request_parse(end, strlen(end), &r, why, sizeof(why)), 0);
	assert_int_equal(r.status, 255);
	assert_string_equal(r.run, "r-1");
	rf_request_done(&r);
	assert_int_equal(rf_request_parse(tag, strlen(tag), &r, why, sizeof(why)), 0);
	assert_int_equal(r.pid, 2147483647);
	rf_request_done(&r);
	accepts("{\"op\":\"run.end\",\"run\":\"r\",\"status\":0}");
	refuses("{\"op\":\"run.end\",\"run\":\"r\",\"status\":256}", "from 0 to 255");
	refuses("{\"op\":\"run.end\",\"run\":\"r\",\"status\":-1}", "from 0 to 255");
	refuses("{\"op\":\"run.end\",\"run\":\"r\",\"status\":\"1\"}", "must be a number");
	refuses("{\"op\":\"run.end\",\"run\":\"r\",\"status\":1.5}", "must be a number");
	accepts("{\"op\":\"tag\",\"policy\":\"x\",\"pid\":1}");
	refuses("{\"op\":\"tag\",\"policy\":\"x\",\"pid\":0}", "from 1 to");
	refuses("{\"op\":\"tag\",\"policy\":\"x\",\"pid\":2147483648}", "from 1 to");
}

static void shape(void **state)
{
	(void)state;
	accepts("{\"op\":\"status\"}");
	refuses("", "1 to");
	refuses("[]", "one JSON object");
	refuses("\"status\"", "one JSON object");
	refuses("{\"op\":\"status\"", "one JSON object");
	refuses("{\"op\":\"status\"}x", "one JSON object");
	refuses("{\"op\":\"status\"}{\"op\":\"status\"}", "one JSON object");
	refuses("{'op':'status'}", "one JSON object");
	refuses("{\"op\":\"status\",}", "one JSON object");
	refuses("{\"op\":\"ps\",\"after\":\"\xff\"}", "one JSON object");
	refuses("{\"op\":\"status\",\"x\":[[[[[[[[1]]]]]]]]}", "one JSON object");
	refuses("{}", "\"op\" is missing");
	refuses("{\"op\":1}", "\"op\" must be a string");
	refuses("{\"op\":\"Status\"}", "no operation");
	refuses("{\"op\":\"status\\u0000\"}", "NUL");
	refuses("{\"op\":\"run.start\",\"policy\":\"x\\u0000y\",\"text\":\"\"}", "NUL");
}

static void keys(void **state)
{
	static const char *const wrong[] = {
		"{\"op\":\"status\",\"run\":\"r\"}",
		"{\"op\":\"ps\",\"policy\":\"x\"}",
		"{\"op\":\"reload\",\"text\":\"\"}",
		"{\"op\":\"untag\",\"run\":\"r\",\"status\":1}",
		"{\"op\":\"run.start\",\"policy\":\"x\",\"cgroup\":\"a\"}",
		"{\"op\":\"run.start\",\"policy\":\"x\",\"pid\":1}",
		"{\"op\":\"run.end\",\"run\":\"r\",\"layers\":{}}",
		"{\"op\":\"run.start\",\"policy\":\"x\",\"Task\":\"t\"}",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(wrong); i++)
		refuses(wrong[i], "is no member of");
	accepts("{\"op\":\"untag\",\"run\":\"r\"}");
	accepts("{\"op\":\"reload\"}");
	accepts("{\"op\":\"ps\",\"after\":\"r-1\"}");
	refuses("{\"op\":\"run.start\"}", "\"policy\" is missing");
	refuses("{\"op\":\"run.end\"}", "\"run\" is missing");
	refuses("{\"op\":\"untag\"}", "\"run\" is missing");
}

static void forms(void **state)
{
	static const char *const good_paths[] = {"/", "/a", "/a/..b/c..", "/a/...", "/\xc3\xa9"};
	static const char *const bad_paths[] = {"", "a", "./a", "/..", "/a/..", "/a/../b", "../a"};
	static const char *const good_below[] = {"a", "a/b.slice", "..a", "a/...", "a//b"};
	static const char *const bad_below[] = {"", "/a", "..", "../a", "a/..", "a/../b"};
	char text[256];

	(void)state;
	for (size_t i = 0; i < COUNT(good_paths); i++) {
		snprintf(text, sizeof(text), "{\"op\":\"run.start\",\"policy\":\"x\",\"workspace\":\"%s\"}",
			 good_paths[i]);
		accepts(text);
	}
	for (size_t i = 0; i < COUNT(bad_paths); i++) {
		snprintf(text, sizeof(text), "{\"op\":\"run.start\",\"policy\":\"x\",\"workspace\":\"%s\"}",
			 bad_paths[i]);
		refuses(text, "an absolute path without ..");
	}
	for (size_t i = 0; i < COUNT(good_below); i++) {
		snprintf(text, sizeof(text), "{\"op\":\"tag\",\"policy\":\"x\",\"cgroup\":\"%s\"}", good_below[i]);
		accepts(text);
	}
	for (size_t i = 0; i < COUNT(bad_below); i++) {
		snprintf(text, sizeof(text), "{\"op\":\"tag\",\"policy\":\"x\",\"cgroup\":\"%s\"}", bad_below[i]);
		refuses(text, "relative to the cgroup root");
	}
	accepts("{\"op\":\"run.start\",\"policy\":\"x\",\"task\":\"two words\"}");
	refuses("{\"op\":\"run.start\",\"policy\":\"x\",\"task\":\"two\\nlines\"}", "one line");
	refuses("{\"op\":\"run.start\",\"policy\":\"x\",\"task\":\"\\u001b[2J\"}", "one line");
	refuses("{\"op\":\"run.start\",\"policy\":\"x\",\"task\":\"\"}", "one line");
	refuses("{\"op\":\"run.end\",\"run\":\"../x\"}", "a name of");
}

static void policies(void **state)
{
	(void)state;
	accepts("{\"op\":\"run.start\",\"policy\":\"coding-agent\"}");
	refuses("{\"op\":\"run.start\",\"policy\":\"../coding-agent\"}", "must be a name");
	refuses("{\"op\":\"run.start\",\"policy\":\"/etc/shadow\"}", "must be a name");
	refuses("{\"op\":\"run.start\",\"policy\":\".hidden\"}", "must be a name");
	/* With a text it is only what messages call it. */
	accepts("{\"op\":\"run.start\",\"policy\":\"../mine.json\",\"text\":\"{}\"}");
	refuses("{\"op\":\"run.start\",\"policy\":\"x\",\"layers\":{\"a\":\"\"}}", "need a \"text\"");
	accepts("{\"op\":\"run.start\",\"policy\":\"x\",\"text\":\"\",\"layers\":{\"a\":\"\"}}");
	refuses("{\"op\":\"run.start\",\"policy\":\"x\",\"text\":\"\",\"layers\":{\"a/b\":\"\"}}", "must be a name");
	refuses("{\"op\":\"run.start\",\"policy\":\"x\",\"text\":\"\",\"layers\":{\"a\":1}}", "must be a string");
	refuses("{\"op\":\"run.start\",\"policy\":\"x\",\"text\":\"\",\"layers\":[\"a\"]}", "must be an object");
	accepts("{\"op\":\"tag\",\"policy\":\"x\",\"cgroup\":\"a\"}");
	refuses("{\"op\":\"tag\",\"policy\":\"x\"}", "one of");
	refuses("{\"op\":\"tag\",\"policy\":\"x\",\"cgroup\":\"a\",\"pid\":1}", "one of");
}

static void bounds(void **state)
{
	static const char head[] = "{\"op\":\"run.start\",\"policy\":\"x\",\"text\":\"";
	char *text = malloc(RF_CONTROL_BYTES_MAX + 2), layers[1024];
	struct rf_request r;
	char why[256];
	size_t n;

	(void)state;
	n = (size_t)sprintf(text, "%s", head);
	memset(text + n, 'a', RF_CONTROL_TEXT_MAX);
	strcpy(text + n + RF_CONTROL_TEXT_MAX, "\"}");
	accepts(text);
	strcpy(text + n + RF_CONTROL_TEXT_MAX, "a\"}");
	refuses(text, "at most 163840 fit");
	memset(text, ' ', RF_CONTROL_BYTES_MAX + 1);
	assert_int_equal(rf_request_parse(text, RF_CONTROL_BYTES_MAX + 1, &r, why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, "1 to 262144 bytes"));
	free(text);
	for (int count = RF_LAYERS_MAX; count <= RF_LAYERS_MAX + 1; count++) {
		n = (size_t)sprintf(layers, "%s\",\"layers\":{", head);
		for (int i = 0; i < count; i++)
			n += (size_t)sprintf(layers + n, "%s\"l%d\":\"\"", i ? "," : "", i);
		strcpy(layers + n, "}}");
		if (count == RF_LAYERS_MAX)
			accepts(layers);
		else
			refuses(layers, "more than 16");
	}
}

static void names(void **state)
{
	char name[66];

	(void)state;
	assert_true(rf_bare_name("a"));
	assert_true(rf_bare_name("a.b_c-9"));
	assert_false(rf_bare_name(""));
	assert_false(rf_bare_name("."));
	assert_false(rf_bare_name(".."));
	assert_false(rf_bare_name("a/b"));
	assert_false(rf_bare_name("A"));
	memset(name, 'a', 65);
	name[64] = '\0';
	assert_true(rf_bare_name(name));
	name[64] = 'a';
	name[65] = '\0';
	assert_false(rf_bare_name(name));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(values), cmocka_unit_test(numbers),  cmocka_unit_test(shape),	cmocka_unit_test(keys),
		cmocka_unit_test(forms),  cmocka_unit_test(policies), cmocka_unit_test(bounds), cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
