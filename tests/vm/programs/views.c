// SPDX-License-Identifier: Apache-2.0
/*
 * views VERB ARG...: ways to a file that lead around its name. The exit status is 0 or the errno.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct verb {
	const char *name;
	int args;
	int (*run)(char **a);
};

static int read_fd(int fd)
{
	char byte;
	int err = fd < 0 ? errno : 0;

	if (!err && read(fd, &byte, 1) < 0 && errno != EISDIR)
		err = errno;
	if (fd >= 0)
		close(fd);
	return err;
}

union handle {
	struct file_handle head;
	char bytes[sizeof(struct file_handle) + MAX_HANDLE_SZ];
};

/* PATH FILE: writes the handle of PATH into FILE */
static int save_handle(char **a)
{
	union handle h = {.head.handle_bytes = MAX_HANDLE_SZ};
	int mount, fd, err = 0;

	if (name_to_handle_at(AT_FDCWD, a[0], &h.head, &mount, 0))
		return errno;
	fd = open(a[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, &h, sizeof(h)) != sizeof(h))
		err = errno;
	close(fd);
	return err;
}

/* DIR FILE: reads what the handle in FILE stands for, DIR being on its filesystem */
static int open_handle(char **a)
{
	int dir = open(a[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = open(a[1], O_RDONLY | O_CLOEXEC);
	union handle h;

	if (dir < 0 || fd < 0 || read(fd, &h, sizeof(h)) != sizeof(h))
		return errno ? errno : EIO;
	close(fd);
	return read_fd(open_by_handle_at(dir, &h.head, O_RDONLY | O_CLOEXEC));
}

/* PATH NAME: NAME below a detached clone of what is mounted at PATH */
static int clone_tree(char **a)
{
	int tree = (int)syscall(SYS_open_tree, AT_FDCWD, a[0], OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	return tree < 0 ? errno : read_fd(openat(tree, a[1], O_RDONLY | O_CLOEXEC));
}

/* creates a file on a new tmpfs that is mounted nowhere */
static int new_tmpfs(char **a)
{
	int fs = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC), mount;

	(void)a;
	if (fs < 0 || syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return errno;
	mount = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, 0);
	return mount < 0 ? errno : read_fd(openat(mount, "f", O_RDWR | O_CREAT | O_CLOEXEC, 0600));
}

/* DIR NAME: from an open directory */
static int from_dir(char **a)
{
	struct open_how how = {.flags = O_RDONLY | O_CLOEXEC};
	int dir = open(a[0], O_PATH | O_CLOEXEC), err;

	if (dir < 0)
		return errno;
	err = read_fd(openat(dir, a[1], O_RDONLY | O_CLOEXEC));
	if (read_fd((int)syscall(SYS_openat2, dir, a[1], &how, sizeof(how))) != err)
		return EPROTO;
	return err;
}

/* PATH: through an O_PATH descriptor and /dev/fd */
static int dev_fd(char **a)
{
	int fd = open(a[0], O_PATH | O_CLOEXEC);
	char path[64];

	if (fd < 0)
		return errno;
	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	return read_fd(open(path, O_RDONLY | O_CLOEXEC));
}

/* DIR NAME: from a working directory that is made in DIR and removed again; a file made there would be EPROTO */
static int removed_cwd(char **a)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/removed", a[0]);
	if (mkdir(path, 0700) || chdir(path) || rmdir(path))
		return errno;
	if (open("f", O_WRONLY | O_CREAT, 0600) >= 0 || errno != ENOENT)
		return EPROTO;
	return read_fd(open(a[1], O_RDONLY | O_CLOEXEC));
}

static const struct verb verbs[] = {
	{"save-handle", 2, save_handle}, {"open-handle", 2, open_handle}, {"clone-tree", 2, clone_tree},
	{"new-tmpfs", 0, new_tmpfs},	 {"from-dir", 2, from_dir},	  {"dev-fd", 1, dev_fd},
	{"removed-cwd", 2, removed_cwd},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (argc > 1 && !strcmp(argv[1], verbs[i].name) && argc == verbs[i].args + 2)
			return verbs[i].run(argv + 2);
	fprintf(stderr, "usage: views VERB ARG..., see the source\n");
	return 99;
}
