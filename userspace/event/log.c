/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log: whole lines or nothing. There is one writer. A line that was written in part (disk full) is cut off again, at
 * once or before the next one; a torn tail that a crash left is cut when the file is opened.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "event/event.h"
#include "lib/cleanup.h"

#define LOG_MODE 0640
#define LOG_NAME_MAX (NAME_MAX - 12) /* room for ".4294967295" */

struct rf_log {
	int dir;
	int fd;
	uint64_t size; /* where the next line begins */
	uint64_t max;
	unsigned int keep;
	bool torn; /* bytes behind size that could not be cut yet */
	char name[LOG_NAME_MAX + 1];
};

/* The directory of path and the last name; nobody but its owner and group may put other files there. */
static int open_dir(const char *path, char ret_name[LOG_NAME_MAX + 1], int *ret_dir)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	__cleanup(freep) char *dir = strndup(path, slash ? (size_t)(slash + 1 - path) : 0);
	__cleanup(closep) int fd = -1;
	struct stat st;

	if (!dir)
		return -ENOMEM;
	if (!*name || strlen(name) > LOG_NAME_MAX || !strcmp(name, ".") || !strcmp(name, ".."))
		return -EINVAL;
	fd = open(*dir ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_mode & S_IWOTH)
		return -EPERM;
	strcpy(ret_name, name);
	*ret_dir = TAKE_FD(fd);
	return 0;
}

/* O_NONBLOCK: a FIFO in the log's place must not hang the enforcer before fstat can refuse it. */
static int open_file(int dir, const char *name, int flags, int *ret_fd, uint64_t *ret_size)
{
	__cleanup(closep) int fd = -1;
	struct stat st;

	fd = openat(dir, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, LOG_MODE);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	/* The shipper reads by group: the mode must not depend on the umask. */
	if ((flags & O_EXCL) && fchmod(fd, LOG_MODE) < 0)
		return -errno;
	*ret_fd = TAKE_FD(fd);
	*ret_size = (uint64_t)st.st_size;
	return 0;
}

/* Cuts bytes behind the last newline; the new size. */
static int cut_tail(int fd, uint64_t size, uint64_t *ret_size)
{
	uint64_t end = size;
	char chunk[4096];

	while (end > 0) {
		size_t want = end < sizeof(chunk) ? (size_t)end : sizeof(chunk);
		ssize_t n = pread(fd, chunk, want, (off_t)(end - want));
		char *newline;

		if (n != (ssize_t)want)
			return n < 0 ? -errno : -EIO;
		newline = memrchr(chunk, '\n', want);
		if (newline) {
			end -= want - (size_t)(newline + 1 - chunk);
			break;
		}
		end -= want;
	}
	if (end < size && ftruncate(fd, (off_t)end) < 0)
		return -errno;
	*ret_size = end;
	return 0;
}

int rf_log_open(const char *path, uint64_t max_bytes, unsigned int keep, struct rf_log **ret)
{
	const int flags = O_RDWR | O_APPEND;
	__cleanup(rf_log_close) struct rf_log *log = NULL;
	int err;

	if (!keep)
		return -EINVAL;
	log = calloc(1, sizeof(*log));
	if (!log)
		return -ENOMEM;
	log->dir = log->fd = -1;
	log->max = max_bytes;
	log->keep = keep;
	err = open_dir(path, log->name, &log->dir);
	if (err)
		return err;
	err = open_file(log->dir, log->name, flags | O_CREAT | O_EXCL, &log->fd, &log->size);
	if (err == -EEXIST)
		err = open_file(log->dir, log->name, flags, &log->fd, &log->size);
	if (!err)
		err = cut_tail(log->fd, log->size, &log->size);
	if (err)
		return err;
	*ret = TAKE_PTR(log);
	return 0;
}

void rf_log_close(struct rf_log **log)
{
	if (!*log)
		return;
	closep(&(*log)->fd);
	closep(&(*log)->dir);
	freep(log);
	*log = NULL;
}

int rf_log_sync(struct rf_log *log)
{
	return fdatasync(log->fd) < 0 ? -errno : 0;
}

static int move_file(struct rf_log *log, unsigned int from, unsigned int to)
{
	char a[NAME_MAX + 1], b[NAME_MAX + 1];

	snprintf(a, sizeof(a), from ? "%s.%u" : "%s", log->name, from);
	snprintf(b, sizeof(b), to ? "%s.%u" : "%s", log->name, to);
	return renameat(log->dir, a, log->dir, b) < 0 ? -errno : 0;
}

/*
 * The new file is made first: with no inode or descriptor left nothing has been moved, and writing goes on in the old
 * one. FILE is missing for the instant between the last two renames; readers wait for it.
 */
static int rotate(struct rf_log *log)
{
	char fresh[NAME_MAX + 1];
	__cleanup(closep) int fd = -1;
	uint64_t size = 0;
	int err;

	if (fsync(log->fd) < 0)
		return -errno;
	snprintf(fresh, sizeof(fresh), "%s.new", log->name);
	if (unlinkat(log->dir, fresh, 0) < 0 && errno != ENOENT)
		return -errno;
	err = open_file(log->dir, fresh, O_RDWR | O_APPEND | O_CREAT | O_EXCL, &fd, &size);
	if (err)
		return err;
	for (unsigned int i = log->keep; i > 1 && !err; i--) {
		err = move_file(log, i - 1, i);
		if (err == -ENOENT)
			err = 0;
	}
	if (!err)
		err = move_file(log, 0, 1);
	if (!err && renameat(log->dir, fresh, log->dir, log->name) < 0) {
		err = -errno;
		move_file(log, 1, 0);
	}
	if (err) {
		unlinkat(log->dir, fresh, 0);
		return err;
	}
	closep(&log->fd);
	log->fd = TAKE_FD(fd);
	log->size = 0;
	fsync(log->dir); /* best effort: the renames would only be older after a crash */
	return 0;
}

