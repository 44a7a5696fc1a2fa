// SPDX-License-Identifier: Apache-2.0
/* A line of the event log as people read it. */
#include "cli/event_line.h"

#include <json-c/json.h>
#include <string.h>

#include "control/packet.h"

/* The members that stand elsewhere in the line, or help machines only. */
static bool is_plain(const char *key)
{
	static const char *const others[] = {"v",   "kind",   "time", "host",	"boot",	       "src",  "seq",
					     "run", "run_id", "uid",  "digest", "policy_file", "flags"};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strcmp(key, others[i]))
			return false;
	return true;
}

static void print_own(FILE *out, struct json_object *event, const struct cli_colours *c)
{
	fprintf(out, "%s%-7s%s ", c->faint, "-", c->off);
	cli_print(out, rf_member_string(event, "kind"), 16);
	cli_print(out, rf_member_string(event, "run"), 0);
	json_object_object_foreach (event, key, value) {
		if (!is_plain(key))
			continue;
		if (json_object_is_type(value, json_type_object))
			value = json_object_object_get(value, "name");
		fprintf(out, " %s=", key);
		cli_print(out, json_object_get_string(value) ? json_object_get_string(value) : "", 0);
	}
	putc('\n', out);
}

static void print_verdict(FILE *out, struct json_object *event, const struct cli_colours *c)
{
	const char *verdict = rf_member_string(event, "verdict"), *rule = rf_member_string(event, "rule");
	const char *object = rf_member_string(event, "object");

	fprintf(out, "%s", !strcmp(verdict, "deny") ? c->bad : !strcmp(verdict, "observe") ? c->warn : c->good);
	cli_print(out, verdict, 7);
	fprintf(out, "%s ", c->off);
	cli_print(out, rf_member_string(event, "access"), 16);
	cli_print(out, *object ? object : "?", 0);
	fprintf(out, "  %s(", c->faint);
	cli_print(out, *rule ? rule : rf_member_string(event, "reason"), 0);
	fprintf(out, ")%s  ", c->off);
	cli_print(out, rf_member_string(event, "comm"), 0);
	putc('\n', out);
}

bool cli_print_event(FILE *out, const char *line, const char *run, bool json, const struct cli_colours *c)
{
	struct json_object *event = json_tokener_parse(line);
	bool whole = json_object_is_type(event, json_type_object), shown = true;
	const char *time;

	if (run && (!whole || strcmp(rf_member_string(event, "run"), run))) {
		shown = false;
	} else if (json) {
		fprintf(out, "%.*s\n", (int)strcspn(line, "\n"), line);
	} else if (!whole) {
		fprintf(out, "not an event: ");
		cli_print(out, line, 0);
		putc('\n', out);
	} else {
		/* Date and milliseconds: "2026-11-30 14:25:01.123" of "2026-11-30T14:25:01.123456789Z" */
		time = rf_member_string(event, "time");
		fprintf(out, "%s%.10s %.12s%s ", c->faint, time, strlen(time) > 11 ? time + 11 : "", c->off);
		(strcmp(rf_member_string(event, "kind"), "verdict") ? print_own : print_verdict)(out, event, c);
	}
	json_object_put(event);
	return shown;
}
