/* SPDX-License-Identifier: Apache-2.0 */
/* The cursor's file: {"v":1,"inode":"131","offset":"4096","head":"af63bd4c8601b7be"}; strings, as 64 bits are exact so. */
#define _GNU_SOURCE 1
#include "ship/cursor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "lib/cleanup.h"
#include "lib/fdio.h"

#define CURSOR_BYTES_MAX 4096

struct rf_cursor {
	int dir;
	int lock;
	char name[NAME_MAX + 1];
};

int rf_cursor_open(const char *path, struct rf_cursor **ret)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	__cleanup(freep) char *dir = strndup(path, slash ? (size_t)(slash + 1 - path) : 0);
	__cleanup(rf_cursor_close) struct rf_cursor *cursor = calloc(1, sizeof(*cursor));
	char lock[NAME_MAX + 1];

	if (!dir || !cursor)
		return -ENOMEM;
	cursor->dir = cursor->lock = -1;
	if (!*name || strlen(name) > NAME_MAX - 8)
		return -EINVAL;
	strcpy(cursor->name, name);
	cursor->dir = open(*dir ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (cursor->dir < 0)
		return -errno;
	snprintf(lock, sizeof(lock), "%.240s.lock", name);
	cursor->lock = openat(cursor->dir, lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (cursor->lock < 0)
		return -errno;
	if (flock(cursor->lock, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? -EBUSY : -errno;
	*ret = TAKE_PTR(cursor);
	return 0;
}

void rf_cursor_close(struct rf_cursor **cursor)
{
	if (!*cursor)
		return;
	closep(&(*cursor)->lock);
	closep(&(*cursor)->dir);
	freep(cursor);
	*cursor = NULL;
}

static int get(struct json_object *json, const char *key, int base, uint64_t *ret)
{
	struct json_object *value = NULL;
	const char *text;
	char *end;

	if (!json_object_object_get_ex(json, key, &value) || !json_object_is_type(value, json_type_string))
		return -EBADMSG;
	text = json_object_get_string(value);
	errno = 0;
	*ret = strtoull(text, &end, base);
	return errno || *end || !strchr("0123456789abcdef", *text) || !*text ? -EBADMSG : 0;
}

int rf_cursor_load(const struct rf_cursor *cursor, struct rf_position *ret)
{
	__cleanup(freep) char *text = NULL;
	struct rf_position position;
	struct json_object *json;
	size_t len;
	int err = rf_read_file(cursor->dir, cursor->name, CURSOR_BYTES_MAX, &text, &len);

	if (err)
		return err;
	json = strlen(text) == len ? json_tokener_parse(text) : NULL;
	if (!json || get(json, "inode", 10, &position.inode) || get(json, "offset", 10, &position.offset) ||
	    get(json, "head", 16, &position.head))
		err = -EBADMSG;
	json_object_put(json);
	if (!err)
		*ret = position;
	return err;
}

int rf_cursor_save(const struct rf_cursor *cursor, const struct rf_position *position)
{
	char text[192];
	int n = snprintf(text, sizeof(text),
			 "{\"v\":1,\"inode\":\"%" PRIu64 "\",\"offset\":\"%" PRIu64 "\",\"head\":\"%016" PRIx64 "\"}\n",
			 position->inode, position->offset, position->head);

	return rf_replace_file(cursor->dir, cursor->name, 0600, text, (size_t)n);
}
