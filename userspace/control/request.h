/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control protocol: one JSON object per SOCK_SEQPACKET packet, a request and then its reply.
 *
 *   {"op": "run.start", "policy": "coding-agent", "workspace": "/src", ...}
 *   {"ok": true, ...}   or   {"ok": false, "code": "policy", "error": "one line"}
 *
 * What a request may hold is one table (request.c); anything else in it is an error, never ignored.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RF_CONTROL_BYTES_MAX (256 * 1024) /* of one packet */
#define RF_CONTROL_TEXT_MAX (160 * 1024) /* of all policy texts of a request: JSON escapes make them longer */
#define RF_CONTROL_DEPTH 6 /* of nested JSON */
#define RF_CONTROL_PAGE 128 /* runs in one reply to "ps" */
#define RF_LAYERS_MAX 16

#define RF_SOCKET_NAME "control.sock"
#define RF_RUNTIME_DIR "/run/ringfence"
#define RF_LOG_DEFAULT "/var/log/ringfence/events.jsonl"
/* Exit status of ringfenced when another one holds the lock. */
#define RF_EXIT_RIVAL 3

enum rf_op {
	RF_OP_RUN_START = 0,
	RF_OP_RUN_END = 1,
	RF_OP_TAG = 2,
	RF_OP_UNTAG = 3,
	RF_OP_PS = 4,
	RF_OP_STATUS = 5,
	RF_OP_RELOAD = 6,
	RF_OP_MAX = 7,
};
const char *rf_op_name(enum rf_op op); /* "run.start" ... */

struct rf_layer_text {
	const char *name, *text;
	size_t len;
};

struct json_object;

/* A checked request. All strings are borrowed from json; NULL: not given. */
struct rf_request {
	struct json_object *json;
	enum rf_op op;
	const char *policy; /* bare name, or with text: what messages call it */
	const char *text; /* the policy itself; NULL: the enforcer looks policy up in its own directories */
	const char *workspace, *home, *tmp, *user;
	const char *person, *sudo_user, *agent, *task;
	const char *run; /* name of a run */
	const char *cgroup; /* path below the cgroup root, no leading '/' */
	const char *after; /* ps: go on after this run */
	int64_t pid; /* 0: not given */
	int64_t status; /* exit status; -1: not given */
	struct rf_layer_text layers[RF_LAYERS_MAX];
	size_t layer_count;
};

/* Bytes from anywhere. 0, or -EINVAL with one line in reterr, or -ENOMEM. */
int rf_request_parse(const void *bytes, size_t len, struct rf_request *ret, char *reterr, size_t size);
void rf_request_done(struct rf_request *request);

/* Names that become file names: [a-z0-9._-], not beginning with '.', at most 64 bytes. */
bool rf_bare_name(const char *name);
