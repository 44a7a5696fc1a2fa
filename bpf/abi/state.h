/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the kernel half keeps and the enforcer reads or writes: runs, tags, anchors, counters. */
#pragma once

#include "access.h"
#include "limits.h"
#include "types.h"

/* Changes with every change of layout under abi/: an enforcer only adopts pins of its own number. */
#define RF_ABI_VERSION 2

enum rf_run_state {
	RF_RUN_FREE = 0,
	RF_RUN_LIVE = 1,
	RF_RUN_ENDED = 2, /* its tasks should be gone: deny whatever one of them still tries */
	RF_RUN_RELEASED = 3, /* untagged by the operator: its tasks are let go */
};

/* In rf_run.flags: its tasks may hold descriptors from before they were tagged, see carried.bpf.c. */
#define RF_RUN_CARRIES 0x1

/*
 * One slot of rf_runs. The enforcer writes, the kernel reads. A task carries (slot, id); another id in the slot means
 * that its run is over. The image is replaced by one aligned 32-bit store.
 */
struct rf_run {
	__u64 id; /* never reused since boot; 0: free */
	__u32 image; /* first cell of its image in rf_cells; 0: none, deny */
	__u32 state; /* enum rf_run_state */
	__u64 denied; /* counted by the kernel */
	__u64 observed;
	__u64 events; /* emitted: sequence numbers taken for this run */
	__u32 flags; /* RF_RUN_* */
	__u32 pad0;
	__u64 pad[2];
};

/* Task storage: the sticky tag. id 0: a task that is known to be in no run. */
struct rf_task {
	__u64 id;
	__u64 address; /* see rf_address() */
	__u64 overlay; /* struct cred * of a creation that an overlay of the view is about to do for this task */
	__u64 stdio[3]; /* inodes of the descriptors 0 to 2 when it was tagged, or an ancestor of its was */
	__u32 slot;
	__u32 pad;
};

/* Value of rf_cgroups (cgroup id -> run). */
struct rf_cgroup {
	__u64 id;
	__u32 slot;
	__u32 pad;
};

/*
 * The root inode of a mount in one view. Its address is taken from the kernel object behind a descriptor of the
 * enforcer (anchor.bpf.c), never from stat(2): btrfs and overlayfs repeat numbers. The address can be reused when the
 * inode goes, so everything else that names it is compared too.
 */
struct rf_anchor_key {
	__u64 inode; /* or the number of a mount: what the enforcer's kern/known.c remembers of it */
	__u32 view; /* 0: the host's, which is the enforcer's own; others are never used again since boot */
	__u32 pad;
};

/* What the view calls it. */
struct rf_anchor {
	__u64 sb;
	__u64 ino;
	__u32 generation;
	__u32 epoch; /* of the refresh that saw it last; 0 is never one */
	__u32 view; /* as in the key */
	__u32 mount; /* number of the mount, as in mountinfo; 0: the view's root directory, where that is no mount */
	__u32 hidden; /* only for known.c */
	__u32 len; /* bytes of path: the mount point without a trailing '/', so "" for the root */
	char path[RF_ANCHOR_PATH_MAX + 1];
};

/* A directory whose automaton state is known. seq is odd while a writer is at work: see path.bpf.h. The kernel's alone. */
struct rf_dir {
	__u32 seq;
	__u32 image_id;
	__u64 inode;
	__u64 ino;
	__u64 gen;
	__u32 generation;
	__u32 state;
};

/* One CPU's books: emitted = delivered + lost, exactly. Atomics: two tasks can interleave on one CPU. */
struct rf_cpu {
	__u64 emitted; /* sequence numbers given out */
	__u64 lost; /* events that found no room in the ring */
	__u64 delivered; /* written by the enforcer: events it has put into the log */
	__u64 reported; /* written by the enforcer: losses it has put into the log */
	__u64 reason[16]; /* denials and would-be denials per enum rf_reason */
	__u64 pad[4];
};

/* The record that the enforcer counts as delivered: see count_delivered() in kern/ring.c. */
struct rf_taking {
	__u64 position; /* in the ring, plus one */
	__u64 delivered; /* of its CPU, with this record */
	__u32 cpu;
	__u32 pad;
};

/* The enforcer's own. */
struct rf_host {
	__u32 abi; /* RF_ABI_VERSION */
	__u32 image_ids; /* last id given to an image */
	__u32 view_ids; /* last id given to a view */
	__u32 epochs; /* last one given to a refresh of a view */
	__u64 run_ids; /* last id given to a run */
	char build[64]; /* version of the enforcer that loaded the programs */
	struct rf_taking taking;
};
