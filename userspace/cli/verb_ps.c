// SPDX-License-Identifier: Apache-2.0
/* ringfence ps and status: what the enforcer says of its runs and of itself. */
#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/texts.h"
#include "control/packet.h"
#include "lib/msg.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

struct ask_options {
	const char *runtime;
	bool json;
};

static const struct rf_option_row rows[] = {
	{"json", 0, RF_OPTION_FLAG, offsetof(struct ask_options, json), NULL, "print one JSON object"},
	{"runtime", 0, RF_OPTION_STRING, offsetof(struct ask_options, runtime), "DIR", "default: " RF_RUNTIME_DIR},
};

static void print_run(struct json_object *run)
{
	struct json_object *person = NULL;

	json_object_object_get_ex(run, "person", &person);
	cli_print(stdout, rf_member_string(run, "run"), 26);
	cli_print(stdout, rf_member_string(run, "policy"), 18);
	cli_print(stdout, rf_member_string(run, "agent"), 14);
	cli_print(stdout, person ? rf_member_string(person, "name") : "", 12);
	printf("%8lld %8lld ", rf_member_number(run, "denied"), rf_member_number(run, "seconds"));
	cli_print(stdout, rf_member_string(run, "cgroup"), 0);
	putchar('\n');
}

/* The enforcer answers page by page: a packet has a bound, the number of runs is larger. */
static int collect(const char *runtime, struct json_object *all)
{
	char after[80] = "";

	for (;;) {
		struct json_object *request = json_object_new_object(), *reply, *runs;
		int status;

		rf_member_add(request, "op", "ps");
		rf_member_add(request, "after", *after ? after : NULL);
		status = cli_call(runtime, request, &reply);
		if (status)
			return status;
		if (json_object_object_get_ex(reply, "runs", &runs))
			for (size_t i = 0; i < json_object_array_length(runs); i++)
				json_object_array_add(all, json_object_get(json_object_array_get_idx(runs, i)));
		snprintf(after, sizeof(after), "%s", rf_member_string(reply, "next"));
		json_object_put(reply);
		if (!*after)
			return 0;
	}
}

int verb_ps(int argc, char **argv)
{
	static const struct rf_command command = {
		.name = "ringfence ps",
		.usage = "[OPTIONS]",
		.about = "Lists the runs that live now.",
		.rows = rows,
		.n = COUNT(rows),
		.examples = "  ringfence ps --json | jq '.runs[].run'\n",
	};
	struct ask_options options = {};
	struct json_object *runs, *out;
	int n, status = cli_parse(&command, argc, argv, &options, 0, 0, &n);

	if (status >= 0)
		return status;
	runs = json_object_new_array();
	status = collect(options.runtime, runs);
	if (status) {
		json_object_put(runs);
		return status;
	}
	if (options.json) {
		out = json_object_new_object();
		json_object_object_add(out, "runs", runs);
		cli_print_json(out);
		return CLI_OK;
	}
	printf("%-26s%-18s%-14s%-12s%8s %8s %s\n", "RUN", "POLICY", "AGENT", "PERSON", "DENIED", "SECONDS", "CGROUP");
	for (size_t i = 0; i < json_object_array_length(runs); i++)
		print_run(json_object_array_get_idx(runs, i));
	json_object_put(runs);
	return CLI_OK;
}

static void print_status(struct json_object *s)
{
	struct cli_colours c = cli_colours(stdout);
	long long emitted = rf_member_number(s, "emitted"), lost = rf_member_number(s, "lost");
	const char *log_error = rf_member_string(s, "log_error");
	struct json_object *reasons;

	printf("enforcer   %s, pid %lld, since %s%s\n", rf_member_string(s, "version"), rf_member_number(s, "pid"),
	       rf_member_string(s, "since"), rf_member_number(s, "adopted") ? ", took over a former one's fences" : "");
	printf("runs       %lld\n", rf_member_number(s, "runs"));
	printf("events     %lld emitted, %lld delivered, %s%lld lost%s, %lld waiting\n", emitted,
	       rf_member_number(s, "delivered"), lost ? c.bad : "", lost, lost ? c.off : "",
	       emitted - rf_member_number(s, "delivered") - lost);
	printf("log        ");
	cli_print(stdout, rf_member_string(s, "log"), 0);
	if (*log_error)
		printf("  %s%s: events wait, nothing is dropped in silence%s", c.bad, log_error, c.off);
	putchar('\n');
	printf("refused    %lld callers of the control socket\n", rf_member_number(s, "refused"));
	if (!json_object_object_get_ex(s, "reasons", &reasons))
		return;
	json_object_object_foreach (reasons, name, count)
		printf("denied     %lld %s\n", (long long)json_object_get_int64(count), name);
}

int verb_status(int argc, char **argv)
{
	static const struct rf_command command = {
		.name = "ringfence status",
		.usage = "[OPTIONS]",
		.about = "Shows the enforcer, its books (emitted = delivered + lost + waiting) and where it logs.",
		.rows = rows,
		.n = COUNT(rows),
		.examples = "  ringfence status --json | jq .lost\n",
	};
	struct ask_options options = {};
	struct json_object *request, *reply;
	int n, status = cli_parse(&command, argc, argv, &options, 0, 0, &n);

	if (status >= 0)
		return status;
	request = json_object_new_object();
	rf_member_add(request, "op", "status");
	status = cli_call(options.runtime, request, &reply);
	if (status)
		return status;
	if (options.json) {
		cli_print_json(reply);
		return CLI_OK;
	}
	print_status(reply);
	json_object_put(reply);
	return CLI_OK;
}
