// SPDX-License-Identifier: Apache-2.0
/* What operations are done to: a small tree that is made anew, and all that can be said about one. */
#include "probe.h"

#include <fcntl.h>
#include <fts.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define PROGRAM "/usr/bin/true"

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static FTS *walk(char *dir)
{
	char *const paths[] = {dir, NULL};

	return fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
}

static int make_empty(char *dir)
{
	FTS *fts = walk(dir);
	int err = fts ? 0 : -errno;

	for (FTSENT *e; fts && !err && (e = fts_read(fts));)
		if (e->fts_level > 0 && e->fts_info != FTS_D)
			err = answer(e->fts_info == FTS_DP ? rmdir(e->fts_path) : unlink(e->fts_path));
	if (fts)
		fts_close(fts);
	return err;
}

static int make(const char *dir, const char *name, const void *bytes, size_t len, mode_t mode)
{
	char path[512];
	int fd, err;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
	err = answer(fd);
	if (err)
		return err;
	err = write(fd, bytes, len) == (ssize_t)len ? 0 : -EIO;
	close(fd);
	return err;
}

/* DIR with nothing but f, which holds TEXT, g with attributes, two equal programs, and an empty directory. */
static int do_fresh(char **a)
{
	static char program[1 << 18];
	static ssize_t size;
	char path[512];
	int err;

	if (!size) {
		int fd = open(PROGRAM, O_RDONLY | O_CLOEXEC);

		size = read(fd, program, sizeof(program));
		close(fd);
	}
	err = mkdir(a[0], 0755) && errno != EEXIST ? -errno : make_empty(a[0]);
	if (!err)
		err = make(a[0], "f", a[1], strlen(a[1]), 0644);
	if (!err)
		err = make(a[0], "g", "other", 5, 0644);
	if (!err)
		err = make(a[0], "prog", program, (size_t)size, 0755);
	if (!err)
		err = make(a[0], "same", program, (size_t)size, 0755);
	snprintf(path, sizeof(path), "%s/empty", a[0]);
	if (!err)
		err = answer(mkdir(path, 0755));
	snprintf(path, sizeof(path), "%s/g", a[0]);
	/* Not all may give that one. */
	if (!err && setxattr(path, "trusted.given", "x", 1, 0) && errno != ENOTSUP && errno != EPERM)
		err = -errno;
	if (!err && set_acl(path) && errno != ENOTSUP)
		err = -errno;
	return err;
}

/* Short text as it is, other content by a hash (FNV-1a, of words: this is slow in an emulator). */
static void say_content(FILE *out, const char *path)
{
	static uint64_t words[1 << 15];
	char *bytes = (char *)words;
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t n = read(fd, bytes, sizeof(words));
	uint64_t hash = 0xcbf29ce484222325;

	if (fd >= 0)
		close(fd);
	if (n >= 0 && n < 32 && !memchr(bytes, '\0', (size_t)n)) {
		fprintf(out, " '%.*s'", (int)n, bytes);
		return;
	}
	if (n > 0)
		memset(bytes + n, 0, (size_t)-n % sizeof(*words));
	for (ssize_t i = 0; i < n; i += sizeof(*words))
		hash = (hash ^ words[i / (ssize_t)sizeof(*words)]) * 0x100000001b3;
	fprintf(out, " #%llx", (unsigned long long)hash);
}

static void say_xattrs(FILE *out, const char *path)
{
	char names[1024], value[1024];
	ssize_t len = llistxattr(path, names, sizeof(names));

	for (char *name = names; name < names + len; name += strlen(name) + 1) {
		ssize_t n = lgetxattr(path, name, value, sizeof(value));

		fprintf(out, " %s=", name);
		for (ssize_t i = 0; i < n; i++)
			fprintf(out, "%02x", (unsigned char)value[i]);
	}
}

static void say_flags(FILE *out, const char *path)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), flags;

	if (fd >= 0 && !ioctl(fd, FS_IOC_GETFLAGS, &flags))
		fprintf(out, " flags=%x", flags);
	if (fd >= 0)
		close(fd);
}

/* DIR OUT: everything below DIR, a line each, written to OUT. Times only as "old" where utimes was here. */
static int do_state(char **a)
{
	FTS *fts = walk(a[0]);
	FILE *out = fopen(a[1], "we");
	int err = fts && out ? 0 : -errno;

	for (FTSENT *e; !err && (e = fts_read(fts));) {
		const struct stat *st = e->fts_statp;
		char target[512] = "";

		if (e->fts_info == FTS_DP)
			continue;
		fprintf(out, "%s %o %u:%u %u", e->fts_level ? e->fts_path + strlen(a[0]) + 1 : ".", st->st_mode,
			st->st_uid, st->st_gid, S_ISDIR(st->st_mode) ? 0 : (unsigned int)st->st_nlink);
		if (S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode))
			fprintf(out, " device %llx", (unsigned long long)st->st_rdev);
		if (S_ISLNK(st->st_mode) && readlink(e->fts_path, target, sizeof(target) - 1) > 0)
			fprintf(out, " -> %s", target);
		if (st->st_mtime == 1000)
			fputs(" old", out);
		if (S_ISREG(st->st_mode)) {
			fprintf(out, " %lld", (long long)st->st_size);
			say_content(out, e->fts_path);
			say_flags(out, e->fts_path);
		}
		say_xattrs(out, e->fts_path);
		fputc('\n', out);
	}
	if (fts)
		fts_close(fts);
	if (out && fclose(out) && !err)
		err = -errno;
	return err;
}

const struct verb tree_verbs[] = {
	{"fresh", 2, do_fresh}, /* DIR TEXT */
	{"state", 2, do_state}, /* DIR OUT */
	{},
};
