/* SPDX-License-Identifier: Apache-2.0 */
/* The views of runs that live in other mount namespaces than the enforcer: one each, shared by the runs that see it. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/loop.h"

struct manager;
struct run;
struct rf_aliases;
struct rf_view;
struct rf_view_place;

struct view {
	struct view *next;
	struct rf_view *kernel;
	struct rf_source table; /* changes of its mounts */
	unsigned int runs;
	struct manager *manager;
};

/* How many there are beside the host's. */
unsigned int views_count(const struct manager *m);
/* Reads the host's mounts again. */
void views_refresh_host(struct manager *m);
/*
 * run->view becomes that of a process; NULL, the host's, when it lives where we do. pidfd: of the process, or -1.
 * -errno with one line in reterr.
 */
int views_take(struct manager *m, struct run *run, pid_t pid, int pidfd, char *reterr, size_t size);
/* The first process of the run's cgroup and those below it, 0: none. */
pid_t views_first_process(int cgroup_fd);
/* Of a stored run: from a process of its cgroup that still lives there; none: its anchors stay, new mounts don't come. */
int views_adopt(struct manager *m, struct run *run, uint32_t id, const struct rf_view_place *place);
/* What a path is in a run's view with all symlinks followed: rf_texts.look. ctx: the run. */
int views_look_up(void *ctx, const char *path, char **ret);
/* What its view shows at several places: rf_texts.aliases. */
const struct rf_aliases *views_aliases(struct manager *m, const struct run *run);
/* rf_enforcer_on_aliases(): policies of live runs are compiled again where they tell the new names apart. */
int views_renamed(void *ctx, const struct rf_view *kernel, const struct rf_aliases *aliases);
/* The last run of a view takes its anchors along. */
void views_drop(struct manager *m, struct run *run);
/* At the end of the enforcer: frees, and leaves the anchors to the next one. */
void views_done(struct manager *m);
/* After adoption: nothing stays of views that no run has. */
void views_sweep(struct manager *m);
