/* SPDX-License-Identifier: Apache-2.0 */
/* Options and their defaults. */
#include "ship/arguments.h"

#include <errno.h>
#include <stdio.h>

#include "lib/options.h"

#ifndef RF_VERSION
#define RF_VERSION "0.1.0-dev"
#endif

#define SETTLE_MAX 3600
#define TIMEOUT_MAX 86400

#define AT(member) offsetof(struct rf_ship_arguments, member)

static const struct rf_option_row rows[] = {
	{"to", 't', RF_OPTION_STRING, AT(to), "HOST:PORT",
	 "the syslog receiver (TCP, RFC 5424); port 601 if not given"},
	{"log", 'l', RF_OPTION_STRING, AT(log), "FILE", "the events; default /var/log/ringfence/events.jsonl"},
	{"cursor", 'c', RF_OPTION_STRING, AT(cursor), "FILE",
	 "how far they are delivered; default /var/lib/ringfence-ship/cursor"},
	{"status", 's', RF_OPTION_STRING, AT(status), "FILE",
	 "write what was delivered and what is left, once a second"},
	{"facility", 'f', RF_OPTION_STRING, AT(facility), "NAME", "syslog facility; default local0"},
	{"settle", 0, RF_OPTION_NUMBER, AT(settle), "SECONDS",
	 "send again after a lost connection what is younger; default 5"},
	{"once", '1', RF_OPTION_FLAG, AT(once), NULL,
	 "deliver what is there now, then exit: 0 if all was acknowledged"},
	{"timeout", 0, RF_OPTION_NUMBER, AT(timeout), "SECONDS",
	 "of --once: give up after so long without progress; default 30"},
	{"user", 'u', RF_OPTION_STRING, AT(user), "NAME", "become this user before anything else"},
	{"allow-root", 0, RF_OPTION_FLAG, AT(allow_root), NULL, "run as root (not recommended)"},
	{"version", 'V', RF_OPTION_FLAG, AT(version), NULL, "print the version"},
};

static const struct rf_command command = {
	.name = "ringfence-ship",
	.usage = "--to HOST:PORT [OPTIONS]",
	.about = "Delivers Ringfence's events to a syslog receiver, in order and at least once.",
	.rows = rows,
	.n = sizeof(rows) / sizeof(rows[0]),
	.examples = "  ringfence-ship --to logs.example.org:601 --user ringfence-ship\n"
		    "  ringfence-ship --to [::1]:10514 --once --log ./events.jsonl --cursor ./cursor\n",
};

static const char *complaint(const struct rf_ship_arguments *a, int n)
{
	if (n)
		return "arguments without an option are not known; see `ringfence-ship --help`";
	if (!a->to)
		return "no receiver: give --to HOST:PORT";
	if (a->settle > SETTLE_MAX)
		return "--settle is at most 3600 seconds";
	return a->timeout > TIMEOUT_MAX ? "--timeout is at most 86400 seconds" : NULL;
}

int rf_ship_arguments(int argc, char **argv, struct rf_ship_arguments *ret, char *reterr, size_t size)
{
	struct rf_ship_arguments a = {
		.log = "/var/log/ringfence/events.jsonl",
		.cursor = "/var/lib/ringfence-ship/cursor",
		.facility = "local0",
		.settle = 5,
		.timeout = 30,
	};
	int n = 0, err = rf_options_parse(&command, argc, argv, &a, &n, reterr, size);

	if (err == 1)
		rf_options_help(&command, stdout);
	if (err)
		return err;
	if (a.version) {
		puts("ringfence-ship " RF_VERSION);
		return 1;
	}
	if (complaint(&a, n)) {
		snprintf(reterr, size, "%s", complaint(&a, n));
		return -EINVAL;
	}
	*ret = a;
	return 0;
}
