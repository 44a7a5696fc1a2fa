/* SPDX-License-Identifier: Apache-2.0 */
/* ship/format.c: exact messages, escaping, bounds, what is no event. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "event/text.h"
#include "lib/cleanup.h"
#include "ship/format.h"

#define HEAD                                                                                            \
	"\"v\":1,\"kind\":\"verdict\",\"time\":\"2026-11-30T12:00:00.123456789Z\",\"host\":\"build7\"," \
	"\"src\":\"kernel\",\"cpu\":3,\"seq\":99"

static void assert_format(const char *line, const char *expected)
{
	char message[RF_SYSLOG_MAX + 1];
	int n = rf_syslog_format(line, strlen(line), RF_SYSLOG_LOCAL0, message);

	assert_true(n > 0);
	message[n] = '\0';
	assert_string_equal(message, expected);
}

static void verdict_is_a_sentence(void **state)
{
	(void)state;
	assert_format("{" HEAD ",\"run\":\"r-1\",\"policy\":\"coding-agent\",\"digest\":\"00112233445566778899aabb\","
		      "\"rule\":\"standing-keys\",\"why\":\"credentials stay outside a run\","
		      "\"person\":{\"name\":\"ada\",\"strength\":\"kernel\"},\"agent\":{\"name\":\"claude\"},"
		      "\"task\":{\"name\":\"T-7\"},\"access\":\"file.read\",\"object\":\"/home/x/.ssh/id_ed25519\","
		      "\"verdict\":\"deny\",\"reason\":\"rule\"}",
		      "<132>1 2026-11-30T12:00:00.123456Z build7 ringfence - file.read [ringfence@32473 run=\"r-1\" "
		      "policy=\"coding-agent\" digest=\"0011223344556677\" rule=\"standing-keys\" access=\"file.read\" "
		      "verdict=\"deny\" reason=\"rule\" object=\"/home/x/.ssh/id_ed25519\" person=\"ada\" "
		      "agent=\"claude\" task=\"T-7\" seq=\"3/99\"] deny file.read /home/x/.ssh/id_ed25519 by rule "
		      "standing-keys (credentials stay outside a run)");
	assert_format("{" HEAD ",\"access\":\"net.connect\",\"object\":\"[::1]:80/tcp\",\"verdict\":\"deny\","
		      "\"reason\":\"no-rule\"}",
		      "<132>1 2026-11-30T12:00:00.123456Z build7 ringfence - net.connect [ringfence@32473 "
		      "access=\"net.connect\" verdict=\"deny\" reason=\"no-rule\" object=\"[::1\\]:80/tcp\" "
		      "seq=\"3/99\"] deny net.connect [::1]:80/tcp (no-rule)");
}

static void own_records_tell_their_fields(void **state)
{
	(void)state;
	assert_format("{\"v\":1,\"kind\":\"lost\",\"src\":\"daemon\",\"seq\":4,\"cpu\":3,\"count\":12}",
		      "<131>1 - - ringfence - lost [ringfence@32473 seq=\"daemon/4\"] lost: cpu=3, count=12");
	assert_format("{\"kind\":\"run.start\",\"run\":\"r-1\",\"cgroup\":{\"id\":1},\"command\":\"a\\nb\",\"x\":null}",
		      "<134>1 - - ringfence - run.start [ringfence@32473 run=\"r-1\"] run.start of run r-1: "
		      "command=a\\u000ab, x=null");
}

static void severity_follows_the_verdict(void **state)
{
	static const struct {
		const char *line, *pri;
	} table[] = {
		{"{\"kind\":\"verdict\",\"verdict\":\"deny\"}", "<132>"},
		{"{\"kind\":\"verdict\",\"verdict\":\"observe\"}", "<133>"},
		{"{\"kind\":\"verdict\",\"verdict\":\"allow\"}", "<134>"},
		{"{\"kind\":\"lost\"}", "<131>"},
		{"{\"kind\":\"run.end\"}", "<134>"},
	};
	char message[RF_SYSLOG_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		assert_true(rf_syslog_format(table[i].line, strlen(table[i].line), RF_SYSLOG_LOCAL0, message) > 0);
		assert_memory_equal(message, table[i].pri, 5);
	}
	assert_true(rf_syslog_format("{\"kind\":\"lost\"}", 15, 1, message) > 0);
	assert_memory_equal(message, "<11>1 ", 6);
	assert_int_equal(rf_syslog_facility("local0"), RF_SYSLOG_LOCAL0);
	assert_int_equal(rf_syslog_facility("local7"), 23);
	assert_int_equal(rf_syslog_facility("local8"), -EINVAL);
	assert_int_equal(rf_syslog_facility(""), -EINVAL);
}

static void hostile_names_are_shown_and_kept(void **state)
{
	static const struct {
		const char *object, *data, *sentence;
	} table[] = {
		{"\"/a\\\"b\\\\c]d\"", "object=\"/a\\\"b\\\\c\\]d\" seq", "] deny file.read /a\"b\\c]d"},
		{"\"/a\\nb\"", "object=\"/a\\\\u000ab\" object_hex=\"2f610a62\" seq", "/a\\u000ab"},
		{"\"/\\u202e\\u0085\"", "object=\"/\\\\u202e\\\\u0085\" object_hex=\"2fe280aec285\" seq", "/\\u202e"},
		{"\"/\\ufffd\",\"object_hex\":\"2fff\"", "object=\"/\xef\xbf\xbd\" object_hex=\"2fff\" seq",
		 "/\xef\xbf\xbd"},
		{"\"/x\",\"object_hex\":\"2f\\\"] forged\"", "object=\"/x\" seq", "/x"},
		{"\"/x\",\"object_hex\":\"2f0\"", "object=\"/x\" seq", "/x"},
		{"\"/\xf0\x9f\x98\x80\"", "object=\"/\xf0\x9f\x98\x80\" seq", "/\xf0\x9f\x98\x80"},
		{"\"/nul\\u0000x\"", "object=\"/nul\\\\u0000x\" object_hex=\"2f6e756c0078\" seq", "/nul\\u0000x"},
	};
	char line[512], message[RF_SYSLOG_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		int n;

		snprintf(line, sizeof(line), "{" HEAD ",\"access\":\"file.read\",\"verdict\":\"deny\",\"object\":%s}",
			 table[i].object);
		n = rf_syslog_format(line, strlen(line), RF_SYSLOG_LOCAL0, message);
		assert_true(n > 0);
		assert_non_null(memmem(message, (size_t)n, table[i].data, strlen(table[i].data)));
		assert_non_null(memmem(message, (size_t)n, table[i].sentence, strlen(table[i].sentence)));
	}
}

static void header_fields_stay_fields(void **state)
{
	static const struct {
		const char *members, *expected;
	} table[] = {
		{"\"host\":\"a b\\n\\u00fc\"", "<134>1 - a?b??? ringfence - x "},
		{"\"host\":\"\"", "<134>1 - - ringfence - x "},
		{"\"host\":7", "<134>1 - - ringfence - x "},
		{"\"access\":\"a very long access name of more than 32 bytes\"",
		 "<134>1 - - ringfence - a?very?long?access?name?of?more? "},
		{"\"time\":\"2026-11-30T12:00:00.123456789Z\"", "<134>1 2026-11-30T12:00:00.123456Z - "},
		{"\"time\":\"2026-13-30T12:00:00.123456789Z\"", "<134>1 - - "},
		{"\"time\":\"2026-11-32T12:00:00.123456789Z\"", "<134>1 - - "},
		{"\"time\":\"2026-11-30T24:00:00.123456789Z\"", "<134>1 - - "},
		{"\"time\":\"2026-11-30T12:60:00.123456789Z\"", "<134>1 - - "},
		{"\"time\":\"2026-11-30 12:00:00.123456789Z\"", "<134>1 - - "},
		{"\"time\":\"2026-11-30T12:00:00Z\"", "<134>1 - - "},
		{"\"time\":\"2026-11-30T12:00:00.123456789Z \"", "<134>1 - - "},
		{"\"time\":\"\\n<0>1\"", "<134>1 - - "},
	};
	char line[512], message[RF_SYSLOG_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		int n;

		snprintf(line, sizeof(line), "{\"kind\":\"x\",%s}", table[i].members);
		n = rf_syslog_format(line, strlen(line), RF_SYSLOG_LOCAL0, message);
		assert_true(n > (int)strlen(table[i].expected));
		assert_memory_equal(message, table[i].expected, strlen(table[i].expected));
	}
}

static void what_is_no_event_is_refused(void **state)
{
	static const char *const table[] = {
		"",
		"x",
		"{",
		"[]",
		"\"kind\"",
		"null",
		"{}",
		"{\"kind\":\"\"}",
		"7",
		"{\"kind\":1}",
		"{\"kind\":\"a\"} x",
		"{\"kind\":\"a\"}{}",
		"{kind:\"a\"}",
		"{\"kind\":\"\xff\"}",
		"{\"kind\":'a'}",
		"{\"kind\":\"a\",\"x\":[[[[[[[[[[[[1]]]]]]]]]]]]}",
	};
	char message[RF_SYSLOG_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		assert_int_equal(rf_syslog_format(table[i], strlen(table[i]), RF_SYSLOG_LOCAL0, message), -EBADMSG);
	assert_true(rf_syslog_format("{\"kind\":\"a\"}", 12, RF_SYSLOG_LOCAL0, message) > 0);
}

static void assert_message(const char *message, int n)
{
	uint32_t point;

	assert_true(n > 0 && n <= RF_SYSLOG_MAX);
	for (size_t i = 0, step; i < (size_t)n; i += step) {
		step = rf_utf8_decode(message + i, (size_t)n - i, &point);
		assert_true(step > 0);
		assert_false(rf_text_hidden(point));
	}
}

/* Every member far too long, of every kind of character: the message keeps its bound and its end. */
static void worst_case_fits(void **state)
{
	static const char *const fillers[] = {"x", "\\\"", "]", "\\n", "\\udb40\\udc41", "\\u202e", "\xf0\x9f\x98\x80"};
	static const char *const members[] = {"run",	"policy", "digest", "rule", "why",  "access", "verdict",
					      "reason", "object", "host",   "src",  "time", "extra",  "boot"};
	__cleanup(freep) char *line = malloc(1 << 20), *value = malloc(1 << 16);
	char message[RF_SYSLOG_MAX];

	(void)state;
	for (size_t f = 0; f < 2 * sizeof(fillers) / sizeof(fillers[0]); f++) {
		const char *filler = fillers[f / 2];
		size_t len = strlen(filler), n;

		for (n = 0; n + len < 12000; n += len)
			memcpy(value + n, filler, len);
		value[n] = '\0';
		n = (size_t)sprintf(line,
				    "{\"kind\":\"%s\",\"person\":{\"name\":\"%s\"},\"agent\":{\"name\":\"%s\"},"
				    "\"task\":{\"name\":\"%s\"},\"seq\":18446744073709551615",
				    f % 2 ? "verdict" : value, value, value, value);
		for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
			n += (size_t)sprintf(line + n, ",\"%s\":\"%s\"", members[i], value);
		n += (size_t)sprintf(line + n, "}");
		assert_message(message, rf_syslog_format(line, n, 23, message));
	}
}

