// SPDX-License-Identifier: Apache-2.0
/* How a run ends: nothing left in its cgroup, its command is done, it is untagged, or it never began. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>

#include "daemon/cgroup.h"
#include "daemon/clock.h"
#include "daemon/control.h"
#include "daemon/manager.h"
#include "kern/enforcer.h"
#include "lib/cleanup.h"
#include "lib/msg.h"

/* Killed processes that do not go (uninterruptible sleep): denied everything from then on. */
#define KILL_MS 10000
/* An emptied run's starter is about to tell the exit status. */
#define STATUS_MS 5000

static void on_cgroup_events(void *ctx, uint32_t events)
{
	struct run *run = ctx;
	struct manager *m = run->manager;
	int populated = cgroup_populated(run->events.fd);

	(void)events;
	if (populated > 0) {
		run->was_populated = true;
		run->ending_ms = run->state == RUN_LIVE ? 0 : run->ending_ms;
		return;
	}
	/* A tagged service may be empty between two starts; only the end of its cgroup is the end of its run. */
	if (!populated && run->state == RUN_LIVE && (!run->was_populated || !run->ours))
		return;
	/* Its starter is about to say how the command ended, see lifecycle_tick(). */
	if (!populated && run->state == RUN_LIVE && (run->starter || run->adopted)) {
		run->ending_ms = clock_ms();
		return;
	}
	lifecycle_finish(m, run, false);
}

int lifecycle_watch(struct manager *m, struct run *run)
{
	int fd = cgroup_open_events(run->cgroup_fd);

	if (fd < 0)
		return fd;
	run->events = (struct rf_source){fd, on_cgroup_events, run};
	return rf_loop_add(m->epoll_fd, &run->events, EPOLLPRI);
}

void lifecycle_end(struct manager *m, struct run *run)
{
	int err;

	if (run->state == RUN_ENDING)
		return;
	run->state = RUN_ENDING;
	run->ending_ms = clock_ms();
	if (cgroup_populated(run->events.fd) <= 0) {
		lifecycle_finish(m, run, false);
		return;
	}
	err = cgroup_kill(run->cgroup_fd);
	if (err)
		rf_say("run %s: what is left of it cannot be killed: %s; it is denied everything", run->name,
		       strerror(-err));
	if (err)
		lifecycle_finish(m, run, false);
}

static void write_end(struct manager *m, struct run *run, bool release)
{
	char denied[24], observed[24], events[24], seconds[24], status[16];
	const char *fields[16] = {
		"denied#", denied, "observed#", observed, "events#", events, "seconds#", seconds, "cgroup", run->cgroup,
	};
	size_t n = 10;

	snprintf(denied, sizeof(denied), "%" PRIu64, (uint64_t)run->totals.denied);
	snprintf(observed, sizeof(observed), "%" PRIu64, (uint64_t)run->totals.observed);
	snprintf(events, sizeof(events), "%" PRIu64, (uint64_t)run->totals.events);
	snprintf(seconds, sizeof(seconds), "%lld", (long long)(time(NULL) - run->started));
	snprintf(status, sizeof(status), "%d", run->status);
	if (run->status >= 0) {
		fields[n++] = "status#";
		fields[n++] = status;
	}
	if (release) {
		fields[n++] = "how";
		fields[n++] = "untagged";
	}
	journal_own(&m->journal, "run.end", run, fields);
}

static void remove_cgroup(struct manager *m, struct run *run)
{
	int err = cgroup_remove(m->root_fd, run->cgroup + 1);

	run->removed = !err;
	if (err)
		m->leftovers = true;
}

void lifecycle_finish(struct manager *m, struct run *run, bool release)
{
	int err;

	/* What it did while it was alive is told before its end, and what it tried afterwards too. */
	journal_drain(&m->journal, true);
	err = release ? rf_enforcer_release_run(m->enforcer, run->slot) : rf_enforcer_end_run(m->enforcer, run->slot);
	if (err)
		rf_say("run %s: %s (%s)", run->name, release ? "not all of its tasks were let go" : "cannot be ended",
		       strerror(-err));
	journal_drain(&m->journal, true);
	rf_enforcer_run(m->enforcer, run->slot, &run->totals);
	write_end(m, run, release);
	rf_loop_remove(m->epoll_fd, &run->events);
	closep(&run->events.fd);
	closep(&run->cgroup_fd);
	run->events.fd = run->cgroup_fd = -1;
	store_remove(m, run->name);
	rf_enforcer_free_run(m->enforcer, run->slot);
	for (struct image *image = run->images; image; image = image->next)
		if (image->placed && rf_enforcer_drop_image(m->enforcer, image->base))
			rf_say("run %s: the room of its policy stays taken, ignoring", run->name);
	views_drop(m, run);
	if (run->ours)
		remove_cgroup(m, run);
	run->state = RUN_OVER;
	if (run->starter)
		rf_client_hold(run->starter, false);
	run->starter = NULL;
	if (run->waiter)
		control_tell_end(run->waiter, run);
	run->waiter = NULL;
	runs_retire(&m->runs, run);
}

static void retry_leftovers(struct manager *m)
{
	m->leftovers = false;
	for (size_t i = 0; i < RUNS_ENDED_MAX; i++) {
		struct run *run = m->runs.ended[i];

		if (run && run->ours && !run->removed)
			remove_cgroup(m, run);
	}
}

void lifecycle_tick(struct manager *m, int64_t now_ms)
{
	if (m->leftovers)
		retry_leftovers(m);
	for (size_t i = 0; i < RF_RUNS_MAX; i++) {
		struct run *run = m->runs.live[i];

		if (!run || !run->ending_ms)
			continue;
		if (run->state == RUN_ENDING && now_ms - run->ending_ms > KILL_MS)
			rf_say("run %s: some of its processes do not end; they are denied everything", run->name);
		else if (run->state == RUN_ENDING || now_ms - run->ending_ms <= STATUS_MS)
			continue;
		lifecycle_finish(m, run, false);
	}
}
