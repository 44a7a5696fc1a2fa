/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows the log. The open descriptor keeps a rotated file until it is read to its end; only then the next newer one is
 * opened, found by the place of our inode in the chain. A line is taken only with its newline, and bytes without one are
 * read again each time: the writer may cut a torn line and write another in its place.
 */
#define _GNU_SOURCE 1
#include "ship/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "event/event.h"
#include "lib/cleanup.h"

#define BUFFER_SIZE (4 * RF_LINE_MAX)
#define FILES_MAX 1000
#define HEAD_MAX 512
#define TRIES 100 /* of 1 ms: a rotation takes far less */

struct rf_reader {
	int dir;
	int fd; /* -1: there is no log yet */
	uint64_t inode;
	uint64_t offset; /* in the file, of buf[start] */
	uint64_t head;
	uint64_t gaps;
	bool final; /* the writer has left this file */
	bool skipping; /* inside a line that is too long */
	size_t start, have;
	char name[NAME_MAX + 1];
	char buf[BUFFER_SIZE];
};

/* inode[i] is FILE.i's, [0] FILE's; 0: missing. */
struct chain {
	size_t n;
	uint64_t inode[FILES_MAX];
	uint64_t size[FILES_MAX];
};

static void name_of(const struct rf_reader *reader, size_t i, char ret[NAME_MAX + 1])
{
	snprintf(ret, NAME_MAX + 1, i ? "%s.%zu" : "%s", reader->name, i);
}

static void list(const struct rf_reader *reader, struct chain *ret)
{
	char name[NAME_MAX + 1];
	size_t missing = 0;
	struct stat st;

	ret->n = 0;
	/* A rotation that failed half-way may leave one hole. */
	for (size_t i = 0; i < FILES_MAX && missing < 3; i++) {
		name_of(reader, i, name);
		ret->inode[i] = 0;
		if (fstatat(reader->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode)) {
			missing++;
			continue;
		}
		missing = 0;
		ret->inode[i] = st.st_ino;
		ret->size[i] = (uint64_t)st.st_size;
		ret->n = i + 1;
	}
}

/*
 * Twice the same names: the list is not torn by a rotation. FILE may be missing, between two renames or for good after a
 * crash there: the order of the others holds.
 */
static bool list_stable(const struct rf_reader *reader, struct chain *ret)
{
	struct chain *again = malloc(sizeof(*again));
	bool stable;

	if (!again)
		return false;
	list(reader, ret);
	list(reader, again);
	stable = ret->n == again->n && !memcmp(ret->inode, again->inode, ret->n * sizeof(ret->inode[0]));
	free(again);
	return stable;
}

static size_t find(const struct chain *chain, uint64_t inode)
{
	size_t i = 0;

	while (i < chain->n && (!inode || chain->inode[i] != inode))
		i++;
	return i;
}

/* FNV-1a of the first line: it holds a time in nanoseconds and a number, so no two files share it. */
static uint64_t head_of(int fd)
{
	uint64_t hash = 0xcbf29ce484222325;
	unsigned char bytes[HEAD_MAX];
	ssize_t n = pread(fd, bytes, sizeof(bytes), 0);

	for (ssize_t i = 0; i < n && (!i || bytes[i - 1] != '\n'); i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3;
	return hash;
}

/* Is position a place between two lines of this file? */
static bool fits(int fd, const struct rf_position *position)
{
	char before = 0;

	return !position->offset || (head_of(fd) == position->head &&
				     pread(fd, &before, 1, (off_t)position->offset - 1) == 1 && before == '\n');
}

static void go_to(struct rf_reader *reader, const struct rf_position *position)
{
	reader->offset = position ? position->offset : 0;
	reader->head = reader->offset ? position->head : 0;
	reader->final = reader->skipping = false;
	reader->start = reader->have = 0;
}

/* Takes FILE.i, if it still is what the list said. */
static int take_file(struct rf_reader *reader, const struct chain *chain, size_t i, const struct rf_position *position)
{
	__cleanup(closep) int fd = -1;
	char name[NAME_MAX + 1];
	struct stat st;

	name_of(reader, i, name);
	fd = openat(reader->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0)
		return errno == ENOENT ? -EAGAIN : -errno;
	if (st.st_ino != chain->inode[i] || !S_ISREG(st.st_mode))
		return -EAGAIN;
	if (position && !fits(fd, position))
		return -ESTALE;
	closep(&reader->fd);
	reader->fd = TAKE_FD(fd);
	reader->inode = st.st_ino;
	go_to(reader, position);
	return 0;
}

static int seek_once(struct rf_reader *reader, struct chain *chain, const struct rf_position *position)
{
	size_t i;
	int err;

	if (!list_stable(reader, chain))
		return -EAGAIN;
	i = position->inode ? find(chain, position->inode) : chain->n;
	if (i < chain->n) {
		err = take_file(reader, chain, i, position);
		if (err != -ESTALE)
			return err;
	}
	if (chain->n) {
		err = take_file(reader, chain, chain->n - 1, NULL);
		if (err)
			return err;
	}
	return position->inode ? 1 : 0;
}

int rf_reader_seek(struct rf_reader *reader, const struct rf_position *position)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	__cleanup(freep) struct chain *chain = malloc(sizeof(*chain));
	int err = chain ? -EAGAIN : -ENOMEM;

	/* The file that we hold may be gone from the directory; that must not cost its lines. */
	if (reader->fd >= 0 && position->inode == reader->inode && fits(reader->fd, position)) {
		go_to(reader, position);
		return 0;
	}
	for (int i = 0; i < TRIES && err == -EAGAIN; i++) {
		err = seek_once(reader, chain, position);
		if (err == -EAGAIN)
			nanosleep(&pause, NULL);
	}
	reader->gaps += err == 1;
	return err;
}

