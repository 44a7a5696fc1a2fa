/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RFC 5424: <PRI>1 TIME HOST ringfence - MSGID [ringfence@32473 ...] sentence
 *
 * Every part has a bound, and the bounds add up to less than RF_SYSLOG_MAX. What a name costs is counted after escaping,
 * so that no choice of bytes makes a message that the receiver cuts.
 */
#define _GNU_SOURCE 1
#include "ship/format.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "event/text.h"

#define DEPTH_MAX 8
#define SHORT_MAX 256 /* run, policy, rule, person, agent, task */
#define WHY_MAX 512
#define OBJECT_MAX 1536 /* in the structured data; as many hex digits */
#define SENTENCE_MAX 1024 /* for the object, and for the other members of an own record */
#define CLIPPED "\xe2\x80\xa6"

enum { SEVERITY_ERROR = 3, SEVERITY_WARNING = 4, SEVERITY_NOTICE = 5, SEVERITY_INFO = 6 };

struct out {
	char *buf;
	size_t len;
	bool full;
};

struct text {
	const char *bytes; /* NULL: the event does not have it */
	size_t len;
};

static void put(struct out *out, const void *bytes, size_t len)
{
	if (out->full || len > RF_SYSLOG_MAX - out->len) {
		out->full = true;
		return;
	}
	memcpy(out->buf + out->len, bytes, len);
	out->len += len;
}

static void puts_out(struct out *out, const char *text)
{
	put(out, text, strlen(text));
}

/* Shows one character; the length of what it takes. in_data: inside a quoted parameter value. */
static size_t show(uint32_t point, const char *bytes, size_t len, bool in_data, char ret[RF_TEXT_ESCAPE_MAX + 2])
{
	char escape[RF_TEXT_ESCAPE_MAX];
	size_t n = 0, from = rf_text_hidden(point) ? rf_text_escape(point, escape) : 0;

	if (!from) {
		if (in_data && (point == '"' || point == '\\' || point == ']'))
			ret[n++] = '\\';
		memcpy(ret + n, bytes, len);
		return n + len;
	}
	for (size_t i = 0; i < from; i++) {
		if (in_data && escape[i] == '\\')
			ret[n++] = '\\';
		ret[n++] = escape[i];
	}
	return n;
}

/* At most max bytes; true: a reader can take the text for the exact bytes. */
static bool put_text(struct out *out, struct text text, size_t max, bool in_data)
{
	char shown[RF_TEXT_ESCAPE_MAX + 2];
	size_t used = 0, step;
	bool exact = true;

	for (size_t i = 0; i < text.len; i += step) {
		uint32_t point = 0xfffd;
		size_t n;

		step = rf_utf8_decode(text.bytes + i, text.len - i, &point);
		n = step ? show(point, text.bytes + i, step, in_data, shown)
			 : show(point, "\xef\xbf\xbd", 3, in_data, shown);
		exact = exact && step && !rf_text_hidden(point);
		step = step ? step : 1;
		if (used + n > max - strlen(CLIPPED)) {
			puts_out(out, CLIPPED);
			return false;
		}
		put(out, shown, n);
		used += n;
	}
	return exact;
}

static struct text get_text(struct json_object *json, const char *key)
{
	struct json_object *value = NULL;

	if (!json_object_object_get_ex(json, key, &value) || !json_object_is_type(value, json_type_string))
		return (struct text){NULL, 0};
	return (struct text){json_object_get_string(value), (size_t)json_object_get_string_len(value)};
}

static struct text get_name(struct json_object *json, const char *key)
{
	struct json_object *value = NULL;

	if (!json_object_object_get_ex(json, key, &value) || !json_object_is_type(value, json_type_object))
		return (struct text){NULL, 0};
	return get_text(value, "name");
}

static bool get_number(struct json_object *json, const char *key, uint64_t *ret)
{
	struct json_object *value = NULL;

	if (!json_object_object_get_ex(json, key, &value) || !json_object_is_type(value, json_type_int))
		return false;
	*ret = json_object_get_uint64(value);
	return true;
}

static bool is(struct text text, const char *word)
{
	return text.bytes && text.len == strlen(word) && !memcmp(text.bytes, word, text.len);
}

static unsigned int severity(struct json_object *json)
{
	struct text verdict = get_text(json, "verdict");

	if (is(get_text(json, "kind"), "lost"))
		return SEVERITY_ERROR;
	return is(verdict, "deny") ? SEVERITY_WARNING : is(verdict, "observe") ? SEVERITY_NOTICE : SEVERITY_INFO;
}

