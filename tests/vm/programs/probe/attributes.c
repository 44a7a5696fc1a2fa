// SPDX-License-Identifier: Apache-2.0
/* What a file is besides its content: mode, owner, times, extended attributes, ACLs, flags. */
#include "probe.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SYS_FCHMODAT2 452
#define SYS_SETXATTRAT 463
#define SYS_FILE_SETATTR 469

/* What the kernel takes as system.posix_acl_access: version 2, then tag, permissions, id. */
static const struct {
	uint32_t version;
	struct {
		uint16_t tag, perm;
		uint32_t id;
	} entries[5];
} acl = {2,
	 {
		 {0x01, 6, 0xffffffff}, /* the owner */
		 {0x02, 7, 1000}, /* a user */
		 {0x04, 4, 0xffffffff}, /* the group */
		 {0x10, 7, 0xffffffff}, /* the mask */
		 {0x20, 0, 0xffffffff}, /* others */
	 }};

static int do_chmod(char **a)
{
	return answer(chmod(a[0], 0600));
}

static int do_fchmod(char **a)
{
	int fd = get(a[0], O_RDONLY), err = answer(fd);

	if (err)
		return err;
	err = answer(fchmod(fd, 0600));
	close(fd);
	return err;
}

static int do_fchmodat2(char **a)
{
	return answer(syscall(SYS_FCHMODAT2, AT_FDCWD, a[0], 0600, AT_SYMLINK_NOFOLLOW));
}

static int do_chown(char **a)
{
	return answer(chown(a[0], 1, 1));
}

/* A time long ago, which is known again. */
static int do_utimes(char **a)
{
	struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};

	return answer(utimensat(AT_FDCWD, a[0], times, 0));
}

static int do_setxattr(char **a)
{
	return answer(setxattr(a[0], a[1], "x", 1, 0));
}

static int do_fsetxattr(char **a)
{
	int fd = get(a[0], O_RDONLY), err = answer(fd);

	if (err)
		return err;
	err = answer(fsetxattr(fd, a[1], "x", 1, 0));
	close(fd);
	return err;
}

static int do_setxattrat(char **a)
{
	struct {
		uint64_t value;
		uint32_t size, flags;
	} args = {(uintptr_t) "x", 1, 0};

	return answer(syscall(SYS_SETXATTRAT, AT_FDCWD, a[0], 0, a[1], &args, sizeof(args)));
}

static int do_removexattr(char **a)
{
	return answer(removexattr(a[0], a[1]));
}

int set_acl(const char *path)
{
	return setxattr(path, "system.posix_acl_access", &acl, sizeof(acl), 0);
}

static int do_set_acl(char **a)
{
	return answer(set_acl(a[0]));
}

static int do_remove_acl(char **a)
{
	return answer(removexattr(a[0], "system.posix_acl_access"));
}

/* chattr +d: "no dump" is the flag that every filesystem with flags has. The others stay: ext4 asks for that. */
static int do_setflags(char **a)
{
	int fd = get(a[0], O_RDONLY), flags, err = answer(fd);

	if (err)
		return err;
	err = answer(ioctl(fd, FS_IOC_GETFLAGS, &flags));
	flags |= FS_NODUMP_FL;
	if (!err)
		err = answer(ioctl(fd, FS_IOC_SETFLAGS, &flags));
	close(fd);
	return err;
}

static int do_fssetxattr(char **a)
{
	struct fsxattr xattr = {};
	int fd = get(a[0], O_RDONLY), err = answer(fd);

	if (err)
		return err;
	err = answer(ioctl(fd, FS_IOC_FSGETXATTR, &xattr));
	xattr.fsx_xflags |= FS_XFLAG_NODUMP;
	if (!err)
		err = answer(ioctl(fd, FS_IOC_FSSETXATTR, &xattr));
	close(fd);
	return err;
}

static int do_file_setattr(char **a)
{
	struct {
		uint64_t xflags;
		uint32_t extsize, nextents, projid, cowextsize;
	} attr = {.xflags = FS_XFLAG_NODUMP};

	return answer(syscall(SYS_FILE_SETATTR, AT_FDCWD, a[0], &attr, sizeof(attr), 0));
}

const struct verb attribute_verbs[] = {
	{"chmod", 1, do_chmod}, /* PATH */
	{"fchmod", 1, do_fchmod}, /* PATH */
	{"fchmodat2", 1, do_fchmodat2}, /* PATH */
	{"chown", 1, do_chown}, /* PATH */
	{"utimes", 1, do_utimes}, /* PATH */
	{"setxattr", 2, do_setxattr}, /* PATH NAME */
	{"fsetxattr", 2, do_fsetxattr}, /* PATH NAME */
	{"setxattrat", 2, do_setxattrat}, /* PATH NAME */
	{"removexattr", 2, do_removexattr}, /* PATH NAME */
	{"set-acl", 1, do_set_acl}, /* PATH */
	{"remove-acl", 1, do_remove_acl}, /* PATH */
	{"setflags", 1, do_setflags}, /* PATH */
	{"fssetxattr", 1, do_fssetxattr}, /* PATH */
	{"file-setattr", 1, do_file_setattr}, /* PATH */
	{},
};
