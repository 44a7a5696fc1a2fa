// SPDX-License-Identifier: Apache-2.0
/* What `ringfence ps` and `ringfence status` are told. */
#include "daemon/status.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control/packet.h"
#include "control/request.h"
#include "daemon/manager.h"
#include "kern/enforcer.h"
#include "lib/names.h"
#include "lib/version.h"

static void add_number(struct json_object *object, const char *key, uint64_t n)
{
	json_object_object_add(object, key, json_object_new_int64((int64_t)n));
}

static void add_statement(struct json_object *object, const char *key, const struct statement *s)
{
	static const char *const strengths[] = {
		[RF_KERNEL] = "kernel", [RF_VERIFIED] = "verified", [RF_DECLARED] = "declared"};
	struct json_object *value;

	if (!s->name)
		return;
	value = json_object_new_object();
	rf_member_add(value, "name", s->name);
	rf_member_add(value, "strength", strengths[s->strength]);
	json_object_object_add(object, key, value);
}

static struct json_object *describe(const struct manager *m, const struct run *run)
{
	struct json_object *object = json_object_new_object();
	struct rf_run state = {};

	rf_enforcer_run(m->enforcer, run->slot, &state);
	rf_member_add(object, "run", run->name);
	rf_member_add(object, "policy", run_policy_name(run));
	rf_member_add(object, "digest", run_digest(run));
	rf_member_add(object, "agent", run->agent.name);
	add_statement(object, "person", &run->person);
	rf_member_add(object, "task", run->task.name);
	rf_member_add(object, "cgroup", run->cgroup);
	json_object_object_add(object, "tagged", json_object_new_boolean(!run->ours));
	add_number(object, "uid", run->uid);
	add_number(object, "started", (uint64_t)run->started);
	add_number(object, "seconds", (uint64_t)(time(NULL) - run->started));
	add_number(object, "denied", state.denied);
	add_number(object, "observed", state.observed);
	add_number(object, "events", state.events);
	return object;
}

static int by_name(const void *a, const void *b)
{
	return strcmp((*(const struct run *const *)a)->name, (*(const struct run *const *)b)->name);
}

struct json_object *status_runs(const struct manager *m, const char *after)
{
	struct json_object *reply = json_object_new_object(), *list = json_object_new_array();
	const struct run **sorted = calloc(m->runs.count + 1, sizeof(struct run *));
	size_t n = 0, shown = 0;

	for (size_t i = 0; sorted && i < RF_RUNS_MAX && n < m->runs.count; i++)
		if (m->runs.live[i])
			sorted[n++] = m->runs.live[i];
	if (n)
		qsort(sorted, n, sizeof(struct run *), by_name);
	for (size_t i = 0; i < n; i++) {
		if (after && strcmp(sorted[i]->name, after) <= 0)
			continue;
		if (shown++ == RF_CONTROL_PAGE) {
			rf_member_add(reply, "next", sorted[i - 1]->name);
			break;
		}
		json_object_array_add(list, describe(m, sorted[i]));
	}
	free(sorted);
	json_object_object_add(reply, "runs", list);
	return reply;
}

static void add_books(struct manager *m, struct json_object *reply)
{
	struct json_object *reasons = json_object_new_object();
	struct rf_cpu sum = {}, books;

	for (unsigned int cpu = 0; cpu < rf_enforcer_cpus(m->enforcer); cpu++) {
		if (rf_enforcer_books(m->enforcer, cpu, &books))
			continue;
		sum.emitted += books.emitted;
		sum.lost += books.lost;
		sum.delivered += books.delivered;
		sum.reported += books.reported;
		for (unsigned int i = 0; i < RF_REASON_MAX; i++)
			sum.reason[i] += books.reason[i];
	}
	add_number(reply, "emitted", sum.emitted);
	add_number(reply, "delivered", sum.delivered);
	add_number(reply, "lost", sum.lost);
	add_number(reply, "reported", sum.reported);
	for (unsigned int i = 0; i < RF_REASON_MAX; i++)
		if (sum.reason[i])
			add_number(reasons, rf_reason_name(i), sum.reason[i]);
	json_object_object_add(reply, "reasons", reasons);
}

struct json_object *status_enforcer(struct manager *m)
{
	struct json_object *reply = json_object_new_object();
	char since[32];
	struct tm tm;

	/* So that "waiting" is what really waits and not what has not been looked at. */
	journal_drain(&m->journal, true);
	gmtime_r(&m->since, &tm);
	strftime(since, sizeof(since), "%Y-%m-%dT%H:%M:%SZ", &tm);
	rf_member_add(reply, "version", RF_VERSION);
	add_number(reply, "pid", (uint64_t)getpid());
	json_object_object_add(reply, "adopted", json_object_new_boolean(m->adopted));
	json_object_object_add(reply, "embedded", json_object_new_boolean(m->options->embedded));
	rf_member_add(reply, "since", since);
	add_number(reply, "runs", m->runs.count);
	add_number(reply, "views", views_count(m));
	add_books(m, reply);
	add_number(reply, "ring_bytes", RF_RING_BYTES);
	rf_member_add(reply, "log", m->options->log);
	if (m->journal.error)
		rf_member_add(reply, "log_error", strerror(-m->journal.error));
	add_number(reply, "refused", m->refused);
	return reply;
}
