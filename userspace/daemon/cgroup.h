/* SPDX-License-Identifier: Apache-2.0 */
/* Cgroup directories of runs. Everything is opened below the cgroup2 root and never through a symlink. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RF_CGROUP_PARENT "ringfence" /* below the root: where runs get their cgroups */

/* The cgroup2 root: *ret_fd is the caller's, *ret_path static. -ENODEV: none is mounted. */
int cgroup_open_root(int *ret_fd, const char **ret_path);
/* Opens a directory by its path below root: a client's words. */
int cgroup_open(int root_fd, const char *path, int *ret_fd);
/* Makes ringfence/NAME and opens it. */
int cgroup_make(int root_fd, const char *name, int *ret_fd);
/* Removes the directory with its descendants. -EBUSY: processes are left. -ENOENT is success. */
int cgroup_remove(int root_fd, const char *path);
/* Kills everything in it. */
int cgroup_kill(int cgroup_fd);
/* 1, 0, or -ENODEV when the cgroup is gone. events_fd: of cgroup.events. */
int cgroup_populated(int events_fd);
int cgroup_open_events(int cgroup_fd);
/* The path below the root of a process's cgroup ("" for the root), malloc'ed. */
int cgroup_of_pid(pid_t pid, char **ret);
/* The path below the root of the cgroup with this id, or -errno: it may be gone. */
int cgroup_path_of_id(int root_fd, const char *root_path, uint64_t id, char *buf, size_t size);
/* Is b the same as a or below it? Both are paths below the root. */
bool cgroup_holds(const char *a, const char *b);