/* A header field is printable ASCII of bounded length, or "-". */
static void put_field(struct out *out, struct text text, size_t max)
{
	size_t n = text.len < max ? text.len : max;

	for (size_t i = 0; i < n; i++)
		put(out, text.bytes[i] > ' ' && text.bytes[i] < 0x7f ? &text.bytes[i] : "?", 1);
	puts_out(out, n ? " " : "- ");
}

/* The record's time with the six digits that RFC 5424 allows; "-" if it isn't "2026-11-30T12:00:00.123456789Z". */
static void put_time(struct out *out, struct text time)
{
	static const char like[] = "dddd-dd-ddTdd:dd:dd.dddddddddZ";
	bool sound = time.len == sizeof(like) - 1;

	for (size_t i = 0; sound && i < time.len; i++)
		sound = like[i] == 'd' ? time.bytes[i] >= '0' && time.bytes[i] <= '9' : time.bytes[i] == like[i];
	if (sound && memcmp(time.bytes + 5, "01", 2) >= 0 && memcmp(time.bytes + 5, "12", 2) <= 0 &&
	    memcmp(time.bytes + 8, "01", 2) >= 0 && memcmp(time.bytes + 8, "31", 2) <= 0 &&
	    memcmp(time.bytes + 11, "24", 2) < 0 && time.bytes[14] < '6' && time.bytes[17] < '6')
		put(out, time.bytes, strlen("2026-11-30T12:00:00.123456"));
	else
		sound = false;
	puts_out(out, sound ? "Z " : "- ");
}

static bool put_param(struct out *out, const char *name, struct text value, size_t max)
{
	bool exact;

	if (!value.bytes)
		return true;
	puts_out(out, " ");
	puts_out(out, name);
	puts_out(out, "=\"");
	exact = put_text(out, value, max, true);
	puts_out(out, "\"");
	return exact;
}

/* Hex digits as they are, or the bytes' own; too many of them are left out, never cut: the log has them. */
static void put_object_hex(struct out *out, struct text object, struct text hex)
{
	char pair[3];

	if ((hex.bytes ? hex.len : 2 * object.len) > OBJECT_MAX)
		return;
	if (hex.bytes) {
		put_param(out, "object_hex", hex, OBJECT_MAX + strlen(CLIPPED));
		return;
	}
	puts_out(out, " object_hex=\"");
	for (size_t i = 0; i < object.len; i++) {
		snprintf(pair, sizeof(pair), "%02x", (unsigned char)object.bytes[i]);
		puts_out(out, pair);
	}
	puts_out(out, "\"");
}

static void put_data(struct out *out, struct json_object *json)
{
	struct text digest = get_text(json, "digest"), object = get_text(json, "object");
	struct text hex = get_text(json, "object_hex");
	uint64_t seq = 0, cpu = 0;
	char text[48];

	digest.len = digest.len < 16 ? digest.len : 16;
	if (hex.len % 2 || strspn(hex.bytes ? hex.bytes : "", "0123456789abcdef") != hex.len)
		hex.bytes = NULL;
	puts_out(out, "[ringfence@32473");
	put_param(out, "run", get_text(json, "run"), SHORT_MAX);
	put_param(out, "policy", get_text(json, "policy"), SHORT_MAX);
	put_param(out, "digest", digest, SHORT_MAX);
	put_param(out, "rule", get_text(json, "rule"), SHORT_MAX);
	put_param(out, "access", get_text(json, "access"), 64);
	put_param(out, "verdict", get_text(json, "verdict"), 64);
	put_param(out, "reason", get_text(json, "reason"), 64);
	if (!put_param(out, "object", object, OBJECT_MAX) || hex.bytes)
		put_object_hex(out, object, hex);
	put_param(out, "person", get_name(json, "person"), SHORT_MAX);
	put_param(out, "agent", get_name(json, "agent"), SHORT_MAX);
	put_param(out, "task", get_name(json, "task"), SHORT_MAX);
	if (get_number(json, "seq", &seq)) {
		if (is(get_text(json, "src"), "kernel") && get_number(json, "cpu", &cpu))
			snprintf(text, sizeof(text), "%llu/%llu", (unsigned long long)cpu, (unsigned long long)seq);
		else
			snprintf(text, sizeof(text), "daemon/%llu", (unsigned long long)seq);
		put_param(out, "seq", (struct text){text, strlen(text)}, 64);
	}
	puts_out(out, "] ");
}

