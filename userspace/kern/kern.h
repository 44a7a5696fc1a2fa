/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share: the enforcer's handles on the kernel half. */
#pragma once

#include "kern/enforcer.h"
#include "ringfence.skel.h"

/* The mapped .bss: the state that both halves share. */
typedef struct ringfence_bpf__bss rf_shared;

enum rf_pinned_map {
	RF_MAP_SHARED,
	RF_MAP_TASKS,
	RF_MAP_SCRATCHES,
	RF_MAP_CGROUPS,
	RF_MAP_ANCHORS,
	RF_MAP_REQUESTS,
	RF_MAP_OVERLAYS,
	RF_MAP_RING,
	RF_MAPS
};

#define RF_CARRIED_PROGRAMS 2

struct rf_placed_image {
	uint32_t base, cells, users;
};

struct rf_enforcer {
	rf_shared *shared; /* mapped from the kernel's map */
	int maps[RF_MAPS]; /* descriptors of the pinned maps */
	int set_anchors, sweep_tasks; /* descriptors of the iterator programs */
	int carried
		[RF_CARRIED_PROGRAMS]; /* descriptors of the programs of carried.bpf.c, attached while a run needs them */
	int sync_map; /* an array of maps of our own: updating it waits for running programs */
	int sync_inner;
	struct rf_ring_reader *reader;
	struct rf_placed_image *images; /* sorted by base */
	size_t n_images;
	unsigned int cpus;
	uint32_t epoch; /* of the last view refresh */
	char why[1024];
};

/* Writes the reason for people and returns err. */
int rf_because(struct rf_enforcer *e, int err, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Opens the skeleton with the programs that fit this kernel's BTF; caller destroys. NULL: errno. */
struct ringfence_bpf *rf_skeleton_open(void);

/* Runs an iterator program to its end. tid: only that task's files, or 0 for all. */
int rf_run_iterator(int prog_fd, uint32_t tid);

/* Attaches and pins the programs of carried.bpf.c, or takes them away, as the runs need it. */
int rf_attach_carried(struct rf_enforcer *e);

/* Waits until no BPF program that ran when this was called still runs. */
int rf_synchronize(struct rf_enforcer *e);

void rf_close_ring(struct rf_enforcer *e);

/* image.c: the images that live runs use, after adoption. */
int rf_collect_images(struct rf_enforcer *e);
