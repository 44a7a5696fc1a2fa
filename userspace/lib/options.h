/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines as tables: one row per option, from which parsing and --help both come. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum rf_option_kind {
	RF_OPTION_FLAG, /* bool */
	RF_OPTION_STRING, /* const char *, borrowed from argv */
	RF_OPTION_NUMBER, /* uint64_t; K, M and G are powers of 1024 */
	RF_OPTION_LIST, /* struct rf_option_list */
};

#define RF_OPTION_LIST_MAX 16

struct rf_option_list {
	const char *value[RF_OPTION_LIST_MAX];
	size_t n;
};

struct rf_option_row {
	const char *name; /* long name without dashes */
	char letter; /* or 0 */
	enum rf_option_kind kind;
	size_t offset; /* of the value in the struct that rf_options_parse() fills */
	const char *arg; /* placeholder in the help text; NULL for flags */
	const char *help;
};

struct rf_command {
	const char *name; /* "ringfence run" */
	const char *usage; /* what follows the name: "[OPTIONS] -- COMMAND [ARG...]" */
	const char *about; /* one or more lines */
	const struct rf_option_row *rows;
	size_t n;
	bool command_follows; /* the first argument ends the options: it is a command with options of its own */
	const char *examples; /* indented lines, or NULL */
};

/*
 * Fills values; arguments that are no options are moved to the front of argv, *ret_n of them. argv[0] is the first
 * argument, not the program's name. Returns 0, 1 when --help was among the options, or -EINVAL with one line in
 * reterr.
 */
int rf_options_parse(const struct rf_command *command, int argc, char **argv, void *values, int *ret_n, char *reterr,
		     size_t size);
void rf_options_help(const struct rf_command *command, FILE *out);
/* The candidate that text was probably meant to be, or NULL. */
const char *rf_nearest(const char *text, const char *const *candidates, size_t n);
