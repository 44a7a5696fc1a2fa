/* SPDX-License-Identifier: Apache-2.0 */
/* control/server.c and packet.c: whole packets both ways, peers from the kernel, bounded clients, idle ones hung up on. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "control/packet.h"
#include "control/request.h"
#include "control/server.h"
#include "lib/cleanup.h"
#include "lib/loop.h"

struct fixture {
	char dir[64];
	int epoll_fd;
	struct rf_server *server;
	struct rf_client *client; /* the last one that sent something */
	size_t packets, gone, len;
	char first, last; /* bytes of the last packet */
	struct rf_peer peer;
	bool answer;
};

static void packet(void *ctx, struct rf_client *client, const void *bytes, size_t len)
{
	struct fixture *f = ctx;
	struct json_object *reply;

	f->client = client;
	f->packets++;
	f->len = len;
	f->first = *(const char *)bytes;
	f->last = ((const char *)bytes)[len - 1];
	f->peer = *rf_client_peer(client);
	if (!f->answer)
		return;
	reply = json_object_new_object();
	json_object_object_add(reply, "len", json_object_new_int64((int64_t)len));
	rf_client_reply(client, reply);
}

static void gone(void *ctx, struct rf_client *client)
{
	struct fixture *f = ctx;

	f->gone++;
	if (f->client == client)
		f->client = NULL;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	const struct rf_server_calls calls = {packet, gone, f};

	strcpy(f->dir, "/tmp/rf-test-XXXXXX");
	if (!mkdtemp(f->dir))
		return -1;
	f->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	*state = f;
	return rf_server_new(f->epoll_fd, f->dir, (gid_t)-1, &calls, &f->server);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	rf_server_free(&f->server);
	close(f->epoll_fd);
	/* Fails when the server left its socket behind. */
	if (rmdir(f->dir))
		return -1;
	free(f);
	return 0;
}

static int connect_to(struct fixture *f)
{
	int fd = -1;

	assert_int_equal(rf_client_connect(f->dir, &fd), 0);
	return fd;
}

static void serve(struct fixture *f)
{
	while (rf_loop_once(f->epoll_fd, 50) > 0)
		;
}

static void mode(void **state)
{
	struct fixture *f = *state;
	char path[128];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", f->dir, RF_SOCKET_NAME);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
}

static void peer(void **state)
{
	struct fixture *f = *state;
	int fd = connect_to(f);

	assert_int_equal(send(fd, "{}", 2, 0), 2);
	serve(f);
	assert_int_equal(f->packets, 1);
	assert_int_equal(f->peer.pid, getpid());
	assert_int_equal(f->peer.uid, geteuid());
	assert_int_equal(f->peer.gid, getegid());
	assert_true(f->peer.pidfd >= 0);
	assert_true(rf_client_in_group(f->client, getegid()));
	assert_false(rf_client_in_group(f->client, 4242424));
	close(fd);
	serve(f);
	assert_int_equal(f->gone, 1);
	assert_int_equal(rf_server_clients(f->server), 0);
}

/* The largest packet passes whole, and one byte more is seen to be too long. */
static void sizes(void **state)
{
	struct fixture *f = *state;
	char *bytes = malloc(RF_CONTROL_BYTES_MAX + 1);
	int fd = connect_to(f);

	memset(bytes, 'x', RF_CONTROL_BYTES_MAX + 1);
	bytes[0] = '<';
	bytes[RF_CONTROL_BYTES_MAX - 1] = '>';
	assert_int_equal(send(fd, bytes, RF_CONTROL_BYTES_MAX, 0), RF_CONTROL_BYTES_MAX);
	serve(f);
	assert_int_equal(f->len, RF_CONTROL_BYTES_MAX);
	assert_int_equal(f->first, '<');
	assert_int_equal(f->last, '>');
	assert_int_equal(send(fd, bytes, RF_CONTROL_BYTES_MAX + 1, 0), RF_CONTROL_BYTES_MAX + 1);
	serve(f);
	assert_int_equal(f->len, RF_CONTROL_BYTES_MAX + 1);
	close(fd);
	free(bytes);
}

static void too_long(void **state)
{
	struct json_object *object = json_object_new_object(), *reply = NULL;
	char *text = malloc(RF_CONTROL_BYTES_MAX + 1), why[256];
	int fd = connect_to(*state);

	memset(text, 'x', RF_CONTROL_BYTES_MAX);
	text[RF_CONTROL_BYTES_MAX] = '\0';
	rf_member_add(object, "text", text);
	assert_int_equal(rf_packet_send(fd, object, 0), -EMSGSIZE);
	assert_int_equal(rf_client_call(fd, object, 100, &reply, why, sizeof(why)), -EMSGSIZE);
	assert_non_null(strstr(why, "put the policy into a policy directory"));
	json_object_put(object);
	free(text);
	close(fd);
}

