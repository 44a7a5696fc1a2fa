/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel half in the hands of the enforcer: load or adopt, images, runs, tags, the view, the ring. The only users
 * of libbpf and of the skeleton are the files of this folder.
 *
 * Kernel lifetime: programs, links and maps are pinned under RF_PIN_DIR. They go on when the process ends, however it
 * ends; rf_enforcer_close() frees memory and descriptors only. One enforcer per host: the caller holds the lock.
 *
 * Functions return 0 or a negative errno and do not log; a failure's reason for people is in rf_enforcer_why().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "abi/image.h"
#include "abi/state.h"

#define RF_PIN_DIR "/sys/fs/bpf/ringfence"

struct rf_enforcer;

/*
 * Loads, attaches and pins, or adopts what a former enforcer of the same build pinned (*ret_adopted). Errors:
 * -EPERM (not root), -EOPNOTSUPP (the kernel refuses: why says what is missing), -EEXIST (pins of another ABI with
 * live runs). e is always returned so that the reason can be read, even on failure; caller frees with close.
 */
int rf_enforcer_open(struct rf_enforcer **ret, bool *ret_adopted);
void rf_enforcer_close(struct rf_enforcer **e);
const char *rf_enforcer_why(const struct rf_enforcer *e);
/* Removes all pins: enforcement ends. -EBUSY while a run is live. */
int rf_enforcer_remove(struct rf_enforcer *e);

/*
 * Lays an image (checked here) into the kernel's table. *ret_base is its first cell, *ret_id its id. -ENOSPC: no room.
 * drop: frees the room after every program that might still step through it has ended (synchronize_rcu).
 */
int rf_enforcer_put_image(struct rf_enforcer *e, const union rf_cell *cells, size_t n, uint32_t *ret_base,
			  uint32_t *ret_id);
/* The same for runs of another view than the host's. */
int rf_enforcer_put_image_in(struct rf_enforcer *e, uint32_t view, const union rf_cell *cells, size_t n,
			     uint32_t *ret_base, uint32_t *ret_id);
int rf_enforcer_drop_image(struct rf_enforcer *e, uint32_t base);

/*
 * A new live run under an image that was put. flags: RF_RUN_CARRIES if tasks that exist already will be in it. -ENOSPC:
 * RF_RUNS_MAX runs are live.
 */
int rf_enforcer_start_run(struct rf_enforcer *e, uint32_t base, uint32_t flags, uint32_t *ret_slot, uint64_t *ret_id);
/* One atomic store: every later decision is made by the new image. The old one is the caller's to drop. */
void rf_enforcer_replace_image(struct rf_enforcer *e, uint32_t slot, uint32_t base);
/*
 * Tags the cgroup (an open directory of cgroup2) with all its descendants, present and future, and the tasks that live
 * there. *ret_cgroup: its id.
 */
int rf_enforcer_tag(struct rf_enforcer *e, uint32_t slot, int cgroup_fd, uint64_t *ret_cgroup);
/* End: whatever task of the run is left is denied everything. Release: its tasks are let go, tags are taken away. */
int rf_enforcer_end_run(struct rf_enforcer *e, uint32_t slot);
int rf_enforcer_release_run(struct rf_enforcer *e, uint32_t slot);
/* After end or release: the slot is free again. */
void rf_enforcer_free_run(struct rf_enforcer *e, uint32_t slot);
/* The kernel's view of a slot, copied; for ps and for adoption. */
int rf_enforcer_run(const struct rf_enforcer *e, uint32_t slot, struct rf_run *ret);

/* Which run a process belongs to by its sticky tag or its cgroup: *ret_id 0 for none. pidfd: of the process. */
int rf_enforcer_run_of(struct rf_enforcer *e, int pidfd, uint64_t *ret_id, uint32_t *ret_slot);

/*
 * Views: which mounts give names to a run's files. The host's, number 0, is this process's own mount table; others are
 * taken from a process that lives elsewhere. refresh makes the anchors fit the mount table: at the start and whenever it
 * changes (poll table_fd for POLLPRI). *ret_skipped: mounts on which files have no names (too long, not accessible).
 */
