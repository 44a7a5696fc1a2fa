/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Every bound that both halves share, each with its reason. Beyond a bound the answer is deny, counted. */
#pragma once

/* Runs that live at once. A slot costs 64 bytes; ids are never reused, so a stale task can't meet a new run. */
#define RF_RUNS_MAX 4096

/* Cells of 8 bytes for all policy images of the host: 32 MiB. A coding-agent with its own workspace takes some 7,000
 * (equal images are shared), 10,000 rules 180,000 to a million. A power of two: BPF code bounds every index with one
 * mask. */
#define RF_CELLS_MAX (1U << 22)
#define RF_CELLS_MASK (RF_CELLS_MAX - 1)
/* Slack behind the last cell, so that a header or record that starts at any masked index lies inside the map. */
#define RF_CELLS_PAD 256

/* Rules of one compiled policy, all layers together: a rule number is a u16 in events and verdict records. */
#define RF_RULES_MAX 32768
#define RF_RULE_NONE 0xffff

/* Directory levels of one path below its mount. The walk keeps one pointer a level in the task's scratch. */
#define RF_DEPTH_MAX 256
/* Longest name of one directory entry: NAME_MAX. */
#define RF_NAME_MAX 255
/* Bytes of a path in an event, PATH_MAX; longer ones are clipped and marked. */
#define RF_PATH_MAX 4096
/* Bytes of the program's path in an event. */
#define RF_EXE_MAX 1024

/* Mount points of one view, of all views together, and the length of a mount point's path. */
#define RF_ANCHORS_MAX 4096
#define RF_ANCHORS_ALL 32768
/* Views beside the host's: containers that are fenced at once. */
#define RF_VIEWS_MAX 256
/* Places where a view shows a directory that has its name from another place. */
#define RF_ALIASES_MAX 1024
/* Slots of the filter that spares most inodes the search for an anchor. */
#define RF_ANCHOR_HINTS 65536
#define RF_ANCHOR_PATH_MAX 255
/* In place of the length: a mount point too long for an anchor. What is there counts as an unknown filesystem. */
#define RF_ANCHOR_NAMELESS 0xffffffffU

/* Pairs of states that one rename of a directory may compare: some milliseconds at the worst. Six patterns with two
 * double stars each take 1,300. */
#define RF_PAIRS_MAX 4096

/* Tagged cgroups with all their descendants. */
#define RF_CGROUPS_MAX 65536
/* Slots of the filter that lets untagged tasks go: one counter per (cgroup id modulo this). */
#define RF_HINTS 65536

/* Entries of the directory cache: direct mapped, a conflict costs a walk and never a verdict. */
#define RF_DIRCACHE_MAX 65536
/* Counters that make one removed directory's cache entry stale. */
#define RF_DIRGEN_MAX 4096

/* CPUs with their own sequence of events: NR_CPUS of Debian's and RHEL's kernels is 8192. */
#define RF_CPUS_MAX 8192

/* Default size of the ring buffer: about 30,000 events of usual length. */
#define RF_RING_BYTES (8U << 20)
