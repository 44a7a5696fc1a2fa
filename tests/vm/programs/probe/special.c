// SPDX-License-Identifier: Apache-2.0
/* Watches, and the requests of single filesystems. */
#include "probe.h"

#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int do_inotify(char **a)
{
	int fd = inotify_init1(IN_CLOEXEC), err = answer(inotify_add_watch(fd, a[0], IN_ALL_EVENTS));

	close(fd);
	return err;
}

static int do_fanotify(char **a)
{
	unsigned int what = *a[0] == 'm' ? FAN_MARK_MOUNT : *a[0] == 'f' ? FAN_MARK_FILESYSTEM : 0;
	int fd = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC, O_RDONLY), err = answer(fd);

	if (err)
		return err;
	err = answer(fanotify_mark(fd, FAN_MARK_ADD | what, FAN_OPEN, AT_FDCWD, a[1]));
	close(fd);
	return err;
}

static int request(const char *path, unsigned long number, void *argument)
{
	int fd = get(path, O_RDONLY), err = answer(fd);

	if (err)
		return err;
	err = answer(ioctl(fd, number, argument));
	close(fd);
	return err;
}

static int do_subvolume(char **a)
{
	struct btrfs_ioctl_vol_args args = {};

	snprintf(args.name, sizeof(args.name), "%s", a[1]);
	return request(a[0], BTRFS_IOC_SUBVOL_CREATE, &args);
}

static int do_snapshot(char **a)
{
	struct btrfs_ioctl_vol_args_v2 args = {};
	int err;

	args.fd = open(a[1], O_RDONLY | O_CLOEXEC);
	err = answer((long)args.fd);
	if (err)
		return err;
	snprintf(args.name, sizeof(args.name), "%s", a[2]);
	err = request(a[0], BTRFS_IOC_SNAP_CREATE_V2, &args);
	close((int)args.fd);
	return err;
}

static int do_subvolume_delete(char **a)
{
	struct btrfs_ioctl_vol_args args = {};

	snprintf(args.name, sizeof(args.name), "%s", a[1]);
	return request(a[0], BTRFS_IOC_SNAP_DESTROY, &args);
}

/* Every item of the tree that a descriptor belongs to: all names, and the content of small files. */
static int do_tree_search(char **a)
{
	struct btrfs_ioctl_search_args args = {.key = {.max_objectid = UINT64_MAX,
						       .max_offset = UINT64_MAX,
						       .max_transid = UINT64_MAX,
						       .max_type = UINT32_MAX,
						       .nr_items = 100}};

	return request(a[0], BTRFS_IOC_TREE_SEARCH, &args);
}

/* Any request, given in hex, with nothing in its argument. */
static int do_ioctl(char **a)
{
	static char nothing[8192];

	memset(nothing, 0, sizeof(nothing));
	return request(a[1], strtoul(a[0], NULL, 16), nothing);
}

static int do_getflags(char **a)
{
	int flags;

	return request(a[0], FS_IOC_GETFLAGS, &flags);
}

const struct verb special_verbs[] = {
	{"inotify", 1, do_inotify}, /* PATH */
	{"fanotify", 2, do_fanotify}, /* inode|mount|filesystem PATH */
	{"subvolume", 2, do_subvolume}, /* DIR NAME */
	{"snapshot", 3, do_snapshot}, /* DIR SUBVOLUME NAME */
	{"subvolume-delete", 2, do_subvolume_delete}, /* DIR NAME */
	{"tree-search", 1, do_tree_search}, /* PATH */
	{"ioctl", 2, do_ioctl}, /* HEX PATH */
	{"getflags", 1, do_getflags}, /* PATH */
	{},
};
