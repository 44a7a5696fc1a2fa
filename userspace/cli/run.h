/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `ringfence run`: an enforcer to talk to, and a child in a cgroup. */
#pragma once

#include <sys/types.h>

#include "lib/options.h"

struct run_options {
	const char *policy, *workspace, *home, *tmp, *task, *agent, *person;
	const char *floor, *log, *runtime;
	struct rf_option_list dirs;
	bool quiet;
};

/* Starts ringfenced --embedded and waits until it listens: 0 with a connection, or an exit status after a message. */
int cli_start_enforcer(const struct run_options *options, int *ret_fd);

struct child {
	const char *cgroup; /* directory to move into */
	const char *directory; /* to work in, or NULL */
	const char *path; /* of the program */
	char **argv;
	const char *policy; /* for the hint when the program cannot be executed */
};

/*
 * The program that a shell would run, as a malloc'ed path: 0, or 127 (none) or 126 (not executable) after a message.
 */
int cli_find_program(const char *name, char **ret_path);
/*
 * Runs the child to its end and passes signals on. Returns what to exit with: the child's status, 128 + signal, or 125,
 * 126 or 127 when it did not come to be.
 */
int cli_run_child(const struct child *child);
