/* SPDX-License-Identifier: Apache-2.0 */
/* text.c: hostile names stay one line and come back to the byte; the worst line fits. */
#define _GNU_SOURCE 1
#include <errno.h>

#include "event_fixture.h"

static void assert_bytes(struct fixture *f, const char *key, const void *bytes, size_t len, bool exact)
{
	struct json_object *text = get(f->json, key), *hex;
	char name[32];

	snprintf(name, sizeof(name), "%s_hex", key);
	hex = get(f->json, name);
	assert_non_null(text);
	if (exact) {
		assert_null(hex);
		assert_int_equal(json_object_get_string_len(text), len);
		assert_memory_equal(json_object_get_string(text), bytes, len);
		return;
	}
	assert_non_null(hex);
	assert_int_equal(json_object_get_string_len(hex), 2 * len);
	for (size_t i = 0; i < len; i++) {
		unsigned int byte;

		assert_int_equal(sscanf(json_object_get_string(hex) + 2 * i, "%2x", &byte), 1);
		assert_int_equal(byte, ((const unsigned char *)bytes)[i]);
	}
}

static void hostile_names_come_back(void **state)
{
	static const struct {
		const char *bytes, *shown;
		bool exact;
	} table[] = {
		{"/a b", "/a b", true},
		{"/gr\xc3\xbc\xc3\x9f/\xe6\x97\xa5\xe6\x9c\xac/\xf0\x9f\x98\x80",
		 "/gr\xc3\xbc\xc3\x9f/\xe6\x97\xa5\xe6\x9c\xac/\xf0\x9f\x98\x80", true},
		{"/q\"\\", "/q\\\"\\\\", true},
		{"/n\n\r\t\x1b[2J\x7f", "/n\\u000a\\u000d\\u0009\\u001b[2J\\u007f", true},
		{"/c1\xc2\x85\xc2\x9b", "/c1\\u0085\\u009b", true},
		{"/ls\xe2\x80\xa8ps\xe2\x80\xa9", "/ls\\u2028ps\\u2029", true},
		{"/bidi\xe2\x80\xae\xe2\x81\xa6\xe2\x80\x8f\xd8\x9c", "/bidi\\u202e\\u2066\\u200f\\u061c", true},
		{"/tag\xf3\xa0\x81\x81", "/tag\\udb40\\udc41", true},
		{"/bad\xff\xfe", "/bad\\ufffd\\ufffd", false},
		{"/cut\xe2\x82", "/cut\\ufffd\\ufffd", false},
		{"/over\xc0\xaf", "/over\\ufffd\\ufffd", false},
		{"/sur\xed\xa0\x80", "/sur\\ufffd\\ufffd\\ufffd", false},
		{"/big\xf4\x90\x80\x80", "/big\\ufffd\\ufffd\\ufffd\\ufffd", false},
		{"/own\xef\xbf\xbd", "/own\xef\xbf\xbd", true}, /* a replacement character of the name's own */
		{"/x\",\"seq\":7,\"y\":\"", "/x\\\",\\\"seq\\\":7,\\\"y\\\":\\\"", true},
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		size_t len = strlen(table[i].bytes);
		char shown[256];

		fill(f, table[i].bytes, len, table[i].bytes, len);
		strncpy(f->event.comm, table[i].bytes, sizeof(f->event.comm));
		write_line(f, &host, &run, &rule, table[i].bytes);
		assert_bytes(f, "object", table[i].bytes, len, table[i].exact);
		assert_bytes(f, "exe", table[i].bytes, len, table[i].exact);
		snprintf(shown, sizeof(shown), "\"object\":\"%s\"", table[i].shown);
		assert_non_null(memmem(f->line, (size_t)f->n, shown, strlen(shown)));
		assert_number(f, "seq", 99);
	}
}

static void each_byte_alone_comes_back(void **state)
{
	struct fixture *f = *state;

	for (unsigned int i = 0; i < 256; i++) {
		char byte = (char)i;

		fill(f, &byte, 1, &byte, 1);
		memset(f->event.comm, byte, sizeof(f->event.comm)); /* no terminator */
		write_line(f, &host, NULL, NULL, NULL);
		assert_bytes(f, "object", &byte, 1, i < 0x80);
		assert_bytes(f, "comm", f->event.comm, i ? sizeof(f->event.comm) : 0, i < 0x80);
	}
}

static void worst_case_fits(void **state)
{
	static const unsigned char fillers[] = {0x01, 0xff, '"'};
	__cleanup(freep) char *long_text = malloc(1 << 20);
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(fillers); i++) {
		char path[RF_PATH_MAX], exe[RF_EXE_MAX];
		struct rf_run_info r = {.person_strength = RF_VERIFIED};
		struct rf_rule_info u = {long_text, long_text, long_text};
		struct rf_host_info h = {long_text, long_text, 1796040000123456789};

		memset(long_text, fillers[i], (1 << 20) - 1);
		long_text[(1 << 20) - 1] = '\0';
		r.run = r.policy = r.digest = r.person = r.agent = r.task = long_text;
		memset(path, fillers[i], sizeof(path));
		memset(exe, fillers[i], sizeof(exe));
		/* One bad byte makes the whole name cost its hex too. */
		path[0] = exe[0] = (char)0xff;
		fill(f, path, sizeof(path), exe, sizeof(exe));
		memset(f->event.comm, 0xff, sizeof(f->event.comm));
		f->event.head.flags = 0xf;
		f->event.head.seq = f->event.cgroup = f->event.run = INT64_MAX;
		f->event.head.cpu = RF_CPUS_MAX - 1;
		f->event.pid = f->event.tid = f->event.ppid = f->event.uid = f->event.gid = UINT32_MAX;
		f->event.prior = INT32_MIN;
		write_line(f, &h, &r, &u, long_text);
		assert_bytes(f, "object", path, sizeof(path), false);
		assert_bytes(f, "exe", exe, sizeof(exe), false);
		assert_int_equal(json_object_array_length(get(f->json, "flags")), 4 + 12);
	}
}

static void long_strings_are_clipped_between_characters(void **state)
{
	struct fixture *f = *state;
	struct rf_rule_info u = {.id = "r"};
	char why[600], id[257];

	/* 511 bytes and a character of two: the 512th byte must not be half of it. */
	memset(why, 'w', sizeof(why));
	memcpy(why + 511, "\xc3\xbc", 2);
	why[599] = '\0';
	memset(id, 'i', sizeof(id));
	id[256] = '\0';
	u.why = why;
	u.id = id;
	write_line(f, &host, &run, &u, NULL);
	assert_int_equal(json_object_get_string_len(get(f->json, "why")), 511);
	assert_text(f, "why_hex", NULL);
	assert_int_equal(json_object_get_string_len(get(f->json, "rule")), 256);
	assert_text(f, "flags", "[ \"why-clipped\" ]");
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
	static const struct CMUnitTest tests[] = {
		TEST(hostile_names_come_back),
		TEST(each_byte_alone_comes_back),
		TEST(worst_case_fits),
		TEST(long_strings_are_clipped_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
