/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Accesses, verdicts and reasons: numbered, append-only. The dotted names of these enums (userspace/lib/names.c) are
 * the same in policies, events, metrics and man pages.
 *
 * An access belongs to the automaton that decides it: number = automaton * 16 + index, so that one verdict record
 * of 16 rule numbers serves each automaton.
 */
#pragma once

enum rf_automaton_kind {
	RF_AUTOMATON_PATH = 0, /* absolute path bytes; "/" itself is the empty string */
	RF_AUTOMATON_ADDR = 1, /* see rf_addr_key in image.h */
	RF_AUTOMATON_MAX = 2,
};

#define RF_ACCESSES 16 /* accesses of one automaton */
/* What a rule can name: numbers below this. The accesses behind have no automaton. */
#define RF_RULE_ACCESSES (RF_AUTOMATON_MAX * RF_ACCESSES)

enum rf_access {
	RF_FILE_READ = 0,
	RF_FILE_WRITE = 1,
	RF_FILE_CREATE = 2,
	RF_FILE_DELETE = 3,
	RF_FILE_EXECUTE = 4,
	RF_FILE_ATTRIBUTES = 5,
	RF_NET_UNIX = 6, /* connect or send to a UNIX socket, by the path it is bound to */

	RF_NET_CONNECT = 16,

	/* No automaton: of the task itself. */
	RF_PROC_FORK = 32,
	RF_PROC_IO_URING = 33,
	RF_ACCESS_MAX = 34,
};

#define RF_ACCESS_BIT(a) (1ULL << (a))
/* Every access that a rule of "files" can name ("*"). */
#define RF_FILE_ALL 0x3fULL

enum rf_verdict {
	RF_ALLOW = 0,
	RF_DENY = 1,
	RF_OBSERVE = 2, /* would be denied; the policy observes */
};

/* Why a verdict was given. One counter each, in struct rf_cpu. */
enum rf_reason {
	RF_REASON_RULE = 0, /* a rule matched */
	RF_REASON_NO_RULE = 1, /* none did: deny */
	RF_REASON_UNKNOWN_FS = 2, /* on a filesystem that is not in the run's view */
	RF_REASON_ANONYMOUS = 3, /* a program without a name: memfd, deleted file */
	RF_REASON_TOO_DEEP = 4, /* more than RF_DEPTH_MAX levels */
	RF_REASON_MOVED = 5, /* renames during the walk, twice */
	RF_REASON_DISCONNECTED = 6, /* a dentry whose ancestors the kernel does not know */
	RF_REASON_NO_MEMORY = 7, /* no storage for the task's tag or scratch */
	RF_REASON_RUN_ENDED = 8, /* the task outlived its run */
	RF_REASON_FAMILY = 9, /* socket family that no rule can name */
	RF_REASON_ADDRESS = 10, /* address too short or unreadable */
	RF_REASON_UNREADABLE = 11, /* kernel memory could not be read */
	RF_REASON_WIDENING = 12, /* rename or link whose new name would allow more */
	RF_REASON_OPERATION = 13, /* an operation that goes round the names: no rule can allow it */
	RF_REASON_TOO_COMPLEX = 14, /* rename of a directory whose two places differ in more than RF_PAIRS_MAX ways */
	RF_REASON_CASE_FOLDING =
		15, /* a directory where one file answers to several spellings, which rules tell apart */
	RF_REASON_MAX = 16,
};

/* Objects that have no name for an automaton: one bit and one rule number each in the image header. */
enum rf_special {
	RF_SPECIAL_ANONYMOUS_EXEC = 0, /* policy: "exec": [{"allow": ["anonymous"]}] */
	RF_SPECIAL_UNKNOWN_FS = 1, /* policy: "files": [{..., "unknown-filesystem": true}] */
	RF_SPECIAL_MAX = 2,
};

enum rf_hook {
	RF_HOOK_NONE = 0,
	RF_HOOK_FILE_OPEN = 1,
	RF_HOOK_BPRM_CHECK = 2,
	RF_HOOK_SOCKET_CONNECT = 3,
	RF_HOOK_UNIX_CONNECT = 4,
	RF_HOOK_UNIX_SEND = 5,
	RF_HOOK_TASK_ALLOC = 6,
	RF_HOOK_INODE_CREATE = 7,
	RF_HOOK_INODE_MKDIR = 8,
	RF_HOOK_INODE_MKNOD = 9,
	RF_HOOK_INODE_SYMLINK = 10,
	RF_HOOK_INODE_LINK = 11,
	RF_HOOK_INODE_UNLINK = 12,
	RF_HOOK_INODE_RMDIR = 13,
	RF_HOOK_INODE_RENAME = 14,
	RF_HOOK_INODE_SETATTR = 15,
	RF_HOOK_INODE_SETXATTR = 16,
	RF_HOOK_INODE_REMOVEXATTR = 17,
	RF_HOOK_MMAP_FILE = 18,
	RF_HOOK_FILE_MPROTECT = 19,
	RF_HOOK_FILE_RECEIVE = 20,
	RF_HOOK_FILE_IOCTL = 21,
	RF_HOOK_INODE_SET_ACL = 22,
	RF_HOOK_INODE_REMOVE_ACL = 23,
	RF_HOOK_INODE_FILE_SETATTR = 24,
	RF_HOOK_PATH_NOTIFY = 25,
	RF_HOOK_URING_OVERRIDE_CREDS = 26,
	RF_HOOK_FILE_PERMISSION = 27,
	RF_HOOK_MAX = 28,
};
