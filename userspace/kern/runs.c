// SPDX-License-Identifier: Apache-2.0
/* Runs and tags in the kernel's tables. */
#include "kern/kern.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/cleanup.h"

/* Depth of cgroups below a tagged one that are tagged with it; the kernel's own limit is higher and never met. */
#define CGROUP_DEPTH_MAX 64

int rf_enforcer_start_run(struct rf_enforcer *e, uint32_t base, uint32_t flags, uint32_t *ret_slot, uint64_t *ret_id)
{
	uint64_t id = ++e->shared->rf_host.run_ids;
	int err;

	for (uint32_t i = 0; i < RF_RUNS_MAX; i++) {
		/*
		 * Round-robin, so that a slot rests as long as can be before it serves again. Slot 0 stands for tasks of
		 * which no tag could be had.
		 */
		uint32_t slot = 1 + (uint32_t)((id + i) % (RF_RUNS_MAX - 1));
		struct rf_run *run = &e->shared->rf_runs[slot];

		if (run->state != RF_RUN_FREE)
			continue;
		run->denied = run->observed = run->events = 0;
		run->image = base;
		run->flags = flags;
		err = rf_attach_carried(e);
		if (err) {
			run->flags = 0;
			return err;
		}
		__atomic_store_n(&run->id, id, __ATOMIC_RELEASE);
		__atomic_store_n(&run->state, RF_RUN_LIVE, __ATOMIC_RELEASE);
		*ret_slot = slot;
		*ret_id = id;
		return 0;
	}
	return rf_because(e, -ENOSPC, "%d runs are alive, the most there can be", RF_RUNS_MAX);
}

void rf_enforcer_replace_image(struct rf_enforcer *e, uint32_t slot, uint32_t base)
{
	__atomic_store_n(&e->shared->rf_runs[slot].image, base, __ATOMIC_RELEASE);
}

static int tag_one(struct rf_enforcer *e, uint32_t slot, uint64_t cgroup)
{
	struct rf_cgroup value = {.id = e->shared->rf_runs[slot].id, .slot = slot}, known;

	if (!bpf_map_lookup_elem(e->maps[RF_MAP_CGROUPS], &cgroup, &known))
		return known.id == value.id ? 0
					    : rf_because(e, -EBUSY, "cgroup %llu belongs to a run already",
							 (unsigned long long)cgroup);
	if (bpf_map_update_elem(e->maps[RF_MAP_CGROUPS], &cgroup, &value, BPF_NOEXIST))
		return rf_because(e, -errno, "cannot tag cgroup %llu: %s", (unsigned long long)cgroup, strerror(errno));
	__atomic_add_fetch(&e->shared->rf_hints[cgroup & (RF_HINTS - 1)], 1, __ATOMIC_SEQ_CST);
	return 0;
}

/* The directory first: children that are made from then on are tagged by the kernel, the others are found here. */
static int tag_tree(struct rf_enforcer *e, uint32_t slot, int dirfd_, unsigned int depth)
{
	struct stat st;
	struct dirent *entry;
	DIR *dir;
	int fd, err;

	if (fstat(dirfd_, &st))
		return -errno;
	err = tag_one(e, slot, st.st_ino);
	if (err || depth >= CGROUP_DEPTH_MAX)
		return err ? err : -ELOOP;
	fd = openat(dirfd_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir)
		return -errno;
	while (!err && (entry = readdir(dir))) {
		__cleanup(closep) int child = -1;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		child = openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (child >= 0)
			err = tag_tree(e, slot, child, depth + 1);
		else if (errno != ENOENT)
			err = -errno;
	}
	closedir(dir);
	return err;
}

int rf_enforcer_tag(struct rf_enforcer *e, uint32_t slot, int cgroup_fd, uint64_t *ret_cgroup)
{
	struct stat st;
	int err;

	if (fstat(cgroup_fd, &st))
		return -errno;
	err = tag_tree(e, slot, cgroup_fd, 0);
	if (!err)
		err = rf_run_iterator(e->sweep_tasks, 0);
	if (!err)
		*ret_cgroup = st.st_ino;
	return err;
}

/* Takes the run's cgroups out of the table, so that nobody who enters them later is tagged. */
static void untag_cgroups(struct rf_enforcer *e, uint64_t id)
{
	uint64_t key, next, *prev = NULL;
	struct rf_cgroup value;
	int fd = e->maps[RF_MAP_CGROUPS];

	while (!bpf_map_get_next_key(fd, prev, &next)) {
		bool ours = !bpf_map_lookup_elem(fd, &next, &value) && value.id == id;

		if (ours) {
			if (!bpf_map_delete_elem(fd, &next))
				__atomic_sub_fetch(&e->shared->rf_hints[next & (RF_HINTS - 1)], 1, __ATOMIC_SEQ_CST);
			/* The walk goes on from a key that is still there. */
			continue;
		}
		key = next;
		prev = &key;
	}
}

int rf_enforcer_end_run(struct rf_enforcer *e, uint32_t slot)
{
	struct rf_run *run = &e->shared->rf_runs[slot];

	__atomic_store_n(&run->state, RF_RUN_ENDED, __ATOMIC_RELEASE);
	untag_cgroups(e, run->id);
	return 0;
}

int rf_enforcer_release_run(struct rf_enforcer *e, uint32_t slot)
{
	struct rf_run *run = &e->shared->rf_runs[slot];

	__atomic_store_n(&run->state, RF_RUN_RELEASED, __ATOMIC_RELEASE);
	untag_cgroups(e, run->id);
	/* Twice: a fork may have copied a tag behind the first sweep's back. */
	return rf_run_iterator(e->sweep_tasks, 0) ?: rf_run_iterator(e->sweep_tasks, 0);
}

void rf_enforcer_free_run(struct rf_enforcer *e, uint32_t slot)
{
	struct rf_run *run = &e->shared->rf_runs[slot];

	/* The id goes first: from then on a task of that run is one whose run is over. */
	__atomic_store_n(&run->id, 0, __ATOMIC_RELEASE);
	run->image = 0;
	run->flags = 0;
	__atomic_store_n(&run->state, RF_RUN_FREE, __ATOMIC_RELEASE);
	rf_attach_carried(e);
}

int rf_enforcer_run(const struct rf_enforcer *e, uint32_t slot, struct rf_run *ret)
{
	if (slot >= RF_RUNS_MAX)
		return -ERANGE;
	*ret = e->shared->rf_runs[slot];
	return 0;
}

int rf_enforcer_run_of(struct rf_enforcer *e, int pidfd, uint64_t *ret_id, uint32_t *ret_slot)
{
	struct rf_task tag;

	*ret_id = 0;
	if (bpf_map_lookup_elem(e->maps[RF_MAP_TASKS], &pidfd, &tag))
		return errno == ENOENT ? 0 : -errno;
	*ret_id = tag.id;
	*ret_slot = tag.slot;
	return 0;
}
