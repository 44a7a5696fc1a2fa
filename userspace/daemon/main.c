// SPDX-License-Identifier: Apache-2.0
/* ringfenced(8): argv, then the manager. */
#include <stdio.h>
#include <sys/stat.h>

#include "control/request.h"
#include "daemon/manager.h"
#include "lib/msg.h"
#include "lib/version.h"

#define ROW(name, kind, member, arg, help)                                        \
	{                                                                         \
		name, 0, kind, offsetof(struct daemon_options, member), arg, help \
	}
#define LOG_MAX_DEFAULT (256ULL << 20)
#define LOG_KEEP_DEFAULT 8

static const struct rf_option_row rows[] = {
	ROW("policies", RF_OPTION_LIST, dirs, "DIR",
	    "where policies are looked up by name (repeatable); default:\n"
	    "                             /etc/ringfence/policies, /usr/share/ringfence/policies"),
	ROW("floor", RF_OPTION_STRING, floor, "FILE", "the host's floor; default: " RF_FLOOR_DEFAULT ", if it exists"),
	ROW("log", RF_OPTION_STRING, log, "FILE", "the event log; default: " RF_LOG_DEFAULT),
	ROW("log-max", RF_OPTION_NUMBER, log_max, "BYTES", "size at which it is rotated; default: 256M"),
	ROW("log-keep", RF_OPTION_NUMBER, log_keep, "N", "rotated files that are kept; default: 8"),
	ROW("runtime", RF_OPTION_STRING, runtime, "DIR", "lock, socket and runs; default: " RF_RUNTIME_DIR),
	ROW("embedded", RF_OPTION_FLAG, embedded, NULL, "leave when the last run has ended"),
	ROW("foreground", RF_OPTION_FLAG, foreground, NULL, "there is no other way; accepted for service managers"),
	ROW("version", RF_OPTION_FLAG, version, NULL, "print the version"),
};

static const struct rf_command command = {
	.name = "ringfenced",
	.usage = "[OPTIONS]",
	.about = "The enforcer of ringfence: loads the kernel half, keeps runs, writes the event log. Needs root.",
	.rows = rows,
	.n = sizeof(rows) / sizeof(rows[0]),
	.examples = "  ringfenced --policies ./policies --log /tmp/events.jsonl --runtime /run/ringfence-test\n",
};

int main(int argc, char **argv)
{
	static struct manager manager; /* its tables are too large for the stack */
	static const struct rf_option_list dirs = RF_POLICY_DIRS_DEFAULT;
	struct daemon_options options = {
		.log = RF_LOG_DEFAULT,
		.log_max = LOG_MAX_DEFAULT,
		.log_keep = LOG_KEEP_DEFAULT,
		.runtime = RF_RUNTIME_DIR,
	};
	char why[256];
	int n, status = rf_options_parse(&command, argc - 1, argv + 1, &options, &n, why, sizeof(why));

	if (status > 0) {
		rf_options_help(&command, stdout);
		return 0;
	}
	if (status < 0)
		return rf_err(2, "%s", why);
	if (n)
		return rf_err(2, "unexpected argument \"%s\"; see `ringfenced --help`", argv[1]);
	if (options.version) {
		printf("ringfenced %s\n", RF_VERSION);
		return 0;
	}
	if (!options.log_keep || options.log_keep > 1000)
		return rf_err(2, "--log-keep is a number from 1 to 1000");
	if (!options.dirs.n)
		options.dirs = dirs;
	umask(022);
	status = manager_start(&manager, &options);
	if (!status)
		status = manager_loop(&manager);
	manager_done(&manager);
	return status;
}
