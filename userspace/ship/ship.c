/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop. Everything that was written to a connection and has not settled is sent again on the next one, so the
 * receiver may see a line twice, never not at all; it tells them apart by (boot, cpu, seq).
 */
#define _GNU_SOURCE 1
#include "ship/ship.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "lib/msg.h"
#include "ship/cursor.h"
#include "ship/format.h"
#include "ship/marks.h"
#include "ship/reader.h"
#include "ship/sink.h"
#include "ship/status.h"

#define BACKOFF_MIN_MS 100
#define BACKOFF_MAX_MS 30000
#define CONNECT_MS 10000
#define SAVE_MS 200
#define STATUS_MS 1000
#define IDLE_MS 250 /* how late a new line may be noticed */
#define FLIGHT_MS 50 /* no event tells that bytes were acknowledged */
#define DRAIN_MS 2000 /* after SIGTERM */
#define CONFIRM_MS 2000 /* once: for a receiver that doesn't close after the end of the stream */
#define LINES_AT_A_TIME 512

enum state { DOWN, CONNECTING, UP, FINISHING };

struct ship {
	const struct rf_ship_config *config;
	struct rf_sink *sink;
	struct rf_reader *reader;
	struct rf_cursor *file;
	struct rf_position cursor; /* everything before it has settled */
	struct rf_marks marks;
	struct rf_ship_counts counts;
	enum state state;
	bool unsaved, save_failed, status_failed;
	bool waiting; /* the log has no more now */
	bool ending; /* by signal or once: up to target, then finish */
	bool signalled;
	bool confirmed; /* the receiver has read everything */
	struct rf_position target;
	int64_t now, state_since, connect_at, backoff, save_at, status_at, deadline, acknowledged_at;
	unsigned int failures; /* in a row */
	size_t message_len; /* of a message that the sink had no room for */
	struct rf_position message_position;
	char message[RF_SYSLOG_MAX];
};

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

static void enter(struct ship *s, enum state state)
{
	s->state = state;
	s->state_since = s->now;
}

/* A message that could come with every line or second is given the 1st, 2nd, 4th, 8th ... time. */
static bool worth_saying(uint64_t n)
{
	return !(n & (n - 1));
}

static void progress(struct ship *s)
{
	if (s->config->once && !s->signalled)
		s->deadline = s->now + s->config->timeout_ms;
}

/* Half of the wait is random: a thousand hosts that lost one receiver don't return in one moment. */
static void back_off(struct ship *s)
{
	uint32_t random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) < 0)
		random = (uint32_t)s->now;
	s->backoff = s->backoff ? s->backoff * 2 : BACKOFF_MIN_MS;
	if (s->backoff > BACKOFF_MAX_MS)
		s->backoff = BACKOFF_MAX_MS;
	s->connect_at = s->now + s->backoff / 2 + random % (s->backoff / 2 + 1);
}

/* To the cursor. An error must keep us from reading on: what lies between would never be delivered. */
static int rewind_reader(struct ship *s)
{
	int err = rf_reader_seek(s->reader, &s->cursor);

	if (err < 0)
		return rf_err(err, "%s: cannot go back to what is not delivered: %s", s->config->log, strerror(-err));
	if (!err)
		return 0;
	rf_say("%s: the file up to which everything was delivered is gone, so lines may be missing; going on at the "
	       "oldest. "
	       "Keep more of the log, or see why the receiver was away",
	       s->config->log);
	rf_reader_position(s->reader, &s->cursor);
	return 0;
}

static void lost(struct ship *s, int err)
{
	bool was_up = s->state == UP || s->state == FINISHING;

	s->sink->ops->close(s->sink);
	back_off(s);
	enter(s, DOWN);
	if (worth_saying(++s->failures))
		rf_say("%s %s: %s; next attempt in %" PRId64 " ms%s", was_up ? "lost" : "cannot reach", s->config->to,
		       strerror(-err), s->connect_at - s->now, was_up ? ", then all that has not settled again" : "");
	s->counts.reconnects += was_up;
	s->message_len = 0;
	rf_marks_clear(&s->marks);
}