static int cut_torn(struct rf_log *log)
{
	log->torn = ftruncate(log->fd, (off_t)log->size) < 0;
	return log->torn ? -errno : 0;
}

int rf_log_append(struct rf_log *log, const char *line, size_t len)
{
	const char *newline = memchr(line, '\n', len);
	ssize_t n;
	int err;

	/* A line within a line would be a forged event. */
	if (!newline || newline != line + len - 1)
		return -EINVAL;
	if (log->torn) {
		err = cut_torn(log);
		if (err)
			return err;
	}
	if (log->max && log->size && log->size + len > log->max) {
		err = rotate(log);
		/* A chain that can't be moved costs room, not events; but not without end. */
		if (err && log->size + len > 2 * log->max)
			return err;
	}
	do
		n = write(log->fd, line, len);
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)len) {
		log->size += len;
		return 0;
	}
	err = n < 0 ? -errno : -ENOSPC;
	if (n > 0)
		cut_torn(log);
	return err;
}

/* Reads digits up to the end or another byte; NULL: there are none, or too many. */
static const char *scan_number(const char *p, const char *end, uint64_t *ret)
{
	const char *start = p;
	uint64_t value = 0;

	for (; p < end && *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			return NULL;
	*ret = value;
	return p > start ? p : NULL;
}

/*
 * Where `text` ends in the line, or NULL. Every text asked for holds a quote that is not escaped, so it can't occur
 * inside a string value, whatever an agent called its files.
 */
static const char *scan_text(const char *p, const char *end, const char *text)
{
	const char *at = p ? memmem(p, (size_t)(end - p), text, strlen(text)) : NULL;

	return at ? at + strlen(text) : NULL;
}

struct tail {
	const char *boot; /* ,"boot":"ID" or "" */
	void (*seen)(void *ctx, uint32_t cpu, uint64_t seq);
	void *ctx;
};

static void scan_line(const struct tail *tail, const char *p, const char *end)
{
	uint64_t cpu, seq;

	p = scan_text(p, end, ",\"src\":\"kernel\",\"cpu\":");
	if (!p)
		return;
	p = scan_number(p, end, &cpu);
	p = p ? scan_number(scan_text(p, end, ",\"seq\":") ?: end, end, &seq) : NULL;
	if (p && cpu < RF_CPUS_MAX)
		tail->seen(tail->ctx, (uint32_t)cpu, seq);
}

/* The lines of this boot; with `only_find`, just looks for the last daemon.start and returns the end of its line. */
static const char *scan_lines(const struct tail *tail, const char *p, const char *end, bool only_find)
{
	const char *start = NULL, *newline;

	for (; p < end && (newline = memchr(p, '\n', (size_t)(end - p))); p = newline + 1) {
		if (!scan_text(p, newline, tail->boot))
			continue;
		if (!only_find)
			scan_line(tail, p, newline);
		else if (newline - p > 30 && scan_text(p, p + 30, "{\"v\":1,\"kind\":\"daemon.start\""))
			start = newline + 1;
	}
	return start;
}

/* One file's last *left bytes; 1: the last daemon.start was in it, so older files don't matter. */
static int tail_file(const struct tail *tail, int fd, uint64_t size, size_t *left)
{
	size_t want = size < *left ? (size_t)size : *left;
	__cleanup(freep) char *bytes = malloc(want + 1);
	const char *p = bytes, *start;
	size_t have = 0;

	if (!bytes)
		return -ENOMEM;
	while (have < want) {
		ssize_t n = pread(fd, bytes + have, want - have, (off_t)(size - want + have));

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		have += (size_t)n;
	}
	*left -= want;
	/* A window that begins inside a line: that line is not ours to judge. */
	if (want < size) {
		p = memchr(bytes, '\n', want);
		p = p ? p + 1 : bytes + want;
	}
	start = scan_lines(tail, p, bytes + want, true);
	scan_lines(tail, start ? start : p, bytes + want, false);
	return start != NULL;
}

int rf_log_tail(const char *path, size_t bytes, const char *boot_id,
		void (*seen)(void *ctx, uint32_t cpu, uint64_t seq), void *ctx)
{
	char name[LOG_NAME_MAX + 1], file[NAME_MAX + 1], boot[128] = "";
	struct tail tail = {.boot = boot, .seen = seen, .ctx = ctx};
	__cleanup(closep) int dir = -1;
	int err;

	if (boot_id && snprintf(boot, sizeof(boot), ",\"boot\":\"%s\"", boot_id) >= (int)sizeof(boot))
		return -EINVAL;
	err = open_dir(path, name, &dir);
	for (unsigned int i = 0; !err && bytes > 0; i++) {
		__cleanup(closep) int fd = -1;
		uint64_t size = 0;

		snprintf(file, sizeof(file), i ? "%s.%u" : "%s", name, i);
		err = open_file(dir, file, O_RDWR, &fd, &size);
		/* FILE itself is missing after a crash between two renames. */
		if (err == -ENOENT) {
			err = 0;
			if (i)
				break;
			continue;
		}
		if (!err && !i)
			err = cut_tail(fd, size, &size);
		if (!err)
			err = tail_file(&tail, fd, size, &bytes);
	}
	return err < 0 ? err : 0;
}
