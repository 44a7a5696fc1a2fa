/* SPDX-License-Identifier: Apache-2.0 */
/* ship/ship.c with a sink that fails by script, ship/syslog.c with a receiver on loopback. */
#define _GNU_SOURCE 1
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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
#include "ship/arguments.h"
#include "ship/format.h"
#include "ship/ship.h"
#include "ship/sink.h"
#include "ship/syslog.h"

#define LINES 100

/* The script: what goes wrong on this sink, once each. */
struct fake {
	struct rf_sink sink; /* first */
	unsigned int refuse; /* so many open() */
	unsigned int lose_after; /* messages, on the first connection; 0: never */
	uint64_t acknowledge; /* at most so many bytes; 0: all */
	unsigned int room; /* messages until -EAGAIN; 0: no end */
	bool silent; /* never confirms the end */
	bool open, finished, lost;
	unsigned int opens, messages, room_left;
	uint64_t taken;
	unsigned int times[LINES + 1]; /* each line's arrivals */
	unsigned int last;
	bool disorder;
};

static struct fake *fake_of(const struct rf_sink *sink)
{
	return (struct fake *)(uintptr_t)sink;
}

static int fake_open(struct rf_sink *sink)
{
	struct fake *f = fake_of(sink);

	f->opens++;
	if (f->refuse) {
		f->refuse--;
		return -ECONNREFUSED;
	}
	f->open = true;
	f->finished = f->lost = false;
	f->taken = 0;
	f->messages = f->last = 0;
	return 0;
}

static int fake_advance(struct rf_sink *sink)
{
	struct fake *f = fake_of(sink);

	f->room_left = f->room;
	if (f->lost)
		return -ECONNRESET;
	return f->finished && !f->silent;
}

static int fake_write(struct rf_sink *sink, const char *message, size_t len)
{
	struct fake *f = fake_of(sink);
	const char *at = memmem(message, len, "seq=\"0/", 7);
	unsigned int seq;

	assert_true(f->open && !f->finished);
	if (f->lost)
		return -EPIPE;
	if (f->room && !f->room_left)
		return -EAGAIN;
	f->room_left--;
	assert_non_null(at);
	assert_int_equal(sscanf(at, "seq=\"0/%u\"", &seq), 1);
	assert_in_range(seq, 1, LINES);
	f->times[seq]++;
	f->disorder |= seq <= f->last;
	f->last = seq;
	f->taken += len;
	if (++f->messages == f->lose_after) {
		f->lose_after = 0;
		f->lost = true;
	}
	return 0;
}

static uint64_t fake_taken(const struct rf_sink *sink)
{
	return fake_of(sink)->taken;
}

static int fake_acknowledged(const struct rf_sink *sink, uint64_t *ret)
{
	const struct fake *f = fake_of(sink);

	*ret = f->acknowledge && f->acknowledge < f->taken ? f->acknowledge : f->taken;
	return 0;
}

static int fake_finish(struct rf_sink *sink)
{
	fake_of(sink)->finished = true;
	return 0;
}

static void fake_poll(const struct rf_sink *sink, struct pollfd *ret)
{
	(void)sink;
	*ret = (struct pollfd){.fd = -1};
}

static void fake_close(struct rf_sink *sink)
{
	fake_of(sink)->open = false;
}

static const struct rf_sink_ops fake_ops = {
	.open = fake_open,
	.advance = fake_advance,
	.write = fake_write,
	.taken = fake_taken,
	.acknowledged = fake_acknowledged,
	.finish = fake_finish,
	.poll = fake_poll,
	.close = fake_close,
};

struct fixture {
	char dir[64], log[96], cursor[96], status[96];
	struct rf_ship_config config;
	struct fake fake;
	int listener, peer;
	char port[8];
	struct rf_sink *sink;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	__cleanup(fclosep) FILE *log = NULL;

	strcpy(f->dir, "/tmp/rf-shipper-XXXXXX");
	if (!mkdtemp(f->dir))
		return -1;
	snprintf(f->log, sizeof(f->log), "%s/log", f->dir);
	snprintf(f->cursor, sizeof(f->cursor), "%s/cursor", f->dir);
	snprintf(f->status, sizeof(f->status), "%s/status", f->dir);
	log = fopen(f->log, "we");
	for (int i = 1; i <= LINES; i++)
		fprintf(log, "{\"kind\":\"verdict\",\"src\":\"kernel\",\"cpu\":0,\"seq\":%d}\n", i);
	f->config = (struct rf_ship_config){.log = f->log,
					    .cursor = f->cursor,
					    .status = f->status,
					    .to = "fake",
					    .facility = RF_SYSLOG_LOCAL0,
					    .settle_ms = 5000,
					    .timeout_ms = 1500,
					    .once = true};
	f->fake.sink.ops = &fake_ops;
	f->listener = f->peer = -1;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	DIR *dir = opendir(f->dir);
	struct dirent *entry;

