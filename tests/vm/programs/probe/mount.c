// SPDX-License-Identifier: Apache-2.0
/* Mounts and namespaces of the probe's own: how a task changes what names mean to it. */
#include "probe.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OPEN_TREE_AS_NAMESPACE 2 /* OPEN_TREE_NAMESPACE, 7.0 */

/* For good: everything that is asked later is seen from there. */
static int do_unshare(char **a)
{
	int err = answer(unshare(CLONE_NEWNS | (*a[0] == 'u' ? CLONE_NEWUSER : 0)));

	return err ? err : answer(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL));
}

static int do_bind_mount(char **a)
{
	return answer(mount(a[0], a[1], NULL, MS_BIND, NULL));
}

static int do_mount(char **a)
{
	return answer(mount(a[0], a[1], a[0], 0, a[2]));
}

static int do_umount(char **a)
{
	return answer(umount2(a[0], MNT_DETACH));
}

static int do_open_tree(char **a)
{
	int tree = open_tree(AT_FDCWD, a[0], OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC), result = answer(tree);

	if (result)
		return result;
	result = first_byte(openat(tree, a[1], O_RDONLY | O_CLOEXEC));
	close(tree);
	return result;
}

/* A tmpfs that is mounted nowhere, and a file made in it. */
static int do_detached_mount(char **a)
{
	int fs = fsopen("tmpfs", FSOPEN_CLOEXEC), tree = -1, err = answer(fs);

	if (!err)
		err = answer(fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0));
	if (!err) {
		tree = fsmount(fs, FSMOUNT_CLOEXEC, 0);
		err = answer(tree);
	}
	if (!err)
		err = answer(mkdirat(tree, a[0], 0755));
	if (tree >= 0)
		close(tree);
	if (fs >= 0)
		close(fs);
	return err;
}

static int do_move_mount(char **a)
{
	return answer(move_mount(AT_FDCWD, a[0], AT_FDCWD, a[1], 0));
}

static int do_mount_setattr(char **a)
{
	struct mount_attr attr = {.attr_clr = MOUNT_ATTR_RDONLY};

	return answer(mount_setattr(AT_FDCWD, a[0], 0, &attr, sizeof(attr)));
}

static int new_root(const char *dir)
{
	return chroot(dir);
}

static int new_namespace(const char *dir)
{
	int space = open_tree(AT_FDCWD, dir, OPEN_TREE_AS_NAMESPACE | OPEN_TREE_CLOEXEC);

	return space < 0 ? -1 : setns(space, CLONE_NEWNS);
}

/* PATH, read by a child that made DIR its root. */
static int read_below(int (*enter)(const char *dir), char **a)
{
	int out[2];
	pid_t pid;

	if (pipe2(out, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid) {
		tell(out[1], enter(a[0]) ? -errno : first_byte(open(a[1], O_RDONLY | O_CLOEXEC)));
		_exit(0);
	}
	close(out[1]);
	return pid < 0 ? -errno : reap(pid, out[0]);
}

static int do_chroot(char **a)
{
	return read_below(new_root, a);
}

static int do_tree_namespace(char **a)
{
	return read_below(new_namespace, a);
}

/* The mount namespace that PATH names */
static int do_setns(char **a)
{
	int space = open(a[0], O_RDONLY | O_CLOEXEC), err = answer(space);

	if (err)
		return err;
	err = answer(setns(space, CLONE_NEWNS));
	close(space);
	return err;
}

const struct verb mount_verbs[] = {
	{"unshare", 1, do_unshare}, /* user|mount */
	{"bind-mount", 2, do_bind_mount}, /* SOURCE DIR */
	{"mount", 3, do_mount}, /* KIND DIR OPTIONS */
	{"umount", 1, do_umount}, /* DIR */
	{"open-tree", 2, do_open_tree}, /* DIR PATH: the first byte of PATH in a clone of DIR's mount */
	{"tree-namespace", 2, do_tree_namespace}, /* DIR PATH: the first byte of PATH where DIR is the root */
	{"detached-mount", 1, do_detached_mount}, /* NAME */
	{"move-mount", 2, do_move_mount}, /* FROM TO */
	{"mount-setattr", 1, do_mount_setattr}, /* DIR */
	{"chroot", 2, do_chroot}, /* DIR PATH: its first byte there */
	{"setns", 1, do_setns}, /* PATH */
	{},
};
