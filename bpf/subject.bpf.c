// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Who acts: sticky tags.
 *
 *   task_alloc                a child of a tagged task is tagged before it exists; no tag, no fork
 *   tp_btf/cgroup_mkdir       a child of a tagged cgroup is tagged when it is made
 *   tp_btf/cgroup_rmdir       ... and forgotten when it goes
 *   tp_btf/cgroup_attach_task a task moved into a tagged cgroup gets its tag at once (or at its next decision)
 *   dentry_create_files_as    remembers the credentials with which overlayfs is about to create for this task
 *   uring_override_creds      io_uring personalities are refused: credentials must tell overlays from tasks
 */
#include "rf.bpf.h"

/*
 * On 6.1, task storage answers NULL while another task on this CPU is inside a storage call (it was preempted there).
 * Creating says NULL for that and for want of memory, never for "absent": try until the scheduler has let the other
 * one finish. A CFS slice is some 100,000 rounds.
 */
#define RF_STORAGE_TRIES (1 << 18)

struct tag_try {
	struct task_struct *task;
	struct rf_task *tag;
};

static long try_tag(__u32 i, struct tag_try *try)
{
	try->tag = bpf_task_storage_get(&rf_tasks, try->task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	return try->tag != NULL;
}

static __always_inline struct rf_task *make_tag(struct task_struct *task)
{
	struct tag_try try = {.task = task};

	try.tag = bpf_task_storage_get(&rf_tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!try.tag)
		bpf_loop(RF_STORAGE_TRIES, try_tag, &try, 0);
	return try.tag;
}

static long try_scratch(__u32 i, struct rf_scratch **scratch)
{
	*scratch = bpf_task_storage_get(&rf_scratches, bpf_get_current_task_btf(), 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	return *scratch != NULL;
}

__hidden struct rf_scratch *rf_scratch(void)
{
	struct rf_scratch *scratch;

	scratch = bpf_task_storage_get(&rf_scratches, bpf_get_current_task_btf(), 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!scratch)
		bpf_loop(RF_STORAGE_TRIES, try_scratch, &scratch, 0);
	return scratch;
}

/* What the task was started with: its to use, whatever file that is. A table of descriptors has 64 at least. */
static __always_inline void remember_stdio(struct rf_task *tag, struct task_struct *task)
{
	struct file **fds = BPF_CORE_READ(task, files, fdt, fd), *file;

	for (int i = 0; i < 3; i++) {
		file = NULL;
		bpf_probe_read_kernel(&file, sizeof(file), &fds[i]);
		tag->stdio[i] = file ? (__u64)BPF_CORE_READ(file, f_inode) : 0;
	}
}

/*
 * The slow half of rf_actor(): no tag was found. Returns a tag with a run, or NULL: with *refusal when the question
 * can't be answered, without when the task is in no run.
 */
__hidden struct rf_task *rf_tag(struct task_struct *task, __u64 cgroup, __u32 *refusal)
{
	struct rf_cgroup *home = bpf_map_lookup_elem(&rf_cgroups, &cgroup);
	struct rf_task *tag;

	/* Without any storage there can't be a tag of ours, and the cgroup's hint was another's. */
	if (!home && !task->bpf_storage)
		return NULL;
	tag = make_tag(task);
	if (!tag) {
		*refusal = RF_REASON_NO_MEMORY;
		return NULL;
	}
	if (!tag->id && home) {
		tag->slot = home->slot;
		remember_stdio(tag, task);
		rf_compiler_barrier();
		tag->id = home->id;
	}
	return tag->id ? tag : NULL;
}

__hidden bool rf_is_overlay(struct rf_task *tag, const struct cred *cred)
{
	__u64 key = (__u64)cred;

	return tag->overlay == key || bpf_map_lookup_elem(&rf_overlays, &key);
}

SEC("lsm/task_alloc")
int BPF_PROG(rf_task_alloc, struct task_struct *child, unsigned long clone_flags, int ret)
{
	struct rf_request req = {.hook = RF_HOOK_TASK_ALLOC, .prior = ret, .wanted = RF_ACCESS_BIT(RF_PROC_FORK)};
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 cgroup = rf_cgroup_of(task);
	struct rf_task *tag, *copy;

	if (ret || (!task->bpf_storage && !rf_hints[cgroup & (RF_HINTS - 1)]))
		return ret;
	tag = bpf_task_storage_get(&rf_tasks, task, 0, 0);
	if (!tag || !tag->id)
		tag = rf_tag(task, cgroup, &req.refusal);
	if (!tag && req.refusal) {
		rf_denies_for(&req, req.refusal);
		return -EAGAIN;
	}
	if (!tag)
		return 0;
	if (rf_runs[tag->slot & (RF_RUNS_MAX - 1)].state == RF_RUN_RELEASED)
		return 0;
	copy = make_tag(child);
	if (!copy) {
		req.id = tag->id;
		req.slot = tag->slot;
		req.refusal = RF_REASON_NO_MEMORY;
		rf_denies_for(&req, req.refusal);
		return -EAGAIN;
	}
	copy->slot = tag->slot;
	copy->stdio[0] = tag->stdio[0];
	copy->stdio[1] = tag->stdio[1];
	copy->stdio[2] = tag->stdio[2];
	copy->id = tag->id;
	return 0;
}

static __always_inline void hint(__u64 cgroup, __u32 n)
{
	__sync_fetch_and_add(&rf_hints[cgroup & (RF_HINTS - 1)], n);
}

SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(rf_cgroup_mkdir, struct cgroup *cgrp, const char *path)
{
	/* struct cgroup begins with its own css, so the parent's css is the parent. */
	struct cgroup *parent = (struct cgroup *)BPF_CORE_READ(cgrp, self.parent);
	__u64 id = cgrp->kn->id, parent_id = BPF_CORE_READ(parent, kn, id);
	struct rf_cgroup *home, copy;

	home = bpf_map_lookup_elem(&rf_cgroups, &parent_id);
	if (!home)
		return 0;
	copy = *home;
	/* The hint first: a task can be in the new cgroup only after mkdir has returned. */
	hint(id, 1);
	if (bpf_map_update_elem(&rf_cgroups, &id, &copy, BPF_ANY))
		__sync_fetch_and_add(
			&rf_cpus[bpf_get_smp_processor_id() & (RF_CPUS_MAX - 1)].reason[RF_REASON_NO_MEMORY], 1);
	return 0;
}

SEC("tp_btf/cgroup_rmdir")
int BPF_PROG(rf_cgroup_rmdir, struct cgroup *cgrp, const char *path)
{
	__u64 id = cgrp->kn->id;

	if (!bpf_map_delete_elem(&rf_cgroups, &id))
		hint(id, -1);
	return 0;
}

SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(rf_cgroup_attach_task, struct cgroup *dst, const char *path, struct task_struct *task, bool threadgroup)
{
	__u64 id = dst->kn->id;
	__u32 refusal = 0;

	if (rf_hints[id & (RF_HINTS - 1)])
		rf_tag(task, id, &refusal);
	return 0;
}

SEC("lsm/dentry_create_files_as")
int BPF_PROG(rf_dentry_create_files_as, struct dentry *dentry, int mode, const struct qstr *name,
	     const struct cred *old, struct cred *new, int ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 cred = (__u64)task->cred;
	struct rf_task *tag;
	__u32 refusal = 0;

	/* Only while one of the view's overlays already acts for this task. */
	if (!task->bpf_storage || task->cred == task->real_cred || !bpf_map_lookup_elem(&rf_overlays, &cred))
		return ret;
	tag = bpf_task_storage_get(&rf_tasks, task, 0, 0);
	if (!tag)
		tag = rf_tag(task, rf_cgroup_of(task), &refusal);
	if (tag)
		tag->overlay = (__u64) new;
	return ret;
}

SEC("lsm/uring_override_creds")
int BPF_PROG(rf_uring_override_creds, const struct cred *new, int ret)
{
	struct rf_request req = {.hook = RF_HOOK_URING_OVERRIDE_CREDS, .wanted = RF_ACCESS_BIT(RF_PROC_IO_URING)};
	struct rf_task *tag = ret ? NULL : rf_actor(&req);

	if (!tag)
		return ret;
	/* For a policy that observes: these credentials, whatever their address was used for before, are no overlay's. */
	tag->overlay = 0;
	return rf_eperm(rf_denies_for(&req, RF_REASON_OPERATION));
}
