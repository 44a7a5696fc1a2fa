// SPDX-License-Identifier: Apache-2.0
/* Where a process lives: mount namespace and root directory, held by descriptors whatever becomes of the process. */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kern/kern.h"
#include "lib/cleanup.h"

/* linux/stat.h of 5.8, which cannot be included beside sys/stat.h everywhere. */
#ifndef STATX_ATTR_MOUNT_ROOT
#define STATX_ATTR_MOUNT_ROOT 0x2000
#endif

int rf_open_in(int root_fd, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = {.flags = flags | O_PATH | O_CLOEXEC, .resolve = resolve | RESOLVE_IN_ROOT};
	int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

int rf_mount_of(int fd, uint32_t *ret_mount, bool *ret_root)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_MNT_ID, &st))
		return -errno;
	*ret_mount = (uint32_t)st.stx_mnt_id;
	*ret_root = st.stx_attributes & STATX_ATTR_MOUNT_ROOT;
	return 0;
}

static void view_free(struct rf_view **ret)
{
	struct rf_view *view = *ret;

	if (!view)
		return;
	closep(&view->table_fd);
	closep(&view->root_fd);
	rf_mounts_done(&view->mounts);
	rf_aliases_done(&view->aliases);
	free(view);
	*ret = NULL;
}

static struct rf_view *view_new(void)
{
	struct rf_view *view = calloc(1, sizeof(*view));

	if (view)
		view->table_fd = view->root_fd = -1;
	return view;
}

/* -EACCES where /proc/PID wants the rights to trace the process. */
static int open_place(struct rf_view *view, int proc_fd)
{
	struct stat ns, root;

	view->root_fd = openat(proc_fd, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	view->table_fd = openat(proc_fd, "mountinfo", O_RDONLY | O_CLOEXEC);
	if (view->root_fd < 0 || view->table_fd < 0 || fstatat(proc_fd, "ns/mnt", &ns, 0) ||
	    fstat(view->root_fd, &root))
		return -errno;
	view->place = (struct rf_view_place){ns.st_dev, ns.st_ino, root.st_dev, root.st_ino};
	return 0;
}

static int view_of(int proc_fd, struct rf_view **ret)
{
	__cleanup(view_free) struct rf_view *view = view_new();
	int err = view ? open_place(view, proc_fd) : -ENOMEM;

	if (!err)
		*ret = TAKE_PTR(view);
	return err;
}

int rf_open_host_view(struct rf_enforcer *e, bool adopted)
{
	__cleanup(closep) int self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int err = self < 0 ? -errno : view_of(self, &e->host);

	if (err)
		return err;
	e->host->adopted = adopted;
	e->shared->rf_host_space = (uint32_t)e->host->place.ns_ino;
	return 0;
}

/* One directory mounted twice is two roots: mount and inode. */
bool rf_view_same(const struct rf_view *a, const struct rf_view *b)
{
	uint32_t x = 0, y = 0;
	bool root;

	return !memcmp(&a->place, &b->place, sizeof(a->place)) && !rf_mount_of(a->root_fd, &x, &root) &&
	       !rf_mount_of(b->root_fd, &y, &root) && x == y;
}

int rf_view_open(struct rf_enforcer *e, int proc_fd, struct rf_view **ret)
{
	__cleanup(view_free) struct rf_view *view = NULL;
	int err = view_of(proc_fd, &view);

	if (err)
		return err;
	*ret = rf_view_same(view, e->host) ? NULL : TAKE_PTR(view);
	return 0;
}

int rf_view_start(struct rf_enforcer *e, struct rf_view *view, uint32_t id, unsigned int *ret_skipped)
{
	view->adopted = id;
	view->id = id ? id : ++e->shared->rf_host.view_ids;
	return rf_view_refresh(e, view, ret_skipped);
}

struct rf_view *rf_view_remnant(uint32_t id, const struct rf_view_place *place)
{
	struct rf_view *view = view_new();

	if (view) {
		view->id = id;
		view->place = *place;
	}
	return view;
}

uint32_t rf_view_id(const struct rf_view *view)
{
	return view ? view->id : 0;
}

const struct rf_view_place *rf_view_place(const struct rf_view *view)
{
	return &view->place;
}

const struct rf_aliases *rf_view_aliases(const struct rf_enforcer *e, const struct rf_view *view)
{
	return &(view ? view : e->host)->aliases;
}

void rf_enforcer_on_aliases(struct rf_enforcer *e,
			    int (*call)(void *ctx, const struct rf_view *view, const struct rf_aliases *aliases),
			    void *ctx)
{
	e->on_aliases = call;
	e->on_aliases_ctx = ctx;
}

int rf_view_table_fd(const struct rf_view *view)
{
	return view->table_fd;
}

/* What the kernel calls an open file, seen from its mount namespace's root. */
static int name_of(int fd, char buf[PATH_MAX])
{
	char link[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, buf, PATH_MAX - 1);
	if (n < 0)
		return -errno;
	buf[n] = '\0';
	return buf[0] == '/' && n < PATH_MAX - 1 ? 0 : -ENOENT;
}

int rf_view_realpath(const struct rf_view *view, const char *path, char **ret)
{
	char root[PATH_MAX], name[PATH_MAX];
	__cleanup(closep) int fd = -1;
	size_t len;
	int err;

	if (!view) {
		*ret = realpath(path, NULL);
		return *ret ? 0 : -errno;
	}
	fd = rf_open_in(view->root_fd, path, 0, RESOLVE_NO_MAGICLINKS);
	if (fd < 0)
		return fd;
	err = name_of(fd, name);
	if (!err)
		err = name_of(view->root_fd, root);
	if (err)
		return err;
	len = strcmp(root, "/") ? strlen(root) : 0;
	if (strncmp(name, root, len) || (name[len] && name[len] != '/'))
		return -ENOENT;
	*ret = strdup(name[len] ? name + len : "/");
	return *ret ? 0 : -ENOMEM;
}

void rf_enforcer_drop_views(struct rf_enforcer *e, const uint32_t *used, size_t n)
{
	struct rf_anchor_key key, next, *prev = NULL;
	int fd = e->maps[RF_MAP_ANCHORS];

	while (!bpf_map_get_next_key(fd, prev, &next)) {
		bool keep = !next.view;

		for (size_t i = 0; i < n && !keep; i++)
			keep = used[i] == next.view;
		if (!keep) {
			bpf_map_delete_elem(fd, &next);
			continue;
		}
		key = next;
		prev = &key;
	}
}

static void drop_anchors(struct rf_enforcer *e, uint32_t id)
{
	struct rf_anchor_key key, next, *prev = NULL;
	int fd = e->maps[RF_MAP_ANCHORS];

	while (!bpf_map_get_next_key(fd, prev, &next)) {
		if (next.view == id) {
			bpf_map_delete_elem(fd, &next);
			continue;
		}
		key = next;
		prev = &key;
	}
}

void rf_view_close(struct rf_enforcer *e, struct rf_view **view, bool keep)
{
	if (*view && !keep && (*view)->id)
		drop_anchors(e, (*view)->id);
	view_free(view);
}
