/* SPDX-License-Identifier: Apache-2.0 */
/* The enforcer's own records, and the members that all lines share. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "event/event.h"
#include "event/line.h"

#define NS_PER_S 1000000000LL

static void put_time(struct rf_line *line, int64_t realtime_ns)
{
	time_t seconds = realtime_ns / NS_PER_S;
	char text[64];
	struct tm tm;

	/* A record whose time cannot be told has none, rather than a wrong one. */
	if (realtime_ns < 0 || !gmtime_r(&seconds, &tm))
		return;
	snprintf(text, sizeof(text), "\"%04d-%02d-%02dT%02d:%02d:%02d.%09dZ\"", tm.tm_year + 1900, tm.tm_mon + 1,
		 tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(realtime_ns % NS_PER_S));
	rf_line_key(line, "time");
	rf_line_raw(line, text);
}

void rf_line_head(struct rf_line *line, const char *kind, int64_t realtime_ns, const struct rf_host_info *host)
{
	rf_line_raw(line, "{\"v\":1");
	rf_line_string(line, "kind", kind, RF_LINE_RUN_MAX);
	put_time(line, realtime_ns);
	if (!host)
		return;
	rf_line_string(line, "host", host->host, RF_LINE_HOST_MAX);
	rf_line_string(line, "boot", host->boot_id, RF_LINE_BOOT_MAX);
}

void rf_line_run(struct rf_line *line, const struct rf_run_info *run)
{
	if (!run)
		return;
	rf_line_string(line, "run", run->run, RF_LINE_RUN_MAX);
	rf_line_string(line, "policy", run->policy, RF_LINE_POLICY_MAX);
	rf_line_string(line, "digest", run->digest, RF_LINE_DIGEST_MAX);
}

static const char *strength_name(enum rf_strength strength)
{
	static const char *const names[] = {
		[RF_KERNEL] = "kernel",
		[RF_VERIFIED] = "verified",
		[RF_DECLARED] = "declared",
	};

	return (size_t)strength < sizeof(names) / sizeof(names[0]) ? names[strength] : NULL;
}

static void put_statement(struct rf_line *line, const char *key, const char *name, enum rf_strength strength,
			  size_t max)
{
	if (!name)
		return;
	rf_line_key(line, key);
	rf_line_raw(line, "{");
	rf_line_text(line, "name", key, name, strlen(name), max);
	rf_line_string(line, "strength", strength_name(strength), RF_LINE_RUN_MAX);
	rf_line_raw(line, "}");
}

void rf_line_people(struct rf_line *line, const struct rf_run_info *run)
{
	if (!run)
		return;
	put_statement(line, "person", run->person, run->person_strength, RF_LINE_PERSON_MAX);
	put_statement(line, "agent", run->agent, run->agent_strength, RF_LINE_AGENT_MAX);
	put_statement(line, "task", run->task, run->task_strength, RF_LINE_TASK_MAX);
}

/* An integer as JSON has it: an optional '-', no leading zero. */
static bool is_integer(const char *text)
{
	size_t n;

	text += *text == '-';
	n = strspn(text, "0123456789");
	return n && n <= 20 && !text[n] && (text[0] != '0' || n == 1);
}

static int put_field(struct rf_line *line, const char *key, const char *value)
{
	size_t n = strlen(key);
	char name[64];

	if (!n || key[n - 1] != '#') {
		rf_line_string(line, key, value, RF_LINE_FIELD_MAX);
		return 0;
	}
	if (!value)
		return 0;
	if (n > sizeof(name) || !is_integer(value))
		return -EINVAL;
	memcpy(name, key, n - 1);
	name[n - 1] = '\0';
	rf_line_key(line, name);
	rf_line_raw(line, value);
	return 0;
}

int rf_own_json(const char *kind, uint64_t seq, const struct rf_host_info *host, const struct rf_run_info *run,
		const char *const *fields, char *buf, size_t size)
{
	struct rf_line line = {.buf = buf, .size = size};
	struct timespec now = {0};
	int err;

	clock_gettime(CLOCK_REALTIME, &now);
	rf_line_head(&line, kind, now.tv_sec * NS_PER_S + now.tv_nsec, host);
	rf_line_string(&line, "src", "daemon", RF_LINE_RUN_MAX);
	rf_line_unsigned(&line, "seq", seq);
	rf_line_run(&line, run);
	rf_line_people(&line, run);
	for (; fields && fields[0]; fields += 2) {
		err = put_field(&line, fields[0], fields[1]);
		if (err)
			return err;
	}
	rf_line_flags(&line, NULL);
	return rf_line_end(&line);
}
