/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of one line of comma-separated values. */
#pragma once

#include <stddef.h>

/*
 * Splits a line, without its newline, in place: fields[] gets at most max pointers into it. Returns how many fields
 * the line has, or -1 when it is malformed.
 */
int csv_split(char *line, char **fields, size_t max);