	while ((entry = readdir(dir)))
		unlinkat(dirfd(dir), entry->d_name, 0);
	closedir(dir);
	rmdir(f->dir);
	closep(&f->listener);
	closep(&f->peer);
	rf_syslog_free(&f->sink);
	free(f);
	return 0;
}

static void assert_all(const struct fake *fake, unsigned int at_least, unsigned int at_most)
{
	for (int i = 1; i <= LINES; i++)
		assert_in_range(fake->times[i], at_least, at_most);
	assert_false(fake->disorder);
}

static void assert_status(struct fixture *f, const char *expected)
{
	__cleanup(fclosep) FILE *file = fopen(f->status, "re");
	char text[512] = "";

	assert_non_null(file);
	assert_non_null(fgets(text, sizeof(text), file));
	assert_string_equal(text, expected);
}

static void once_delivers_and_remembers(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(rf_ship_run(&f->config, &f->fake.sink, -1), 0);
	assert_all(&f->fake, 1, 1);
	assert_status(f, "{\"v\":1,\"connected\":false,\"delivered\":100,\"failed\":0,\"gaps\":0,\"reconnects\":0,"
			 "\"lag\":0}\n");
	assert_int_equal(rf_ship_run(&f->config, &f->fake.sink, -1), 0);
	assert_all(&f->fake, 1, 1);
}

static void a_full_sink_is_waited_for(void **state)
{
	struct fixture *f = *state;

	f->fake.room = 17;
	assert_int_equal(rf_ship_run(&f->config, &f->fake.sink, -1), 0);
	assert_all(&f->fake, 1, 1);
}

static void what_was_on_a_lost_connection_is_sent_again(void **state)
{
	struct fixture *f = *state;

	f->fake.refuse = 2;
	f->fake.lose_after = 40;
	assert_int_equal(rf_ship_run(&f->config, &f->fake.sink, -1), 0);
	assert_int_equal(f->fake.opens, 4);
	for (int i = 1; i <= LINES; i++)
		assert_true(f->fake.times[i] >= 1);
	assert_int_equal(f->fake.times[40], 2);
	assert_int_equal(f->fake.times[LINES], 1);
	assert_status(f, "{\"v\":1,\"connected\":false,\"delivered\":100,\"failed\":0,\"gaps\":0,\"reconnects\":1,"
			 "\"lag\":0}\n");
}

static void unacknowledged_is_not_delivered(void **state)
{
	struct fixture *f = *state;

	f->fake.silent = true;
	f->fake.acknowledge = 1;
	assert_int_equal(rf_ship_run(&f->config, &f->fake.sink, -1), -ETIMEDOUT);
	assert_all(&f->fake, 1, 1);
	/* Nothing of it moved the cursor. */
	f->fake.acknowledge = 0;
	f->fake.silent = false;
	assert_int_equal(rf_ship_run(&f->config, &f->fake.sink, -1), 0);
	assert_all(&f->fake, 2, 2);
}

static void a_receiver_that_never_closes_will_do(void **state)
{
	struct fixture *f = *state;

	f->fake.silent = true;
	f->config.timeout_ms = 10000;
	assert_int_equal(rf_ship_run(&f->config, &f->fake.sink, -1), 0);
	assert_int_equal(rf_ship_run(&f->config, &f->fake.sink, -1), 0);
	assert_all(&f->fake, 1, 1);
}

static void lines_that_are_no_event_are_counted(void **state)
{
	struct fixture *f = *state;
	__cleanup(fclosep) FILE *log = fopen(f->log, "ae");

	fputs("no event\n{\"kind\":\"verdict\",\"src\":\"kernel\",\"cpu\":0,\"seq\":100}\n\n", log);
	fflush(log);
	assert_int_equal(rf_ship_run(&f->config, &f->fake.sink, -1), 0);
	assert_int_equal(f->fake.times[LINES], 2);
	assert_status(f, "{\"v\":1,\"connected\":false,\"delivered\":101,\"failed\":2,\"gaps\":0,\"reconnects\":0,"
			 "\"lag\":0}\n");
}

