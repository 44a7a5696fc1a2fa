// SPDX-License-Identifier: Apache-2.0
/*
 * The reference view: the mounts of this process's mount namespace become anchors. The kernel half takes the identity
 * of a mount's root from the object behind a descriptor that we opened, so nothing here rests on stat(2).
 */
#include "kern/kern.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/cleanup.h"

/* A mount point as /proc/self/mountinfo writes it: \ooo for space, tab, newline and backslash. */
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

/* The fifth field of a line, in place; NULL for a line that has none. */
static char *mount_point(char *line)
{
	for (int i = 0; i < 4; i++) {
		line = strchr(line, ' ');
		if (!line)
			return NULL;
		line++;
	}
	line[strcspn(line, " \n")] = '\0';
	unescape(line);
	return line;
}

/* Asks for an anchor at one mount point; the descriptor stays open until the iterator has run. -errno: skipped. */
static int request(struct rf_enforcer *e, const char *path, int *ret_fd)
{
	struct rf_anchor anchor = {.epoch = e->epoch};
	size_t len = strlen(path);
	uint32_t key;
	int fd;

	if (len > RF_ANCHOR_PATH_MAX)
		return -ENAMETOOLONG;
	/* "/" is the empty string of the automaton. */
	if (len > 1) {
		memcpy(anchor.path, path, len);
		anchor.len = (uint32_t)len;
	}
	fd = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	key = (uint32_t)fd;
	if (bpf_map_update_elem(e->maps[RF_MAP_REQUESTS], &key, &anchor, BPF_ANY)) {
		close(fd);
		return -ENOSPC;
	}
	*ret_fd = fd;
	return 0;
}

static void withdraw(struct rf_enforcer *e, const int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t key = (uint32_t)fds[i];

		bpf_map_delete_elem(e->maps[RF_MAP_REQUESTS], &key);
		close(fds[i]);
	}
}

/* Anchors of mounts that are gone. */
static void drop_old(struct rf_enforcer *e)
{
	uint64_t key, next, *prev = NULL;
	struct rf_anchor anchor;
	int fd = e->maps[RF_MAP_ANCHORS];

	while (!bpf_map_get_next_key(fd, prev, &next)) {
		if (!bpf_map_lookup_elem(fd, &next, &anchor) && anchor.epoch != e->epoch) {
			bpf_map_delete_elem(fd, &next);
			continue;
		}
		key = next;
		prev = &key;
	}
}

int rf_enforcer_refresh_view(struct rf_enforcer *e, unsigned int *ret_skipped)
{
	__cleanup(fclosep) FILE *f = fopen("/proc/self/mountinfo", "re");
	__cleanup(freep) int *fds = calloc(RF_ANCHORS_MAX, sizeof(*fds));
	__cleanup(freep) char *line = NULL;
	unsigned int skipped = 0;
	size_t n = 0, size = 0;
	int err;

	if (!f || !fds)
		return rf_because(e, -ENOMEM, "cannot read /proc/self/mountinfo: %s", strerror(errno));
	if (!e->epoch)
		e->epoch = (uint32_t)getpid();
	e->epoch++;
	while (getline(&line, &size, f) > 0) {
		char *path = mount_point(line);

		if (!path || n >= RF_ANCHORS_MAX || request(e, path, &fds[n]))
			skipped++;
		else
			n++;
	}
	e->shared->rf_asker = (uint32_t)getpid();
	e->shared->rf_overlays_unknown = 0;
	err = rf_run_iterator(e->set_anchors, (uint32_t)getpid());
	withdraw(e, fds, n);
	if (err)
		return rf_because(e, err, "cannot anchor the mounts: %s", strerror(-err));
	drop_old(e);
	/* What was cached under the old view is stale. */
	__atomic_add_fetch(&e->shared->rf_dirgen_all, 1, __ATOMIC_SEQ_CST);
	*ret_skipped = skipped;
	return 0;
}
