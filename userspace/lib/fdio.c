// SPDX-License-Identifier: Apache-2.0
/* Whole files, bounded. */
#include "lib/fdio.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/cleanup.h"

int rf_read_all(int fd, size_t max, char **ret_text, size_t *ret_len)
{
	__cleanup(freep) char *text = NULL;
	size_t room = 0, len = 0;

	for (;;) {
		ssize_t n;

		if (len + 1 >= room) {
			char *more = realloc(text, room = room ? room * 2 : 4096);

			if (!more)
				return -ENOMEM;
			text = more;
		}
		n = read(fd, text + len, room - len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)
			break;
		len += (size_t)n;
		if (len > max)
			return -EFBIG;
	}
	text[len] = '\0';
	*ret_text = TAKE_PTR(text);
	*ret_len = len;
	return 0;
}

int rf_read_file(int dir_fd, const char *path, size_t max, char **ret_text, size_t *ret_len)
{
	/* O_NONBLOCK: a FIFO in a policy directory must not hold the daemon. */
	__cleanup(closep) int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	return rf_read_all(fd, max, ret_text, ret_len);
}

int rf_write_all(int fd, const void *bytes, size_t len)
{
	const char *p = bytes;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int rf_write_control(int dir_fd, const char *name, const char *text)
{
	__cleanup(closep) int fd = openat(dir_fd, name, O_WRONLY | O_CLOEXEC);
	size_t len = strlen(text);

	if (fd < 0)
		return -errno;
	if (write(fd, text, len) != (ssize_t)len)
		return errno ? -errno : -EIO;
	return 0;
}

static int write_synced(int dir_fd, const char *name, mode_t mode, const void *bytes, size_t len)
{
	__cleanup(closep) int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode);
	int err;

	if (fd < 0)
		return -errno;
	if (fchmod(fd, mode))
		return -errno;
	err = rf_write_all(fd, bytes, len);
	if (err)
		return err;
	return fsync(fd) ? -errno : 0;
}

int rf_replace_file(int dir_fd, const char *name, mode_t mode, const void *bytes, size_t len)
{
	char temporary[NAME_MAX + 1];
	int err;

	if (snprintf(temporary, sizeof(temporary), ".%s.new", name) >= (int)sizeof(temporary))
		return -ENAMETOOLONG;
	err = write_synced(dir_fd, temporary, mode, bytes, len);
	if (!err && renameat(dir_fd, temporary, dir_fd, name))
		err = -errno;
	if (err)
		unlinkat(dir_fd, temporary, 0);
	return err;
}

int rf_make_dirs(const char *path, mode_t mode)
{
	char part[PATH_MAX];
	size_t len = strlen(path);

	if (len >= sizeof(part))
		return -ENAMETOOLONG;
	for (size_t i = 1; i <= len; i++) {
		if (i < len && path[i] != '/')
			continue;
		memcpy(part, path, i);
		part[i] = '\0';
		if (mkdir(part, mode) && errno != EEXIST)
			return -errno;
	}
	return 0;
}