static void long_objects_are_clipped_with_a_mark(void **state)
{
	char line[4096], name[3000], message[RF_SYSLOG_MAX];
	int n;

	(void)state;
	memset(name, 'x', sizeof(name));
	name[2999] = '\0';
	snprintf(line, sizeof(line), "{\"kind\":\"verdict\",\"object\":\"%s\",\"seq\":1}", name);
	n = rf_syslog_format(line, strlen(line), RF_SYSLOG_LOCAL0, message);
	assert_message(message, n);
	assert_non_null(memmem(message, (size_t)n, "xxx\xe2\x80\xa6\" seq=\"daemon/1\"] ", 24));
	assert_null(memmem(message, (size_t)n, "object_hex", 10));
	assert_memory_equal(message + n - 4, "x\xe2\x80\xa6", 4);
}

/* A valid line with a few bytes changed: refused, or a message that keeps the rules. The same sequence each time. */
static void changed_lines_never_break_out(void **state)
{
	static const char line[] = "{" HEAD ",\"object\":\"/a\\u000a\\ud800\xc3\xbc]\\\"\",\"object_hex\":\"2f61\","
				   "\"person\":{\"name\":\"x\"},\"verdict\":\"deny\",\"n\":1.5e3,\"extra\":true}";
	uint64_t random = 42;
	size_t taken = 0;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		char copy[sizeof(line)], message[RF_SYSLOG_MAX];
		int n;

		memcpy(copy, line, sizeof(line));
		for (int j = 0; j <= i % 3; j++) {
			random = random * 6364136223846793005 + 1442695040888963407;
			copy[(random >> 33) % (sizeof(line) - 1)] = (char)(random >> 25);
		}
		n = rf_syslog_format(copy, sizeof(line) - 1, RF_SYSLOG_LOCAL0, message);
		if (n == -EBADMSG)
			continue;
		assert_message(message, n);
		taken++;
	}
	assert_true(taken > 1000 && taken < 19000);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(verdict_is_a_sentence),
		cmocka_unit_test(own_records_tell_their_fields),
		cmocka_unit_test(severity_follows_the_verdict),
		cmocka_unit_test(hostile_names_are_shown_and_kept),
		cmocka_unit_test(header_fields_stay_fields),
		cmocka_unit_test(what_is_no_event_is_refused),
		cmocka_unit_test(worst_case_fits),
		cmocka_unit_test(long_objects_are_clipped_with_a_mark),
		cmocka_unit_test(changed_lines_never_break_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
