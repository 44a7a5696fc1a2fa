/* SPDX-License-Identifier: Apache-2.0 */
/* A ring record to change, and the JSON line that comes of it, parsed: shared by the test_event programs. */
#pragma once

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

static inline void fill(struct fixture *f, const void *object, size_t object_len, const void *exe, size_t exe_len)
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

static inline int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	fill(f, "/home/x/.ssh/id", 15, "/usr/bin/cat", 12);
	*state = f;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;

	json_object_put(f->json);
	free(f);
	return 0;
}

static inline int decode(struct fixture *f)
{
	struct rf_record record;

	return rf_event_decode(f->bytes, f->len, &record);
}

/* One line of strict JSON, whatever it holds. */
static inline void parse(struct fixture *f)
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

static inline void write_line(struct fixture *f, const struct rf_host_info *h, const struct rf_run_info *r,
			      const struct rf_rule_info *u, const char *cgroup)
{
	struct rf_record record;

	assert_int_equal(rf_event_decode(f->bytes, f->len, &record), 0);
	f->n = rf_event_json(&record, h, r, u, cgroup, f->line, sizeof(f->line));
	parse(f);
}

static inline struct json_object *get(struct json_object *json, const char *key)
{
	struct json_object *value = NULL;

	json_object_object_get_ex(json, key, &value);
	return value;
}

static inline void assert_text(struct fixture *f, const char *key, const char *expected)
{
	struct json_object *value = get(f->json, key);

	if (!expected) {
		assert_null(value);
		return;
	}
	assert_non_null(value);
	assert_string_equal(json_object_get_string(value), expected);
}

static inline void assert_sub(struct fixture *f, const char *key, const char *sub, const char *expected)
{
	struct json_object *value = get(get(f->json, key), sub);

	assert_non_null(value);
	assert_string_equal(json_object_get_string(value), expected);
}

static inline void assert_number(struct fixture *f, const char *key, int64_t expected)
{
	struct json_object *value = get(f->json, key);

	assert_int_equal(json_object_get_type(value), json_type_int);
	assert_int_equal(json_object_get_int64(value), expected);
}
