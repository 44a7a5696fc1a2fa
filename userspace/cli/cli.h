/* SPDX-License-Identifier: Apache-2.0 */
/* ringfence(1): what its verbs share. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "lib/options.h"

/* Exit statuses; run(1) adds 126, 127 and 128 + signal. */
enum {
	CLI_OK = 0,
	CLI_FAILED = 1,
	CLI_USAGE = 2,
	CLI_BAD_POLICY = 4,
	CLI_RUN_FAILED = 125,
};

/* Each gets the arguments behind its name. */
int verb_run(int argc, char **argv);
int verb_tag(int argc, char **argv);
int verb_untag(int argc, char **argv);
int verb_ps(int argc, char **argv);
int verb_events(int argc, char **argv);
int verb_policy(int argc, char **argv);
int verb_doctor(int argc, char **argv);
int verb_status(int argc, char **argv);

/*
 * Parses into values, and checks that there are min..max arguments (max -1: any number). -1: go on, *ret_n arguments are
 * at argv[0]; otherwise the exit status: help was printed, or what is wrong.
 */
int cli_parse(const struct rf_command *command, int argc, char **argv, void *values, int min, int max, int *ret_n);

/* A verb of verbs: "ringfence policy check". */
struct cli_verb {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *about;
};
const struct cli_verb *cli_find(const struct cli_verb *verbs, size_t n, const char *name);
/* "there is no verb x: did you mean y?", CLI_USAGE. */
int cli_unknown(const char *program, const struct cli_verb *verbs, size_t n, const char *name);

/* `ringfence policy test`, policy_test.c. */
int cli_policy_test(int argc, char **argv);

/* Escape sequences, or "" when out is no terminal or NO_COLOR is set. */
struct cli_colours {
	const char *good, *bad, *warn, *faint, *off;
};
struct cli_colours cli_colours(FILE *out);
/* Writes text with control characters shown as \xNN: names may come from an agent. At least width columns. */
void cli_print(FILE *out, const char *text, int width);

struct json_object;
/* Prints one object as JSON on stdout and puts it. */
void cli_print_json(struct json_object *object);
/*
 * Calls the enforcer that listens in runtime_dir (NULL: the default): 0 with the reply, or an exit status after a
 * message. Puts request.
 */
int cli_call(const char *runtime_dir, struct json_object *request, struct json_object **ret_reply);
