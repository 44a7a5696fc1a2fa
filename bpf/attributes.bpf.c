// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What changes a file without opening it for writing, or through a descriptor that says nothing of writing.
 *
 *   inode_setattr                write for the size (truncate by path or descriptor), attributes for the rest
 *   inode_setxattr removexattr   attributes
 *   inode_set_acl remove_acl     attributes; 6.1 has ACLs pass inode_setxattr
 *   inode_file_setattr           attributes: file_setattr(2) and, from 6.17 on, the ioctls below too
 *   file_ioctl                   attributes for chattr and its kind; refused as operations are those that make or read
 *                                files by other names than paths
 */
#include "decide.bpf.h"

#define ATTR_SIZE (1 << 3)
#define ATTR_FORCE (1 << 9) /* the kernel's own: set-id bits that a write takes away */

static __always_inline int change(struct dentry *dentry, __u32 hook, int ret)
{
	return rf_one_name(dentry, hook, RF_FILE_ATTRIBUTES, ret);
}

static __always_inline int setattr(struct dentry *dentry, unsigned int valid, int ret)
{
	/* ftruncate of a memfd, fchmod of a socket */
	if (rf_is_held_anyway(dentry))
		return ret;
	if (valid & ATTR_SIZE)
		return rf_one_name(dentry, RF_HOOK_INODE_SETATTR, RF_FILE_WRITE, ret);
	if (valid & ATTR_FORCE)
		return ret;
	return change(dentry, RF_HOOK_INODE_SETATTR, ret);
}

/* 6.1: (dentry, attr); 6.3 put the idmap in front (c1632a0f1120). The loader takes the one that fits. */
SEC("?lsm/inode_setattr")
int BPF_PROG(rf_inode_setattr_2, struct dentry *dentry, struct iattr *attr, int ret)
{
	return setattr(dentry, attr->ia_valid, ret);
}

SEC("?lsm/inode_setattr")
int BPF_PROG(rf_inode_setattr_3, void *idmap, struct dentry *dentry, struct iattr *attr, int ret)
{
	return setattr(dentry, attr->ia_valid, ret);
}

SEC("lsm/inode_setxattr")
int BPF_PROG(rf_inode_setxattr, void *idmap, struct dentry *dentry, const char *name, const void *value, size_t size,
	     int flags, int ret)
{
	return change(dentry, RF_HOOK_INODE_SETXATTR, ret);
}

SEC("lsm/inode_removexattr")
int BPF_PROG(rf_inode_removexattr, void *idmap, struct dentry *dentry, const char *name, int ret)
{
	return change(dentry, RF_HOOK_INODE_REMOVEXATTR, ret);
}

SEC("?lsm/inode_set_acl")
int BPF_PROG(rf_inode_set_acl, void *idmap, struct dentry *dentry, const char *name, void *acl, int ret)
{
	return change(dentry, RF_HOOK_INODE_SET_ACL, ret);
}

SEC("?lsm/inode_remove_acl")
int BPF_PROG(rf_inode_remove_acl, void *idmap, struct dentry *dentry, const char *name, int ret)
{
	return change(dentry, RF_HOOK_INODE_REMOVE_ACL, ret);
}

SEC("?lsm/inode_file_setattr")
int BPF_PROG(rf_inode_file_setattr, struct dentry *dentry, void *attributes, int ret)
{
	return change(dentry, RF_HOOK_INODE_FILE_SETATTR, ret);
}

/* _IOC() of include/uapi/asm-generic/ioctl.h: direction, size, type, number. */
#define IOC_TYPE(cmd) (((cmd) >> 8) & 0xff)
#define IOC_NR(cmd) ((cmd)&0xff)
#define IOC_WRITES(cmd) ((cmd)&0x40000000)

enum ioctl_class { IOCTL_FREE, IOCTL_ATTRIBUTES, IOCTL_OPERATION };

/*
 * btrfs (0x94): snapshots and subvolumes give files second names, tree searches read them without any, receive and
 * device calls are an administrator's. Free are clones and deduplication, whose two files were opened, and what only
 * informs (include/uapi/linux/btrfs.h).
 */
