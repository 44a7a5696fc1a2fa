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

extern const struct verb file_verbs[], attribute_verbs[], descriptor_verbs[], map_verbs[], copy_verbs[],
	special_verbs[], uring_verbs[], mount_verbs[], tree_verbs[], net_verbs[], exec_verbs[], task_verbs[];

static inline int answer(long result)
{
	return result < 0 ? -errno : 0;
}

/* file.c: opens PATH, where "#5" is a copy of descriptor 5; opens and closes it again; reads its first byte; writes TEXT. */
int get(const char *path, int flags);
int try_open(const char *path, int flags);
int try_read(const char *path);
int put(const char *path, int flags, const char *text);

/* The first byte that a descriptor gives, which is closed: what is read is told apart by it. 0: an empty file. */
int first_byte(int fd);

/* attributes.c: gives PATH an ACL; -1 and errno */
int set_acl(const char *path);

/* net.c: a UNIX stream connected to PATH. */
int connect_unix(const char *path);

/* task.c: what a child tells is the answer of its parent, or else the child's exit status. */
void tell(int fd, int err);
int reap(pid_t pid, int from);
