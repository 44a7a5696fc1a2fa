// SPDX-License-Identifier: Apache-2.0
/* Layers, rule numbers, digest and show of the policy compiler. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy_help.h"

static void the_last_match_wins_for_each_access(void **state)
{
	__cleanup(rf_policy_free) struct rf_policy *p =
		compile(FILES("{\"allow\": [\"read\", \"write\"], \"paths\": [\"/a/**\"]},"
			      "{\"deny\": [\"write\"], \"paths\": [\"/a/b/**\"], \"id\": \"no-write\"},"
			      "{\"allow\": [\"*\"], \"paths\": [\"/a/b/c\"]}"));

	(void)state;
	says(p, "file.read", "/a", "allow x:files[0]");
	says(p, "file.write", "/a/x", "allow x:files[0]");
	says(p, "file.delete", "/a/x", "deny none");
	says(p, "file.write", "/a/b", "deny x:no-write");
	says(p, "file.read", "/a/b", "allow x:files[0]");
	says(p, "file.write", "/a/b/c", "allow x:files[2]");
	says(p, "file.attributes", "/a/b/c", "allow x:files[2]");
	says(p, "net.unix", "/a/b/c", "deny none");
	says(p, "file.read", "/", "deny none");
}

static void an_empty_policy_denies(void **state)
{
	__cleanup(rf_policy_free) struct rf_policy *p = compile(HEAD "}");
	size_t n;
	const union rf_cell *cells = rf_policy_image(p, &n);

	(void)state;
	assert_int_equal(rf_image_check(cells, n), 0);
	assert_int_equal(rf_policy_rules(p), 0);
	assert_null(rf_policy_rule(p, 0));
	says(p, "file.read", "/etc/passwd", "deny none");
	says(p, "net.connect", "127.0.0.1:80", "deny none");
	says(p, "file.execute", "anonymous", "deny none");
	says(p, "file.read", "unknown-filesystem", "deny none");
}

static void layers_lie_in_order(void **state)
{
	static const char *const texts[] = {
		"base",
		"{\"ringfence\": 1, \"name\": \"base\", \"files\": [{\"allow\": [\"*\"], \"paths\": [\"/**\"]}],"
		"\"audit\": {\"record\": [\"file.execute\"]}}",
		"left",
		"{\"ringfence\": 1, \"name\": \"left\", \"extends\": [\"base\"],"
		"\"files\": [{\"deny\": [\"*\"], \"paths\": [\"/left\", \"/both\"]}]}",
		"right",
		"{\"ringfence\": 1, \"name\": \"right\", \"extends\": [\"base\"],"
		"\"files\": [{\"deny\": [\"*\"], \"paths\": [\"/right\", \"/both\"]}]}",
		NULL,
	};
	struct host host = {.texts = texts};
	__cleanup(rf_policy_free) struct rf_policy *p = compile_args((struct rf_policy_args){
		.text = HEAD ", \"extends\": [\"left\", \"right\"], \"audit\": {\"record\": [\"net.connect\"]},"
			     "\"files\": [{\"allow\": [\"read\"], \"paths\": [\"/both\", \"/floor\"]}]}",
		.find = find,
		.ctx = &host,
		.floor_name = "floor.json",
		.floor_text = "{\"ringfence\": 1, \"name\": \"site\", \"files\": "
			      "[{\"deny\": [\"read\"], \"paths\": [\"/floor\"], \"id\": \"f\", \"why\": \"law\"}]}",
	});
	size_t n;
	const struct rf_image *header = (const struct rf_image *)rf_policy_image(p, &n);
	static const char *const layers[] = {"base", "left", "right", "x", "floor"};

	(void)state;
	assert_int_equal(rf_policy_rules(p), 5);
	for (uint16_t i = 0; i < 5; i++)
		assert_string_equal(rf_policy_rule(p, i)->layer, layers[i]);
	assert_string_equal(rf_policy_rule(p, 1)->file, "left");
	assert_string_equal(rf_policy_rule(p, 4)->file, "floor.json");
	assert_int_equal(rf_policy_rule(p, 4)->line, 1);
	assert_string_equal(rf_policy_rule(p, 4)->why, "law");
	/* base is laid once: laid again by right, it would undo what left denies */
	says(p, "file.read", "/left", "deny left:files[0]");
	says(p, "file.read", "/right", "deny right:files[0]");
	says(p, "file.read", "/both", "allow x:files[0]");
	says(p, "file.write", "/both", "deny right:files[0]");
	says(p, "file.read", "/floor", "deny floor:f");
	says(p, "file.write", "/floor", "allow base:files[0]");
	assert_int_equal(header->record, RF_ACCESS_BIT(RF_FILE_EXECUTE) | RF_ACCESS_BIT(RF_NET_CONNECT));
	assert_int_equal(header->rules, 5);
}

