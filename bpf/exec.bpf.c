// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Programs.
 *
 *   bprm_check_security  execute, once for each file of a chain: script, interpreter, binary
 *
 * The kernel's own opens of those files, ld.so's among them, are decided in file_open. A program without a name (memfd,
 * deleted file) is refused unless the policy allows `anonymous`.
 */
#include "decide.bpf.h"

SEC("lsm/bprm_check_security")
int BPF_PROG(rf_bprm_check, struct linux_binprm *bprm, int ret)
{
	struct rf_request req = {.hook = RF_HOOK_BPRM_CHECK, .wanted = RF_ACCESS_BIT(RF_FILE_EXECUTE)};
	struct rf_task *tag = ret ? NULL : rf_actor(&req);
	struct dentry *dentry;

	if (!tag)
		return ret;
	dentry = bprm->file->f_path.dentry;
	if (req.refusal || (dentry->d_hash.pprev && !(dentry->d_sb->s_flags & RF_SB_NOUSER)))
		return rf_denies_path(tag, &req, dentry) ? -EACCES : 0;
	req.object = rf_address(tag, dentry);
	return rf_denies_for(&req, RF_REASON_ANONYMOUS) ? -EACCES : 0;
}
