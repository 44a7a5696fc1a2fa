/* SPDX-License-Identifier: Apache-2.0 */
/* One JSON object as one packet, and the client's side of the control socket. */
#pragma once

#include <stddef.h>

struct json_object;

/* 0 or negative errno; -EMSGSIZE: the object has more than RF_CONTROL_BYTES_MAX bytes. */
int rf_packet_send(int fd, struct json_object *object, int flags);
/* The socket's buffers must hold a whole packet. */
void rf_packet_buffers(int fd);

/* Connects to DIR/control.sock: *ret_fd is the caller's. -ENOENT and -ECONNREFUSED: no enforcer listens. */
int rf_client_connect(const char *runtime_dir, int *ret_fd);
/*
 * Sends request and waits at most timeout_ms for the reply: 0 with *ret_reply (the caller puts it) when it says
 * "ok": true; -EREMOTEIO with its "error" in reterr when it says no; another errno with a line in reterr else.
 */
int rf_client_call(int fd, struct json_object *request, int timeout_ms, struct json_object **ret_reply, char *reterr,
		   size_t size);

/* Readers that take absence and wrong types as "" or 0: replies come from the enforcer, but may be of another version. */
const char *rf_member_string(struct json_object *object, const char *key);
long long rf_member_number(struct json_object *object, const char *key);
/* Adds a string unless it is NULL. */
void rf_member_add(struct json_object *object, const char *key, const char *value);
