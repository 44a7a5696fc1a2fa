/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share: the enforcer's handles on the kernel half. */
#pragma once

#include "kern/enforcer.h"
#include "lib/mounts.h"
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

/* The mounts that one mount namespace shows from one root directory. */
struct rf_view {
	uint32_t id; /* 0: the enforcer's own */
	struct rf_view_place place;
	bool adopted; /* a former enforcer has looked at it already */
	bool known; /* mounts and calls are those of a former look */
	int table_fd; /* mountinfo: holds the mount namespace; -1: nobody is left who lives there */
	int root_fd;
	struct rf_mounts mounts; /* with the names they have for us */
	struct rf_aliases aliases;
	uint64_t calls; /* of runs that may have changed the table, up to the last look */
	uint32_t epoch; /* of the last look */
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
	struct rf_view *host; /* the view of this process */
	int (*on_aliases)(void *ctx, const struct rf_view *view, const struct rf_aliases *aliases);
	void *on_aliases_ctx;
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

/* place.c: openat2 below a root directory, O_PATH; the descriptor or -errno. */
int rf_open_in(int root_fd, const char *path, uint64_t flags, uint64_t resolve);
/* The number of the mount that an open file is on, as in mountinfo; is the file the mount's root? */
int rf_mount_of(int fd, uint32_t *ret_mount, bool *ret_root);
/* known.c: mounts gets what a former enforcer knew of them; and tells the next one. */
int rf_known_load(struct rf_enforcer *e, struct rf_view *view, const struct rf_mounts *mounts);
void rf_known_save(struct rf_enforcer *e, const struct rf_view *view, const struct rf_mounts *mounts);
int rf_open_host_view(struct rf_enforcer *e, bool adopted);

void rf_close_ring(struct rf_enforcer *e);

/* image.c: the images that live runs use, after adoption. */
int rf_collect_images(struct rf_enforcer *e);
