// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* All maps and all shared state. The other files see them through rf.bpf.h. */
#include "rf.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Explicitly zero: .bss, so that the skeleton carries no bytes of them. */
union rf_cell rf_cells[RF_CELLS_MAX + RF_CELLS_PAD] = {};
struct rf_run rf_runs[RF_RUNS_MAX] = {};
struct rf_cpu rf_cpus[RF_CPUS_MAX] = {};
__u32 rf_hints[RF_HINTS] = {};
__u8 rf_anchor_hints[RF_ANCHOR_HINTS] = {};
__u64 rf_dirgen_all = 0;
__u32 rf_dirgen[RF_DIRGEN_MAX] = {};
struct rf_dir rf_dircache[RF_DIRCACHE_MAX] = {};
struct rf_host rf_host = {};
/* Stands for a task of which a tag could not be had: refused, never looked into. */
struct rf_task rf_nobody = {};

struct rf_tasks_map rf_tasks SEC(".maps");
struct rf_scratches_map rf_scratches SEC(".maps");
struct rf_cgroups_map rf_cgroups SEC(".maps");
struct rf_anchors_map rf_anchors SEC(".maps");
struct rf_overlays_map rf_overlays SEC(".maps");
struct rf_ring_map rf_ring SEC(".maps");
