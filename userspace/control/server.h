/* SPDX-License-Identifier: Apache-2.0 */
/* The enforcer's side of the control socket: clients with known peers, whole packets, bounded numbers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define RF_CLIENTS_MAX 64
#define RF_CLIENT_IDLE_MS 60000

struct rf_server;
struct rf_client;
struct json_object;

/* Who connected, from the kernel. */
struct rf_peer {
	pid_t pid;
	uid_t uid;
	gid_t gid;
	int pidfd; /* of that process; borrowed */
};

struct rf_server_calls {
	/* One packet of a client; the callee answers now or later with rf_client_reply(). */
	void (*packet)(void *ctx, struct rf_client *client, const void *bytes, size_t len);
	/* The client is about to be freed: forget it. */
	void (*gone)(void *ctx, struct rf_client *client);
	void *ctx;
};

/*
 * Listens on DIR/control.sock (a stale one is replaced: the caller holds the lock of DIR). With gid other than -1 the
 * socket can also be connected to by that group. 0 or negative errno; caller frees.
 */
int rf_server_new(int epoll_fd, const char *runtime_dir, gid_t gid, const struct rf_server_calls *calls,
		  struct rf_server **ret);
/* Hangs up on all clients (gone is called) and removes the socket. */
void rf_server_free(struct rf_server **server);
size_t rf_server_clients(const struct rf_server *server);
/* Hangs up on clients that have been idle for RF_CLIENT_IDLE_MS and hold nothing. now: CLOCK_MONOTONIC, ms. */
void rf_server_tick(struct rf_server *server, int64_t now_ms);

const struct rf_peer *rf_client_peer(const struct rf_client *client);
bool rf_client_in_group(const struct rf_client *client, gid_t gid);
/* A client that holds a run waits for it as long as the run takes. */
void rf_client_hold(struct rf_client *client, bool holds);
/* Adds "ok": true, sends and puts reply. A client that does not read its replies is hung up on at its next turn. */
void rf_client_reply(struct rf_client *client, struct json_object *reply);
void rf_client_refuse(struct rf_client *client, const char *code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
