/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The quick half of naming: an object's state from the cached state of its directory and the bytes of its name. One
 * cached directory costs some thirty instructions whatever its depth.
 */
#pragma once

#include "rf.bpf.h"

#define RF_SB_NOUSER (1U << 31) /* SB_NOUSER: pipes, memfds, anonymous inodes: nothing that a path leads to */
#define RF_S_CASEFOLD (1U << 15) /* S_CASEFOLD of i_flags: can be set while the directory's state is cached */
#define RF_S_IFMT 0170000
#define RF_S_IFDIR 0040000

static __always_inline __u32 rf_hash(__u64 address)
{
	return (__u32)((address * 0x9e3779b97f4a7c15ULL) >> 40);
}

/* Slot of a directory's generation; the top bits serve the cache index. */
static __always_inline __u64 rf_dir_gen(__u64 inode, __u64 moment)
{
	return moment + RF_READ_ONCE(rf_dirgen[rf_hash(inode) & (RF_DIRGEN_MAX - 1)]);
}

/* Sequence number of the kernel's rename_lock: odd while anything on this host is being renamed; only ever grows. */
__u32 rf_rename_seq(void);

/*
 * What a cached state is valid for: no rename since, of anything. Not only directories: whether one moved is known
 * behind the move alone, there only tracing programs run, and those are skipped when one interrupts another on its CPU.
 */
static __always_inline __u64 rf_dir_moment(__u32 rename_seq)
{
	return RF_READ_ONCE(rf_dirgen_all) + rename_seq;
}

static __always_inline struct rf_dir *rf_dir_slot(__u32 image_id, __u64 inode)
{
	return &rf_dircache[(rf_hash(inode) + image_id * 0x9e3779b1U) & (RF_DIRCACHE_MAX - 1)];
}

/*
 * State of a directory at a moment, 0 if unknown. A seqlock per entry, because a value that is overwritten while it is
 * read would be another directory's state; x86 keeps loads and stores in order, so compiler barriers are enough here.
 */
static __always_inline __u32 rf_dir_state(__u32 image_id, __u64 inode, __u64 ino, __u32 generation, __u64 moment)
{
	struct rf_dir *dir = rf_dir_slot(image_id, inode);
	__u32 seq = RF_READ_ONCE(dir->seq), state;

	rf_compiler_barrier();
	if ((seq & 1) || dir->inode != inode || dir->image_id != image_id || dir->ino != ino ||
	    dir->generation != generation || dir->gen != rf_dir_gen(inode, moment))
		return 0;
	state = RF_READ_ONCE(dir->state);
	rf_compiler_barrier();
	return RF_READ_ONCE(dir->seq) == seq ? state : 0;
}

/* Remembers a state; moment: before the walk began. Gives way when another writer is at the entry. */
static __always_inline void rf_dir_remember(__u32 image_id, __u64 inode, __u64 ino, __u32 generation, __u64 moment,
					    __u32 state)
{
	struct rf_dir *dir = rf_dir_slot(image_id, inode);
	__u32 seq = RF_READ_ONCE(dir->seq);

	if ((seq & 1) || __sync_val_compare_and_swap(&dir->seq, seq, seq + 1) != seq)
		return;
	dir->image_id = image_id;
	dir->inode = inode;
	dir->ino = ino;
	dir->generation = generation;
	dir->gen = rf_dir_gen(inode, moment);
	dir->state = state;
	rf_compiler_barrier();
	__sync_fetch_and_add(&dir->seq, 1);
}

/* Bytes that one call steps over; a constant size needs no zeroing of the stack. Longer names take the walk's loop. */
#define RF_STEP_BYTES 32

/*
 * State after '/' and len (at most RF_STEP_BYTES) bytes at a kernel address; 0: unreadable. Global, so that its loop is
 * verified once for a program; slash: also step over the '/' before them.
 */
__u32 rf_step_bytes(__u32 image, __u32 state, __u64 address, __u32 len, bool slash);
__u32 rf_step_name(__u32 image, __u32 state, __u64 address, __u32 len, bool slash);

/*
 * State of an object's path in the low half, or a reason in the high half, as rf_walk() says it. The dentry's own
 * sequence count tells whether name and directory belong together while the directory's state is looked up; whatever
 * is not plain goes the long way.
 */
static __always_inline __u64 rf_object_state(struct rf_task *tag, __u32 image, struct dentry *dentry)
{
	__u32 seq = *(volatile __u32 *)&dentry->d_seq.seqcount.sequence, renames, len, state;
	struct dentry *parent;
	struct inode *dir;

	/* Name and directory are read behind it. */
	rf_compiler_barrier();
	len = dentry->d_name.len;
	parent = dentry->d_parent;
	dir = parent->d_inode;
	renames = rf_rename_seq();
	if (((seq | renames) & 1) || parent == dentry || len > RF_STEP_BYTES || !dir ||
	    (dir->i_flags & RF_S_CASEFOLD) ||
	    rf_anchor_hints[rf_hash(rf_address(tag, dentry->d_inode)) & (RF_ANCHOR_HINTS - 1)])
		goto walk;
	state = rf_dir_state(rf_image(image)->id, rf_address(tag, dir), dir->i_ino, dir->i_generation,
			     rf_dir_moment(renames));
	if (state)
		state = rf_step_bytes(image, state, rf_address(tag, dentry->d_name.name), len, true);
	if (!state)
		goto walk;
	rf_compiler_barrier();
	if (*(volatile __u32 *)&dentry->d_seq.seqcount.sequence == seq)
		return state;
walk:
	return rf_walk(image, rf_address(tag, dentry));
}