static void a_signal_drains_and_ends(void **state)
{
	struct fixture *f = *state;
	int pipes[2];

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	assert_int_equal(write(pipes[1], "x", 1), 1);
	f->config.once = false;
	assert_int_equal(rf_ship_run(&f->config, &f->fake.sink, pipes[0]), 0);
	assert_all(&f->fake, 1, 1);
	assert_int_equal(rf_ship_run(&f->config, &f->fake.sink, pipes[0]), 0);
	assert_all(&f->fake, 1, 1);
	/* No receiver: it ends all the same, and nothing is taken for delivered. */
	assert_int_equal(unlink(f->cursor), 0);
	f->fake.refuse = 1000;
	assert_int_equal(rf_ship_run(&f->config, &f->fake.sink, pipes[0]), 0);
	f->fake.refuse = 0;
	assert_int_equal(rf_ship_run(&f->config, &f->fake.sink, pipes[0]), 0);
	assert_all(&f->fake, 2, 2);
	close(pipes[0]);
	close(pipes[1]);
}

static void a_cursor_that_is_gone_means_all_again(void **state)
{
	struct fixture *f = *state;
	__cleanup(fclosep) FILE *cursor = NULL;

	assert_int_equal(rf_ship_run(&f->config, &f->fake.sink, -1), 0);
	cursor = fopen(f->cursor, "we");
	fputs("{\"v\":1,\"inode\":\"1\",\"offset\":\"9\",\"head\":\"1\"}", cursor);
	fflush(cursor);
	assert_int_equal(rf_ship_run(&f->config, &f->fake.sink, -1), 0);
	assert_all(&f->fake, 2, 2);
	assert_status(f, "{\"v\":1,\"connected\":false,\"delivered\":100,\"failed\":0,\"gaps\":1,\"reconnects\":0,"
			 "\"lag\":0}\n");
}

static void places_that_are_missing_are_told(void **state)
{
	struct fixture *f = *state;

	f->config.cursor = "/nonexistent/cursor";
	assert_int_equal(rf_ship_run(&f->config, &f->fake.sink, -1), -ENOENT);
	f->config.cursor = f->cursor;
	f->config.log = "/nonexistent/log";
	assert_int_equal(rf_ship_run(&f->config, &f->fake.sink, -1), -ENOENT);
	assert_int_equal(f->fake.opens, 0);
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

static void command_lines(void **state)
{
	char to[] = "--to", host[] = "h:1", once[] = "--once", settle[] = "--settle=7", bad[] = "--settle=3601";
	char stray[] = "stray", error[256];
	struct rf_ship_arguments a;

	(void)state;
	assert_int_equal(rf_ship_arguments(4, (char *[]){to, host, once, settle, NULL}, &a, error, sizeof(error)), 0);
	assert_string_equal(a.to, "h:1");
	assert_true(a.once);
	assert_false(a.allow_root);
	assert_int_equal(a.settle, 7);
	assert_int_equal(a.timeout, 30);
	assert_string_equal(a.facility, "local0");
	assert_int_equal(rf_ship_arguments(1, (char *[]){once, NULL}, &a, error, sizeof(error)), -EINVAL);
	assert_string_equal(error, "no receiver: give --to HOST:PORT");
	assert_int_equal(rf_ship_arguments(3, (char *[]){to, host, bad, NULL}, &a, error, sizeof(error)), -EINVAL);
	assert_int_equal(rf_ship_arguments(3, (char *[]){to, host, stray, NULL}, &a, error, sizeof(error)), -EINVAL);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
	static const struct CMUnitTest tests[] = {
		TEST(once_delivers_and_remembers),
		TEST(a_full_sink_is_waited_for),
		TEST(what_was_on_a_lost_connection_is_sent_again),
		TEST(unacknowledged_is_not_delivered),
		TEST(a_receiver_that_never_closes_will_do),
		TEST(lines_that_are_no_event_are_counted),
		TEST(a_signal_drains_and_ends),
		TEST(a_cursor_that_is_gone_means_all_again),
		TEST(places_that_are_missing_are_told),
		TEST(messages_are_counted_octets),
		TEST(an_end_before_ours_is_a_loss),
		TEST(unread_bytes_are_not_confirmed),
		TEST(a_full_connection_takes_whole_messages_or_none),
		TEST(nobody_there_is_an_error),
		cmocka_unit_test(addresses),
		cmocka_unit_test(command_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
