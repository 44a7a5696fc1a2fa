// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Runs on request of the enforcer, never on a task's way.
 *
 *   iter/task_file  mounts of the view: the enforcer has opened each mount point and asks, by descriptor, for an anchor
 *   iter/task       tasks that already live in a tagged cgroup get their sticky tag; tags of runs that were let go
 *                   are taken away
 */
#include "path.bpf.h"

#define OVERLAYFS_SUPER_MAGIC 0x794c7630

/* overlay is a module on most kernels: its type comes from the module's BTF, when it is loaded. */
struct ovl_fs___rf {
	const struct cred *creator_cred;
} __attribute__((preserve_access_index));

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RF_ANCHORS_MAX);
	__type(key, __u32);
	__type(value, struct rf_anchor); /* epoch, len and path are the enforcer's, the rest is filled in here */
} rf_anchor_requests SEC(".maps");

/* Requests that were answered, and overlays whose credentials could not be read. */
__u32 rf_anchors_set = 0;
__u32 rf_overlays_unknown = 0;
/* Who asks; set by the enforcer before it reads the iterator. */
__u32 rf_asker = 0;

static __always_inline void remember_overlay(struct super_block *sb)
{
	__u64 cred = 0, key = (__u64)sb;
	struct ovl_fs___rf *ofs = (struct ovl_fs___rf *)BPF_CORE_READ(sb, s_fs_info);

	if (bpf_core_field_exists(ofs->creator_cred))
		cred = (__u64)BPF_CORE_READ(ofs, creator_cred);
	if (!cred || bpf_map_update_elem(&rf_overlays, &cred, &key, BPF_ANY))
		__sync_fetch_and_add(&rf_overlays_unknown, 1);
}

SEC("iter/task_file")
int rf_set_anchors(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	__u32 fd = ctx->fd;
	struct rf_anchor *request;
	struct super_block *sb;
	struct inode *inode;
	__u64 key;

	if (!task || !file || (__u32)task->pid != rf_asker)
		return 0;
	request = bpf_map_lookup_elem(&rf_anchor_requests, &fd);
	if (!request)
		return 0;
	/* Read, not followed: an address must be a number to be hashed. */
	inode = BPF_CORE_READ(file, f_path.dentry, d_inode);
	if (!inode)
		return 0;
	sb = BPF_CORE_READ(inode, i_sb);
	request->sb = (__u64)sb;
	request->ino = BPF_CORE_READ(inode, i_ino);
	request->generation = BPF_CORE_READ(inode, i_generation);
	key = (__u64)inode;
	if (BPF_CORE_READ(sb, s_magic) == OVERLAYFS_SUPER_MAGIC)
		remember_overlay(sb);
	rf_anchor_hints[rf_hash(key) & (RF_ANCHORS_MAX - 1)] = 1;
	if (!bpf_map_update_elem(&rf_anchors, &key, request, BPF_ANY))
		__sync_fetch_and_add(&rf_anchors_set, 1);
	return 0;
}

SEC("iter/task")
int rf_sweep_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	__u32 refusal = 0, slot;
	struct rf_task *tag;
	__u64 cgroup;

	if (!task)
		return 0;
	cgroup = rf_cgroup_of(task);
	tag = bpf_task_storage_get(&rf_tasks, task, 0, 0);
	if (tag && tag->id) {
		slot = tag->slot & (RF_RUNS_MAX - 1);
		if (rf_runs[slot].id == tag->id && rf_runs[slot].state == RF_RUN_RELEASED)
			bpf_task_storage_delete(&rf_tasks, task);
	} else if (rf_hints[cgroup & (RF_HINTS - 1)]) {
		rf_tag(task, cgroup, &refusal);
	}
	return 0;
}
