/* SPDX-License-Identifier: Apache-2.0 */
/* The manager owns everything: kernel half, log, control socket, runs. One thread, one loop. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "control/server.h"
#include "daemon/journal.h"
#include "daemon/run.h"
#include "daemon/views.h"
#include "kern/enforcer.h"
#include "lib/loop.h"
#include "lib/options.h"

struct daemon_options {
	struct rf_option_list dirs;
	const char *floor, *log, *runtime;
	uint64_t log_max, log_keep;
	bool embedded, foreground, version;
};

struct manager {
	const struct daemon_options *options;
	int epoll_fd, lock_fd, runtime_fd, runs_fd, root_fd, signal_fd, mounts_fd;
	const char *root_path; /* of the cgroup2 mount */
	gid_t gid; /* group ringfence, or -1 */
	struct rf_enforcer *enforcer;
	bool adopted, stopping;
	time_t since;
	struct journal journal;
	struct rf_server *server;
	struct runs runs;
	struct view *views; /* beside the host's */
	struct rf_source signals, ring, mounts;
	int64_t alone_ms; /* embedded: since when nobody needs us */
	bool had_client;
	uint64_t refused; /* callers of the control socket */
	bool leftovers; /* cgroups of runs that are over could not be removed yet */
};

/* All return 0, or a positive exit status after a message. */
int manager_start(struct manager *m, const struct daemon_options *options);
int manager_loop(struct manager *m);
void manager_done(struct manager *m);

/* run.c: lays the image of a run's policy into the kernel; drop it with rf_enforcer_drop_image(). */
int manager_put_policy(struct manager *m, const struct run *run, const struct rf_policy *policy, uint32_t *ret_base,
		       uint32_t *ret_id);

/* lock.c: one enforcer per host. */
int manager_lock(struct manager *m);

/* control.c: requests. */
void control_packet(void *ctx, struct rf_client *client, const void *bytes, size_t len);
void control_gone(void *ctx, struct rf_client *client);

/* lifecycle.c: -errno and *ret_why: one line for the client. */
struct rf_request;
struct failure {
	const char *code; /* of the reply */
	char text[1024];
};
int lifecycle_start(struct manager *m, const struct rf_request *request, struct rf_client *client, struct run **ret,
		    struct failure *failure);
/* Watches cgroup.events. */
int lifecycle_watch(struct manager *m, struct run *run);
/* Kills what is left; finishes now or when nothing is left. */
void lifecycle_end(struct manager *m, struct run *run);
/* Out of the kernel and the tables, with the run.end record. run stays readable among the ended ones. */
void lifecycle_finish(struct manager *m, struct run *run, bool release);
void lifecycle_tick(struct manager *m, int64_t now_ms);

/* store.c: what a later enforcer needs. */
struct stored {
	char digest[65];
	uint32_t image;
	uint32_t view;
	struct rf_view_place place;
};
int store_save(struct manager *m, const struct run *run);
int store_load(struct manager *m, const char *file, struct run **ret, struct stored *ret_stored);
void store_remove(struct manager *m, const char *run);

/* adopt.c, reload.c, who.c */
void adopt_runs(struct manager *m);
/* 0 with the number of replaced policies, or -errno with the reason. */
int reload_policies(struct manager *m, unsigned int *ret_replaced, struct failure *failure);
int who_asked(struct run *run, const struct rf_request *request, const struct rf_peer *peer);
/* READY=1 and the like to systemd, if it listens. */
void notify_systemd(const char *state);
