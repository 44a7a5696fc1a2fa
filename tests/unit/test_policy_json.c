// SPDX-License-Identifier: Apache-2.0
/* The JSON reader: what it makes of right texts. What it refuses is in tests/corpus/policies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy/json.h"
#include "policy_files.h"

static const struct rf_json *read_text(struct rf_mem *mem, const char *text)
{
	struct rf_json *tree = NULL;
	struct rf_diag diag = {};

	if (rf_json_read(mem, "t", text, strlen(text), &tree, &diag)) {
		rf_diag_print(&diag, stderr);
		fail();
	}
	return tree;
}

static void strings_are_decoded(void **state)
{
	static const struct {
		const char *text, *value;
	} cases[] = {
		{"\"\"", ""},
		{"\"a/b\"", "a/b"},
		{"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"},
		{"\"\\u0041\\u00e9\\u20AC\\uFFFF\"", "A\xc3\xa9\xe2\x82\xac\xef\xbf\xbf"},
		{"\"\\ud83d\\uDE00x\"", "\xf0\x9f\x98\x80x"},
		{"\"\\ud800\\udc00\\udbff\\udfff\"", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"},
		{"\"gr\xc3\xb6\xc3\x9f\x65r // \xe6\x97\xa5\"", "gr\xc3\xb6\xc3\x9f\x65r // \xe6\x97\xa5"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rf_mem mem = {};
		const struct rf_json *v = read_text(&mem, cases[i].text);

		assert_int_equal(v->type, RF_JSON_STRING);
		assert_string_equal(v->text, cases[i].value);
		rf_mem_done(&mem);
	}
}

static void values_have_their_kind_and_place(void **state)
{
	static const char text[] = "// \xc3\xb6\n{\"a\": [1, -0.5e+3,\r\n\t null], /* \xc3\xb6 */ \"b\" :true,\n"
				   "  \"c\": {\"d\": false}, \"e\": {}, \"f\": []}";
	static const struct {
		const char *key;
		enum rf_json_type type;
		unsigned int line, column, key_line, key_column;
		size_t n;
	} members[] = {
		{"a", RF_JSON_LIST, 2, 7, 2, 2, 3},   {"b", RF_JSON_BOOL, 3, 23, 3, 18, 0},
		{"c", RF_JSON_OBJECT, 4, 8, 4, 3, 1}, {"e", RF_JSON_OBJECT, 4, 27, 4, 22, 0},
		{"f", RF_JSON_LIST, 4, 36, 4, 31, 0},
	};
	struct rf_mem mem = {};
	const struct rf_json *tree = read_text(&mem, text), *m = tree->first;

	(void)state;
	assert_int_equal(tree->n, 5);
	assert_int_equal(tree->place.line, 2);
	for (size_t i = 0; i < 5; i++, m = m->next) {
		assert_string_equal(m->key, members[i].key);
		assert_int_equal(m->type, members[i].type);
		assert_int_equal(m->place.line, members[i].line);
		assert_int_equal(m->place.column, members[i].column);
		assert_int_equal(m->key_place.line, members[i].key_line);
		assert_int_equal(m->key_place.column, members[i].key_column);
		assert_int_equal(m->n, members[i].n);
	}
	assert_null(m);
	m = tree->first->first;
	assert_string_equal(m->text, "1");
	assert_string_equal(m->next->text, "-0.5e+3");
	assert_int_equal(m->next->next->type, RF_JSON_NULL);
	assert_int_equal(m->next->next->place.line, 3);
	assert_int_equal(m->next->next->place.column, 3);
	rf_mem_done(&mem);
}

static void sixteen_levels_are_read(void **state)
{
	struct rf_mem mem = {};
	const struct rf_json *v = read_text(&mem, "[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]");
	struct rf_json *tree = NULL;
	struct rf_diag diag = {};
	static const char deeper[] = "[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]";
	int depth = 1;

	(void)state;
	for (; v->first; v = v->first)
		depth++;
	assert_int_equal(depth, 16);
	assert_int_equal(rf_json_read(&mem, "t", deeper, strlen(deeper), &tree, &diag), -EINVAL);
	assert_null(tree);
	/* side by side nothing is deep */
	read_text(&mem, "[[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[]]");
	rf_mem_done(&mem);
}

static void what_is_written_reads_back(void **state)
{
	static const char *const texts[] = {"", "a\"b\\c", "\x1b[31m\n\t\x7f",
					    "\xc3\xbc \xe2\x80\xae \xc2\x85 \xf0\x9f\x98\x80"};
	static const char *const written[] = {"\"\"", "\"a\\\"b\\\\c\"", "\"\\u001b[31m\\u000a\\u0009\\u007f\"",
					      "\"\xc3\xbc \\u202e \\u0085 \xf0\x9f\x98\x80\""};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char line[256] = "";
		FILE *out = fmemopen(line, sizeof(line), "w");
		struct rf_mem mem = {};

		assert_non_null(out);
		rf_json_write(out, texts[i]);
		fclose(out);
		assert_string_equal(line, written[i]);
		assert_string_equal(read_text(&mem, line)->text, texts[i]);
		rf_mem_done(&mem);
	}
}

/* Every text cut anywhere is refused or whole, and never read beyond its end (the copy has no byte more). */
static void every_cut_is_survived(void **state)
{
	static const char text[] = "{\"a\": [1.5e3, \"\\ud83d\\ude00\\n\", true], /* x */ \"b\": null} // y";
	const size_t whole = (size_t)(strrchr(text, '}') + 1 - text);

	(void)state;
	for (size_t len = 0; len < strlen(text); len++) {
		char *copy = malloc(len ? len : 1);
		struct rf_mem mem = {};
		struct rf_json *tree;
		struct rf_diag diag = {};
		int err;

		assert_non_null(copy);
		memcpy(copy, text, len);
		err = rf_json_read(&mem, "t", copy, len, &tree, &diag);
		/* whole with the last brace; the comment behind it may be cut, but not between its two slashes */
		assert_int_equal(err, len < whole || len == whole + 2 ? -EINVAL : 0);
		rf_mem_done(&mem);
		free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_are_decoded),	   cmocka_unit_test(values_have_their_kind_and_place),
		cmocka_unit_test(sixteen_levels_are_read), cmocka_unit_test(what_is_written_reads_back),
		cmocka_unit_test(every_cut_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
