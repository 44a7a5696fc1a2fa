/* SPDX-License-Identifier: Apache-2.0 */
/* decode.c, json.c, own.c: what is refused and its accepted twin; right values; hostile names; the worst line fits. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "event/event.h"
#include "lib/cleanup.h"

struct fixture {
	size_t len;
	char line[RF_LINE_MAX];
	int n;
	struct json_object *json;
	union {
		struct rf_event event;
		char bytes[sizeof(struct rf_event) + RF_EVENT_DATA_MAX + 64];
	};
};

static const struct rf_host_info host = {.host = "build7", .boot_id = "b00t", .boot_offset_ns = 1796040000123456789};
static const struct rf_run_info run = {
	.run = "r-1",
	.policy = "coding-agent",
	.digest = "ab12",
	.person = "ada",
	.agent = "claude",
	.task = "T-7",
	.person_strength = RF_KERNEL,
	.agent_strength = RF_VERIFIED,
	.task_strength = RF_DECLARED,
};
static const struct rf_rule_info rule = {.id = "standing-keys", .why = "credentials stay outside", .layer = "base"};

static void fill(struct fixture *f, const void *object, size_t object_len, const void *exe, size_t exe_len)
{
	memset(f->bytes, 0, sizeof(f->bytes));
	f->event = (struct rf_event){
		.head = {.kind = RF_EVENT_VERDICT, .version = RF_EVENT_VERSION, .cpu = 3, .seq = 99},
		.run = 12,
		.cgroup = 4711,
		.tid = 102,
		.pid = 101,
		.ppid = 100,
		.uid = 1000,
		.gid = 1001,
		.prior = -13,
		.access = RF_FILE_READ,
		.rule = 4,
		.verdict = RF_DENY,
		.reason = RF_REASON_RULE,
		.hook = RF_HOOK_FILE_OPEN,
		.comm = "cat",
		.path_len = (__u16)object_len,
		.exe_len = (__u16)exe_len,
	};
	memcpy(f->bytes + offsetof(struct rf_event, data), object, object_len);
	memcpy(f->bytes + offsetof(struct rf_event, data) + object_len, exe, exe_len);
	f->len = offsetof(struct rf_event, data) + object_len + exe_len;
	f->event.head.size = (__u32)f->len;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	fill(f, "/home/x/.ssh/id", 15, "/usr/bin/cat", 12);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	json_object_put(f->json);
	free(f);
	return 0;
}

static int decode(struct fixture *f)
{
	struct rf_record record;

	return rf_event_decode(f->bytes, f->len, &record);
}

/* One line of strict JSON, whatever it holds. */
static void parse(struct fixture *f)
{
	struct json_tokener *tokener = json_tokener_new();

	assert_true(f->n > 0 && f->n <= RF_LINE_MAX);
	assert_ptr_equal(memchr(f->line, '\n', (size_t)f->n), f->line + f->n - 1);
	for (int i = 0; i < f->n - 1; i++)
		assert_true((unsigned char)f->line[i] >= 0x20 && f->line[i] != 0x7f);
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	json_object_put(f->json);
	f->json = json_tokener_parse_ex(tokener, f->line, f->n);
	assert_int_equal(json_tokener_get_error(tokener), json_tokener_success);
	json_tokener_free(tokener);
	assert_non_null(f->json);
}

static void write_line(struct fixture *f, const struct rf_host_info *h, const struct rf_run_info *r,
		       const struct rf_rule_info *u, const char *cgroup)
{
	struct rf_record record;

	assert_int_equal(rf_event_decode(f->bytes, f->len, &record), 0);
	f->n = rf_event_json(&record, h, r, u, cgroup, f->line, sizeof(f->line));
	parse(f);
}

static struct json_object *get(struct json_object *json, const char *key)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(json, key, &value);
	return value;
}

static void assert_text(struct fixture *f, const char *key, const char *expected)
{
	struct json_object *value = get(f->json, key);

	if (!expected) {
		assert_null(value);
		return;
	}
	assert_non_null(value);
	assert_string_equal(json_object_get_string(value), expected);
}

static void assert_sub(struct fixture *f, const char *key, const char *sub, const char *expected)
{
	struct json_object *value = get(get(f->json, key), sub);

	assert_non_null(value);
	assert_string_equal(json_object_get_string(value), expected);
}

