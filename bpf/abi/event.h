/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Records of the ring buffer. head.size is the whole record's; data holds the object's bytes and then the program's
 * path, neither terminated. Userspace treats every record as bytes of bounded length (event/decode.c).
 */
#pragma once

#include "access.h"
#include "limits.h"
#include "types.h"

#define RF_EVENT_VERSION 1

enum rf_event_kind {
	RF_EVENT_VERDICT = 1,
};

#define RF_EVENT_PATH_CLIPPED 0x1
#define RF_EVENT_EXE_CLIPPED 0x2
#define RF_EVENT_DELETED 0x4 /* the object had no name left when it was decided */
#define RF_EVENT_UNANCHORED 0x8 /* path is relative to its filesystem's root, which the view does not know */

struct rf_event_head {
	__u32 size;
	__u16 kind; /* enum rf_event_kind */
	__u16 version;
	__u32 cpu;
	__u32 flags; /* RF_EVENT_* */
	__u64 seq; /* per CPU, from 1, taken before the ring is asked for room */
	__u64 time; /* CLOCK_BOOTTIME, ns */
};

struct rf_event {
	struct rf_event_head head;
	__u64 run;
	__u32 image; /* struct rf_image.id */
	__u32 slot;
	__u64 cgroup; /* id of the cgroup the task is in now */
	__u32 tid;
	__u32 pid;
	__u32 ppid;
	__u32 uid;
	__u32 gid;
	__s32 prior; /* what an earlier BPF program on this hook had returned */
	__u16 access; /* enum rf_access */
	__u16 rule; /* or RF_RULE_NONE */
	__u8 verdict; /* enum rf_verdict */
	__u8 reason; /* enum rf_reason */
	__u8 hook; /* enum rf_hook */
	__u8 pad0;
	char comm[16];

	/* net.connect only */
	__u8 family; /* 4, 6, or 0 with net_family set */
	__u8 protocol;
	__u16 port; /* host order */
	__u16 net_family; /* AF_* as the caller gave it */
	__u16 pad1;
	__u8 addr[16];

	__u16 path_len;
	__u16 exe_len;
	__u32 pad2;
	__u8 data[];
};

/* Two names behind the head; a name that crosses a bound is clipped, so one more name of slack each. */
#define RF_EVENT_DATA_MAX (RF_PATH_MAX + RF_EXE_MAX)
