// SPDX-License-Identifier: Apache-2.0
/* The enforcer's side of the control socket. */
#define _GNU_SOURCE 1 /* struct ucred, accept4 */

#include "control/server.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>

#include "control/packet.h"
#include "control/request.h"
#include "lib/cleanup.h"
#include "lib/loop.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* Linux 6.5 */
#endif
#define GROUPS_MAX 256

struct rf_client {
	struct rf_server *server;
	struct rf_source source;
	struct rf_peer peer;
	int64_t last_ms;
	bool holds, broken;
};

struct rf_server {
	int epoll_fd;
	struct rf_source source;
	struct rf_server_calls calls;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	struct rf_client *clients[RF_CLIENTS_MAX];
	size_t count;
	char *packet; /* RF_CONTROL_BYTES_MAX + 1: one more than may come, to see what is too long */
};

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static void client_free(struct rf_client *client)
{
	struct rf_server *server = client->server;

	server->calls.gone(server->calls.ctx, client);
	for (size_t i = 0; i < server->count; i++)
		if (server->clients[i] == client)
			server->clients[i] = server->clients[--server->count];
	rf_loop_remove(server->epoll_fd, &client->source);
	closep(&client->source.fd);
	closep(&client->peer.pidfd);
	free(client);
}

static void client_ready(void *ctx, uint32_t events)
{
	struct rf_client *client = ctx;
	struct rf_server *server = client->server;
	ssize_t n = 0;

	(void)events;
	if (!client->broken)
		n = recv(client->source.fd, server->packet, RF_CONTROL_BYTES_MAX + 1, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		client_free(client);
		return;
	}
	client->last_ms = now();
	server->calls.packet(server->calls.ctx, client, server->packet, (size_t)n);
}

/* The process that connected, as a descriptor that cannot come to mean another one. */
static int peer_of(int fd, struct rf_peer *ret)
{
	struct ucred cred;
	socklen_t len = sizeof(cred), pidfd_len = sizeof(int);
	int pidfd = -1;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		return -errno;
	/* pid 0: the peer is in a PID namespace that this one does not see. */
	if (cred.pid <= 0)
		return -ESRCH;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &pidfd_len)) {
		if (errno != ENOPROTOOPT && errno != EINVAL)
			return -errno;
		pidfd = (int)syscall(SYS_pidfd_open, cred.pid, 0);
		if (pidfd < 0)
			return -errno;
	}
	*ret = (struct rf_peer){cred.pid, cred.uid, cred.gid, pidfd};
	return 0;
}

static int client_new(struct rf_server *server, int fd)
{
	struct rf_client *client = calloc(1, sizeof(*client));
	int err;

	if (!client)
		return -ENOMEM;
	client->server = server;
	client->peer.pidfd = -1;
	client->source = (struct rf_source){fd, client_ready, client};
	client->last_ms = now();
	rf_packet_buffers(fd);
	err = peer_of(fd, &client->peer);
	if (!err)
		err = rf_loop_add(server->epoll_fd, &client->source, EPOLLIN);
	if (err) {
		closep(&client->peer.pidfd);
		free(client);
		return err;
	}
	server->clients[server->count++] = client;
	return 0;
}

static void listener_ready(void *ctx, uint32_t events)
{
	static const char full[] = "{\"ok\":false,\"code\":\"busy\",\"error\":\"too many clients: try again\"}";
	struct rf_server *server = ctx;
	__cleanup(closep) int fd = accept4(server->source.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)events;
	if (fd < 0)
		return;
	if (server->count == RF_CLIENTS_MAX)
		send(fd, full, sizeof(full) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	else if (!client_new(server, fd))
		TAKE_FD(fd);
}

static int listen_at(struct rf_server *server, gid_t gid)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	mode_t before;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return -errno;
	server->source.fd = fd;
	memcpy(addr.sun_path, server->path, sizeof(addr.sun_path));
	unlink(server->path);
	/* Never wider than meant, not even for the moment between bind and chmod. */
	before = umask(0177);
	err = bind(fd, (struct sockaddr *)&addr, sizeof(addr)) ? -errno : 0;
	umask(before);
	if (!err && gid != (gid_t)-1 && (chown(server->path, (uid_t)-1, gid) || chmod(server->path, 0660)))
		err = -errno;
	if (!err && listen(fd, RF_CLIENTS_MAX))
		err = -errno;
	return err ? err : rf_loop_add(server->epoll_fd, &server->source, EPOLLIN);
}

