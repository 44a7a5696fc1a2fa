/* SPDX-License-Identifier: Apache-2.0 */
/* A line of the event log as people read it. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "cli/cli.h"

/*
 * Prints one line of the log (ended by '\n' or not): verdicts as "time verdict access object rule comm", the enforcer's
 * own records as "time kind members". run: only this run's, or NULL. false: not one of the run's, nothing was printed.
 * A line that is no event is shown as it is, marked: it must not vanish.
 */
bool cli_print_event(FILE *out, const char *line, const char *run, bool json, const struct cli_colours *colours);
