/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* (who, accesses, object) -> refused or not. The quick half: all wanted is allowed and nothing of it is to be recorded. */
#pragma once

#include "path.bpf.h"

#define RF_NSFS_MAGIC 0x6e736673

/* Are req->wanted, accesses of the path automaton, refused on a dentry? */
static __always_inline bool rf_denies_path(struct rf_task *tag, struct rf_request *req, struct dentry *dentry)
{
	const struct rf_verdicts *verdicts;
	__u64 state;

	req->object = rf_address(tag, dentry);
	if (req->refusal)
		return rf_denies_for(req, req->refusal);
	state = rf_object_state(tag, req->image, dentry);
	if (!(__u32)state)
		return rf_denies_for(req, state >> 32);
	verdicts = rf_state_verdicts(rf_cells, RF_CELLS_MASK, req->image, state);
	if (!(req->wanted & ~verdicts->allow) && !(req->wanted & rf_image(req->image)->record))
		return false;
	return rf_denies(req, state);
}

/* One access to one name, EACCES: what most hooks do. */
static __always_inline int rf_one_name(struct dentry *dentry, __u32 hook, __u32 access, int ret)
{
	struct rf_request req = {.hook = hook, .wanted = RF_ACCESS_BIT(access)};
	struct rf_task *tag = ret ? NULL : rf_actor(&req);

	if (!tag)
		return ret;
	return rf_denies_path(tag, &req, dentry) ? -EACCES : 0;
}

/*
 * Pipes, memfds, anonymous inodes: reached only through a descriptor that the task was given already, so opening them
 * again widens nothing. Not so a namespace file (setns); executing them is asked by rf_denies_execute().
 */
static __always_inline bool rf_is_held_anyway(struct dentry *dentry)
{
	struct super_block *sb = dentry->d_sb;

	return (sb->s_flags & RF_SB_NOUSER) && sb->s_magic != RF_NSFS_MAGIC;
}

/* Is execute, all of req->wanted, refused? What has no name (memfd, deleted file) is under the policy's `anonymous`. */
static __always_inline bool rf_denies_execute(struct rf_task *tag, struct rf_request *req, struct dentry *dentry)
{
	if (req->refusal || (dentry->d_hash.pprev && !(dentry->d_sb->s_flags & RF_SB_NOUSER)))
		return rf_denies_path(tag, req, dentry);
	req->object = rf_address(tag, dentry);
	return rf_denies_for(req, RF_REASON_ANONYMOUS);
}
