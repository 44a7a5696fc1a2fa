/* SPDX-License-Identifier: Apache-2.0 */
/* Files of the source tree for the tests of the policy compiler, wherever they are started. */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"

#define NOW 1796040000 /* 2026-11-30T12:00:00Z */

/* name: "policies/linux-base.json", from the top of the tree */
static inline void source_path(char *path, size_t size, const char *name)
{
	const char *here = __FILE__, *slash = strrchr(here, '/');

	snprintf(path, size, "%.*s/../../%s", slash ? (int)(slash - here) : 1, slash ? here : ".", name);
}

/* Reads a whole file of the tree; 0 or negative errno. */
static inline int slurp(const char *name, char **ret, size_t *ret_len)
{
	__cleanup(fclosep) FILE *f = NULL;
	__cleanup(freep) char *text = NULL;
	char path[4096];
	long len;

	source_path(path, sizeof(path), name);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	if (fseek(f, 0, SEEK_END) || (len = ftell(f)) < 0)
		return -EIO;
	rewind(f);
	text = malloc((size_t)len + 1);
	if (!text)
		return -ENOMEM;
	if (fread(text, 1, (size_t)len, f) != (size_t)len)
		return -EIO;
	text[len] = 0;
	*ret = TAKE_PTR(text);
	*ret_len = (size_t)len;
	return 0;
}
