/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files, bounded: read, write, replace. 0 or negative errno; names are relative to dir_fd (or AT_FDCWD). */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* *ret_text is malloc'ed and terminated behind *ret_len bytes. -EFBIG beyond max; -EISDIR, -EINVAL: no regular file. */
int rf_read_file(int dir_fd, const char *path, size_t max, char **ret_text, size_t *ret_len);
/* The same for a file of /proc, /sys or cgroupfs, and for pipes: whatever can be read, at most max bytes. */
int rf_read_all(int fd, size_t max, char **ret_text, size_t *ret_len);
int rf_write_all(int fd, const void *bytes, size_t len);
/* Writes bytes to an existing control file (cgroup.procs ...) in one write. */
int rf_write_control(int dir_fd, const char *name, const char *text);
/* Replaces name by a new file with these bytes, synced: after a crash there is the old one or the new one. */
int rf_replace_file(int dir_fd, const char *name, mode_t mode, const void *bytes, size_t len);
/* mkdir -p; existing directories stay as they are. */
int rf_make_dirs(const char *path, mode_t mode);
