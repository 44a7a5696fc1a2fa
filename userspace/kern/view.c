// SPDX-License-Identifier: Apache-2.0
/*
 * Reference views: the mounts of a mount namespace, as seen from one root directory, become anchors. The kernel half
 * takes the identity of a mount's root from the object behind a descriptor that we opened and found to be of that very
 * mount, so nothing here rests on names that somebody could move meanwhile.
 *
 * A run that may mount could name files as it likes if its mounts became anchors, and shed names by covering or
 * unmounting what has them. So when a tagged task has made a call of that kind since the last look, what is new in the
 * table is left out for good, and what was known keeps its name, wherever it is now.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <unistd.h>

#include "kern/kern.h"
#include "lib/cleanup.h"

struct look {
	struct rf_enforcer *e;
	struct rf_view *view;
	struct rf_mounts mounts;
	bool disturbed; /* a run may have mounted what is new */
	bool frozen; /* a run's mounts may cover or have moved what is known */
	int *fds;
	uint32_t *kept; /* mounts whose anchors stay as they are */
	size_t n, n_kept;
	struct rf_aliases aliases;
	unsigned int skipped;
};

/* Calls that may have changed this view's table. */
static uint64_t calls_of(const struct rf_enforcer *e, const struct rf_view *view)
{
	const __u64 *calls = e->shared->rf_mount_calls;
	uint64_t own = __atomic_load_n(&calls[0], __ATOMIC_ACQUIRE);

	return view->id ? own + __atomic_load_n(&calls[1], __ATOMIC_ACQUIRE) : own;
}

/* Asks for an anchor; the descriptor stays open until the iterator has run. */
static int request(struct look *l, int fd, uint32_t mount, const char *name)
{
	struct rf_anchor anchor = {.epoch = l->view->epoch, .view = l->view->id, .mount = mount};
	size_t len = strlen(name);
	uint32_t key = (uint32_t)fd;

	/* "/" is the empty string of the automaton. */
	if (len > RF_ANCHOR_PATH_MAX) {
		anchor.len = RF_ANCHOR_NAMELESS;
		l->skipped++;
	} else if (len > 1) {
		memcpy(anchor.path, name, len);
		anchor.len = (uint32_t)len;
	}
	if (bpf_map_update_elem(l->e->maps[RF_MAP_REQUESTS], &key, &anchor, BPF_ANY))
		return -errno;
	l->fds[l->n++] = fd;
	return 0;
}

