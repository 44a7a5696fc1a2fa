// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What tasks brought along: descriptors that were opened before their cgroup was tagged, or before they moved into it.
 *
 *   file_permission  read or write, for each use of a descriptor, as if it were opened
 *   mmap_file        ... and for a mapping, whose uses pass no hook
 *
 * Every read and write of the host passes these hooks, so the enforcer attaches the two programs only while a run
 * lives that was tagged; `ringfence run` closes all descriptors but 0 to 2, which are the run's to use in either case.
 */
#include "decide.bpf.h"

#define MAY_WRITE 0x2
#define MAY_READ 0x4
#define MAP_SHARED 0x1 /* and of MAP_SHARED_VALIDATE */
#define FMODE_WRITE 0x2

/* Was it one of the descriptors 0 to 2 when the task was tagged? No file that was open then can have its address. */
static __always_inline bool is_stdio(struct rf_task *tag, __u64 inode)
{
	return inode == tag->stdio[0] || inode == tag->stdio[1] || inode == tag->stdio[2];
}

static __always_inline int carried(struct file *file, __u32 hook, __u64 wanted, int ret)
{
	struct rf_request req = {.hook = hook, .wanted = wanted};
	struct rf_task *tag = ret ? NULL : rf_actor(&req);
	struct dentry *dentry;

	if (!tag)
		return ret;
	dentry = file->f_path.dentry;
	if (rf_is_held_anyway(dentry))
		return 0;
	/* Whoever can't be asked for is refused, whatever its run was. */
	if (!req.refusal && (!(rf_runs[req.slot & (RF_RUNS_MAX - 1)].flags & RF_RUN_CARRIES) ||
			     is_stdio(tag, rf_address(tag, file->f_inode))))
		return 0;
	return rf_denies_path(tag, &req, dentry) ? -EACCES : 0;
}

SEC("lsm/file_permission")
int BPF_PROG(rf_carried_permission, struct file *file, int mask, int ret)
{
	__u64 wanted = 0;

	if (mask & MAY_READ)
		wanted |= RF_ACCESS_BIT(RF_FILE_READ);
	if (mask & MAY_WRITE)
		wanted |= RF_ACCESS_BIT(RF_FILE_WRITE);
	return carried(file, RF_HOOK_FILE_PERMISSION, wanted, ret);
}

SEC("lsm/mmap_file")
int BPF_PROG(rf_carried_mmap, struct file *file, unsigned long reqprot, unsigned long prot, unsigned long flags,
	     int ret)
{
	__u64 wanted = RF_ACCESS_BIT(RF_FILE_READ);

	if (!file)
		return ret;
	/* It can be made writable later without asking again. */
	if (flags & MAP_SHARED && file->f_mode & FMODE_WRITE)
		wanted |= RF_ACCESS_BIT(RF_FILE_WRITE);
	return carried(file, RF_HOOK_MMAP_FILE, wanted, ret);
}
