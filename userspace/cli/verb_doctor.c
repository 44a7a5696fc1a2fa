// SPDX-License-Identifier: Apache-2.0
/* ringfence doctor: can this host enforce, and what to do when not. */
#include <json-c/json.h>
#include <stddef.h>

#include "cli/cli.h"
#include "control/packet.h"
#include "kern/enforcer.h"

#define PROBES_MAX 32

struct doctor_options {
	bool json;
};

static const char *result_name(enum rf_probe_result result)
{
	return result == RF_PROBE_OK ? "ok" : result == RF_PROBE_WARNING ? "warning" : "missing";
}

static void print_json(const struct rf_probe *probes, size_t n, bool good)
{
	struct json_object *out = json_object_new_object(), *list = json_object_new_array();

	for (size_t i = 0; i < n; i++) {
		struct json_object *probe = json_object_new_object();

		rf_member_add(probe, "name", probes[i].name);
		rf_member_add(probe, "result", result_name(probes[i].result));
		rf_member_add(probe, "found", probes[i].found);
		rf_member_add(probe, "remedy", probes[i].remedy);
		json_object_array_add(list, probe);
	}
	json_object_object_add(out, "can_enforce", json_object_new_boolean(good));
	json_object_object_add(out, "probes", list);
	cli_print_json(out);
}

static void print_text(const struct rf_probe *probes, size_t n, bool good)
{
	struct cli_colours c = cli_colours(stdout);

	for (size_t i = 0; i < n; i++) {
		enum rf_probe_result result = probes[i].result;
		const char *colour = result == RF_PROBE_OK ? c.good : result == RF_PROBE_WARNING ? c.warn : c.bad;

		printf("%s%-8s%s %-14s ", colour, result_name(result), c.off, probes[i].name);
		cli_print(stdout, probes[i].found, 0);
		putchar('\n');
		if (probes[i].remedy[0])
			printf("%24s-> %s\n", "", probes[i].remedy);
	}
	printf("%s\n", good ? "this host can enforce" : "this host cannot enforce yet");
}

int verb_doctor(int argc, char **argv)
{
	static const struct rf_option_row rows[] = {
		{"json", 0, RF_OPTION_FLAG, offsetof(struct doctor_options, json), NULL, "print one JSON object"},
	};
	static const struct rf_command command = {
		.name = "ringfence doctor",
		.usage = "[OPTIONS]",
		.about = "Tries what enforcement needs of this host, and says what to do where it is missing. Exit "
			 "status 1:\n"
			 "something is.",
		.rows = rows,
		.n = 1,
		.examples = "  sudo ringfence doctor\n",
	};
	struct rf_probe probes[PROBES_MAX] = {};
	struct doctor_options options = {};
	bool good = true;
	size_t found;
	int n, status = cli_parse(&command, argc, argv, &options, 0, 0, &n);

	if (status >= 0)
		return status;
	found = rf_probe_host(probes, PROBES_MAX);
	for (size_t i = 0; i < found; i++)
		good = good && probes[i].result != RF_PROBE_MISSING;
	(options.json ? print_json : print_text)(probes, found, good && found);
	return good && found ? CLI_OK : CLI_FAILED;
}
