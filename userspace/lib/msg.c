// SPDX-License-Identifier: Apache-2.0
/* Messages for people on stderr. */
#define _GNU_SOURCE 1 /* program_invocation_short_name */

#include "lib/msg.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Names in messages come from outside: an escape sequence in one must not reach the reader's terminal. */
static void harmless(char *text)
{
	for (unsigned char *c = (unsigned char *)text; *c; c++)
		if (*c < ' ' || *c == 0x7f)
			*c = '?';
}

static void say(const char *format, va_list args)
{
	char text[2048], line[2304];
	int n;

	vsnprintf(text, sizeof(text), format, args);
	harmless(text);
	n = snprintf(line, sizeof(line), "%s: %s\n", program_invocation_short_name, text);
	/* One write: lines of several programs on one stderr stay whole. Nobody is left to tell when it fails. */
	if (n > 0 && write(STDERR_FILENO, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1) < 0)
		return;
}

int rf_err(int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
	return err;
}

void rf_say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
}