static __always_inline enum ioctl_class btrfs_ioctl(__u32 nr)
{
	const __u64 free = 1ULL << 8 /* SYNC */ | 1ULL << 9 /* FICLONE */ | 1ULL << 13 /* FICLONERANGE */ |
			   1ULL << 20 /* SPACE_INFO */ | 1ULL << 22 /* WAIT_SYNC */ | 1ULL << 24 /* START_SYNC */ |
			   1ULL << 25 /* SUBVOL_GETFLAGS */ | 1ULL << 30 /* DEV_INFO */ | 1ULL << 31 /* FS_INFO */ |
			   1ULL << 49 /* GETFSLABEL, of any filesystem */ | 1ULL << 54 /* FIDEDUPERANGE */ |
			   1ULL << 57 /* GET_FEATURES */ | 1ULL << 60 /* GET_SUBVOL_INFO */;

	return nr < 64 && free >> nr & 1 ? IOCTL_FREE : IOCTL_OPERATION;
}

/*
 * Numbers are what the filesystems share: 'f' and 'v' attributes, encryption, verity and their kind; 'X' 32 is
 * FS_IOC_FSSETXATTR, from 100 on the administrator's calls of XFS, handles among them. Those that say they only read
 * are free, but for two that do not, and so are three that only read and say they write.
 */
static __always_inline enum ioctl_class classify(__u32 cmd)
{
	__u32 type = IOC_TYPE(cmd), nr = IOC_NR(cmd);

	if (type == 0x94)
		return btrfs_ioctl(nr);
	/* FS_IOC_SHUTDOWN; bcachefs makes and removes subvolumes */
	if ((type == 'X' && nr == 125) || (type == 0xbc && (nr == 16 || nr == 17)))
		return IOCTL_OPERATION;
	if (type == 'f' && nr == 19) /* SET_ENCRYPTION_POLICY */
		return IOCTL_ATTRIBUTES;
	if (!IOC_WRITES(cmd))
		return IOCTL_FREE;
	if (type == 'f' &&
	    (nr == 11 /* FIEMAP */ || nr == 22 /* GET_ENCRYPTION_POLICY_EX */ || nr == 134 /* MEASURE_VERITY */))
		return IOCTL_FREE;
	if (type == 'f' || type == 'v' || (type == 'X' && nr == 32))
		return IOCTL_ATTRIBUTES;
	return type == 'X' && nr >= 100 && nr < 0xc0 ? IOCTL_OPERATION : IOCTL_FREE;
}

static __always_inline int ioctl(struct file *file, __u32 cmd, int ret)
{
	struct rf_request req = {.hook = RF_HOOK_FILE_IOCTL, .wanted = RF_ACCESS_BIT(RF_FILE_ATTRIBUTES)};
	enum ioctl_class class = classify(cmd);
	struct dentry *dentry;
	struct rf_task *tag;

	/* Before anything else: the host's terminals, sockets and virtual machines live on ioctls. */
	if (class == IOCTL_FREE || ret)
		return ret;
	tag = rf_actor(&req);
	if (!tag)
		return ret;
	dentry = file->f_path.dentry;
	if (class == IOCTL_ATTRIBUTES)
		return !rf_is_held_anyway(dentry) && rf_denies_path(tag, &req, dentry) ? -EACCES : 0;
	req.object = rf_address(tag, dentry);
	return rf_eperm(rf_denies_for(&req, RF_REASON_OPERATION));
}

SEC("lsm/file_ioctl")
int BPF_PROG(rf_file_ioctl, struct file *file, unsigned int cmd, unsigned long arg, int ret)
{
	return ioctl(file, cmd, ret);
}

/* For programs of 32 bits, from 6.8 on and in later releases of 6.1; before, they pass file_ioctl. */
SEC("?lsm/file_ioctl_compat")
int BPF_PROG(rf_file_ioctl_compat, struct file *file, unsigned int cmd, unsigned long arg, int ret)
{
	return ioctl(file, cmd, ret);
}
