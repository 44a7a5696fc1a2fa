// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Runs on request of the enforcer, never on a task's way.
 *
 *   iter/task_file  mounts of a view: the enforcer has opened each mount point and asks, by descriptor, for an anchor
 *   iter/task       tasks that already live in a tagged cgroup get their sticky tag; tags of runs that were let go
 *                   are taken away
 *
 * And on a tagged task's way, where it is about to change a mount table: what it mounts must not become an anchor, for
 * it would give names of its own choice to files. The enforcer cannot tell who mounted what, but it can tell that a
 * run has mounted something since it looked last.
 *
 *   sb_mount, move_mount, sb_umount, sb_pivotroot   counted
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
	__type(value, struct rf_anchor); /* sb, ino and generation are filled in here */
} rf_anchor_requests SEC(".maps");

/* Requests that were answered, and overlays whose credentials could not be read. */
__u32 rf_anchors_set = 0;
__u32 rf_overlays_unknown = 0;
/* The enforcer's mount namespace. */
__u32 rf_host_space = 0;
/* Changes of mount tables that tagged tasks were about to make: that may reach the host's, others. */
__u64 rf_mount_calls[2] = {};
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
	struct rf_anchor *request, *known;
	struct super_block *sb;
	struct inode *inode;
	struct rf_anchor_key key = {};

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
	key.inode = (__u64)inode;
	key.view = request->view;
	if (BPF_CORE_READ(sb, s_magic) == OVERLAYFS_SUPER_MAGIC)
		remember_overlay(sb);
	rf_anchor_hints[rf_hash(key.inode) & (RF_ANCHOR_HINTS - 1)] = 1;
	/* Descriptors come in the order in which they were opened: of several names for one inode the first stays. */
	known = bpf_map_lookup_elem(&rf_anchors, &key);
	if ((known && known->epoch == request->epoch) || !bpf_map_update_elem(&rf_anchors, &key, request, BPF_ANY))
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

#define CAP_SYS_ADMIN 21

/*
 * A run may well mount in a namespace of its own (bwrap): the host's table sees nothing of it, unless the mount that it
 * happens on has peers.
 */
static __always_inline int count_mount_call(struct vfsmount *on, int ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct rf_request req = {};
	struct rf_task *tag = ret ? NULL : rf_actor(&req);
	struct mount *mount;
	bool reaches = false;
	__u64 caps = 0;

	if (!tag)
		return ret;
	/* kernel_cap_t was two words of 32 bits once (f122a08b197d): the same bytes here. */
	bpf_probe_read_kernel(&caps, sizeof(caps), &task->cred->cap_effective);
	if (!(caps & (1ULL << CAP_SYS_ADMIN)))
		return 0;
	if (on) {
		mount = (struct mount *)(rf_address(tag, on) - bpf_core_field_offset(struct mount, mnt));
		reaches = BPF_CORE_READ(mount, mnt_group_id) || BPF_CORE_READ(mount, mnt_parent, mnt_group_id);
	}
	if (BPF_CORE_READ(task, nsproxy, mnt_ns, ns.inum) == rf_host_space)
		reaches = true;
	__sync_fetch_and_add(&rf_mount_calls[!reaches], 1);
	return 0;
}

SEC("lsm/sb_mount")
int BPF_PROG(rf_sb_mount, const char *device, const struct path *path, const char *type, unsigned long flags,
	     void *data, int ret)
{
	return count_mount_call(BPF_CORE_READ(path, mnt), ret);
}

SEC("lsm/move_mount")
int BPF_PROG(rf_move_mount, const struct path *from, const struct path *to, int ret)
{
	return count_mount_call(BPF_CORE_READ(to, mnt), ret);
}

SEC("lsm/sb_umount")
int BPF_PROG(rf_sb_umount, struct vfsmount *mnt, int flags, int ret)
{
	return count_mount_call(mnt, ret);
}

SEC("lsm/sb_pivotroot")
int BPF_PROG(rf_sb_pivotroot, const struct path *old_path, const struct path *new_path, int ret)
{
	return count_mount_call(NULL, ret);
}