static void connect_sink(struct ship *s)
{
	int err;

	if (s->state == DOWN && s->now >= s->connect_at) {
		err = s->sink->ops->open(s->sink);
		if (err) {
			lost(s, err);
			return;
		}
		enter(s, CONNECTING);
	}
	if (s->state != CONNECTING)
		return;
	err = s->sink->ops->advance(s->sink);
	if (err == -EINPROGRESS && s->now - s->state_since < CONNECT_MS)
		return;
	if (err == -EINPROGRESS)
		err = -ETIMEDOUT;
	if (!err)
		err = rewind_reader(s);
	if (err) {
		lost(s, err);
		return;
	}
	enter(s, UP);
	s->waiting = false;
	progress(s);
}

static bool reached_target(const struct ship *s)
{
	struct rf_position position;

	rf_reader_position(s->reader, &position);
	return s->waiting || (s->target.inode == position.inode && position.offset >= s->target.offset);
}

static void skipped(struct ship *s)
{
	struct rf_position position;

	rf_reader_position(s->reader, &position);
	if (worth_saying(++s->counts.failed))
		rf_say("%s: %" PRIu64 " line(s) so far that are no event were skipped, the last before byte %" PRIu64,
		       s->config->log, s->counts.failed, position.offset);
	rf_marks_add(&s->marks, s->sink->ops->taken(s->sink), &position, 0, s->now, s->config->settle_ms);
}

/* The next message in s->message: 1; 0: none; -EAGAIN: look at the next line. */
static int next_message(struct ship *s)
{
	const char *line;
	size_t len;
	int n = rf_reader_next(s->reader, &line, &len);

	if (n == 1) {
		n = rf_syslog_format(line, len, s->config->facility, s->message);
		if (n > 0) {
			s->message_len = (size_t)n;
			rf_reader_position(s->reader, &s->message_position);
			return 1;
		}
	}
	if (n == -EBADMSG) {
		skipped(s);
		return -EAGAIN;
	}
	if (n < 0)
		rf_say("cannot read %s: %s", s->config->log, strerror(-n));
	s->waiting = true;
	return 0;
}

static int pump(struct ship *s)
{
	const struct rf_sink_ops *ops = s->sink->ops;

	s->waiting = false;
	for (int i = 0; i < LINES_AT_A_TIME && !(s->ending && !s->message_len && reached_target(s)); i++) {
		int err = s->message_len ? 1 : next_message(s);

		if (!err)
			break;
		if (err != 1)
			continue;
		err = ops->write(s->sink, s->message, s->message_len);
		if (err)
			return err == -EAGAIN ? 0 : err;
		s->message_len = 0;
		rf_marks_add(&s->marks, ops->taken(s->sink), &s->message_position, 1, s->now, s->config->settle_ms);
	}
	return 0;
}

static void settle(struct ship *s, int64_t settle_ms)
{
	if (!rf_marks_settle(&s->marks, s->now, settle_ms, &s->cursor, &s->counts.delivered))
		return;
	s->unsaved = true;
	s->failures = 0;
	s->backoff = 0;
}

static int acknowledge(struct ship *s)
{
	uint64_t end;
	int err = s->sink->ops->acknowledged(s->sink, &end);

	if (err)
		return err;
	if (rf_marks_acknowledge(&s->marks, end, s->now)) {
		s->acknowledged_at = s->now;
		progress(s);
	}
	return 0;
}

/* One round on a connection that stands. */
static void exchange(struct ship *s)
{
	int err = s->state == UP ? pump(s) : 0;

	if (!err)
		err = s->sink->ops->advance(s->sink);
	if (err == 1) {
		s->confirmed = true;
		err = 0;
	}
	if (!err)
		err = acknowledge(s);
	if (!err && s->state == UP && s->ending && !s->message_len && reached_target(s)) {
		err = s->sink->ops->finish(s->sink);
		if (!err)
			enter(s, FINISHING);
		err = err == -EAGAIN ? 0 : err;
	}
	if (err) {
		lost(s, err);
		return;
	}
	settle(s, s->confirmed ? 0 : s->config->settle_ms);
}

