/* SPDX-License-Identifier: Apache-2.0 */
/* Messages for people on stderr: one line each, "program: text", control characters made harmless. */
#pragma once

/* Prints and returns err, so that `return rf_err(err, ...)` logs and returns in one statement. */
int rf_err(int err, const char *format, ...) __attribute__((format(printf, 2, 3)));
void rf_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
