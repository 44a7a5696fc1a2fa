/* SPDX-License-Identifier: Apache-2.0 */
/* json.c, own.c: right values, absent knowledge, names of every enum. */
#define _GNU_SOURCE 1
#include <errno.h>

#include "event_fixture.h"

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
		TEST(verdict_has_right_values),
		TEST(unknown_is_absent),
		TEST(time_beyond_the_clock_is_absent),
		TEST(connect_names_the_address),
		TEST(every_enum_has_a_name),
		TEST(small_buffer_is_refused),
		TEST(own_records),
		TEST(own_numbers_are_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
