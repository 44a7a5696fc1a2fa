/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the ring to the log, with books: emitted = delivered + lost, and each loss is a record. What cannot be written now
 * waits: our own records here, the kernel's in the ring, which is not emptied meanwhile.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

#define SEEN_MAX 4096
#define CGROUP_PATH_MAX 4096

struct rf_enforcer;
struct run;
struct runs;

struct pending {
	struct pending *next;
	int64_t cpu; /* of a lost record, else -1 */
	uint64_t reported; /* for that CPU's books when it is written */
	size_t len;
	char line[];
};

struct journal {
	struct rf_log *log;
	struct rf_enforcer *enforcer; /* borrowed, as all pointers below */
	struct runs *runs;
	int root_fd;
	const char *root_path;
	char host[256], boot[64];
	struct rf_host_info info;
	int seq_fd; /* a file of the runtime directory: own records are numbered on after a restart */
	uint64_t seq;
	struct pending *first, *last;
	int error; /* why the log cannot be written, 0: it can */
	int64_t books_ms;
	uint64_t cgroup_id; /* one path remembered: events of one cgroup come together */
	char cgroup_path[CGROUP_PATH_MAX];
	struct {
		uint32_t cpu;
		uint64_t seq;
	} * seen; /* events that a former enforcer wrote and did not take from the ring; NULL after the first drain */
	size_t seen_count;
	char line[RF_LINE_MAX];
};

/* Opens the log. 0 or negative errno after a message. */
int journal_open(struct journal *j, const char *path, uint64_t max, unsigned int keep, int runtime_fd);
/* After adoption: skip what the log has already. */
void journal_skip_written(struct journal *j, const char *path);
void journal_done(struct journal *j);

/* Empties the ring into the log. all: compare the books of all CPUs now and not only every now and then. */
void journal_drain(struct journal *j, bool all);
/* Tries again what waits: 0 when nothing does any more. */
int journal_flush(struct journal *j);
/*
 * One of the enforcer's own records. 0: written; otherwise it waits, in order, and why is returned. run may be NULL,
 * fields as of rf_own_json().
 */
int journal_own(struct journal *j, const char *kind, const struct run *run, const char *const *fields);