static void sixteen_layers_are_enough(void **state)
{
	char text[16][100];
	const char *texts[33] = {};
	char names[16][8];
	struct host host = {.texts = texts};

	(void)state;
	for (int i = 0; i < 15; i++) {
		snprintf(names[i], sizeof(names[i]), "l%d", i);
		if (i < 14)
			snprintf(text[i], sizeof(text[i]),
				 "{\"ringfence\": 1, \"name\": \"l%d\", \"extends\": [\"l%d\"]}", i, i + 1);
		else
			snprintf(text[i], sizeof(text[i]), "{\"ringfence\": 1, \"name\": \"l%d\"}", i);
		texts[2 * i] = names[i];
		texts[2 * i + 1] = text[i];
	}
	{
		__cleanup(rf_policy_free) struct rf_policy *p = compile_args(
			(struct rf_policy_args){.text = HEAD ", \"extends\": [\"l0\"]}", .find = find, .ctx = &host});

		assert_int_equal(rf_policy_rules(p), 0);
	}
	/* side by side they count as well */
	texts[3] = "{\"ringfence\": 1, \"name\": \"l1\", \"extends\": [\"l2\", \"l14\", \"l0b\"]}";
	texts[30] = "l0b";
	texts[31] = "{\"ringfence\": 1, \"name\": \"l0b\"}";
	refused((struct rf_policy_args){.text = HEAD ", \"extends\": [\"l0\"]}", .find = find, .ctx = &host},
		"l1:1:57: more than 16 layers, join some: x -> l0 -> l1 -> l0b\n");
}

static void a_floor_is_never_observed(void **state)
{
	static const char floor[] = "{\"ringfence\": 1, \"name\": \"site\", \"files\": "
				    "[{\"deny\": [\"*\"], \"paths\": [\"/s/**\"]}]}";
	static const char text[] =
		HEAD ", \"mode\": \"observe\", \"files\": [{\"allow\": [\"read\"], \"paths\": [\"/w/**\"]}]}";
	__cleanup(rf_policy_free) struct rf_policy *p = compile(text);
	__cleanup(rf_policy_free) struct rf_policy *q =
		compile_args((struct rf_policy_args){.text = text, .floor_text = floor});
	const struct rf_image *image;
	size_t n;

	(void)state;
	image = (const struct rf_image *)rf_policy_image(p, &n);
	assert_int_equal(image->flags, RF_IMAGE_OBSERVE);
	assert_int_equal(image->floor, 1);
	assert_int_equal(image->rules, 1);
	image = (const struct rf_image *)rf_policy_image(q, &n);
	assert_true(rf_policy_observes(q));
	assert_int_equal(image->flags, RF_IMAGE_OBSERVE);
	assert_int_equal(image->floor, 1);
	assert_int_equal(image->rules, 2);
}

