// SPDX-License-Identifier: Apache-2.0
/* A mount table as the kernel writes it. */
#include "lib/mounts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"
#include "lib/fdio.h"

#define TABLE_BYTES_MAX (64U << 20)

/* \ooo stands for space, tab, newline and backslash. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		if (from[0] == '\\' && from[1] && from[2] && from[3]) {
			*to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

/* "ID PARENT MAJOR:MINOR ROOT POINT ..." */
static int parse_line(char *line, struct rf_mount *ret)
{
	int root = 0, point = 0, end = 0;
	unsigned int id, major, minor;

	if (sscanf(line, "%u %*u %u:%u %n%*s %n%*s%n", &id, &major, &minor, &root, &point, &end) != 3 || !end)
		return -EBADMSG;
	line[point - 1] = line[end] = '\0';
	*ret = (struct rf_mount){.id = id, .major = major, .minor = minor};
	ret->root = strdup(line + root);
	ret->point = strdup(line + point);
	if (!ret->root || !ret->point) {
		free(ret->root);
		free(ret->point);
		return -ENOMEM;
	}
	unescape(ret->root);
	unescape(ret->point);
	return 0;
}

static int parse(char *text, struct rf_mounts *mounts)
{
	size_t room = 0;

	for (char *line = text, *next; line && *line; line = next) {
		int err;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (mounts->n == room) {
			struct rf_mount *more;

			room = room ? room * 2 : 64;
			more = realloc(mounts->v, room * sizeof(*more));
			if (!more)
				return -ENOMEM;
			mounts->v = more;
		}
		err = parse_line(line, &mounts->v[mounts->n]);
		if (err)
			return err;
		mounts->n++;
	}
	return 0;
}

int rf_mounts_parse(char *text, struct rf_mounts *ret)
{
	struct rf_mounts mounts = {};
	int err = parse(text, &mounts);

	if (err)
		rf_mounts_done(&mounts);
	else
		*ret = mounts;
	return err;
}

int rf_mounts_read(int fd, struct rf_mounts *ret)
{
	__cleanup(freep) char *text = NULL;
	size_t len;
	int err;

	if (lseek(fd, 0, SEEK_SET))
		return -errno;
	err = rf_read_all(fd, TABLE_BYTES_MAX, &text, &len);
	return err ? err : rf_mounts_parse(text, ret);
}

void rf_mounts_done(struct rf_mounts *mounts)
{
	for (size_t i = 0; i < mounts->n; i++) {
		free(mounts->v[i].root);
		free(mounts->v[i].point);
	}
	free(mounts->v);
	*mounts = (struct rf_mounts){};
}

struct rf_mount *rf_mounts_find(const struct rf_mounts *mounts, uint32_t id)
{
	for (size_t i = 0; i < mounts->n; i++)
		if (mounts->v[i].id == id)
			return &mounts->v[i];
	return NULL;
}
