/* SPDX-License-Identifier: Apache-2.0 */
/* ship/ship.c with a sink that fails by script; ship/arguments.c. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/cleanup.h"
#include "ship/arguments.h"
#include "ship/format.h"
#include "ship/ship.h"
#include "ship/sink.h"
#include "scratch.h"

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
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	scratch_remove(f->dir);
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
		cmocka_unit_test(command_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