static void assert_number(struct fixture *f, const char *key, int64_t expected)
{
	struct json_object *value = get(f->json, key);

	assert_int_equal(json_object_get_type(value), json_type_int);
	assert_int_equal(json_object_get_int64(value), expected);
}

static void decode_gives_the_views(void **state)
{
	struct fixture *f = *state;
	struct rf_record record;

	assert_int_equal(rf_event_decode(f->bytes, f->len, &record), 0);
	assert_ptr_equal(record.event, f->bytes);
	assert_int_equal(record.object_len, 15);
	assert_memory_equal(record.object, "/home/x/.ssh/id", 15);
	assert_int_equal(record.exe_len, 12);
	assert_memory_equal(record.exe, "/usr/bin/cat", 12);
	/* The ring may round up: slack behind head.size is not data. */
	assert_int_equal(rf_event_decode(f->bytes, f->len + 5, &record), 0);
	assert_int_equal(record.exe_len, 12);
}

static void decode_refuses_every_shorter_length(void **state)
{
	struct fixture *f = *state;
	struct rf_record record;

	for (size_t len = 0; len < f->len; len++) {
		__cleanup(freep) char *copy = malloc(len + 1); /* so that ASan sees a read too many */

		memcpy(copy, f->bytes, len);
		assert_int_equal(rf_event_decode(copy, len, &record), -EBADMSG);
	}
	assert_int_equal(rf_event_decode(NULL, 0, &record), -EBADMSG);
	assert_int_equal(decode(f), 0);
}

#define REFUSED(f, field, bad)                                        \
	do {                                                          \
		__typeof__((f)->event.field) good = (f)->event.field; \
		assert_int_equal(decode(f), 0);                       \
		(f)->event.field = (bad);                             \
		assert_int_equal(decode(f), -EBADMSG);                \
		(f)->event.field = good;                              \
	} while (0)

static void decode_refuses_contradictions(void **state)
{
	struct fixture *f = *state;
	struct rf_record record;

	REFUSED(f, head.size, 0);
	REFUSED(f, head.size, sizeof(struct rf_event) - 1);
	REFUSED(f, head.size, f->event.head.size + 1);
	REFUSED(f, head.size, f->event.head.size - 1);
	REFUSED(f, head.size, UINT32_MAX);
	REFUSED(f, head.kind, 0);
	REFUSED(f, head.kind, RF_EVENT_VERDICT + 1);
	REFUSED(f, head.version, RF_EVENT_VERSION + 1);
	REFUSED(f, head.cpu, RF_CPUS_MAX);
	REFUSED(f, head.seq, 0);
	REFUSED(f, head.flags, 0x10);
	REFUSED(f, access, RF_ACCESS_MAX);
	REFUSED(f, access, RF_NET_UNIX + 1); /* a hole in the numbering */
	REFUSED(f, verdict, RF_OBSERVE + 1);
	REFUSED(f, reason, RF_REASON_MAX);
	REFUSED(f, hook, RF_HOOK_MAX);
	REFUSED(f, family, 5);
	REFUSED(f, path_len, f->event.path_len + 1);
	REFUSED(f, path_len, UINT16_MAX);
	REFUSED(f, exe_len, f->event.exe_len - 1);
	memmove(f->bytes + 1, f->bytes, f->len);
	assert_int_equal(rf_event_decode(f->bytes + 1, f->len, &record), -EBADMSG);
}

static void decode_bounds_names(void **state)
{
	static const char zeros[RF_PATH_MAX + 1];
	struct fixture *f = *state;

	fill(f, zeros, RF_PATH_MAX, zeros, RF_EXE_MAX);
	assert_int_equal(decode(f), 0);
	fill(f, zeros, RF_PATH_MAX + 1, zeros, 0);
	assert_int_equal(decode(f), -EBADMSG);
	fill(f, zeros, 0, zeros, RF_EXE_MAX + 1);
	assert_int_equal(decode(f), -EBADMSG);
	fill(f, zeros, 0, zeros, 0);
	assert_int_equal(decode(f), 0);
}

