// SPDX-License-Identifier: Apache-2.0
/* String tables of bpf/abi/access.h, each asserted against its enum. */
#include "lib/names.h"

#include <string.h>

#include "abi/access.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const char *const access_names[] = {
	[RF_FILE_READ] = "file.read",	    [RF_FILE_WRITE] = "file.write",
	[RF_FILE_CREATE] = "file.create",   [RF_FILE_DELETE] = "file.delete",
	[RF_FILE_EXECUTE] = "file.execute", [RF_FILE_ATTRIBUTES] = "file.attributes",
	[RF_NET_UNIX] = "net.unix",	    [RF_NET_CONNECT] = "net.connect",
	[RF_PROC_FORK] = "proc.fork",	    [RF_PROC_IO_URING] = "proc.io_uring",
};
_Static_assert(COUNT(access_names) == RF_ACCESS_MAX, "an access has no name");

static const char *const verdict_names[] = {
	[RF_ALLOW] = "allow",
	[RF_DENY] = "deny",
	[RF_OBSERVE] = "observe",
};

static const char *const reason_names[] = {
	[RF_REASON_RULE] = "rule",
	[RF_REASON_NO_RULE] = "no-rule",
	[RF_REASON_UNKNOWN_FS] = "unknown-filesystem",
	[RF_REASON_ANONYMOUS] = "anonymous-program",
	[RF_REASON_TOO_DEEP] = "too-deep",
	[RF_REASON_MOVED] = "moved-during-check",
	[RF_REASON_DISCONNECTED] = "disconnected-path",
	[RF_REASON_NO_MEMORY] = "no-memory",
	[RF_REASON_RUN_ENDED] = "run-ended",
	[RF_REASON_FAMILY] = "socket-family",
	[RF_REASON_ADDRESS] = "malformed-address",
	[RF_REASON_UNREADABLE] = "unreadable-memory",
	[RF_REASON_WIDENING] = "widening",
	[RF_REASON_OPERATION] = "operation",
	[RF_REASON_TOO_COMPLEX] = "too-complex",
	[RF_REASON_CASE_FOLDING] = "case-folding",
};
_Static_assert(COUNT(reason_names) == RF_REASON_MAX, "a reason has no name");

static const char *const hook_names[] = {
	[RF_HOOK_NONE] = "none",
	[RF_HOOK_FILE_OPEN] = "file_open",
	[RF_HOOK_BPRM_CHECK] = "bprm_check_security",
	[RF_HOOK_SOCKET_CONNECT] = "socket_connect",
	[RF_HOOK_UNIX_CONNECT] = "unix_stream_connect",
	[RF_HOOK_UNIX_SEND] = "unix_may_send",
	[RF_HOOK_TASK_ALLOC] = "task_alloc",
	[RF_HOOK_INODE_CREATE] = "inode_create",
	[RF_HOOK_INODE_MKDIR] = "inode_mkdir",
	[RF_HOOK_INODE_MKNOD] = "inode_mknod",
	[RF_HOOK_INODE_SYMLINK] = "inode_symlink",
	[RF_HOOK_INODE_LINK] = "inode_link",
	[RF_HOOK_INODE_UNLINK] = "inode_unlink",
	[RF_HOOK_INODE_RMDIR] = "inode_rmdir",
	[RF_HOOK_INODE_RENAME] = "inode_rename",
	[RF_HOOK_INODE_SETATTR] = "inode_setattr",
	[RF_HOOK_INODE_SETXATTR] = "inode_setxattr",
	[RF_HOOK_INODE_REMOVEXATTR] = "inode_removexattr",
	[RF_HOOK_MMAP_FILE] = "mmap_file",
	[RF_HOOK_FILE_MPROTECT] = "file_mprotect",
	[RF_HOOK_FILE_RECEIVE] = "file_receive",
	[RF_HOOK_FILE_IOCTL] = "file_ioctl",
	[RF_HOOK_INODE_SET_ACL] = "inode_set_acl",
	[RF_HOOK_INODE_REMOVE_ACL] = "inode_remove_acl",
	[RF_HOOK_INODE_FILE_SETATTR] = "inode_file_setattr",
	[RF_HOOK_PATH_NOTIFY] = "path_notify",
	[RF_HOOK_URING_OVERRIDE_CREDS] = "uring_override_creds",
	[RF_HOOK_FILE_PERMISSION] = "file_permission",
};
_Static_assert(COUNT(hook_names) == RF_HOOK_MAX, "a hook has no name");

static const char *name(const char *const *table, size_t n, unsigned int i, const char *otherwise)
{
	return i < n && table[i] ? table[i] : otherwise;
}

const char *rf_access_name(unsigned int access)
{
	return name(access_names, COUNT(access_names), access, NULL);
}

int rf_access_number(const char *text)
{
	for (size_t i = 0; i < RF_RULE_ACCESSES; i++)
		if (access_names[i] && !strcmp(access_names[i], text))
			return (int)i;
	return -1;
}

const char *rf_verdict_name(unsigned int verdict)
{
	return name(verdict_names, COUNT(verdict_names), verdict, "?");
}

const char *rf_reason_name(unsigned int reason)
{
	return name(reason_names, COUNT(reason_names), reason, "?");
}

const char *rf_hook_name(unsigned int hook)
{
	return name(hook_names, COUNT(hook_names), hook, "?");
}
