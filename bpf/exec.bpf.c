// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Code.
 *
 *   bprm_check_security  execute, once for each file of a chain: script, interpreter, binary
 *   mmap_file            execute of a file that is mapped to be executed: libraries, and `ld.so program`
 *   file_mprotect        execute of a file whose mapping becomes executable
 *
 * The kernel's own opens of those files, ld.so's among them, are decided in file_open. What has no name (memfd, deleted
 * file) is refused unless the policy allows `anonymous`. Memory without a file is free: it gives a task no right that
 * it has not got, and every just-in-time compiler needs it.
 */
#include "decide.bpf.h"

#define PROT_EXEC 0x4
#define S_PRIVATE (1 << 9) /* in i_flags: the kernel's own, such as the file behind shared anonymous memory */
#define FMODE_NOACCOUNT (1U << 29) /* in f_mode: opened by the kernel, such as the file below an overlay's */

SEC("lsm/bprm_check_security")
int BPF_PROG(rf_bprm_check, struct linux_binprm *bprm, int ret)
{
	struct rf_request req = {.hook = RF_HOOK_BPRM_CHECK, .wanted = RF_ACCESS_BIT(RF_FILE_EXECUTE)};
	struct rf_task *tag = ret ? NULL : rf_actor(&req);

	if (!tag)
		return ret;
	return rf_denies_execute(tag, &req, bprm->file->f_path.dentry) ? -EACCES : 0;
}

SEC("lsm/mmap_file")
int BPF_PROG(rf_mmap_file, struct file *file, unsigned long reqprot, unsigned long prot, unsigned long flags, int ret)
{
	struct rf_request req = {.hook = RF_HOOK_MMAP_FILE, .wanted = RF_ACCESS_BIT(RF_FILE_EXECUTE)};
	struct rf_task *tag;

	if (!(prot & PROT_EXEC) || !file || ret)
		return ret;
	tag = rf_actor(&req);
	if (!tag)
		return ret;
	return rf_denies_execute(tag, &req, file->f_path.dentry) ? -EACCES : 0;
}

/* The file that was mapped: under an overlay the mapping has the layer's, which from 6.6 on tells the overlay's path. */
static __always_inline __u64 mapped(struct file *file)
{
	struct backing_file *backing = (struct backing_file *)file;

	if (bpf_core_type_exists(struct backing_file) && file->f_mode & FMODE_NOACCOUNT)
		return (__u64)BPF_CORE_READ(backing, user_path.dentry);
	return (__u64)BPF_CORE_READ(file, f_path.dentry);
}

/* As rf_denies_execute(), of a dentry that is known by its address alone. */
static __always_inline bool denies_mapped(struct rf_request *req, __u64 address)
{
	struct dentry *dentry = (struct dentry *)address;
	__u64 state;

	req->object = address;
	if (req->refusal)
		return rf_denies_for(req, req->refusal);
	if (!BPF_CORE_READ(dentry, d_hash.pprev) || BPF_CORE_READ(dentry, d_sb, s_flags) & RF_SB_NOUSER)
		return rf_denies_for(req, RF_REASON_ANONYMOUS);
	state = rf_walk(req->image, address);
	return (__u32)state ? rf_denies(req, state) : rf_denies_for(req, state >> 32);
}

SEC("lsm/file_mprotect")
int BPF_PROG(rf_file_mprotect, struct vm_area_struct *vma, unsigned long reqprot, unsigned long prot, int ret)
{
	struct rf_request req = {.hook = RF_HOOK_FILE_MPROTECT, .wanted = RF_ACCESS_BIT(RF_FILE_EXECUTE)};
	struct file *file;

	if (!(prot & PROT_EXEC) || ret)
		return ret;
	file = vma->vm_file;
	if (!file || file->f_inode->i_flags & S_PRIVATE || !rf_actor(&req))
		return ret;
	return denies_mapped(&req, mapped(file)) ? -EACCES : 0;
}
