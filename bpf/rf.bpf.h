/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The seam between the BPF files: maps, shared state, and the question every hook begins with (rf_actor). */
#pragma once

#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "abi/event.h"
#include "abi/image.h"
#include "abi/match.h"
#include "abi/state.h"

/* Kernel macros that BTF does not carry. */
#define EPERM 1
#define EAGAIN 11
#define EACCES 13
#define EXDEV 18

#define RF_READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
#define rf_compiler_barrier() asm volatile("" ::: "memory")

/*
 * Working memory of one tagged task, made at its first walk or event. Never per CPU: LSM programs can be preempted,
 * and another task on that CPU would then write into it.
 */
struct rf_scratch {
	/* the walk (path.bpf.c); in map memory because the 6.1 verifier takes constants of a loop's stack context as
	 * unchanged and drops the code that would follow from a change */
	__u64 cursor;
	__u64 gen;
	__u32 image;
	__u32 image_id;
	__u32 depth;
	__u32 state;
	__u32 stop;
	__u32 offset;
	__u64 mount; /* address of the anchor's path */
	__u32 mount_len;
	__u32 renames; /* rename_lock's sequence number when the attempt began */
	__u32 passing; /* cache nothing */
	__u32 reason; /* why there is no state; 0: there is one */
	__u32 view; /* whose anchors count */
	__u32 pad;
	__u64 chain[RF_DEPTH_MAX];
	/* the event (audit.bpf.c); a name that starts below a bound may run past it before it is clipped */
	struct rf_event event;
	char data[RF_EVENT_DATA_MAX + RF_NAME_MAX + 1];
};

/* Shared with the enforcer through the mapped .bss (state.bpf.c). */
extern union rf_cell rf_cells[RF_CELLS_MAX + RF_CELLS_PAD];
extern struct rf_run rf_runs[RF_RUNS_MAX];
extern struct rf_cpu rf_cpus[RF_CPUS_MAX];
extern __u32 rf_hints[RF_HINTS];
extern __u8 rf_anchor_hints[RF_ANCHOR_HINTS];
extern __u64 rf_dirgen_all;
extern __u32 rf_dirgen[RF_DIRGEN_MAX];
extern struct rf_dir rf_dircache[RF_DIRCACHE_MAX];
extern struct rf_host rf_host;

extern struct rf_tasks_map {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct rf_task);
} rf_tasks SEC(".maps");

extern struct rf_scratches_map {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct rf_scratch);
} rf_scratches SEC(".maps");

extern struct rf_cgroups_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RF_CGROUPS_MAX);
	__type(key, __u64);
	__type(value, struct rf_cgroup);
} rf_cgroups SEC(".maps");

extern struct rf_anchors_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RF_ANCHORS_ALL);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct rf_anchor_key);
	__type(value, struct rf_anchor);
} rf_anchors SEC(".maps");

/* struct cred * that an overlay of a view acts with -> its superblock. */
extern struct rf_overlays_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RF_ANCHORS_MAX);
	__type(key, __u64);
	__type(value, __u64);
} rf_overlays SEC(".maps");

extern struct rf_ring_map {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RF_RING_BYTES);
} rf_ring SEC(".maps");

/*
 * One question and its answer, plain numbers throughout: the functions below are global ones, which the verifier
 * checks once for a program instead of at each call, and those know nothing of pointers in their arguments.
 */
struct rf_request {
	/* who: filled by rf_actor() */
	__u64 id;
	__u32 slot;
	__u32 image; /* read once: a whole decision is made by one policy generation */
	__u32 refusal; /* enum rf_reason when no policy can be asked; 0 otherwise */
	/* what */
	__u32 hook; /* enum rf_hook */
	__u64 wanted; /* RF_ACCESS_BIT()s of one automaton */
	__u64 object; /* address of a dentry, or 0 */
	__s32 prior; /* what earlier programs on the hook returned */
	/* net.connect */
	__u16 net_family;
	__u16 port;
	__u8 addr[16];
	__u8 family, protocol;
	/* the answer */
	__u8 verdict, reason;
	__u16 access, rule;
};