/* A mount point that leads to another mount is hidden behind that one: nobody can name what is there. */
static void request_mount(struct look *l, struct rf_mount *mount)
{
	__cleanup(closep) int fd = -1;
	uint32_t id = 0;
	bool root = false;

	fd = rf_open_in(l->view->root_fd, mount->point, O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
	mount->hidden = fd < 0 || rf_mount_of(fd, &id, &root) || id != mount->id || !root;
	if (fd < 0)
		l->skipped += fd != -ENOENT && fd != -ELOOP && fd != -ENOTDIR;
	if (mount->hidden)
		return;
	if (request(l, fd, mount->id, mount->point))
		l->skipped++;
	else
		TAKE_FD(fd);
}

/* Numbers of mounts are used again. What is mounted can be renamed, which is no news unless a run was at work. */
static bool same_mount(const struct look *l, const struct rf_mount *a, const struct rf_mount *b)
{
	return a->major == b->major && a->minor == b->minor && (!l->frozen || !strcmp(a->root, b->root));
}

/* What we know of it already goes before what the table says now. true: leave its anchor as it is. */
static bool recognise(struct look *l, struct rf_mount *mount)
{
	const struct rf_mount *old = rf_mounts_find(&l->view->mounts, mount->id);
	char *name;

	if (!old || !same_mount(l, old, mount)) {
		mount->strange = l->disturbed;
		return false;
	}
	mount->strange = old->strange;
	/* The host has moved it. */
	if (!l->frozen || mount->strange || (!l->disturbed && strcmp(old->point, mount->point)))
		return false;
	mount->hidden = old->hidden;
	name = strdup(old->point);
	if (!name) {
		mount->strange = true;
		return false;
	}
	free(mount->point);
	mount->point = name;
	return true;
}

/* The first of those that show one directory gives it its name. */
static int by_name(const void *a, const void *b)
{
	return rf_mount_precedes(a, b) ? -1 : rf_mount_precedes(b, a);
}

/* What a run may have unmounted stays known while there is another mount of its filesystem. */
static int remember_gone(struct look *l)
{
	struct rf_mounts *known = &l->view->mounts, *now = &l->mounts;
	size_t n = now->n;
	struct rf_mount *more = realloc(now->v, (n + known->n + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	now->v = more;
	for (size_t i = 0; i < known->n; i++) {
		struct rf_mount *old = &known->v[i], *same = rf_mounts_find(now, old->id), copy = *old;
		bool lives = false;

		if (old->strange || (!old->gone && (!l->disturbed || (same && same_mount(l, old, same)))))
			continue;
		for (size_t k = 0; k < n && !lives; k++)
			lives = now->v[k].major == old->major && now->v[k].minor == old->minor;
		if (!lives)
			continue;
		copy.gone = true;
		copy.root = strdup(old->root);
		copy.point = strdup(old->point);
		now->v[now->n++] = copy;
		if (!copy.root || !copy.point)
			return -ENOMEM;
	}
	return 0;
}

/* In the kernel's words: are there mounts in the way that a run may have made? */
static bool has_strangers(const struct rf_mounts *mounts)
{
	for (size_t i = 0; i < mounts->n; i++)
		if (mounts->v[i].strange || mounts->v[i].gone)
			return true;
	return false;
}

/* An enforcer that was killed in its look has left requests, for descriptors that are other files of ours. */
static void clear_requests(const struct rf_enforcer *e)
{
	uint32_t key;

	while (!bpf_map_get_next_key(e->maps[RF_MAP_REQUESTS], NULL, &key))
		if (bpf_map_delete_elem(e->maps[RF_MAP_REQUESTS], &key))
			break;
}

static void request_all(struct look *l)
{
	int root = fcntl(l->view->root_fd, F_DUPFD_CLOEXEC, 0);

	clear_requests(l->e);
	qsort(l->mounts.v, l->mounts.n, sizeof(*l->mounts.v), by_name);
	if (root >= 0 && request(l, root, 0, "/"))
		close(root);
	for (size_t i = 0; i < l->mounts.n; i++) {
		struct rf_mount *mount = &l->mounts.v[i];

		if (mount->gone || recognise(l, mount))
			l->kept[l->n_kept++] = mount->id;
		else if (!mount->strange && !rf_mount_is_second(&l->mounts, mount))
			request_mount(l, mount);
	}
}

static void withdraw(struct look *l)
{
	for (size_t i = 0; i < l->n; i++) {
		uint32_t key = (uint32_t)l->fds[i];

		bpf_map_delete_elem(l->e->maps[RF_MAP_REQUESTS], &key);
		close(l->fds[i]);
	}
	rf_mounts_done(&l->mounts);
	rf_aliases_done(&l->aliases);
	free(l->fds);
	free(l->kept);
}

static bool is_kept(const struct look *l, const struct rf_anchor *anchor)
{
	for (size_t i = 0; i < l->n_kept; i++)
		if (l->kept[i] == anchor->mount)
			return true;
	return false;
}

/* Anchors of mounts that are gone. */
static void drop_old(const struct look *l)
{
	struct rf_anchor_key key, next, *prev = NULL;
	struct rf_anchor anchor;
	int fd = l->e->maps[RF_MAP_ANCHORS];

	while (!bpf_map_get_next_key(fd, prev, &next)) {
		if (next.view == l->view->id && !bpf_map_lookup_elem(fd, &next, &anchor) &&
		    anchor.epoch != l->view->epoch && !is_kept(l, &anchor)) {
			bpf_map_delete_elem(fd, &next);
			continue;
		}
		key = next;
		prev = &key;
	}
}

static int answer(struct look *l)
{
	struct rf_enforcer *e = l->e;
	int err;

	e->shared->rf_asker = (uint32_t)getpid();
	e->shared->rf_overlays_unknown = 0;
	e->shared->rf_anchors_set = 0;
	err = rf_run_iterator(e->set_anchors, (uint32_t)getpid());
	if (err)
		return rf_because(e, err, "cannot anchor the mounts: %s", strerror(-err));
	if (e->shared->rf_anchors_set != l->n)
		return rf_because(e, -ENOSPC, "no room for the mounts of another view: all views have %u together",
				  RF_ANCHORS_ALL);
	return 0;
}

/* Before a directory gets another name, the runs of the view learn what that name means to their rules. */
static int rename_files(struct look *l)
{
	struct rf_enforcer *e = l->e;
	int err = rf_mounts_aliases(&l->mounts, RF_ALIASES_MAX, &l->aliases);

	if (err == -E2BIG)
		return rf_because(e, err, "the mounts show more than %u directories at several places", RF_ALIASES_MAX);
	if (err || !e->on_aliases || rf_aliases_equal(&l->aliases, &l->view->aliases))
		return err;
	err = e->on_aliases(e->on_aliases_ctx, l->view, &l->aliases);
	return err ? rf_because(e, err, "a policy cannot be compiled for the names that new mounts give: %s",
				strerror(-err))
		   : 0;
}

static int look(struct look *l)
{
	struct rf_view *view = l->view;
	uint64_t calls;
	int err = rf_mounts_read(view->table_fd, &l->mounts);

	if (err)
		return rf_because(l->e, err, "cannot read a mount table: %s", strerror(-err));
	/* After the table: whoever mounted what is in there had been counted before. */
	calls = calls_of(l->e, view);
	l->disturbed = view->known ? calls != view->calls : calls > 0 && view->adopted;
	if (l->mounts.n >= RF_ANCHORS_MAX)
		return rf_because(l->e, -E2BIG, "%zu mounts are more than the %u that one view can have", l->mounts.n,
				  RF_ANCHORS_MAX);
	l->frozen = l->disturbed || has_strangers(&view->mounts);
	err = rf_known_load(l->e, view, &l->mounts);
	if (!err)
		err = remember_gone(l);
	if (err)
		return err;
	l->fds = calloc(l->mounts.n + 1, sizeof(*l->fds));
	l->kept = calloc(l->mounts.n + 1, sizeof(*l->kept));
	if (!l->fds || !l->kept)
		return -ENOMEM;
	view->epoch = ++l->e->shared->rf_host.epochs;
	request_all(l);
	err = rename_files(l);
	if (!err)
		err = answer(l);
	if (err)
		return err;
	rf_known_save(l->e, view, &l->mounts);
	drop_old(l);
	rf_aliases_done(&view->aliases);
	view->aliases = l->aliases;
	l->aliases = (struct rf_aliases){};
	rf_mounts_done(&view->mounts);
	view->mounts = l->mounts;
	l->mounts = (struct rf_mounts){};
	view->calls = calls;
	view->known = true;
	return 0;
}

int rf_view_refresh(struct rf_enforcer *e, struct rf_view *view, unsigned int *ret_skipped)
{
	__cleanup(withdraw) struct look l = {.e = e, .view = view};
	int err = look(&l);

	/* What was cached under the old view is stale. */
	__atomic_add_fetch(&e->shared->rf_dirgen_all, 1, __ATOMIC_SEQ_CST);
	*ret_skipped = l.skipped;
	return err;
}

int rf_enforcer_refresh_view(struct rf_enforcer *e, unsigned int *ret_skipped)
{
	return rf_view_refresh(e, e->host, ret_skipped);
}
