// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Second names.
 *
 *   inode_link    create at the new name
 *   inode_rename  delete at the old name, create at the new; with RENAME_EXCHANGE the hook runs once each way
 *
 * A new name must not allow what the old one does not, for the object and, if it is a directory, for anything below:
 * else -EXDEV, on which tools fall back to a copy, and the copy's opens are decided one by one.
 */
#include "decide.bpf.h"

#include "abi/inclusion.h"

/*
 * Room for walks, shared by all tasks of the host, each taken by one at a time: task storage on 7.x has no piece above
 * 8 KiB (kmalloc_nolock), and what belongs to a CPU is no task's own. None free: refused.
 */
#define RF_WALKS 16
static struct {
	__u32 taken, pad;
	struct rf_inclusion w;
} walks[RF_WALKS] = {};

static long inclusion_step(__u32 i, struct rf_inclusion **w)
{
	return !rf_inclusion_step(rf_cells, RF_CELLS_MASK, *w);
}

/* Why nothing below a directory may move from one state to another, or 0. Global: verified once. */
__u32 rf_widens_below(__u32 image, __u32 from, __u32 to)
{
	__u32 first = bpf_get_smp_processor_id(), slot = 0, answer;
	struct rf_inclusion *w = NULL;

	for (__u32 i = 0; i < RF_WALKS && !w; i++) {
		slot = (first + i) & (RF_WALKS - 1);
		if (!__sync_val_compare_and_swap(&walks[slot].taken, 0, 1))
			w = &walks[slot].w;
	}
	if (!w)
		return RF_REASON_NO_MEMORY;
	rf_inclusion_start(rf_cells, RF_CELLS_MASK, w, image, from, to);
	bpf_loop(RF_INCLUSION_STEPS, inclusion_step, &w, 0);
	answer = w->answer;
	__sync_val_compare_and_swap(&walks[slot].taken, 1, 0);
	if (answer == RF_INCLUSION_HOLDS)
		return 0;
	return answer == RF_INCLUSION_WIDENS ? RF_REASON_WIDENING : RF_REASON_TOO_COMPLEX;
}

/* Why an object may not move from state `from` to `to`, or 0. */
static __always_inline __u32 widens(__u32 image, __u32 from, __u32 to, bool directory)
{
	if (rf_alike(rf_cells, RF_CELLS_MASK, image, from, to))
		return 0;
	if (rf_gained(rf_cells, RF_CELLS_MASK, image, from, to))
		return RF_REASON_WIDENING;
	return directory ? rf_widens_below(image, from, to) : 0;
}

/* wanted_old: what the old name must allow besides. */
static __always_inline int second_name(struct rf_request *req, __u64 wanted_old, struct dentry *old, struct dentry *new)
{
	struct rf_task *tag = req->prior ? NULL : rf_actor(req);
	struct inode *inode = old->d_inode;
	__u64 from, to;
	__u32 reason;

	if (!tag)
		return req->prior;
	req->wanted = RF_ACCESS_BIT(RF_FILE_CREATE);
	if (rf_denies_path(tag, req, new))
		return -EACCES;
	if (wanted_old) {
		req->wanted = wanted_old;
		if (rf_denies_path(tag, req, old))
			return -EACCES;
	}
	from = rf_object_state(tag, req->image, old);
	to = (__u32)from ? rf_object_state(tag, req->image, new) : from;
	if (!(__u32)to)
		return rf_denies_for(req, to >> 32) ? -EACCES : 0;
	reason = widens(req->image, from, to, !inode || (inode->i_mode & RF_S_IFMT) == RF_S_IFDIR);
	if (!reason)
		return 0;
	req->wanted = RF_ACCESS_BIT(RF_FILE_CREATE);
	req->object = rf_address(tag, new);
	return rf_denies_for(req, reason) ? -EXDEV : 0;
}

SEC("lsm/inode_link")
int BPF_PROG(rf_inode_link, struct dentry *old, struct inode *dir, struct dentry *new, int ret)
{
	struct rf_request req = {.hook = RF_HOOK_INODE_LINK, .prior = ret};

	return second_name(&req, 0, old, new);
}

SEC("lsm/inode_rename")
int BPF_PROG(rf_inode_rename, struct inode *old_dir, struct dentry *old, struct inode *new_dir, struct dentry *new,
	     int ret)
{
	struct rf_request req = {.hook = RF_HOOK_INODE_RENAME, .prior = ret};

	return second_name(&req, RF_ACCESS_BIT(RF_FILE_DELETE), old, new);
}