static void verdict_has_right_values(void **state)
{
	static const char expected[] =
		"{\"v\":1,\"kind\":\"verdict\",\"time\":\"2026-11-30T12:00:00.123456789Z\",\"host\":\"build7\","
		"\"boot\":\"b00t\",\"src\":\"kernel\",\"cpu\":3,\"seq\":99,\"run\":\"r-1\","
		"\"policy\":\"coding-agent\",\"digest\":\"ab12\",\"run_id\":12,\"layer\":\"base\","
		"\"rule\":\"standing-keys\",\"why\":\"credentials stay outside\","
		"\"person\":{\"name\":\"ada\",\"strength\":\"kernel\"},"
		"\"agent\":{\"name\":\"claude\",\"strength\":\"verified\"},"
		"\"task\":{\"name\":\"T-7\",\"strength\":\"declared\"},\"pid\":101,\"tid\":102,\"ppid\":100,"
		"\"uid\":1000,\"gid\":1001,\"comm\":\"cat\",\"exe\":\"/usr/bin/cat\","
		"\"cgroup\":{\"id\":4711,\"path\":\"/runs/r-1\"},\"hook\":\"file_open\",\"access\":\"file.read\","
		"\"object\":\"/home/x/.ssh/id\",\"verdict\":\"deny\",\"reason\":\"rule\",\"prior\":-13,"
		"\"flags\":[\"path-clipped\",\"deleted\"]}\n";
	struct fixture *f = *state;
	struct rf_host_info at = host;

	at.boot_offset_ns = 1796040000123456789 - 5;
	f->event.head.time = 5;
	f->event.head.flags = RF_EVENT_PATH_CLIPPED | RF_EVENT_DELETED;
	write_line(f, &at, &run, &rule, "/runs/r-1");
	assert_int_equal(f->n, sizeof(expected) - 1);
	assert_memory_equal(f->line, expected, sizeof(expected) - 1);
}

static void unknown_is_absent(void **state)
{
	static const char *const absent[] = {"time", "host",   "boot",	 "run",	       "policy",  "digest",  "layer",
					     "rule", "why",    "person", "agent",      "task",	  "hook",    "flags",
					     "exe",  "object", "net",	 "object_hex", "exe_hex", "comm_hex"};
	struct fixture *f = *state;

	fill(f, "", 0, "", 0);
	f->event.hook = RF_HOOK_NONE;
	write_line(f, NULL, NULL, NULL, NULL);
	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
		assert_text(f, absent[i], NULL);
	assert_null(get(get(f->json, "cgroup"), "path"));
	assert_number(f, "run_id", 12);
	assert_number(f, "seq", 99);
}

static void time_beyond_the_clock_is_absent(void **state)
{
	struct fixture *f = *state;

	f->event.head.time = UINT64_MAX;
	write_line(f, &host, NULL, NULL, NULL);
	assert_text(f, "time", NULL);
	f->event.head.time = INT64_MAX;
	write_line(f, &host, NULL, NULL, NULL);
	assert_text(f, "time", NULL);
	f->event.head.time = 0;
	write_line(f, &host, NULL, NULL, NULL);
	assert_text(f, "time", "2026-11-30T12:00:00.123456789Z");
}

static void connect_names_the_address(void **state)
{
	struct fixture *f = *state;

	fill(f, "", 0, "", 0);
	f->event.access = RF_NET_CONNECT;
	f->event.family = 4;
	f->event.protocol = 6;
	f->event.port = 443;
	memcpy(f->event.addr, "\x8c\x52\x70\x03", 4);
	write_line(f, &host, &run, NULL, NULL);
	assert_text(f, "object", "140.82.112.3:443/tcp");
	assert_sub(f, "net", "family", "inet");
	assert_sub(f, "net", "address", "140.82.112.3");
	assert_sub(f, "net", "port", "443");
	assert_sub(f, "net", "protocol", "tcp");

	f->event.family = 6;
	f->event.protocol = 17;
	f->event.port = 80;
	memset(f->event.addr, 0, 16);
	f->event.addr[15] = 1;
	write_line(f, &host, &run, NULL, NULL);
	assert_text(f, "object", "[::1]:80/udp");
	assert_sub(f, "net", "family", "inet6");

	f->event.protocol = 200;
	write_line(f, &host, &run, NULL, NULL);
	assert_text(f, "object", "[::1]:80/200");

	f->event.family = 0;
	f->event.net_family = 16;
	write_line(f, &host, &run, NULL, NULL);
	assert_text(f, "object", "family 16");
	assert_sub(f, "net", "family_number", "16");
	assert_null(get(get(f->json, "net"), "address"));
}