static void a_day_is_over_at_midnight(void **state)
{
	static const char text[] = HEAD ", \"stage\": \"pilot\", \"expires\": \"2026-11-30\"}";
	const time_t midnight = NOW + 12 * 60 * 60;
	__cleanup(rf_policy_free) struct rf_policy *p =
		compile_args((struct rf_policy_args){.text = text, .now = midnight - 1});

	(void)state;
	assert_string_equal(rf_policy_stage(p), "pilot");
	assert_string_equal(rf_policy_expires(p), "2026-11-30");
	refused((struct rf_policy_args){.text = text, .now = midnight},
		"x.json:1:60: expired: the policy ended on 2026-11-30: have it reviewed and set a new date\n");
}

static void the_digest_names_what_is_enforced(void **state)
{
#define RULE(verb, path) FILES("{\"" verb "\": [\"read\"], \"paths\": [\"" path "\"]}")
	static const char *const other[] = {"workspace=/v", NULL};
	static const char *const links[] = {"/w", "/x", NULL};
	struct host host = {.links = links};
	__cleanup(rf_policy_free) struct rf_policy *p = compile(RULE("allow", "${workspace}/**"));
	struct rf_policy *different[5] = {};
	__cleanup(rf_policy_free) struct rf_policy *same = compile_args((struct rf_policy_args){
		.name = "moved.json",
		.text = "// comment\n" HEAD ", \"files\":[ {\"paths\": [\"/w/**\"],\"allow\":[\"read\"]}]}"});
	size_t n, m;
	const union rf_cell *cells = rf_policy_image(p, &n), *others = rf_policy_image(same, &m);
	char hex[65];

	(void)state;
	different[0] = compile(RULE("deny", "${workspace}/**"));
	different[1] = compile(RULE("allow", "/w/*"));
	different[2] =
		compile(HEAD ", \"mode\": \"observe\", \"files\": [{\"allow\": [\"read\"], \"paths\": [\"/w/**\"]}]}");
	different[3] = compile_args((struct rf_policy_args){.text = RULE("allow", "${workspace}/**"), .vars = other});
	different[4] = compile_args(
		(struct rf_policy_args){.text = RULE("allow", "${workspace}/**"), .resolve = resolve, .ctx = &host});
	for (int i = 0; i < 32; i++)
		snprintf(hex + 2 * i, 3, "%02x", ((const struct rf_image *)cells)->digest[i]);
	assert_string_equal(rf_policy_digest(p), hex);
	assert_string_equal(rf_policy_digest(p), rf_policy_digest(same));
	assert_int_equal(n, m);
	assert_memory_equal(cells, others, n * sizeof(*cells));
	for (int i = 0; i < 5; i++) {
		assert_string_not_equal(rf_policy_digest(p), rf_policy_digest(different[i]));
		rf_policy_free(&different[i]);
	}
}

static char *show(const struct rf_policy *p)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(rf_policy_show(p, out), 0);
	fclose(out);
	return text;
}

