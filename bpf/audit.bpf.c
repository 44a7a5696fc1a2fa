// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Events: every one takes a number before it asks for room, so that what is missing can be counted exactly. */
#include "path.bpf.h"

static __always_inline void fill_task(struct rf_event *e)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 id = bpf_get_current_pid_tgid(), user = bpf_get_current_uid_gid();

	e->cgroup = rf_cgroup_of(task);
	e->tid = (__u32)id;
	e->pid = id >> 32;
	e->ppid = BPF_CORE_READ(task, real_parent, tgid);
	e->uid = (__u32)user;
	e->gid = user >> 32;
	bpf_get_current_comm(e->comm, sizeof(e->comm));
}

static __always_inline void fill_verdict(struct rf_event *e, struct rf_request *req)
{
	e->run = req->id;
	e->slot = req->slot;
	e->image = req->image ? rf_image(req->image)->id : 0;
	e->prior = req->prior;
	e->access = req->access;
	e->rule = req->rule;
	e->verdict = req->verdict;
	e->reason = req->reason;
	e->hook = req->hook;
	e->family = req->family;
	e->protocol = req->protocol;
	e->port = req->port;
	e->net_family = req->net_family;
	__builtin_memcpy(e->addr, req->addr, sizeof(e->addr));
}

/* The object's path, then the program's, behind each other in s->data. */
static __always_inline void fill_names(struct rf_scratch *s, struct rf_request *req)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct dentry *object = (struct dentry *)req->object;
	__u64 exe = (__u64)BPF_CORE_READ(task, mm, exe_file, f_path.dentry);

	s->offset = 0;
	s->view = req->image ? rf_image(req->image)->view : 0;
	if (object) {
		rf_write_path(req->object, 0, RF_PATH_MAX, RF_EVENT_PATH_CLIPPED);
		if (BPF_CORE_READ(object, d_inode) && !BPF_CORE_READ(object, d_hash.pprev) &&
		    BPF_CORE_READ(object, d_parent) != object)
			s->event.head.flags |= RF_EVENT_DELETED;
	}
	s->event.path_len = s->offset;
	if (exe) {
		__u32 flags = s->event.head.flags;

		rf_write_path(exe, s->event.path_len, RF_EXE_MAX, RF_EVENT_EXE_CLIPPED);
		/* Where the program lies says nothing of the object. */
		s->event.head.flags = flags | (s->event.head.flags & RF_EVENT_EXE_CLIPPED);
	}
	s->event.exe_len = s->offset - s->event.path_len;
}

int rf_report(struct rf_request *req)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct rf_cpu *books = &rf_cpus[cpu & (RF_CPUS_MAX - 1)];
	__u64 seq = __sync_fetch_and_add(&books->emitted, 1) + 1;
	struct rf_scratch *s = rf_scratch();
	struct rf_event *e;
	__u32 size;

	if (!s || !req) {
		__sync_fetch_and_add(&books->lost, 1);
		return 0;
	}
	__sync_fetch_and_add(&rf_runs[req->slot & (RF_RUNS_MAX - 1)].events, 1);
	e = &s->event;
	__builtin_memset(e, 0, sizeof(*e));
	e->head.kind = RF_EVENT_VERDICT;
	e->head.version = RF_EVENT_VERSION;
	e->head.cpu = cpu;
	e->head.seq = seq;
	e->head.time = bpf_ktime_get_boot_ns();
	fill_task(e);
	fill_verdict(e, req);
	fill_names(s, req);

	size = s->offset;
	if (size > RF_EVENT_DATA_MAX)
		size = RF_EVENT_DATA_MAX;
	size += sizeof(*e);
	e->head.size = size;
	if (bpf_ringbuf_output(&rf_ring, e, size, 0))
		__sync_fetch_and_add(&books->lost, 1);
	return 0;
}