static void save(struct ship *s)
{
	int err;

	if (!s->unsaved || s->now < s->save_at)
		return;
	s->save_at = s->now + SAVE_MS;
	err = rf_cursor_save(s->file, &s->cursor);
	if (err && !s->save_failed)
		rf_say("cannot save %s: %s; delivery goes on, lines will come twice after a restart", s->config->cursor,
		       strerror(-err));
	s->save_failed = err;
	s->unsaved = err;
}

static void report(struct ship *s)
{
	int err;

	if (!s->config->status || s->now < s->status_at)
		return;
	s->status_at = s->now + STATUS_MS;
	s->counts.gaps = rf_reader_gaps(s->reader);
	s->counts.lag = rf_reader_lag(s->reader, &s->cursor);
	s->counts.connected = s->state == UP || s->state == FINISHING;
	err = rf_ship_status_write(s->config->status, &s->counts);
	if (err && !s->status_failed)
		rf_say("cannot write %s: %s", s->config->status, strerror(-err));
	s->status_failed = err;
}

static void wait_for_something(struct ship *s, int signal_fd)
{
	struct pollfd p[2] = {{.fd = s->signalled ? -1 : signal_fd, .events = POLLIN}, {.fd = -1}};
	int64_t timeout = IDLE_MS;

	s->sink->ops->poll(s->sink, &p[1]);
	if (s->state == DOWN)
		timeout = s->connect_at - s->now < IDLE_MS ? s->connect_at - s->now : IDLE_MS;
	else if (s->state == UP && !s->waiting && !s->message_len && !(s->ending && reached_target(s)))
		timeout = 0;
	else if (s->ending || !rf_marks_all_acknowledged(&s->marks))
		timeout = FLIGHT_MS;
	poll(p, 2, timeout < 0 ? 0 : (int)timeout);
	s->now = now_ms();
	if (!(p[0].revents & POLLIN))
		return;
	s->ending = s->signalled = true;
	s->deadline = s->now + DRAIN_MS;
	rf_reader_end(s->reader, &s->target);
}

static bool is_over(struct ship *s)
{
	if (s->confirmed)
		return true;
	/* Not every receiver closes; once its host has everything for a while, that is all there is to know. */
	if (s->config->once && s->state == FINISHING && rf_marks_all_acknowledged(&s->marks) &&
	    s->now - s->state_since >= CONFIRM_MS && s->now - s->acknowledged_at >= CONFIRM_MS) {
		settle(s, 0);
		return s->confirmed = true;
	}
	return s->ending && s->now >= s->deadline;
}

static int begin(struct ship *s)
{
	const struct rf_ship_config *c = s->config;
	int err = rf_cursor_open(c->cursor, &s->file);

	if (err)
		return rf_err(err, "%s: %s%s", c->cursor, strerror(-err),
			      err == -EBUSY ? ": another ringfence-ship works with this cursor" : "");
	err = rf_reader_open(c->log, &s->reader);
	if (err)
		return rf_err(err, "%s: %s", c->log, strerror(-err));
	err = rf_cursor_load(s->file, &s->cursor);
	if (err == -EBADMSG)
		rf_say("%s is no cursor: delivering the whole log again", c->cursor);
	else if (err && err != -ENOENT)
		return rf_err(err, "%s: %s", c->cursor, strerror(-err));
	/* Already here, so that the file is held while the receiver is away. */
	err = rewind_reader(s);
	if (err)
		return err;
	s->ending = c->once;
	s->deadline = s->now + c->timeout_ms;
	return rf_reader_end(s->reader, &s->target);
}

int rf_ship_run(const struct rf_ship_config *config, struct rf_sink *sink, int signal_fd)
{
	struct ship *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->config = config;
	s->sink = sink;
	s->now = now_ms();
	err = begin(s);
	while (!err && !is_over(s)) {
		connect_sink(s);
		if (s->state == UP || s->state == FINISHING)
			exchange(s);
		save(s);
		report(s);
		if (!s->confirmed)
			wait_for_something(s, signal_fd);
	}
	if (!err) {
		s->save_at = s->status_at = 0;
		sink->ops->close(sink);
		enter(s, DOWN);
		save(s);
		report(s);
		err = s->save_failed ? -EIO : config->once && !s->signalled && !s->confirmed ? -ETIMEDOUT : 0;
	}
	rf_reader_close(&s->reader);
	rf_cursor_close(&s->file);
	free(s);
	return err;
}
