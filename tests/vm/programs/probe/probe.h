// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>

struct verb {
	const char *name; /* NULL ends a table */
	int args;
	int (*run)(char **a); /* 0, a negative errno, or a positive number */
};

extern const struct verb file_verbs[], net_verbs[], exec_verbs[], task_verbs[];

static inline int answer(long result)
{
	return result < 0 ? -errno : 0;
}

/* file.c: opens PATH and closes it again; reads its first byte; writes TEXT there. */
int try_open(const char *path, int flags);
int try_read(const char *path);
int put(const char *path, int flags, const char *text);

/* task.c: what a child tells is the answer of its parent, or else the child's exit status. */
void tell(int fd, int err);
int reap(pid_t pid, int from);
