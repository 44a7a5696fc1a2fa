/* SPDX-License-Identifier: Apache-2.0 */
/* ringfence-ship: the command line. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

#include "lib/cleanup.h"
#include "lib/msg.h"
#include "ship/arguments.h"
#include "ship/format.h"
#include "ship/privilege.h"
#include "ship/ship.h"
#include "ship/syslog.h"

static int ship(const struct rf_ship_arguments *a)
{
	struct rf_ship_config config = {
		.log = a->log,
		.cursor = a->cursor,
		.status = a->status,
		.to = a->to,
		.once = a->once,
		.settle_ms = (int64_t)a->settle * 1000,
		.timeout_ms = (int64_t)a->timeout * 1000,
	};
	__cleanup(freep) char *host = NULL, *port = NULL;
	__cleanup(rf_syslog_free) struct rf_sink *sink = NULL;
	__cleanup(closep) int signals = -1;
	int facility = rf_syslog_facility(a->facility);
	sigset_t set;

	if (facility < 0)
		return rf_err(facility, "--facility %s: give local0 to local7, user, daemon, auth or authpriv",
			      a->facility);
	config.facility = (unsigned int)facility;
	if (rf_syslog_address(a->to, &host, &port))
		return rf_err(-EINVAL, "--to %s: give HOST:PORT, an IPv6 address in brackets", a->to);
	if (rf_ship_drop(a->user, a->allow_root))
		return -EPERM;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0 || rf_syslog_new(host, port, &sink))
		return rf_err(-ENOMEM, "cannot begin: %s", strerror(errno));
	return rf_ship_run(&config, sink, signals);
}

int main(int argc, char **argv)
{
	struct rf_ship_arguments a;
	char error[256];
	int err = rf_ship_arguments(argc - 1, argv + 1, &a, error, sizeof(error));

	if (err == 1)
		return 0;
	if (err) {
		rf_say("%s", error);
		return 2;
	}
	err = ship(&a);
	if (err == -ETIMEDOUT)
		rf_say("not everything was acknowledged by %s; run again to deliver the rest", a.to);
	return err ? 1 : 0;
}
