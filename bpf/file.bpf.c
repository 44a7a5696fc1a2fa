// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Files.
 *
 *   file_open                         read, write (append and truncate are writes), create for O_TMPFILE, execute when
 *                                     the kernel opens a program or its interpreter
 *   file_receive                      a descriptor from elsewhere (SCM_RIGHTS, pidfd_getfd): as if it were opened here
 *   path_notify                       read: inotify and fanotify tell what happens to a file
 *   inode_create mkdir mknod symlink  create
 *   inode_unlink rmdir                delete
 *   inode_link, inode_rename          create at the new name, delete at the old; no widening, else EXDEV: link.bpf.c
 *
 * What changes attributes: attributes.bpf.c. Code: exec.bpf.c. inode_* rather than path_*: RHEL builds without
 * CONFIG_SECURITY_PATH.
 */
#include "decide.bpf.h"

#define FMODE_READ 0x1
#define FMODE_WRITE 0x2
#define O_ACCMODE 03
#define O_TRUNC 01000
#define O_TMPFILE_BIT 020000000 /* __O_TMPFILE, the same on x86 and arm64 */
#define FMODE_EXEC_OPEN 0x20 /* __FMODE_EXEC in f_flags: the kernel opens to execute */

#define S_IFCHR 0020000
#define S_IFBLK 0060000

static __always_inline __u64 accesses(struct file *file)
{
	__u32 mode = file->f_mode, flags = file->f_flags;
	__u64 wanted = 0;

	if (flags & FMODE_EXEC_OPEN)
		return RF_ACCESS_BIT(RF_FILE_EXECUTE);
	if (mode & FMODE_READ)
		wanted |= RF_ACCESS_BIT(RF_FILE_READ);
	if ((mode & FMODE_WRITE) || (flags & O_TRUNC))
		wanted |= RF_ACCESS_BIT(RF_FILE_WRITE);
	/* Access mode 3: neither, and yet good for ioctl. */
	if ((flags & O_ACCMODE) == O_ACCMODE)
		wanted |= RF_ACCESS_BIT(RF_FILE_READ) | RF_ACCESS_BIT(RF_FILE_WRITE);
	/* Has no hook of its own; the name that linkat may give it is asked in inode_link. */
	if (flags & O_TMPFILE_BIT)
		wanted |= RF_ACCESS_BIT(RF_FILE_CREATE);
	return wanted;
}

SEC("lsm/file_open")
int BPF_PROG(rf_file_open, struct file *file, int ret)
{
	struct rf_request req = {.hook = RF_HOOK_FILE_OPEN};
	struct rf_task *tag = ret ? NULL : rf_actor(&req);
	struct dentry *dentry;

	if (!tag)
		return ret;
	dentry = file->f_path.dentry;
	req.wanted = accesses(file);
	if (req.wanted & RF_ACCESS_BIT(RF_FILE_EXECUTE))
		return rf_denies_execute(tag, &req, dentry) ? -EACCES : 0;
	if (rf_is_held_anyway(dentry))
		return 0;
	return rf_denies_path(tag, &req, dentry) ? -EACCES : 0;
}

SEC("lsm/file_receive")
int BPF_PROG(rf_file_receive, struct file *file, int ret)
{
	struct rf_request req = {.hook = RF_HOOK_FILE_RECEIVE};
	struct rf_task *tag = ret ? NULL : rf_actor(&req);
	struct dentry *dentry;

	if (!tag)
		return ret;
	dentry = file->f_path.dentry;
	req.wanted = accesses(file);
	/* An O_PATH descriptor carries no right; what is opened beneath it is asked then. */
	if (!req.wanted || rf_is_held_anyway(dentry))
		return 0;
	return rf_denies_path(tag, &req, dentry) ? -EACCES : 0;
}

SEC("lsm/path_notify")
int BPF_PROG(rf_path_notify, const struct path *path, __u64 mask, unsigned int object, int ret)
{
	struct rf_request req = {.hook = RF_HOOK_PATH_NOTIFY, .wanted = RF_ACCESS_BIT(RF_FILE_READ)};
	struct rf_task *tag = ret ? NULL : rf_actor(&req);

	if (!tag)
		return ret;
	/* A mark on a mount or filesystem tells of every file there, whatever is allowed of them. */
	if (object != FSNOTIFY_OBJ_TYPE_INODE) {
		req.object = rf_address(tag, path->dentry);
		return rf_eperm(rf_denies_for(&req, RF_REASON_OPERATION));
	}
	return rf_denies_path(tag, &req, path->dentry) ? -EACCES : 0;
}

SEC("lsm/inode_create")
int BPF_PROG(rf_inode_create, struct inode *dir, struct dentry *dentry, int mode, int ret)
{
	return rf_one_name(dentry, RF_HOOK_INODE_CREATE, RF_FILE_CREATE, ret);
}

SEC("lsm/inode_mkdir")
int BPF_PROG(rf_inode_mkdir, struct inode *dir, struct dentry *dentry, int mode, int ret)
{
	return rf_one_name(dentry, RF_HOOK_INODE_MKDIR, RF_FILE_CREATE, ret);
}

SEC("lsm/inode_mknod")
int BPF_PROG(rf_inode_mknod, struct inode *dir, struct dentry *dentry, int mode, int dev, int ret)
{
	struct rf_request req = {.hook = RF_HOOK_INODE_MKNOD, .wanted = RF_ACCESS_BIT(RF_FILE_CREATE)};
	struct rf_task *tag = ret ? NULL : rf_actor(&req);
	int type = mode & RF_S_IFMT;

	if (!tag)
		return ret;
	/* A device by another name; the whiteout of overlayfs (0:0) is none. */
	if (type == S_IFBLK || (type == S_IFCHR && dev)) {
		req.object = rf_address(tag, dentry);
		return rf_eperm(rf_denies_for(&req, RF_REASON_OPERATION));
	}
	return rf_denies_path(tag, &req, dentry) ? -EACCES : 0;
}

SEC("lsm/inode_symlink")
int BPF_PROG(rf_inode_symlink, struct inode *dir, struct dentry *dentry, const char *target, int ret)
{
	return rf_one_name(dentry, RF_HOOK_INODE_SYMLINK, RF_FILE_CREATE, ret);
}

SEC("lsm/inode_unlink")
int BPF_PROG(rf_inode_unlink, struct inode *dir, struct dentry *dentry, int ret)
{
	return rf_one_name(dentry, RF_HOOK_INODE_UNLINK, RF_FILE_DELETE, ret);
}

SEC("lsm/inode_rmdir")
int BPF_PROG(rf_inode_rmdir, struct inode *dir, struct dentry *dentry, int ret)
{
	/* By anybody: the inode's number and address may soon name another directory. */
	__sync_fetch_and_add(&rf_dirgen[rf_hash((__u64)BPF_CORE_READ(dentry, d_inode)) & (RF_DIRGEN_MAX - 1)], 1);
	return rf_one_name(dentry, RF_HOOK_INODE_RMDIR, RF_FILE_DELETE, ret);
}