int rf_reader_open(const char *path, struct rf_reader **ret)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	__cleanup(freep) char *dir = strndup(path, slash ? (size_t)(slash + 1 - path) : 0);
	__cleanup(rf_reader_close) struct rf_reader *reader = calloc(1, sizeof(*reader));

	if (!dir || !reader)
		return -ENOMEM;
	reader->dir = reader->fd = -1;
	if (!*name || strlen(name) > NAME_MAX - 12)
		return -EINVAL;
	strcpy(reader->name, name);
	reader->dir = open(*dir ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (reader->dir < 0)
		return -errno;
	*ret = TAKE_PTR(reader);
	return 0;
}

void rf_reader_close(struct rf_reader **reader)
{
	if (!*reader)
		return;
	closep(&(*reader)->fd);
	closep(&(*reader)->dir);
	freep(reader);
	*reader = NULL;
}

/* 1: the next newer file is open; 0: it will be soon. */
static int open_newer(struct rf_reader *reader)
{
	__cleanup(freep) struct chain *chain = malloc(sizeof(*chain));
	size_t i, next;
	int err;

	if (!chain)
		return -ENOMEM;
	if (!list_stable(reader, chain) || !chain->n)
		return 0;
	i = find(chain, reader->inode);
	if (!i) {
		/* The writer took its rotation back. */
		reader->final = false;
		return 0;
	}
	/* Ours was deleted: the oldest comes next, but how many were deleted with ours nobody can tell. */
	next = i < chain->n ? i - 1 : chain->n - 1;
	while (next && !chain->inode[next])
		next--;
	err = take_file(reader, chain, next, NULL);
	if (err)
		return err == -EAGAIN ? 0 : err;
	reader->gaps += i == chain->n;
	return 1;
}

static void advance(struct rf_reader *reader, size_t n)
{
	if (!reader->head)
		reader->head = head_of(reader->fd);
	reader->start += n;
	reader->offset += n;
}

/* The file has no more whole lines: 1 go on reading, 0 wait, -EBADMSG a torn end was skipped. */
static int at_end(struct rf_reader *reader)
{
	struct stat st;
	size_t torn = reader->have - reader->start;

	reader->start = reader->have = 0;
	if (fstat(reader->fd, &st) < 0)
		return -errno;
	if ((uint64_t)st.st_size < reader->offset) {
		/* Nobody of ours cuts whole lines. */
		reader->gaps++;
		reader->offset = reader->head = 0;
		reader->skipping = false;
		return 1;
	}
	if (!reader->final) {
		if (fstatat(reader->dir, reader->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return errno == ENOENT ? 0 : -errno;
		if (st.st_ino == reader->inode)
			return 0;
		/* Lines may have come between our last read and the rotation: once more to the end. */
		reader->final = true;
		return 1;
	}
	if (torn || reader->skipping) {
		advance(reader, torn);
		reader->start = 0;
		reader->skipping = false;
		return -EBADMSG;
	}
	return open_newer(reader);
}

/* 1: buf holds a newline or more than a line's worth; else as at_end(). */
static int refill(struct rf_reader *reader)
{
	ssize_t n;

	reader->start = reader->have = 0;
	do
		n = pread(reader->fd, reader->buf, sizeof(reader->buf), (off_t)reader->offset);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	reader->have = (size_t)n;
	if (n == (ssize_t)sizeof(reader->buf) || memchr(reader->buf, '\n', (size_t)n))
		return 1;
	return at_end(reader);
}

int rf_reader_next(struct rf_reader *reader, const char **ret_line, size_t *ret_len)
{
	const struct rf_position oldest = {0};
	char *newline, *line;
	int err;

	if (reader->fd < 0) {
		err = rf_reader_seek(reader, &oldest);
		if (err || reader->fd < 0)
			return err == -EAGAIN ? 0 : err;
	}
	for (;;) {
		size_t left = reader->have - reader->start;

		line = reader->buf + reader->start;
		newline = memchr(line, '\n', left);
		if (newline)
			break;
		if (!reader->start && left == sizeof(reader->buf)) {
			advance(reader, left);
			reader->skipping = true;
		}
		err = refill(reader);
		if (err != 1)
			return err;
	}
	advance(reader, (size_t)(newline + 1 - line));
	if (reader->skipping || newline - line >= RF_LINE_MAX) {
		reader->skipping = false;
		return -EBADMSG;
	}
	*ret_line = line;
	*ret_len = (size_t)(newline - line);
	return 1;
}

void rf_reader_position(const struct rf_reader *reader, struct rf_position *ret)
{
	*ret = (struct rf_position){
		.inode = reader->fd < 0 ? 0 : reader->inode, .offset = reader->offset, .head = reader->head};
}

int rf_reader_end(const struct rf_reader *reader, struct rf_position *ret)
{
	struct stat st;

	*ret = (struct rf_position){0};
	if (fstatat(reader->dir, reader->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	ret->inode = st.st_ino;
	ret->offset = (uint64_t)st.st_size;
	return 0;
}

uint64_t rf_reader_lag(const struct rf_reader *reader, const struct rf_position *position)
{
	__cleanup(freep) struct chain *chain = malloc(sizeof(*chain));
	uint64_t lag = 0;
	size_t at;

	if (!chain)
		return 0;
	list(reader, chain);
	at = find(chain, position->inode);
	for (size_t i = 0; i < chain->n && i <= at; i++)
		lag += chain->inode[i] ? chain->size[i] : 0;
	if (at < chain->n && chain->inode[at])
		lag -= position->offset < chain->size[at] ? position->offset : chain->size[at];
	return lag;
}

uint64_t rf_reader_gaps(const struct rf_reader *reader)
{
	return reader->gaps;
}
