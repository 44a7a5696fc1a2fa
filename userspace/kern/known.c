// SPDX-License-Identifier: Apache-2.0
/*
 * Which mounts a view knows, for the enforcer that comes after this one: in the pinned map of anchors, under a mount's
 * number, which is no inode's address. What is not there when runs may mount is a run's.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "kern/kern.h"
#include "lib/cleanup.h"

/* FNV-1a: tells what is mounted apart from what had the number before. */
static uint64_t hash(const char *text)
{
	uint64_t h = 0xcbf29ce484222325ULL;

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 0x100000001b3ULL;
	return h;
}

static uint64_t device(const struct rf_mount *mount)
{
	return (uint64_t)mount->major << 32 | mount->minor;
}

void rf_known_save(struct rf_enforcer *e, const struct rf_view *view, const struct rf_mounts *mounts)
{
	for (size_t i = 0; i < mounts->n; i++) {
		const struct rf_mount *mount = &mounts->v[i];
		struct rf_anchor_key key = {.inode = mount->id, .view = view->id};
		struct rf_anchor value = {
			.sb = device(mount),
			.ino = hash(mount->root),
			.epoch = view->epoch,
			.view = view->id,
			.mount = mount->id,
			.hidden = mount->hidden,
			.len = (uint32_t)strlen(mount->point),
		};

		/* One that has no room here is a stranger to the next enforcer: it gives no names then. */
		if (mount->strange || mount->gone || value.len > RF_ANCHOR_PATH_MAX)
			continue;
		memcpy(value.path, mount->point, value.len);
		bpf_map_update_elem(e->maps[RF_MAP_ANCHORS], &key, &value, BPF_ANY);
	}
}

static int load(struct rf_enforcer *e, const struct rf_view *view, const struct rf_mount *mount, struct rf_mount *ret)
{
	struct rf_anchor_key key = {.inode = mount->id, .view = view->id};
	struct rf_anchor value;

	if (bpf_map_lookup_elem(e->maps[RF_MAP_ANCHORS], &key, &value) || value.sb != device(mount) ||
	    value.ino != hash(mount->root))
		return -ENOENT;
	*ret = *mount;
	ret->hidden = value.hidden;
	ret->root = strdup(mount->root);
	ret->point = strndup(value.path, value.len);
	if (ret->root && ret->point)
		return 0;
	free(ret->root);
	free(ret->point);
	return -ENOMEM;
}

int rf_known_load(struct rf_enforcer *e, struct rf_view *view, const struct rf_mounts *mounts)
{
	if (view->known || !view->adopted)
		return 0;
	/* Of an earlier look that failed. */
	rf_mounts_done(&view->mounts);
	view->mounts.v = calloc(mounts->n + 1, sizeof(*view->mounts.v));
	if (!view->mounts.v)
		return -ENOMEM;
	for (size_t i = 0; i < mounts->n; i++) {
		int err = load(e, view, &mounts->v[i], &view->mounts.v[view->mounts.n]);

		if (err == -ENOMEM)
			return err;
		view->mounts.n += !err;
	}
	return 0;
}