/* What is shown compiles, says the same of its own, and shows itself. */
static void what_is_shown_is_a_policy(void **state)
{
	static const char *const texts[] = {
		"base",
		"{\"ringfence\": 1, \"name\": \"base\", \"files\": [{\"allow\": [\"read\"], \"paths\": [\"/usr/**\"]},"
		"{\"id\": \"keys\", \"deny\": [\"*\"], \"paths\": [\"${home}/.ssh/**\"], \"why\": \"\\\"keys\\\"\"}],"
		"\"exec\": [{\"allow\": [\"anonymous\"]}]}",
		NULL,
	};
	static const char floor[] =
		"{\"ringfence\": 1, \"name\": \"f\", \"network\": {\"connect\": [{\"deny\": [\"10.0.0.0/8\"], "
		"\"ports\": [\"22\"], \"protocol\": \"tcp\"}]}}";
	static const char *const odd[] = {"workspace=/w/*\xc3\xbc$", "home=/home/u", NULL};
	struct host host = {.texts = texts};
	__cleanup(rf_policy_free) struct rf_policy *p = compile_args((struct rf_policy_args){
		.text = HEAD
		", \"owner\": \"o\", \"stage\": \"pilot\", \"expires\": \"2027-03-31\", \"extends\": [\"base\"],"
		"\"files\": [{\"id\": \"keys\", \"allow\": [\"*\"], \"paths\": [\"${workspace}/**\"]},"
		"{\"deny\": [\"*\"], \"unknown-filesystem\": true}],"
		"\"network\": {\"connect\": [{\"allow\": [\"any\"]}], \"unix\": [{\"allow\": [\"/s\"]}]},"
		"\"audit\": {\"record\": [\"net.connect\", \"file.execute\"]}}",
		.find = find,
		.ctx = &host,
		.vars = odd,
		.floor_text = floor});
	__cleanup(freep) char *text = show(p), *again = NULL;
	__cleanup(rf_policy_free) struct rf_policy *q = compile(text);

	(void)state;
	assert_string_equal(text, "{\n"
				  "  \"ringfence\": 1,\n"
				  "  \"name\": \"x\",\n"
				  "  \"owner\": \"o\",\n"
				  "  \"stage\": \"pilot\",\n"
				  "  \"expires\": \"2027-03-31\",\n"
				  "  \"mode\": \"enforce\",\n"
				  "  \"files\": [\n"
				  "    {\"id\": \"base:files[0]\", \"allow\":[\"read\"],\"paths\":[\"/usr/**\"]},\n"
				  "    {\"id\": \"base:keys\", \"why\": \"\\\"keys\\\"\", "
				  "\"deny\":[\"*\"],\"paths\":[\"/home/u/.ssh/**\"]},\n"
				  "    {\"id\": \"keys\", \"allow\":[\"*\"],\"paths\":[\"/w/\\\\*\xc3\xbc$/**\"]},\n"
				  "    {\"id\": \"files[1]\", \"deny\":[\"*\"],\"unknown-filesystem\":true}\n"
				  "  ],\n"
				  "  \"exec\": [\n"
				  "    {\"id\": \"base:exec[0]\", \"allow\":[\"anonymous\"]}\n"
				  "  ],\n"
				  "  \"network\": {\n"
				  "    \"connect\": [\n"
				  "      {\"id\": \"network.connect[0]\", \"allow\":[\"any\"]},\n"
				  "      {\"id\": \"floor:network.connect[0]\", "
				  "\"deny\":[\"10.0.0.0/8\"],\"ports\":[\"22\"],\"protocol\":\"tcp\"}\n"
				  "    ],\n"
				  "    \"unix\": [\n"
				  "      {\"id\": \"network.unix[0]\", \"allow\":[\"/s\"]}\n"
				  "    ]\n"
				  "  },\n"
				  "  \"audit\": {\"record\": [\"file.execute\", \"net.connect\"]}\n"
				  "}\n");
	again = show(q);
	assert_string_equal(text, again);
	says(q, "file.read", "/usr/bin", "allow x:base:files[0]");
	says(q, "file.read", "/home/u/.ssh/id", "deny x:base:keys");
	says(q, "file.write", "/w/*\xc3\xbc$/x", "allow x:keys");
	says(q, "file.write", "/w/a\xc3\xbc$/x", "deny none");
	says(q, "file.execute", "anonymous", "allow x:base:exec[0]");
	says(q, "net.connect", "10.0.0.1:22", "deny x:floor:network.connect[0]");
	says(q, "net.connect", "10.0.0.1:23", "allow x:network.connect[0]");
	says(q, "net.unix", "/s", "allow x:network.unix[0]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_match_wins_for_each_access),
		cmocka_unit_test(an_empty_policy_denies),
		cmocka_unit_test(layers_lie_in_order),
		cmocka_unit_test(sixteen_layers_are_enough),
		cmocka_unit_test(a_floor_is_never_observed),
		cmocka_unit_test(a_day_is_over_at_midnight),
		cmocka_unit_test(the_digest_names_what_is_enforced),
		cmocka_unit_test(what_is_shown_is_a_policy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
