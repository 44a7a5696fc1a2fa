// SPDX-License-Identifier: Apache-2.0
/* Cgroup directories of runs. */
#define _GNU_SOURCE 1 /* open_by_handle_at */

#include "daemon/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>

#include "lib/cleanup.h"
#include "lib/fdio.h"

#define DEPTH_MAX 64
#define FILEID_KERNFS 0xfe

int cgroup_open_root(int *ret_fd, const char **ret_path)
{
	/* The second one is where systemd mounts it beside version 1. */
	static const char *const roots[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

	for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
		__cleanup(closep) int fd = open(roots[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		struct statfs fs;

		if (fd >= 0 && !fstatfs(fd, &fs) && fs.f_type == CGROUP2_SUPER_MAGIC) {
			*ret_path = roots[i];
			*ret_fd = TAKE_FD(fd);
			return 0;
		}
	}
	return -ENODEV;
}

int cgroup_open(int root_fd, const char *path, int *ret_fd)
{
	struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};
	int fd = (int)syscall(SYS_openat2, root_fd, *path ? path : ".", &how, sizeof(how));

	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

int cgroup_make(int root_fd, const char *name, int *ret_fd)
{
	char path[NAME_MAX + 1];

	if (snprintf(path, sizeof(path), RF_CGROUP_PARENT "/%s", name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	if (mkdirat(root_fd, RF_CGROUP_PARENT, 0755) && errno != EEXIST)
		return -errno;
	if (mkdirat(root_fd, path, 0755))
		return -errno;
	return cgroup_open(root_fd, path, ret_fd);
}

static int remove_below(int dir_fd, unsigned int depth)
{
	__cleanup(closep) int copy = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
	struct dirent *entry;
	DIR *dir;
	int err = 0;

	if (depth == DEPTH_MAX)
		return -ELOOP;
	dir = copy < 0 ? NULL : fdopendir(copy);
	if (!dir)
		return -errno;
	TAKE_FD(copy);
	rewinddir(dir);
	while (!err && (entry = readdir(dir))) {
		__cleanup(closep) int child = -1;

		if (entry->d_type != DT_DIR || !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		err = cgroup_open(dir_fd, entry->d_name, &child);
		if (!err)
			err = remove_below(child, depth + 1);
		if (!err && unlinkat(dir_fd, entry->d_name, AT_REMOVEDIR))
			err = -errno;
		if (err == -ENOENT)
			err = 0;
	}
	closedir(dir);
	return err;
}

int cgroup_remove(int root_fd, const char *path)
{
	__cleanup(closep) int fd = -1;
	int err = cgroup_open(root_fd, path, &fd);

	if (!err)
		err = remove_below(fd, 0);
	if (!err && unlinkat(root_fd, path, AT_REMOVEDIR))
		err = -errno;
	return err == -ENOENT ? 0 : err;
}

int cgroup_kill(int cgroup_fd)
{
	return rf_write_control(cgroup_fd, "cgroup.kill", "1");
}

int cgroup_open_events(int cgroup_fd)
{
	int fd = openat(cgroup_fd, "cgroup.events", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int cgroup_populated(int events_fd)
{
	char text[256];
	ssize_t n = pread(events_fd, text, sizeof(text) - 1, 0);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	return strstr(text, "populated 1") != NULL;
}

int cgroup_of_pid(pid_t pid, char **ret)
{
	__cleanup(freep) char *text = NULL;
	char path[64], *line;
	size_t len;
	int err;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	err = rf_read_file(AT_FDCWD, path, (size_t)64 * 1024, &text, &len);
	if (err)
		return err;
	line = strncmp(text, "0::/", 4) ? strstr(text, "\n0::/") : text - 1;
	if (!line)
		return -ENODEV;
	line += 5;
	line[strcspn(line, "\n")] = '\0';
	*ret = strdup(line);
	return *ret ? 0 : -ENOMEM;
}

int cgroup_path_of_id(int root_fd, const char *root_path, uint64_t id, char *buf, size_t size)
{
	char storage[sizeof(struct file_handle) + sizeof(id)], link[64], path[PATH_MAX];
	struct file_handle *handle = (struct file_handle *)storage;
	__cleanup(closep) int fd = -1;
	size_t root = strlen(root_path);
	ssize_t n;

	/* A cgroup's id is the handle of its directory. */
	handle->handle_bytes = sizeof(id);
	handle->handle_type = FILEID_KERNFS;
	memcpy(handle->f_handle, &id, sizeof(id));
	fd = open_by_handle_at(root_fd, handle, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return -errno;
	path[n] = '\0';
	if (strncmp(path, root_path, root) || snprintf(buf, size, "%s", path + root) >= (int)size)
		return -ENOENT;
	return 0;
}

bool cgroup_holds(const char *a, const char *b)
{
	size_t len = strlen(a);

	return !len || (!strncmp(a, b, len) && (!b[len] || b[len] == '/'));
}
