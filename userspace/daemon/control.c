// SPDX-License-Identifier: Apache-2.0
/* Requests of the control socket: who may ask, and one function per operation. */
#include "daemon/control.h"

#include <errno.h>
#include <json-c/json.h>
#include <string.h>
#include <unistd.h>

#include "control/packet.h"
#include "control/request.h"
#include "daemon/cgroup.h"
#include "daemon/manager.h"
#include "daemon/status.h"
#include "kern/enforcer.h"
#include "lib/msg.h"

static void run_start(struct manager *m, struct rf_client *client, const struct rf_request *r)
{
	struct failure failure = {};
	struct json_object *reply;
	char cgroup[CGROUP_PATH_MAX + 64];
	struct run *run;

	if (lifecycle_start(m, r, client, &run, &failure)) {
		rf_say("a run was not started: %s", failure.text);
		rf_client_refuse(client, failure.code, "%s", failure.text);
		return;
	}
	if (r->op == RF_OP_RUN_START) {
		run->starter = client;
		rf_client_hold(client, true);
	}
	snprintf(cgroup, sizeof(cgroup), "%s%s", m->root_path, run->cgroup);
	reply = json_object_new_object();
	rf_member_add(reply, "run", run->name);
	rf_member_add(reply, "cgroup", cgroup);
	rf_member_add(reply, "digest", run_digest(run));
	rf_member_add(reply, "policy", run_policy_name(run));
	rf_client_reply(client, reply);
}

void control_tell_end(struct rf_client *client, const struct run *run)
{
	struct json_object *reply = json_object_new_object(), *list = json_object_new_array();

	rf_member_add(reply, "run", run->name);
	json_object_object_add(reply, "denied", json_object_new_int64((int64_t)run->totals.denied));
	json_object_object_add(reply, "observed", json_object_new_int64((int64_t)run->totals.observed));
	json_object_object_add(reply, "events", json_object_new_int64((int64_t)run->totals.events));
	for (unsigned int i = 0; i < run->denial_count; i++) {
		struct json_object *denial = json_object_new_object();

		rf_member_add(denial, "access", run->denials[i].access);
		rf_member_add(denial, "object", run->denials[i].object);
		rf_member_add(denial, "rule", run->denials[i].rule);
		json_object_array_add(list, denial);
	}
	json_object_object_add(reply, "denials", list);
	rf_client_reply(client, reply);
}

static const struct run *find_ended(const struct runs *runs, const char *name)
{
	for (size_t i = 0; i < RUNS_ENDED_MAX; i++)
		if (runs->ended[i] && !strcmp(runs->ended[i]->name, name))
			return runs->ended[i];
	return NULL;
}

static void run_end(struct manager *m, struct rf_client *client, const struct rf_request *r)
{
	struct run *run = runs_find(&m->runs, r->run);
	const struct run *ended = run ? NULL : find_ended(&m->runs, r->run);

	if (ended) {
		control_tell_end(client, ended);
		return;
	}
	if (!run) {
		rf_client_refuse(client, "run", "there is no run \"%s\"; `ringfence ps` lists them", r->run);
		return;
	}
	if (!run->ours) {
		rf_client_refuse(client, "run", "run %s was tagged: `ringfence untag %s` lets it go", run->name,
				 run->name);
		return;
	}
	if (run->waiter && run->waiter != client) {
		rf_client_refuse(client, "run", "run %s is being ended", run->name);
		return;
	}
	run->waiter = client;
	if (r->status >= 0)
		run->status = (int)r->status;
	rf_client_hold(client, true);
	lifecycle_end(m, run);
}

static void untag(struct manager *m, struct rf_client *client, const struct rf_request *r)
{
	struct run *run = runs_find(&m->runs, r->run);

	if (!run || run->ours) {
		rf_client_refuse(client, "run",
				 run ? "run %s has a command of its own and ends with it"
				     : "there is no tagged run \"%s\"; `ringfence ps` lists them",
				 r->run);
		return;
	}
	lifecycle_finish(m, run, true);
	rf_client_reply(client, json_object_new_object());
}

static void reload(struct manager *m, struct rf_client *client)
{
	struct failure failure = {};
	struct json_object *reply;
	unsigned int replaced;

	if (reload_policies(m, &replaced, &failure)) {
		rf_client_refuse(client, failure.code, "%s", failure.text);
		return;
	}
	reply = json_object_new_object();
	json_object_object_add(reply, "replaced", json_object_new_int((int)replaced));
	rf_client_reply(client, reply);
}

/* Not the words of the peer, but what the kernel says of its process. */
static bool inside_a_run(struct manager *m, struct rf_client *client)
{
	uint64_t id = 0;
	uint32_t slot;

	/* A question that cannot be answered (the process is gone) is a refusal. */
	if (rf_enforcer_run_of(m->enforcer, rf_client_peer(client)->pidfd, &id, &slot))
		return true;
	return id != 0;
}

static bool may_ask(struct manager *m, struct rf_client *client, enum rf_op op)
{
	const struct rf_peer *peer = rf_client_peer(client);
	bool looks = op == RF_OP_PS || op == RF_OP_STATUS;

	if (!peer->uid || peer->uid == geteuid())
		return true;
	return looks && m->gid != (gid_t)-1 && rf_client_in_group(client, m->gid);
}

static void serve(struct manager *m, struct rf_client *client, const struct rf_request *r)
{
	switch (r->op) {
	case RF_OP_RUN_START:
	case RF_OP_TAG:
		run_start(m, client, r);
		break;
	case RF_OP_RUN_END:
		run_end(m, client, r);
		break;
	case RF_OP_UNTAG:
		untag(m, client, r);
		break;
	case RF_OP_PS:
		rf_client_reply(client, status_runs(m, r->after));
		break;
	case RF_OP_STATUS:
		rf_client_reply(client, status_enforcer(m));
		break;
	case RF_OP_RELOAD:
		reload(m, client);
		break;
	case RF_OP_MAX:
		break;
	}
}

void control_packet(void *ctx, struct rf_client *client, const void *bytes, size_t len)
{
	struct manager *m = ctx;
	struct rf_request request;
	char why[256] = "out of memory";

	m->had_client = true;
	/* Before its bytes are looked at, and each time: a process can be moved into a run while it is connected. */
	if (inside_a_run(m, client)) {
		m->refused++;
		rf_client_refuse(client, "inside", "a run cannot control its own fence");
		return;
	}
	if (rf_request_parse(bytes, len, &request, why, sizeof(why))) {
		rf_client_refuse(client, "request", "%s", why);
		return;
	}
	if (may_ask(m, client, request.op)) {
		serve(m, client, &request);
	} else {
		m->refused++;
		rf_client_refuse(client, "permission", "\"%s\" is for root: use sudo", rf_op_name(request.op));
	}
	rf_request_done(&request);
}

void control_gone(void *ctx, struct rf_client *client)
{
	struct manager *m = ctx;

	for (size_t i = 0; i < RF_RUNS_MAX; i++) {
		struct run *run = m->runs.live[i];

		if (!run)
			continue;
		if (run->waiter == client)
			run->waiter = NULL;
		if (run->starter != client)
			continue;
		run->starter = NULL;
		/* Nothing was put in, or all is over: nobody else will end it. At a stop it is the next enforcer's. */
		if (!m->stopping && run->state == RUN_LIVE && cgroup_populated(run->events.fd) <= 0)
			lifecycle_finish(m, run, false);
	}
}
