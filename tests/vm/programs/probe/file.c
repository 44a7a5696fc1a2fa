// SPDX-License-Identifier: Apache-2.0
/* Files by their paths. */
#include "probe.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

int try_open(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK, 0644);
	int err = answer(fd);

	if (fd >= 0)
		close(fd);
	return err;
}

int try_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err = answer(fd);
	char byte;

	if (err)
		return err;
	err = answer(read(fd, &byte, 1));
	close(fd);
	return err == -EISDIR ? 0 : err;
}

static int do_read(char **a)
{
	return try_read(a[0]);
}

int put(const char *path, int flags, const char *text)
{
	int fd = open(path, flags | O_CLOEXEC, 0644), err = answer(fd);

	if (err)
		return err;
	err = answer(write(fd, text, strlen(text)));
	close(fd);
	return err;
}

static int do_write(char **a)
{
	return put(a[0], O_WRONLY, a[1]);
}

static int do_append(char **a)
{
	return put(a[0], O_WRONLY | O_APPEND, a[1]);
}

static int do_create(char **a)
{
	return put(a[0], O_WRONLY | O_CREAT | O_EXCL, "new");
}

static int do_open(char **a)
{
	static const struct {
		const char *name;
		int flags;
	} modes[] = {
		{"trunc", O_RDONLY | O_TRUNC},	 {"3", 3},	   {"rw", O_RDWR},
		{"tmpfile", O_TMPFILE | O_RDWR}, {"path", O_PATH}, {"directory", O_DIRECTORY},
	};

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(a[0], modes[i].name))
			return try_open(a[1], modes[i].flags);
	return -ENOSYS;
}

/* O_PATH asks nothing; what it leads to through /proc does. */
static int do_reopen(char **a)
{
	char link[64];
	int fd = open(a[1], O_PATH | O_CLOEXEC), err = answer(fd);

	if (err)
		return err;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	err = try_open(link, *a[0] == 'w' ? O_WRONLY : O_RDONLY);
	close(fd);
	return err;
}

static int do_mkdir(char **a)
{
	return answer(mkdir(a[0], 0755));
}

static int do_mknod(char **a)
{
	return answer(mknod(a[0], S_IFIFO | 0644, 0));
}

static int do_symlink(char **a)
{
	return answer(symlink(a[0], a[1]));
}

static int do_link(char **a)
{
	return answer(link(a[0], a[1]));
}

static int do_unlink(char **a)
{
	return answer(unlink(a[0]));
}

static int do_rmdir(char **a)
{
	return answer(rmdir(a[0]));
}

static int do_rename(char **a)
{
	return answer(rename(a[0], a[1]));
}

static int do_exchange(char **a)
{
	return answer(renameat2(AT_FDCWD, a[0], AT_FDCWD, a[1], RENAME_EXCHANGE));
}

static int do_chmod(char **a)
{
	return answer(chmod(a[0], 0600));
}

static int do_utimes(char **a)
{
	return answer(utimensat(AT_FDCWD, a[0], NULL, 0));
}

static int do_setxattr(char **a)
{
	return answer(setxattr(a[0], a[1], "x", 1, 0));
}

static int do_removexattr(char **a)
{
	return answer(removexattr(a[0], a[1]));
}

static int do_truncate(char **a)
{
	return answer(truncate(a[0], 1));
}

static int do_stat(char **a)
{
	struct stat st;

	return answer(stat(a[0], &st));
}

static int do_chdir(char **a)
{
	return answer(chdir(a[0]));
}

/* deep-make DIR LEVELS: directories "d" in one another, a file "f" in the last; deep-read reads it. */
static int deep(char **a, bool make)
{
	int dir = open(a[0], O_PATH | O_DIRECTORY | O_CLOEXEC), err = answer(dir), file;

	for (int left = atoi(a[1]); !err && left; left--) {
		int next;

		if (make && mkdirat(dir, "d", 0755) && errno != EEXIST)
			err = -errno;
		next = openat(dir, "d", O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (!err)
			err = answer(next);
		close(dir);
		dir = next;
	}
	if (err)
		return err;
	file = openat(dir, "f", O_CLOEXEC | (make ? O_CREAT | O_RDWR : O_RDONLY), 0644);
	err = answer(file);
	close(file);
	close(dir);
	return err;
}

static int do_deep_make(char **a)
{
	return deep(a, true);
}

static int do_deep_read(char **a)
{
	return deep(a, false);
}

const struct verb file_verbs[] = {
	{"read", 1, do_read}, /* PATH */
	{"write", 2, do_write}, /* PATH TEXT */
	{"append", 2, do_append}, /* PATH TEXT */
	{"create", 1, do_create}, /* PATH */
	{"open", 2, do_open}, /* trunc|3|rw|tmpfile|path|directory PATH */
	{"reopen", 2, do_reopen}, /* r|w PATH */
	{"mkdir", 1, do_mkdir}, /* PATH */
	{"mknod", 1, do_mknod}, /* PATH */
	{"symlink", 2, do_symlink}, /* TARGET PATH */
	{"link", 2, do_link}, /* OLD NEW */
	{"unlink", 1, do_unlink}, /* PATH */
	{"rmdir", 1, do_rmdir}, /* PATH */
	{"rename", 2, do_rename}, /* OLD NEW */
	{"exchange", 2, do_exchange}, /* OLD NEW */
	{"chmod", 1, do_chmod}, /* PATH */
	{"utimes", 1, do_utimes}, /* PATH */
	{"setxattr", 2, do_setxattr}, /* PATH NAME */
	{"removexattr", 2, do_removexattr}, /* PATH NAME */
	{"truncate", 1, do_truncate}, /* PATH */
	{"stat", 1, do_stat}, /* PATH */
	{"chdir", 1, do_chdir}, /* PATH */
	{"deep-make", 2, do_deep_make}, /* DIR LEVELS */
	{"deep-read", 2, do_deep_read}, /* DIR LEVELS */
	{},
};