/* One process plays both sides, so the reply is fetched one call late. */
static void call(void **state)
{
	struct fixture *f = *state;
	struct json_object *request = json_object_new_object(), *reply = NULL;
	char why[256] = "";
	int fd = connect_to(f), err;

	f->answer = true;
	rf_member_add(request, "op", "status");
	assert_int_equal(rf_packet_send(fd, request, 0), 0);
	serve(f);
	/* The reply to the first request is there already when the second one is sent. */
	err = rf_client_call(fd, request, 1000, &reply, why, sizeof(why));
	assert_int_equal(err, 0);
	assert_int_equal(rf_member_number(reply, "len"), strlen("{\"op\":\"status\"}"));
	json_object_put(reply);
	json_object_put(request);
	close(fd);
}

static void refusal(void **state)
{
	struct fixture *f = *state;
	struct json_object *request = json_object_new_object(), *reply = NULL;
	char why[256] = "";
	int fd = connect_to(f);

	assert_int_equal(rf_packet_send(fd, request, 0), 0);
	serve(f);
	rf_client_refuse(f->client, "permission", "no %s", "entry");
	assert_int_equal(rf_client_call(fd, request, 1000, &reply, why, sizeof(why)), -EREMOTEIO);
	assert_string_equal(why, "no entry");
	assert_null(reply);
	json_object_put(request);
	close(fd);
}

static void silence(void **state)
{
	struct fixture *f = *state;
	struct json_object *request = json_object_new_object(), *reply = NULL;
	char why[256] = "";
	int fd = connect_to(f);

	assert_int_equal(rf_client_call(fd, request, 50, &reply, why, sizeof(why)), -ETIMEDOUT);
	rf_server_free(&f->server);
	/* Hung up on with a request unread. */
	assert_int_equal(rf_client_call(fd, request, 50, &reply, why, sizeof(why)), -ECONNRESET);
	json_object_put(request);
	close(fd);
	assert_int_equal(rf_client_connect(f->dir, &fd), -ENOENT);
}

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static void idle(void **state)
{
	struct fixture *f = *state;
	int holder = connect_to(f), other;

	assert_int_equal(send(holder, "{}", 2, 0), 2);
	serve(f);
	rf_client_hold(f->client, true);
	other = connect_to(f);
	serve(f);
	assert_int_equal(rf_server_clients(f->server), 2);
	rf_server_tick(f->server, now() + RF_CLIENT_IDLE_MS / 2);
	assert_int_equal(rf_server_clients(f->server), 2);
	rf_server_tick(f->server, now() + RF_CLIENT_IDLE_MS + 1000);
	assert_int_equal(rf_server_clients(f->server), 1);
	assert_int_equal(recv(other, &(char){0}, 1, 0), 0);
	/* The holder is still served. */
	assert_int_equal(send(holder, "{}", 2, 0), 2);
	serve(f);
	assert_int_equal(f->packets, 2);
	close(holder);
	close(other);
}

static void crowd(void **state)
{
	struct fixture *f = *state;
	int fds[RF_CLIENTS_MAX + 1];
	char text[256];
	ssize_t n;

	for (int i = 0; i <= RF_CLIENTS_MAX; i++) {
		fds[i] = connect_to(f);
		serve(f);
	}
	assert_int_equal(rf_server_clients(f->server), RF_CLIENTS_MAX);
	n = recv(fds[RF_CLIENTS_MAX], text, sizeof(text) - 1, 0);
	assert_true(n > 0);
	text[n] = '\0';
	assert_non_null(strstr(text, "too many clients"));
	/* One goes, the next one is let in. */
	close(fds[0]);
	serve(f);
	close(fds[RF_CLIENTS_MAX]);
	fds[0] = connect_to(f);
	serve(f);
	assert_int_equal(rf_server_clients(f->server), RF_CLIENTS_MAX);
	for (int i = 0; i < RF_CLIENTS_MAX; i++)
		close(fds[i]);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		TEST(mode),    TEST(peer),    TEST(sizes), TEST(too_long), TEST(call),
		TEST(refusal), TEST(silence), TEST(idle),  TEST(crowd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
