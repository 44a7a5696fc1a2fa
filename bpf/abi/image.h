/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A compiled policy: one array of 8-byte cells. All indexes inside are relative to the image's first cell, so that
 * it can be laid anywhere in rf_cells. The compiler writes it, kernel and userspace step through it with match.h.
 *
 *   header | class maps | states | transitions (comb) | verdict records
 */
#pragma once

#include "access.h"
#include "limits.h"
#include "types.h"

#define RF_IMAGE_MAGIC 0x31494652 /* "RFI1" */

union rf_cell {
	__u64 raw;
	struct {
		__u32 lo;
		__u32 hi;
	};
};

/*
 * One state is two cells; its number is the index of the first.
 *   cells[s]   lo: the state that every class without a transition of its own leads to
 *              hi: base of its transitions: class c is at cells[base + c]
 *   cells[s+1] lo: verdict record (struct rf_verdicts)
 *              hi: a number: states that share it allow the same whatever follows, if by other rules; and RF_STATE_FIXED
 *              if every byte leads back here
 * A transition cell is {lo: the state it belongs to, hi: the next state}; another owner means "take the default".
 * base + 255 always lies inside the image.
 */
struct rf_automaton_header {
	__u32 classes; /* cell index of 256 bytes: byte -> class */
	__u32 start; /* first state */
	__u32 states; /* how many, for people */
	__u32 dead; /* the state from which nothing can match any more, or 0 */
	__u32 n_classes; /* classes are 0..n_classes - 1; of paths, the one of '/' holds no other byte (inclusion.h) */
};

/* Whatever follows, the answer is the same: also for names that the kernel knows in another spelling. */
#define RF_STATE_FIXED (1U << 31)

/* What a state says of each access of its automaton. */
struct rf_verdicts {
	__u64 allow; /* bit i: access i is allowed */
	__u16 rule[RF_ACCESSES]; /* the rule that decided, or RF_RULE_NONE */
};

#define RF_IMAGE_OBSERVE 0x1 /* mode "observe": report what would be denied, deny nothing */

struct rf_image {
	__u32 magic;
	__u32 cells; /* size of the whole image */
	__u32 id; /* unique on this host since boot, given by the loader; 0 in a file. Key of the directory cache */
	__u32 flags; /* RF_IMAGE_* */
	__u64 record; /* RF_ACCESS_BIT()s whose allowed uses make an event */
	__u8 digest[32]; /* SHA-256 of the effective policy, see rf_policy_digest() */
	struct rf_automaton_header automaton[RF_AUTOMATON_MAX];
	__u32 special_allow; /* bit per enum rf_special */
	__u16 special_rule[RF_SPECIAL_MAX];
	__u32 rules; /* how many rule numbers exist */
	__u32 floor; /* first rule number of the host's floor, which is enforced under RF_IMAGE_OBSERVE too */
	__u32 view; /* whose mounts give names to files, see struct rf_anchor_key; given by the loader */
	__u32 pad;
};

/*
 * The string that RF_AUTOMATON_ADDR reads, in network byte order:
 *   family (4 or 6), address (4 or 16 bytes), IP protocol, port high, port low
 * IPv4-mapped IPv6 is family 4; the unspecified addresses are loopback by then. No ports (ICMP): 0.
 */
#define RF_ADDR_KEY_MAX 20
