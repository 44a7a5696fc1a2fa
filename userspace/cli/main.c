// SPDX-License-Identifier: Apache-2.0
/* ringfence(1): a table of verbs. */
#include <signal.h>
#include <string.h>

#include "cli/cli.h"
#include "lib/msg.h"
#include "lib/version.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const struct cli_verb verbs[] = {
	{"run", verb_run, "run a command inside a fence"},
	{"tag", verb_tag, "fence an existing cgroup or process"},
	{"untag", verb_untag, "take the fence off a tagged cgroup"},
	{"ps", verb_ps, "list the runs that live now"},
	{"events", verb_events, "show what was denied"},
	{"policy", verb_policy, "check, explain, show or test policies"},
	{"doctor", verb_doctor, "find out whether this host can enforce"},
	{"status", verb_status, "show the enforcer and its books"},
};

static int help(FILE *out)
{
	fprintf(out, "usage: ringfence VERB [OPTIONS]\n\nFences AI agents in the kernel.\n\n");
	for (size_t i = 0; i < COUNT(verbs); i++)
		fprintf(out, "  %-8s %s\n", verbs[i].name, verbs[i].about);
	fprintf(out, "\n`ringfence help VERB` or `ringfence VERB --help` says more; ringfence(1) says all.\n"
		     "A first fence:  ringfence run -- bash\n");
	return out == stdout ? CLI_OK : CLI_USAGE;
}

int main(int argc, char **argv)
{
	const struct cli_verb *verb;
	const char *name = argc > 1 ? argv[1] : "";
	char *help_args[] = {"--help", NULL};
	bool wants_help = !strcmp(name, "help") || !strcmp(name, "--help") || !strcmp(name, "-h");

	if (argc < 2)
		return help(stderr);
	if (!strcmp(name, "--version")) {
		printf("ringfence %s\n", RF_VERSION);
		return CLI_OK;
	}
	if (wants_help && argc < 3)
		return help(stdout);
	verb = cli_find(verbs, COUNT(verbs), wants_help ? argv[2] : name);
	if (!verb)
		return cli_unknown("ringfence", verbs, COUNT(verbs), wants_help ? argv[2] : name);
	/* `ringfence events | head` ends without a message. */
	if (verb->run != verb_run)
		signal(SIGPIPE, SIG_DFL);
	if (wants_help)
		return verb->run(1, help_args);
	return verb->run(argc - 2, argv + 2);
}