int rf_enforcer_refresh_view(struct rf_enforcer *e, unsigned int *ret_skipped);

struct rf_view;

/* A mount namespace and a root directory in it, as stat(2) names both. */
struct rf_view_place {
	uint64_t ns_dev, ns_ino, root_dev, root_ino;
};

/*
 * The view of a process: *ret NULL: it sees what this process sees. The view has no number yet and no anchors.
 * proc_fd: its directory of /proc, which stands for it whatever happens to its number. -EACCES: ptrace rights.
 */
int rf_view_open(struct rf_enforcer *e, int proc_fd, struct rf_view **ret);
/* Gives it a number (that of an adopted view, or 0: a new one) and anchors. -E2BIG, -ENOSPC: see rf_enforcer_why(). */
int rf_view_start(struct rf_enforcer *e, struct rf_view *view, uint32_t id, unsigned int *ret_skipped);
/* An adopted view of which no process is left: its anchors stay as they are. NULL: no memory. */
struct rf_view *rf_view_remnant(uint32_t id, const struct rf_view_place *place);
int rf_view_refresh(struct rf_enforcer *e, struct rf_view *view, unsigned int *ret_skipped);
uint32_t rf_view_id(const struct rf_view *view); /* NULL: 0, the host's */
/* The same mount namespace, seen from the same root directory? */
bool rf_view_same(const struct rf_view *a, const struct rf_view *b);
const struct rf_view_place *rf_view_place(const struct rf_view *view);
struct rf_aliases;
/* What the view shows at several places, as of its last refresh. view NULL: the host's. */
const struct rf_aliases *rf_view_aliases(const struct rf_enforcer *e, const struct rf_view *view);
/*
 * Called by a refresh that finds other aliases, before the anchors change: images of the view's runs that the new names
 * matter to must have been replaced when it returns 0. Otherwise the refresh fails and all names stay.
 */
void rf_enforcer_on_aliases(struct rf_enforcer *e,
			    int (*call)(void *ctx, const struct rf_view *view, const struct rf_aliases *aliases),
			    void *ctx);
int rf_view_table_fd(const struct rf_view *view); /* -1: a remnant */
/* What an absolute path is in the view with all symlinks followed; malloc'ed. view NULL: the host's. */
int rf_view_realpath(const struct rf_view *view, const char *path, char **ret);
/* Its anchors go, unless keep. */
void rf_view_close(struct rf_enforcer *e, struct rf_view **view, bool keep);
/* After adoption: anchors of views that no run has any more. */
void rf_enforcer_drop_views(struct rf_enforcer *e, const uint32_t *used, size_t n);

/*
 * epoll-able descriptor of the ring; drain calls cb for each record (bytes: validate!), until the ring is empty or cb
 * returns other than 0: that record and those behind it stay in the ring. After 0 the record counts as delivered in its
 * CPU's books, exactly once, also when this process is killed at any point; cb may then see it again.
 */
int rf_enforcer_ring_fd(const struct rf_enforcer *e);
int rf_enforcer_drain(struct rf_enforcer *e, int (*cb)(void *ctx, const void *bytes, size_t len), void *ctx);

/* The books of one CPU; -ERANGE beyond the last possible CPU. add_reported: losses that the log has. */
int rf_enforcer_books(const struct rf_enforcer *e, unsigned int cpu, struct rf_cpu *ret);
void rf_enforcer_add_reported(struct rf_enforcer *e, unsigned int cpu, uint64_t n);
unsigned int rf_enforcer_cpus(const struct rf_enforcer *e);

/* One requirement of this host, for doctor. */
enum rf_probe_result { RF_PROBE_OK, RF_PROBE_MISSING, RF_PROBE_WARNING };
struct rf_probe {
	const char *name; /* "bpf-lsm", "btf", "cgroup2", "bpffs", "attach", "overlay" ... */
	enum rf_probe_result result;
	char found[256]; /* what was seen */
	char remedy[512]; /* the exact line that mends it on this distribution; "" when nothing is to be done */
};
/* Runs all probes in order (attach really loads and attaches the programs, then detaches); returns how many. */
size_t rf_probe_host(struct rf_probe *probes, size_t max);
