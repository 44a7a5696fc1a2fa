/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of ringfence-ship. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rf_ship_arguments {
	const char *log, *cursor, *status, *to, *facility, *user;
	uint64_t settle, timeout;
	bool once, allow_root, version;
};

/*
 * 0; 1: --help or --version was asked for and printed; -EINVAL with one line in reterr. Strings are borrowed from argv,
 * whose first element is the first argument.
 */
int rf_ship_arguments(int argc, char **argv, struct rf_ship_arguments *ret, char *reterr, size_t size);