static void every_enum_has_a_name(void **state)
{
	struct fixture *f = *state;

	for (unsigned int i = 0; i < RF_REASON_MAX; i++) {
		f->event.reason = (__u8)i;
		write_line(f, &host, NULL, NULL, NULL);
		assert_string_not_equal(json_object_get_string(get(f->json, "reason")), "?");
	}
	f->event.verdict = RF_OBSERVE;
	f->event.access = RF_FILE_EXECUTE;
	f->event.head.flags = 0xf;
	write_line(f, &host, NULL, NULL, NULL);
	assert_text(f, "verdict", "observe");
	assert_text(f, "access", "file.execute");
	assert_text(f, "flags", "[ \"path-clipped\", \"exe-clipped\", \"deleted\", \"unanchored\" ]");
}

/* What a consumer does: object_hex if it is there, the decoded text otherwise. */
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

static void small_buffer_is_refused(void **state)
{
	struct fixture *f = *state;
	struct rf_record record;
	int n;

	assert_int_equal(rf_event_decode(f->bytes, f->len, &record), 0);
	n = rf_event_json(&record, &host, &run, &rule, "/c", f->line, sizeof(f->line));
	assert_true(n > 0);
	for (int size = 0; size < n; size++) {
		__cleanup(freep) char *small = malloc((size_t)size + 1);

		assert_int_equal(rf_event_json(&record, &host, &run, &rule, "/c", small, (size_t)size), -ENOSPC);
	}
	assert_int_equal(rf_event_json(&record, &host, &run, &rule, "/c", f->line, (size_t)n), n);
}

static void own_records(void **state)
{
	static const char *const fields[] = {"cpu#", "3",     "count#", "12",	 "exit#", "-9", "gone",
					     NULL,   "error", "a\n",	"gone#", NULL,	  NULL};
	struct fixture *f = *state;

	f->n = rf_own_json("lost", 7, &host, &run, fields, f->line, sizeof(f->line));
	parse(f);
	assert_text(f, "kind", "lost");
	assert_text(f, "src", "daemon");
	assert_text(f, "run", "r-1");
	assert_sub(f, "task", "strength", "declared");
	assert_number(f, "seq", 7);
	assert_number(f, "cpu", 3);
	assert_number(f, "count", 12);
	assert_number(f, "exit", -9);
	assert_text(f, "error", "a\n");
	assert_text(f, "gone", NULL);
	assert_non_null(strstr(json_object_get_string(get(f->json, "time")), "Z"));

	f->n = rf_own_json("daemon.stop", 8, NULL, NULL, NULL, f->line, sizeof(f->line));
	parse(f);
	assert_text(f, "run", NULL);
	assert_text(f, "flags", NULL);
	assert_int_equal(rf_own_json("lost", 7, NULL, NULL, fields, f->line, 40), -ENOSPC);
}

static void own_numbers_are_numbers(void **state)
{
	static const char *const bad[] = {"", "-", "1e3", "01", "1}", "0x1", " 1", "999999999999999999999"};
	struct fixture *f = *state;
	const char *fields[] = {"n#", "0", NULL};

	f->n = rf_own_json("x", 1, NULL, NULL, fields, f->line, sizeof(f->line));
	parse(f);
	assert_number(f, "n", 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		fields[1] = bad[i];
		assert_int_equal(rf_own_json("x", 1, NULL, NULL, fields, f->line, sizeof(f->line)), -EINVAL);
	}
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
	static const struct CMUnitTest tests[] = {
		TEST(decode_gives_the_views),
		TEST(decode_refuses_every_shorter_length),
		TEST(decode_refuses_contradictions),
		TEST(decode_bounds_names),
		TEST(verdict_has_right_values),
		TEST(unknown_is_absent),
		TEST(time_beyond_the_clock_is_absent),
		TEST(connect_names_the_address),
		TEST(every_enum_has_a_name),
		TEST(hostile_names_come_back),
		TEST(each_byte_alone_comes_back),
		TEST(worst_case_fits),
		TEST(long_strings_are_clipped_between_characters),
		TEST(small_buffer_is_refused),
		TEST(own_records),
		TEST(own_numbers_are_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