/* subject.bpf.c */
__hidden struct rf_task *rf_tag(struct task_struct *task, __u64 cgroup, __u32 *refusal);
__hidden bool rf_is_overlay(struct rf_task *tag, const struct cred *cred);
__hidden struct rf_scratch *rf_scratch(void);
extern struct rf_task rf_nobody;
/* path.bpf.c: state of the object's path in the low half (never 0), or a reason (enum rf_reason) in the high half. */
__u64 rf_walk(__u32 image, __u64 dentry);
int rf_write_path(__u64 dentry, __u32 start, __u32 max, __u32 clipped);
/*
 * decide.bpf.c: is it refused? rf_denies_for asks no automaton, rf_denies looks at the record of a state. The errno is
 * the hook's: from 6.12 on the verifier wants to see that an LSM program returns one.
 */
bool rf_denies_for(struct rf_request *req, __u32 reason);
bool rf_denies(struct rf_request *req, __u32 state);
/* audit.bpf.c */
int rf_report(struct rf_request *req);

/* The compiler would make it the negated bool, of which the verifier of 6.12 on sees no range. */
static __always_inline int rf_eperm(bool refused)
{
	if (!refused)
		return 0;
	rf_compiler_barrier();
	return -EPERM;
}

static __always_inline struct rf_image *rf_image(__u32 image)
{
	return (struct rf_image *)&rf_cells[image & RF_CELLS_MASK];
}

/*
 * A pointer's address as a number. The verifier allows no arithmetic on pointers to kernel objects but forgets what a
 * value was once it has been in map memory; the tag is this task's own.
 */
static __always_inline __u64 rf_address(struct rf_task *tag, const void *pointer)
{
	*(volatile __u64 *)&tag->address = (__u64)pointer;
	return *(volatile __u64 *)&tag->address;
}

static __always_inline __u64 rf_cgroup_of(struct task_struct *task)
{
	return task->cgroups->dfl_cgrp->kn->id;
}

/*
 * Is current acting for a run? NULL: no. Otherwise its tag, and who it is in *req. Two loads let nearly every task of
 * the host go: only a task that was tagged has task storage (tags are made at fork and follow it everywhere), and only
 * cgroups that were tagged have a hint. Either alone proves nothing, so both are then looked up.
 */
static __always_inline struct rf_task *rf_actor(struct rf_request *req)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 cgroup = rf_cgroup_of(task);
	const struct cred *cred;
	struct rf_task *tag;
	struct rf_run *run;

	if (!task->bpf_storage && !rf_hints[cgroup & (RF_HINTS - 1)])
		return NULL;

	tag = bpf_task_storage_get(&rf_tasks, task, 0, 0);
	if (!tag || !tag->id) {
		tag = rf_tag(task, cgroup, &req->refusal);
		if (!tag)
			return req->refusal ? &rf_nobody : NULL;
	}

	req->id = tag->id;
	req->slot = tag->slot & (RF_RUNS_MAX - 1);
	run = &rf_runs[req->slot];
	req->image = RF_READ_ONCE(run->image);
	if (RF_READ_ONCE(run->id) != req->id || RF_READ_ONCE(run->state) != RF_RUN_LIVE || !req->image) {
		if (RF_READ_ONCE(run->id) == req->id && RF_READ_ONCE(run->state) == RF_RUN_RELEASED)
			return NULL;
		req->refusal = RF_REASON_RUN_ENDED;
	}

	/* An overlay that acts on its layers for a file operation that was already decided on the overlay itself. */
	cred = task->cred;
	if (cred != task->real_cred)
		return rf_is_overlay(tag, cred) ? NULL : tag;
	tag->overlay = 0;
	return tag;
}