/* deny file.read /home/x/.ssh/id_ed25519 by rule standing-keys (credentials stay outside a run) */
static void put_verdict(struct out *out, struct json_object *json)
{
	struct text object = get_text(json, "object"), rule = get_text(json, "rule"), why = get_text(json, "why");

	put_text(out, get_text(json, "verdict"), 64, false);
	puts_out(out, " ");
	put_text(out, get_text(json, "access"), 64, false);
	if (object.bytes) {
		puts_out(out, " ");
		put_text(out, object, SENTENCE_MAX, false);
	}
	if (rule.bytes) {
		puts_out(out, " by rule ");
		put_text(out, rule, SHORT_MAX, false);
	}
	if (!rule.bytes)
		why = get_text(json, "reason");
	if (why.bytes) {
		puts_out(out, " (");
		put_text(out, why, WHY_MAX, false);
		puts_out(out, ")");
	}
}

static bool is_common(const char *key)
{
	static const char *const common[] = {"v",   "kind",   "time",	"host",	  "boot",  "src",  "seq",
					     "run", "policy", "digest", "person", "agent", "task", "flags"};

	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
		if (!strcmp(key, common[i]))
			return true;
	return false;
}

/* policy.reject of run r-1: error=policy.json:3:5: no such key, count=12 */
static void put_own(struct out *out, struct json_object *json)
{
	struct text run = get_text(json, "run");
	const char *before = ": ";
	size_t start;

	put_text(out, get_text(json, "kind"), 64, false);
	if (run.bytes) {
		puts_out(out, " of run ");
		put_text(out, run, SHORT_MAX, false);
	}
	start = out->len;
	json_object_object_foreach (json, key, value) {
		struct text name = {key, strlen(key)}, text;

		if (is_common(key) || json_object_is_type(value, json_type_object) ||
		    json_object_is_type(value, json_type_array))
			continue;
		if (out->len - start > SENTENCE_MAX) {
			puts_out(out, CLIPPED);
			return;
		}
		text.bytes = json_object_get_string(value);
		text.bytes = text.bytes ? text.bytes : "null";
		text.len = json_object_is_type(value, json_type_string) ? (size_t)json_object_get_string_len(value)
									: strlen(text.bytes);
		puts_out(out, before);
		put_text(out, name, 64, false);
		puts_out(out, "=");
		put_text(out, text, SENTENCE_MAX, false);
		before = ", ";
	}
}

static struct json_object *parse(const char *line, size_t len)
{
	struct json_tokener *tokener = json_tokener_new_ex(DEPTH_MAX);
	struct json_object *json;

	if (!tokener)
		return NULL;
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	json = json_tokener_parse_ex(tokener, line, (int)len);
	if (json_tokener_get_error(tokener) != json_tokener_success) {
		json_object_put(json);
		json = NULL;
	}
	json_tokener_free(tokener);
	return json;
}

int rf_syslog_format(const char *line, size_t len, unsigned int facility, char ret[RF_SYSLOG_MAX])
{
	struct out out = {.buf = ret};
	struct json_object *json = len <= INT32_MAX ? parse(line, len) : NULL;
	struct text kind;
	char pri[16];

	if (!json)
		return -EBADMSG;
	kind = json_object_is_type(json, json_type_object) ? get_text(json, "kind") : (struct text){NULL, 0};
	if (!kind.len) {
		json_object_put(json);
		return -EBADMSG;
	}
	snprintf(pri, sizeof(pri), "<%u>1 ", facility * 8 + severity(json));
	puts_out(&out, pri);
	put_time(&out, get_text(json, "time"));
	put_field(&out, get_text(json, "host"), 255);
	puts_out(&out, "ringfence - ");
	put_field(&out, get_text(json, "access").bytes ? get_text(json, "access") : kind, 32);
	put_data(&out, json);
	if (is(kind, "verdict"))
		put_verdict(&out, json);
	else
		put_own(&out, json);
	json_object_put(json);
	return out.full ? -EBADMSG : (int)out.len;
}

int rf_syslog_facility(const char *name)
{
	static const struct {
		const char *name;
		int number;
	} table[] = {
		{"user", 1},	{"daemon", 3},	{"auth", 4},	{"authpriv", 10}, {"local0", 16}, {"local1", 17},
		{"local2", 18}, {"local3", 19}, {"local4", 20}, {"local5", 21},	  {"local6", 22}, {"local7", 23},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!strcmp(name, table[i].name))
			return table[i].number;
	return -EINVAL;
}
