/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arbitrary bytes as a ring record: what decode.c accepts must become one line of valid JSON from which the exact bytes
 * of every name come back. The same bytes, as text, are a daemon's own record.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

#include "event/event.h"

#define CHECK(condition)          \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct json_object *parse(const char *line, int n)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *json;

	CHECK(n > 0 && n <= RF_LINE_MAX && memchr(line, '\n', (size_t)n) == line + n - 1);
	for (int i = 0; i < n - 1; i++)
		CHECK((unsigned char)line[i] >= 0x20 && line[i] != 0x7f);
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	json = json_tokener_parse_ex(tokener, line, n);
	CHECK(json_tokener_get_error(tokener) == json_tokener_success);
	json_tokener_free(tokener);
	return json;
}

static void check_bytes(struct json_object *json, const char *key, const char *hex_key, const char *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	struct json_object *text = NULL, *hex = NULL;

	CHECK(json_object_object_get_ex(json, key, &text));
	if (!json_object_object_get_ex(json, hex_key, &hex)) {
		CHECK((size_t)json_object_get_string_len(text) == len);
		CHECK(!memcmp(json_object_get_string(text), bytes, len));
		return;
	}
	CHECK((size_t)json_object_get_string_len(hex) == 2 * len);
	for (size_t i = 0; i < len; i++) {
		CHECK(json_object_get_string(hex)[2 * i] == digits[(uint8_t)bytes[i] >> 4]);
		CHECK(json_object_get_string(hex)[2 * i + 1] == digits[(uint8_t)bytes[i] & 0xf]);
	}
}

static void try_record(const void *bytes, size_t size, char *line)
{
	static const struct rf_host_info host = {.host = "h", .boot_id = "b", .boot_offset_ns = 1796040000000000000};
	struct rf_record record;
	struct json_object *json;
	int n;

	if (rf_event_decode(bytes, size, &record))
		return;
	n = rf_event_json(&record, &host, NULL, NULL, NULL, line, RF_LINE_MAX);
	json = parse(line, n);
	if (record.event->access != RF_NET_CONNECT && record.object_len)
		check_bytes(json, "object", "object_hex", record.object, record.object_len);
	if (record.exe_len)
		check_bytes(json, "exe", "exe_hex", record.exe, record.exe_len);
	check_bytes(json, "comm", "comm_hex", record.event->comm,
		    strnlen(record.event->comm, sizeof(record.event->comm)));
	json_object_put(json);
	CHECK(rf_event_json(&record, &host, NULL, NULL, NULL, line, (size_t)n - 1) == -ENOSPC);
}

static void try_own(const char *text, char *line)
{
	const struct rf_run_info run = {.run = text, .person = text, .person_strength = RF_DECLARED};
	const struct rf_host_info host = {.host = text};
	const char *const fields[] = {"error", text, NULL};
	const char *const numbers[] = {"count#", text, NULL};
	size_t len = strlen(text);
	struct json_object *json;
	int n = rf_own_json("policy.reject", 1, &host, &run, fields, line, RF_LINE_MAX);

	json = parse(line, n);
	if (len <= 128)
		check_bytes(json, "run", "run_hex", text, len);
	json_object_put(json);
	n = rf_own_json("lost", 1, NULL, NULL, numbers, line, RF_LINE_MAX);
	CHECK(n > 0 || n == -EINVAL);
	if (n > 0)
		json_object_put(parse(line, n));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* malloc: aligned as the ring's records are, and ASan sees the first byte too many. */
	char *bytes = malloc(size + 1), *line = malloc(RF_LINE_MAX);
	char *record = malloc(size ? size : 1);

	CHECK(bytes && line && record);
	memcpy(bytes, data, size);
	bytes[size] = '\0';
	memcpy(record, data, size);
	try_record(record, size, line);
	try_own(bytes, line);
	free(record);
	free(line);
	free(bytes);
	return 0;
}
