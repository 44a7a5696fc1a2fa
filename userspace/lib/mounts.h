/* SPDX-License-Identifier: Apache-2.0 */
/* A mount table as the kernel writes it (/proc/PID/mountinfo), and which of its places show the same directory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rf_mount {
	uint32_t id;
	uint32_t major, minor; /* of the superblock: equal for all subvolumes of a btrfs */
	char *root; /* what is mounted, as a path of its superblock */
	char *point; /* where, as a path of the view */
	bool strange; /* a run may have mounted it: it gives no names */
	bool hidden; /* behind another one: nobody can name what is there */
	bool gone; /* a run may have unmounted it: its names are remembered */
};

struct rf_mounts {
	struct rf_mount *v;
	size_t n;
};

/* Reads an open mountinfo from its beginning. A poll for changes begins behind what was read. -ENOMEM, -EIO, -EBADMSG. */
int rf_mounts_read(int fd, struct rf_mounts *ret);
int rf_mounts_parse(char *text, struct rf_mounts *ret);
void rf_mounts_done(struct rf_mounts *mounts);
/* NULL: none */
struct rf_mount *rf_mounts_find(const struct rf_mounts *mounts, uint32_t id);

/* What a view calls `to` and below is seen at `from` too. Both are paths without a '/' at the end, "" for the root. */
struct rf_alias {
	char *from, *to;
};

struct rf_aliases {
	struct rf_alias *v; /* sorted: equal tables give equal lists */
	size_t n;
	char **points; /* every mount point: what is there has names of its own */
	size_t n_points;
};

/* Of two mounts that show one directory the one with the shorter point gives the name, in doubt the lesser one. */
bool rf_mount_precedes(const struct rf_mount *a, const struct rf_mount *b);
/* Its directory has its name from another mount of the same directory. */
bool rf_mount_is_second(const struct rf_mounts *mounts, const struct rf_mount *mount);
/* More than max: -E2BIG. */
int rf_mounts_aliases(const struct rf_mounts *mounts, size_t max, struct rf_aliases *ret);
bool rf_aliases_equal(const struct rf_aliases *a, const struct rf_aliases *b);
void rf_aliases_done(struct rf_aliases *aliases);
/* Is path the same as dir or below it? NULL, or the rest of path behind dir. dir: without a '/' at the end. */
const char *rf_path_below(const char *path, const char *dir);
