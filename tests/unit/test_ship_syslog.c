/* SPDX-License-Identifier: Apache-2.0 */
/* ship/syslog.c with a receiver on loopback that reads, goes early, or goes with bytes unread. */
#define _GNU_SOURCE 1
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <cmocka.h>

#include "lib/cleanup.h"
#include "ship/sink.h"
#include "ship/syslog.h"

struct fixture {
	int listener, peer;
	char port[8];
	struct rf_sink *sink;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->listener = f->peer = -1;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	closep(&f->listener);
	closep(&f->peer);
	rf_syslog_free(&f->sink);
	free(f);
	return 0;
}

static void start_receiver(struct fixture *f)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);

	f->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(f->listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(f->listener, 1), 0);
	assert_int_equal(getsockname(f->listener, (struct sockaddr *)&address, &len), 0);
	snprintf(f->port, sizeof(f->port), "%u", ntohs(address.sin_port));
	assert_int_equal(rf_syslog_new("127.0.0.1", f->port, &f->sink), 0);
}

/* Loopback is quick, but not instant. */
static int advance_until(struct rf_sink *sink, int wanted)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	int err = wanted;

	for (int i = 0; i < 2000; i++) {
		err = sink->ops->advance(sink);
		if (err == wanted || (err && err != -EINPROGRESS))
			break;
		nanosleep(&pause, NULL);
	}
	return err;
}

static void connect_sink(struct fixture *f)
{
	assert_int_equal(f->sink->ops->open(f->sink), 0);
	f->peer = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(f->peer >= 0);
	assert_int_equal(advance_until(f->sink, 0), 0);
}

static void messages_are_counted_octets(void **state)
{
	struct fixture *f = *state;
	const struct rf_sink_ops *ops;
	uint64_t acknowledged = 0;
	char text[64];

	start_receiver(f);
	ops = f->sink->ops;
	connect_sink(f);
	assert_int_equal(ops->write(f->sink, "first", 5), 0);
	assert_int_equal(ops->write(f->sink, "second one", 10), 0);
	assert_int_equal(ops->taken(f->sink), 7 + 13);
	assert_int_equal(ops->finish(f->sink), -EAGAIN);
	assert_int_equal(ops->advance(f->sink), 0);
	assert_int_equal(recv(f->peer, text, 20, MSG_WAITALL), 20);
	assert_memory_equal(text, "5 first10 second one", 20);
	for (int i = 0; i < 2000 && acknowledged < 20; i++) {
		assert_int_equal(ops->acknowledged(f->sink, &acknowledged), 0);
		usleep(1000);
	}
	assert_int_equal(acknowledged, 20);
	/* What the receiver says is nothing to us. */
	assert_int_equal(send(f->peer, "hello", 5, 0), 5);
	assert_int_equal(ops->advance(f->sink), 0);
	assert_int_equal(ops->finish(f->sink), 0);
	assert_int_equal(ops->advance(f->sink), 0);
	assert_int_equal(recv(f->peer, text, 1, 0), 0);
	closep(&f->peer);
	f->peer = -1;
	assert_int_equal(advance_until(f->sink, 1), 1);
}

static void an_end_before_ours_is_a_loss(void **state)
{
	struct fixture *f = *state;

	start_receiver(f);
	connect_sink(f);
	closep(&f->peer);
	f->peer = -1;
	assert_int_equal(advance_until(f->sink, -ECONNRESET), -ECONNRESET);
	f->sink->ops->close(f->sink);
	f->sink->ops->close(f->sink);
	assert_int_equal(f->sink->ops->advance(f->sink), -ENOTCONN);
}

/* It takes our end of the stream, but goes without having read: its kernel tells. */
static void unread_bytes_are_not_confirmed(void **state)
{
	struct fixture *f = *state;

	start_receiver(f);
	connect_sink(f);
	assert_int_equal(f->sink->ops->write(f->sink, "unread", 6), 0);
	assert_int_equal(f->sink->ops->advance(f->sink), 0);
	assert_int_equal(f->sink->ops->finish(f->sink), 0);
	usleep(50000);
	closep(&f->peer);
	f->peer = -1;
	assert_int_equal(advance_until(f->sink, -ECONNRESET), -ECONNRESET);
}

static void a_full_connection_takes_whole_messages_or_none(void **state)
{
	__cleanup(freep) char *message = malloc(8000), *text = malloc(8005);
	struct fixture *f = *state;
	int taken = 0, err = 0;

	start_receiver(f);
	connect_sink(f);
	memset(message, 'm', 8000);
	for (; taken < 10000; taken++) {
		err = f->sink->ops->write(f->sink, message, 8000);
		if (err)
			break;
	}
	assert_int_equal(err, -EAGAIN);
	assert_int_equal(f->sink->ops->taken(f->sink), (uint64_t)taken * 8005);
	for (int i = 0; i < taken; i++) {
		assert_int_equal(f->sink->ops->advance(f->sink), 0);
		assert_int_equal(recv(f->peer, text, 8005, MSG_WAITALL), 8005);
		assert_memory_equal(text, "8000 m", 6);
	}
	assert_int_equal(f->sink->ops->write(f->sink, message, 8000), 0);
}

static void nobody_there_is_an_error(void **state)
{
	struct fixture *f = *state;
	int err;

	start_receiver(f);
	closep(&f->listener);
	f->listener = -1;
	err = f->sink->ops->open(f->sink);
	if (!err)
		err = advance_until(f->sink, -ECONNREFUSED);
	assert_int_equal(err, -ECONNREFUSED);
}

static void addresses(void **state)
{
	static const struct {
		const char *text, *host, *port;
	} table[] = {
		{"logs.example.org:6514", "logs.example.org", "6514"},
		{"logs", "logs", "601"},
		{"127.0.0.1:1", "127.0.0.1", "1"},
		{"[::1]:10514", "::1", "10514"},
		{"[::1]", "::1", "601"},
		{"", NULL, NULL},
		{":1", NULL, NULL},
		{"a:", NULL, NULL},
		{"::1", NULL, NULL},
		{"[::1", NULL, NULL},
		{"[::1]x", NULL, NULL},
		{"[]:1", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		__cleanup(freep) char *host = NULL, *port = NULL;

		assert_int_equal(rf_syslog_address(table[i].text, &host, &port), table[i].host ? 0 : -EINVAL);
		if (!table[i].host)
			continue;
		assert_string_equal(host, table[i].host);
		assert_string_equal(port, table[i].port);
	}
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
	static const struct CMUnitTest tests[] = {
		TEST(messages_are_counted_octets),    TEST(an_end_before_ours_is_a_loss),
		TEST(unread_bytes_are_not_confirmed), TEST(a_full_connection_takes_whole_messages_or_none),
		TEST(nobody_there_is_an_error),	      cmocka_unit_test(addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