int rf_server_new(int epoll_fd, const char *runtime_dir, gid_t gid, const struct rf_server_calls *calls,
		  struct rf_server **ret)
{
	__cleanup(rf_server_free) struct rf_server *server = calloc(1, sizeof(*server));
	int err;

	if (!server)
		return -ENOMEM;
	server->epoll_fd = epoll_fd;
	server->calls = *calls;
	server->source = (struct rf_source){-1, listener_ready, server};
	server->packet = malloc(RF_CONTROL_BYTES_MAX + 1);
	if (!server->packet)
		return -ENOMEM;
	if (snprintf(server->path, sizeof(server->path), "%s/%s", runtime_dir, RF_SOCKET_NAME) >=
	    (int)sizeof(server->path)) {
		server->path[0] = '\0';
		return -ENAMETOOLONG;
	}
	err = listen_at(server, gid);
	if (err)
		return err;
	*ret = TAKE_PTR(server);
	return 0;
}

void rf_server_free(struct rf_server **server)
{
	struct rf_server *s = *server;

	if (!s)
		return;
	while (s->count)
		client_free(s->clients[s->count - 1]);
	if (s->source.fd >= 0) {
		rf_loop_remove(s->epoll_fd, &s->source);
		closep(&s->source.fd);
		unlink(s->path);
	}
	free(s->packet);
	free(s);
	*server = NULL;
}

size_t rf_server_clients(const struct rf_server *server)
{
	return server->count;
}

void rf_server_tick(struct rf_server *server, int64_t now_ms)
{
	for (size_t i = server->count; i-- > 0;) {
		struct rf_client *client = server->clients[i];

		if (client->broken || (!client->holds && now_ms - client->last_ms > RF_CLIENT_IDLE_MS))
			client_free(client);
	}
}

const struct rf_peer *rf_client_peer(const struct rf_client *client)
{
	return &client->peer;
}

bool rf_client_in_group(const struct rf_client *client, gid_t gid)
{
	gid_t groups[GROUPS_MAX];
	socklen_t len = sizeof(groups);

	if (client->peer.gid == gid)
		return true;
	if (getsockopt(client->source.fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len))
		return false; /* in more groups than fit: not known to be a member */
	for (size_t i = 0; i < len / sizeof(gid_t); i++)
		if (groups[i] == gid)
			return true;
	return false;
}

void rf_client_hold(struct rf_client *client, bool holds)
{
	client->holds = holds;
	client->last_ms = now();
}

static void send_reply(struct rf_client *client, struct json_object *reply)
{
	int err = rf_packet_send(client->source.fd, reply, MSG_DONTWAIT);

	json_object_put(reply);
	/* Not freed here: the caller may still use it. Its next event or tick does. */
	if (err) {
		client->broken = true;
		shutdown(client->source.fd, SHUT_RDWR);
	}
}

void rf_client_reply(struct rf_client *client, struct json_object *reply)
{
	json_object_object_add(reply, "ok", json_object_new_boolean(true));
	send_reply(client, reply);
}

void rf_client_refuse(struct rf_client *client, const char *code, const char *format, ...)
{
	struct json_object *reply = json_object_new_object();
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	json_object_object_add(reply, "ok", json_object_new_boolean(false));
	rf_member_add(reply, "code", code);
	rf_member_add(reply, "error", text);
	send_reply(client, reply);
}
