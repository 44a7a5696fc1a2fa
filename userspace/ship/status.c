/* SPDX-License-Identifier: Apache-2.0 */
/* The status file. */
#define _GNU_SOURCE 1
#include "ship/status.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/fdio.h"

int rf_ship_status_write(const char *path, const struct rf_ship_counts *counts)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	__cleanup(freep) char *dir = strndup(path, slash ? (size_t)(slash + 1 - path) : 0);
	__cleanup(closep) int fd = -1;
	char text[384];
	int n;

	if (!dir)
		return -ENOMEM;
	fd = open(*dir ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = snprintf(text, sizeof(text),
		     "{\"v\":1,\"connected\":%s,\"delivered\":%" PRIu64 ",\"failed\":%" PRIu64 ",\"gaps\":%" PRIu64
		     ",\"reconnects\":%" PRIu64 ",\"lag\":%" PRIu64 "}\n",
		     counts->connected ? "true" : "false", counts->delivered, counts->failed, counts->gaps,
		     counts->reconnects, counts->lag);
	return rf_replace_file(fd, name, 0644, text, (size_t)n);
}
