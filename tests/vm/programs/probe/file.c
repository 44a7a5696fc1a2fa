// SPDX-License-Identifier: Apache-2.0
/* Files by their paths. */
#include "probe.h"

#include <fcntl.h>
#include <pthread.h>
#include <linux/openat2.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

int get(const char *path, int flags)
{
	return *path == '#' ? dup(atoi(path + 1)) : open(path, flags | O_CLOEXEC | O_NONBLOCK, 0644);
}

int first_byte(int fd)
{
	unsigned char byte = 0;
	int err = fd < 0 ? -errno : answer(pread(fd, &byte, 1, 0));

	if (fd >= 0)
		close(fd);
	return err ? err : byte;
}

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

static int do_byte(char **a)
{
	return first_byte(get(a[0], O_RDONLY));
}

static int do_openat2(char **a)
{
	struct open_how how = {.flags = O_RDONLY | O_CLOEXEC};

	return first_byte((int)syscall(SYS_openat2, AT_FDCWD, a[0], &how, sizeof(how)));
}

/* DIR PATH: PATH from a descriptor of DIR */
static int do_open_at(char **a)
{
	int dir = open(a[0], O_PATH | O_DIRECTORY | O_CLOEXEC), result = answer(dir);

	if (result)
		return result;
	result = first_byte(openat(dir, a[1], O_RDONLY | O_CLOEXEC));
	close(dir);
	return result;
}

static int do_read(char **a)
{
	return try_read(a[0]);
}

int put(const char *path, int flags, const char *text)
{
	int fd = get(path, flags), err = answer(fd);

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

static int do_mkdir(char **a)
{
	return answer(mkdir(a[0], 0755));
}

static int do_mknod(char **a)
{
	return answer(mknod(a[0], S_IFIFO | 0644, 0));
}

/* c|b MAJOR MINOR PATH */
static int do_mknod_device(char **a)
{
	return answer(mknod(a[3], (*a[0] == 'b' ? S_IFBLK : S_IFCHR) | 0644, makedev(atoi(a[1]), atoi(a[2]))));
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

/* noreplace|whiteout|exchange OLD NEW */
static int do_rename_at(char **a)
{
	unsigned int flags = *a[0] == 'n' ? RENAME_NOREPLACE : *a[0] == 'w' ? RENAME_WHITEOUT : RENAME_EXCHANGE;

	return answer(renameat2(AT_FDCWD, a[1], AT_FDCWD, a[2], flags));
}

static int do_truncate(char **a)
{
	return answer(truncate(a[0], 1));
}

#define RACE_EVENTS 500 /* each refusal is an event */

static struct {
	const char *link, *spare;
	bool done;
} flip;

/* Two symlinks change places as fast as they can. */
static void *flipping(void *unused)
{
	while (!__atomic_load_n(&flip.done, __ATOMIC_RELAXED))
		renameat2(AT_FDCWD, flip.link, AT_FDCWD, flip.spare, RENAME_EXCHANGE);
	return unused;
}

/*
 * Opens LINK for so long, while it is exchanged for SPARE: how often it was refused. EILSEQ: what was read began with BAD;
 * ENOMSG: it was never refused, or never opened.
 */
static int do_race(char **a)
{
	int refused = 0, opened = 0, result = 0;
	time_t end = time(NULL) + atoi(a[3]);
	pthread_t thread;

	flip.link = a[0];
	flip.spare = a[1];
	flip.done = false;
	if (pthread_create(&thread, NULL, flipping, NULL))
		return -EAGAIN;
	while (result != *a[2] && time(NULL) < end && refused < RACE_EVENTS) {
		result = first_byte(open(a[0], O_RDONLY | O_CLOEXEC));
		refused += result < 0;
		opened += result > 0;
	}
	__atomic_store_n(&flip.done, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	if (result == *a[2])
		return -EILSEQ;
	return refused && opened ? refused : -ENOMSG;
}

static int do_ftruncate(char **a)
{
	int fd = get(a[0], O_RDWR), err = answer(fd);

	if (err)
		return err;
	err = answer(ftruncate(fd, 1));
	close(fd);
	return err;
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
	{"byte", 1, do_byte}, /* PATH: its first byte */
	{"openat2", 1, do_openat2}, /* PATH: its first byte */
	{"open-at", 2, do_open_at}, /* DIR PATH: its first byte */
	{"write", 2, do_write}, /* PATH TEXT */
	{"append", 2, do_append}, /* PATH TEXT */
	{"create", 1, do_create}, /* PATH */
	{"open", 2, do_open}, /* trunc|3|rw|tmpfile|path|directory PATH */
	{"mkdir", 1, do_mkdir}, /* PATH */
	{"mknod", 1, do_mknod}, /* PATH */
	{"mknod-device", 4, do_mknod_device}, /* c|b MAJOR MINOR PATH */
	{"symlink", 2, do_symlink}, /* TARGET PATH */
	{"link", 2, do_link}, /* OLD NEW */
	{"unlink", 1, do_unlink}, /* PATH */
	{"rmdir", 1, do_rmdir}, /* PATH */
	{"rename", 2, do_rename}, /* OLD NEW */
	{"exchange", 2, do_exchange}, /* OLD NEW */
	{"rename-at", 3, do_rename_at}, /* noreplace|whiteout|exchange OLD NEW */
	{"truncate", 1, do_truncate}, /* PATH */
	{"race", 4, do_race}, /* LINK SPARE BAD SECONDS: how often it was refused */
	{"ftruncate", 1, do_ftruncate}, /* PATH */
	{"stat", 1, do_stat}, /* PATH */
	{"chdir", 1, do_chdir}, /* PATH */
	{"deep-make", 2, do_deep_make}, /* DIR LEVELS */
	{"deep-read", 2, do_deep_read}, /* DIR LEVELS */
	{},
};
