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

/* Is everything that state `to` allows also allowed by `from`? */
static __always_inline bool widens(__u32 image, __u32 from, __u32 to, bool directory)
{
	const struct rf_verdicts *old, *new;

	if (from == to)
		return false;
	/* Of a directory the whole subtree counts. Equal states say equal futures; anything else is refused. */
	if (directory)
		return true;
	old = rf_state_verdicts(rf_cells, RF_CELLS_MASK, image, from);
	new = rf_state_verdicts(rf_cells, RF_CELLS_MASK, image, to);
	return new->allow & ~old->allow;
}

/* wanted_old: what the old name must allow besides. */
static __always_inline int second_name(struct rf_request *req, __u64 wanted_old, struct dentry *old, struct dentry *new)
{
	struct rf_task *tag = req->prior ? NULL : rf_actor(req);
	struct inode *inode = old->d_inode;
	__u64 from, to;

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
	if (!widens(req->image, from, to, !inode || (inode->i_mode & RF_S_IFMT) == RF_S_IFDIR))
		return 0;
	req->wanted = RF_ACCESS_BIT(RF_FILE_CREATE);
	req->object = rf_address(tag, new);
	return rf_denies_for(req, RF_REASON_WIDENING) ? -EXDEV : 0;
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
