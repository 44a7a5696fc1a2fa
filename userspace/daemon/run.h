/* SPDX-License-Identifier: Apache-2.0 */
/* A run as the enforcer knows it, and the table of all runs. Kernel state behind a run: its slot, tags and image. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "abi/state.h"
#include "control/texts.h"
#include "event/event.h"
#include "lib/loop.h"

#define RUN_NAME_MAX 32
#define RUN_DENIALS 5 /* told at the end */
#define RUN_NOTED_MAX 64 /* denials looked at to find that many different ones */
#define RUNS_ENDED_MAX 64

struct rf_client;
struct view;

/* An image that events of the run may name: the one in force and those it replaced. */
struct image {
	struct image *next;
	uint32_t id, base;
	bool placed; /* base is to be dropped */
	struct rf_policy
		*policy; /* NULL: it cannot be compiled any more; or shared with a newer image of equal digest */
	bool shared;
};

enum run_state {
	RUN_LIVE,
	RUN_ENDING, /* killed, waiting until nothing is left */
	RUN_OVER, /* out of the kernel; kept for late events */
};

struct statement {
	char *name;
	enum rf_strength strength;
};

struct denial {
	char *access, *object, *rule;
};

struct run {
	char name[RUN_NAME_MAX];
	enum run_state state;
	uint32_t slot;
	uint64_t id;
	char *cgroup; /* path below the cgroup root, with a leading "/" */
	uint64_t cgroup_id;
	bool ours; /* the cgroup is removed when the run is over */
	bool removed;
	int cgroup_fd;
	struct rf_source events; /* fd of cgroup.events */
	bool was_populated;
	struct view *view; /* whose mounts give names to its files; NULL: the host's */
	struct rf_texts texts;
	struct image *images; /* first: in force */
	struct statement person, agent, task;
	uid_t uid;
	time_t started;
	struct rf_client *starter, *waiter;
	bool adopted; /* its starter spoke to a former enforcer and will look for us when its command is done */
	int64_t ending_ms; /* since when it has been RUN_ENDING */
	int status; /* what the command exited with; -1: not told */
	struct denial denials[RUN_DENIALS];
	unsigned int denial_count, noted;
	struct rf_run totals; /* of a run that is over */
	void *manager;
};

struct runs {
	struct run *live[RF_RUNS_MAX]; /* by slot */
	size_t count;
	struct run *ended[RUNS_ENDED_MAX];
	size_t ended_count; /* ever */
};

struct run *run_new(void);
void run_free(struct run **ret);
/* Takes policy; the image becomes the one in force. -ENOMEM. */
int run_add_image(struct run *run, uint32_t id, uint32_t base, struct rf_policy *policy);
/* A former image with the same policy as the one in force: events in the ring may still name it. */
int run_add_alias(struct run *run, uint32_t id);
const struct image *run_image(const struct run *run, uint32_t id);
const struct rf_rule *run_rule(const struct run *run, uint32_t id, uint16_t rule);
/* Borrowed strings. image NULL: the one in force. */
void run_info(const struct run *run, const struct image *image, struct rf_run_info *ret);
/* Remembers the first different denials, from the event's line. */
void run_note_denial(struct run *run, const char *line);
const char *run_policy_name(const struct run *run);
const char *run_digest(const struct run *run);

void runs_add(struct runs *runs, struct run *run);
/* From live to ended; the oldest ended one is freed. */
void runs_retire(struct runs *runs, struct run *run);
struct run *runs_of_event(const struct runs *runs, uint32_t slot, uint64_t id);
struct run *runs_find(const struct runs *runs, const char *name); /* live ones */
void runs_done(struct runs *runs);
