// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Files.
 *
 *   file_open                         read, write (append and truncate are writes), execute when the kernel opens a
 *                                     program or its interpreter
 *   inode_create mkdir mknod symlink  create
 *   inode_unlink rmdir                delete
 *   inode_link, inode_rename          create at the new name, delete at the old; no widening, else EXDEV
 *   inode_setattr                     write for the size, attributes for the rest
 *   inode_setxattr removexattr        attributes
 *
 * inode_* rather than path_*: RHEL builds without CONFIG_SECURITY_PATH.
 */
#include "decide.bpf.h"

#define FMODE_READ 0x1
#define FMODE_WRITE 0x2
#define O_ACCMODE 03
#define O_TRUNC 01000
#define FMODE_EXEC_OPEN 0x20 /* __FMODE_EXEC in f_flags: the kernel opens to execute */

#define ATTR_SIZE (1 << 3)
#define ATTR_FORCE (1 << 9) /* the kernel's own: set-id bits that a write takes away */

#define PIPEFS_MAGIC 0x50495045
#define NSFS_MAGIC 0x6e736673

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
	return wanted;
}

/* memfd: what cannot have a name is not on an unknown filesystem; the policy's word on `anonymous` decides. */
static __always_inline bool has_no_name(struct dentry *dentry, __u64 wanted)
{
	return (dentry->d_sb->s_flags & RF_SB_NOUSER) && (wanted & RF_ACCESS_BIT(RF_FILE_EXECUTE));
}

/*
 * Pipes, memfds, anonymous inodes: reached only through a descriptor that the task was given already, so opening them
 * again widens nothing. Not so a namespace file (setns) or executing what has no name.
 */
static __always_inline bool is_held_anyway(struct dentry *dentry, __u64 wanted)
{
	struct super_block *sb = dentry->d_sb;

	return (sb->s_flags & RF_SB_NOUSER) && sb->s_magic != NSFS_MAGIC && !(wanted & RF_ACCESS_BIT(RF_FILE_EXECUTE));
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
	if (is_held_anyway(dentry, req.wanted))
		return 0;
	if (!req.refusal && has_no_name(dentry, req.wanted)) {
		req.object = rf_address(tag, dentry);
		return rf_denies_for(&req, RF_REASON_ANONYMOUS) ? -EACCES : 0;
	}
	return rf_denies_path(tag, &req, dentry) ? -EACCES : 0;
}

static __always_inline int one_name(struct dentry *dentry, __u32 hook, __u32 access, int ret)
{
	struct rf_request req = {.hook = hook, .wanted = RF_ACCESS_BIT(access)};
	struct rf_task *tag = ret ? NULL : rf_actor(&req);

	if (!tag)
		return ret;
	return rf_denies_path(tag, &req, dentry) ? -EACCES : 0;
}

SEC("lsm/inode_create")
int BPF_PROG(rf_inode_create, struct inode *dir, struct dentry *dentry, int mode, int ret)
{
	return one_name(dentry, RF_HOOK_INODE_CREATE, RF_FILE_CREATE, ret);
}

SEC("lsm/inode_mkdir")
int BPF_PROG(rf_inode_mkdir, struct inode *dir, struct dentry *dentry, int mode, int ret)
{
	return one_name(dentry, RF_HOOK_INODE_MKDIR, RF_FILE_CREATE, ret);
}

SEC("lsm/inode_mknod")
int BPF_PROG(rf_inode_mknod, struct inode *dir, struct dentry *dentry, int mode, int dev, int ret)
{
	return one_name(dentry, RF_HOOK_INODE_MKNOD, RF_FILE_CREATE, ret);
}

SEC("lsm/inode_symlink")
int BPF_PROG(rf_inode_symlink, struct inode *dir, struct dentry *dentry, const char *target, int ret)
{
	return one_name(dentry, RF_HOOK_INODE_SYMLINK, RF_FILE_CREATE, ret);
}

SEC("lsm/inode_unlink")
int BPF_PROG(rf_inode_unlink, struct inode *dir, struct dentry *dentry, int ret)
{
	return one_name(dentry, RF_HOOK_INODE_UNLINK, RF_FILE_DELETE, ret);
}

SEC("lsm/inode_rmdir")
int BPF_PROG(rf_inode_rmdir, struct inode *dir, struct dentry *dentry, int ret)
{
	/* By anybody: the inode's number and address may soon name another directory. */
	__sync_fetch_and_add(&rf_dirgen[rf_hash((__u64)BPF_CORE_READ(dentry, d_inode)) & (RF_DIRGEN_MAX - 1)], 1);
	return one_name(dentry, RF_HOOK_INODE_RMDIR, RF_FILE_DELETE, ret);
}

static __always_inline int attributes(struct dentry *dentry, unsigned int valid, int ret)
{
	/* ftruncate of a memfd, fchmod of a socket */
	if (is_held_anyway(dentry, 0))
		return ret;
	if (valid & ATTR_SIZE)
		return one_name(dentry, RF_HOOK_INODE_SETATTR, RF_FILE_WRITE, ret);
	if (valid & ATTR_FORCE)
		return ret;
	return one_name(dentry, RF_HOOK_INODE_SETATTR, RF_FILE_ATTRIBUTES, ret);
}

/* 6.1: (dentry, attr); 6.3 put the idmap in front (c1632a0f1120). The loader takes the one that fits. */
SEC("?lsm/inode_setattr")
int BPF_PROG(rf_inode_setattr_2, struct dentry *dentry, struct iattr *attr, int ret)
{
	return attributes(dentry, attr->ia_valid, ret);
}

SEC("?lsm/inode_setattr")
int BPF_PROG(rf_inode_setattr_3, void *idmap, struct dentry *dentry, struct iattr *attr, int ret)
{
	return attributes(dentry, attr->ia_valid, ret);
}

SEC("lsm/inode_setxattr")
int BPF_PROG(rf_inode_setxattr, void *idmap, struct dentry *dentry, const char *name, const void *value, size_t size,
	     int flags, int ret)
{
	return one_name(dentry, RF_HOOK_INODE_SETXATTR, RF_FILE_ATTRIBUTES, ret);
}

SEC("lsm/inode_removexattr")
int BPF_PROG(rf_inode_removexattr, void *idmap, struct dentry *dentry, const char *name, int ret)
{
	return one_name(dentry, RF_HOOK_INODE_REMOVEXATTR, RF_FILE_ATTRIBUTES, ret);
}
