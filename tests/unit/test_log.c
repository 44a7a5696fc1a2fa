/* SPDX-License-Identifier: Apache-2.0 */
/* log.c: whole lines or nothing, rotation without loss, what a restart sees of the tail. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "event/event.h"
#include "lib/cleanup.h"
#include "scratch.h"

struct fixture {
	char dir[64];
	char path[96];
	size_t seen;
	uint64_t last_seq;
	uint32_t last_cpu;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	strcpy(f->dir, "/tmp/rf-log-XXXXXX");
	if (!mkdtemp(f->dir))
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/events.jsonl", f->dir);
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

static size_t slurp(const char *path, const char *suffix, char *buf, size_t size)
{
	char name[160];
	__cleanup(fclosep) FILE *file = NULL;
	size_t n;

	snprintf(name, sizeof(name), "%s%s", path, suffix);
	file = fopen(name, "re");
	if (!file)
		return 0;
	n = fread(buf, 1, size - 1, file);
	buf[n] = '\0';
	return n;
}

static void spill(const char *path, const char *suffix, const char *text)
{
	char name[160];
	__cleanup(fclosep) FILE *file = NULL;

	snprintf(name, sizeof(name), "%s%s", path, suffix);
	file = fopen(name, "we");
	assert_non_null(file);
	fputs(text, file);
}

static int append(struct rf_log *log, const char *line)
{
	return rf_log_append(log, line, strlen(line));
}

static void lines_are_appended(void **state)
{
	__cleanup(rf_log_close) struct rf_log *log = NULL;
	struct fixture *f = *state;
	struct stat st;
	char text[64];
	mode_t mask = umask(077);

	assert_int_equal(rf_log_open(f->path, 0, 3, &log), 0);
	umask(mask);
	assert_int_equal(append(log, "one\n"), 0);
	assert_int_equal(rf_log_sync(log), 0);
	rf_log_close(&log);
	assert_null(log);
	rf_log_close(&log);
	assert_int_equal(rf_log_open(f->path, 0, 3, &log), 0);
	assert_int_equal(append(log, "two\n"), 0);
	assert_int_equal(slurp(f->path, "", text, sizeof(text)), 8);
	assert_string_equal(text, "one\ntwo\n");
	assert_int_equal(stat(f->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
}

static void only_one_whole_line_at_a_time(void **state)
{
	__cleanup(rf_log_close) struct rf_log *log = NULL;
	struct fixture *f = *state;
	char text[64];

	assert_int_equal(rf_log_open(f->path, 0, 3, &log), 0);
	assert_int_equal(append(log, ""), -EINVAL);
	assert_int_equal(append(log, "no newline"), -EINVAL);
	assert_int_equal(append(log, "a\nb\n"), -EINVAL);
	assert_int_equal(append(log, "whole\n"), 0);
	assert_int_equal(slurp(f->path, "", text, sizeof(text)), 6);
}

static void unsafe_places_are_refused(void **state)
{
	__cleanup(rf_log_close) struct rf_log *log = NULL;
	struct fixture *f = *state;
	char other[128];

	assert_int_equal(rf_log_open(f->path, 0, 0, &log), -EINVAL);
	assert_int_equal(rf_log_open("/tmp/", 0, 1, &log), -EINVAL);
	assert_int_equal(rf_log_open("/nonexistent/x", 0, 1, &log), -ENOENT);
	assert_int_equal(chmod(f->dir, 0777), 0);
	assert_int_equal(rf_log_open(f->path, 0, 1, &log), -EPERM);
	assert_int_equal(chmod(f->dir, 01777), 0);
	assert_int_equal(rf_log_open(f->path, 0, 1, &log), -EPERM);
	assert_int_equal(chmod(f->dir, 0750), 0);
	snprintf(other, sizeof(other), "%s.other", f->path);
	spill(f->path, ".other", "");
	assert_int_equal(symlink(other, f->path), 0);
	assert_int_equal(rf_log_open(f->path, 0, 1, &log), -ELOOP);
	assert_int_equal(unlink(f->path), 0);
	assert_int_equal(mkfifo(f->path, 0600), 0);
	assert_int_equal(rf_log_open(f->path, 0, 1, &log), -EINVAL);
	assert_int_equal(unlink(f->path), 0);
	assert_null(log);
	assert_int_equal(rf_log_open(f->path, 0, 1, &log), 0);
}

static void rotation_keeps_every_line_in_order(void **state)
{
	__cleanup(rf_log_close) struct rf_log *log = NULL;
	struct fixture *f = *state;
	char text[64], line[16];

	assert_int_equal(rf_log_open(f->path, 10, 3, &log), 0);
	for (int i = 0; i < 8; i++) {
		snprintf(line, sizeof(line), "l%d..\n", i); /* five bytes: two lines a file */
		assert_int_equal(append(log, line), 0);
	}
	slurp(f->path, "", text, sizeof(text));
	assert_string_equal(text, "l6..\nl7..\n");
	slurp(f->path, ".1", text, sizeof(text));
	assert_string_equal(text, "l4..\nl5..\n");
	slurp(f->path, ".3", text, sizeof(text));
	assert_string_equal(text, "l0..\nl1..\n");
	/* The oldest goes, and a line longer than a file gets one of its own. */
	assert_int_equal(append(log, "a line of more than ten bytes\n"), 0);
	slurp(f->path, ".3", text, sizeof(text));
	assert_string_equal(text, "l2..\nl3..\n");
	assert_int_equal(slurp(f->path, ".4", text, sizeof(text)), 0);
	assert_int_equal(slurp(f->path, ".new", text, sizeof(text)), 0);
	slurp(f->path, "", text, sizeof(text));
	assert_string_equal(text, "a line of more than ten bytes\n");
}

static void rotation_that_fails_goes_on_up_to_twice_the_size(void **state)
{
	__cleanup(rf_log_close) struct rf_log *log = NULL;
	struct fixture *f = *state;
	char text[64], blocker[128];

	/* A directory in FILE.1's place cannot be replaced by a file. */
	snprintf(blocker, sizeof(blocker), "%s.1", f->path);
	assert_int_equal(mkdir(blocker, 0700), 0);
	assert_int_equal(rf_log_open(f->path, 10, 1, &log), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(append(log, "1234\n"), 0);
	assert_int_equal(append(log, "1234\n"), -EISDIR);
	assert_int_equal(slurp(f->path, "", text, sizeof(text)), 20);
	assert_int_equal(rmdir(blocker), 0);
	assert_int_equal(append(log, "5678\n"), 0);
	slurp(f->path, "", text, sizeof(text));
	assert_string_equal(text, "5678\n");
}

/* RLIMIT_FSIZE cuts a write short just as a full disk does. In a child: the limit is the process's. */
static void partial_write_child(const char *path)
{
	struct rlimit limit = {.rlim_cur = 12, .rlim_max = RLIM_INFINITY};
	struct rf_log *log = NULL;
	int bad = 0;

	signal(SIGXFSZ, SIG_IGN);
	bad |= rf_log_open(path, 0, 1, &log);
	bad |= setrlimit(RLIMIT_FSIZE, &limit) < 0;
	bad |= append(log, "first\n") != 0;
	bad |= (append(log, "too long for it\n") != -ENOSPC) << 1;
	bad |= (append(log, "2\n") != 0) << 2;
	bad |= (append(log, "rest\n") != -ENOSPC) << 3;
	bad |= (append(log, "end\n") != 0) << 4;
	bad |= (append(log, "x\n") != -EFBIG) << 5;
	rf_log_close(&log);
	_exit(bad);
}

static void partial_write_leaves_no_torn_line(void **state)
{
	struct fixture *f = *state;
	char text[64];
	int status;
	pid_t pid = fork();

	if (!pid)
		partial_write_child(f->path);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	slurp(f->path, "", text, sizeof(text));
	assert_string_equal(text, "first\n2\nend\n");
}

static void torn_tail_is_cut(void **state)
{
	__cleanup(rf_log_close) struct rf_log *log = NULL;
	__cleanup(freep) char *big = malloc(20002);
	struct fixture *f = *state;
	char text[64];

	spill(f->path, "", "whole\n{\"torn");
	assert_int_equal(rf_log_open(f->path, 0, 1, &log), 0);
	assert_int_equal(append(log, "next\n"), 0);
	slurp(f->path, "", text, sizeof(text));
	assert_string_equal(text, "whole\nnext\n");
	rf_log_close(&log);

	/* Longer than one chunk of the search, and no newline at all. */
	memset(big, 'x', 20001);
	memcpy(big, "a\n", 2);
	big[20001] = '\0';
	spill(f->path, "", big);
	assert_int_equal(rf_log_open(f->path, 0, 1, &log), 0);
	assert_int_equal(slurp(f->path, "", text, sizeof(text)), 2);
	rf_log_close(&log);
	spill(f->path, "", big + 2);
	assert_int_equal(rf_log_open(f->path, 0, 1, &log), 0);
	assert_int_equal(slurp(f->path, "", text, sizeof(text)), 0);
}

static void see(void *ctx, uint32_t cpu, uint64_t seq)
{
	struct fixture *f = ctx;

	f->seen++;
	f->last_cpu = cpu;
	f->last_seq = seq;
}

static void write_events(struct rf_log *log, const char *boot, uint32_t cpu, uint64_t from, uint64_t to)
{
	/* A name that tries to look like the members that the tail is read by. */
	static const char object[] = "/x\",\"src\":\"kernel\",\"cpu\":9,\"seq\":1000000,\"boot\":\"b1\",";
	union {
		struct rf_event event;
		char bytes[sizeof(struct rf_event) + sizeof(object)];
	} u;
	struct rf_host_info host = {.host = "h\",\"src\":\"kernel\",\"cpu\":9,\"seq\":1000000", .boot_id = boot};
	struct rf_record record;
	char line[4096];

	memset(&u, 0, sizeof(u));
	u.event.head.kind = RF_EVENT_VERDICT;
	u.event.head.version = RF_EVENT_VERSION;
	u.event.head.cpu = cpu;
	u.event.head.size = (__u32)(offsetof(struct rf_event, data) + sizeof(object) - 1);
	u.event.path_len = sizeof(object) - 1;
	memcpy(u.bytes + offsetof(struct rf_event, data), object, sizeof(object) - 1);
	for (uint64_t seq = from; seq <= to; seq++) {
		int n;

		u.event.head.seq = seq;
		assert_int_equal(rf_event_decode(&u, u.event.head.size, &record), 0);
		n = rf_event_json(&record, &host, NULL, NULL, NULL, line, sizeof(line));
		assert_true(n > 0);
		assert_int_equal(rf_log_append(log, line, (size_t)n), 0);
	}
}

static void write_own(struct rf_log *log, const char *kind, const char *boot)
{
	static const char *const fields[] = {"cpu#", "1", "count#", "3", NULL};
	struct rf_host_info host = {.host = "h", .boot_id = boot};
	char line[4096];
	int n = rf_own_json(kind, 1, &host, NULL, fields, line, sizeof(line));

	assert_true(n > 0);
	assert_int_equal(rf_log_append(log, line, (size_t)n), 0);
}

static void tail(struct fixture *f, size_t bytes, const char *boot, size_t seen, uint32_t cpu, uint64_t seq)
{
	f->seen = 0;
	f->last_cpu = 0;
	f->last_seq = 0;
	assert_int_equal(rf_log_tail(f->path, bytes, boot, see, f), 0);
	assert_int_equal(f->seen, seen);
	assert_int_equal(f->last_cpu, cpu);
	assert_int_equal(f->last_seq, seq);
}

static void tail_sees_kernel_events_of_this_boot(void **state)
{
	__cleanup(rf_log_close) struct rf_log *log = NULL;
	struct fixture *f = *state;

	tail(f, SIZE_MAX, "b1", 0, 0, 0); /* no log yet */
	assert_int_equal(rf_log_open(f->path, 0, 1, &log), 0);
	write_events(log, "b0", 1, 1, 50);
	write_own(log, "lost", "b1");
	write_events(log, "b1", 2, 1, 10);
	write_own(log, "adopt", "b1");
	write_events(log, "b1", 3, UINT64_MAX - 1, UINT64_MAX - 1);
	tail(f, SIZE_MAX, "b1", 11, 3, UINT64_MAX - 1);
	tail(f, SIZE_MAX, "b0", 50, 1, 50);
	tail(f, SIZE_MAX, "b", 0, 0, 0);
	tail(f, SIZE_MAX, NULL, 61, 3, UINT64_MAX - 1);
	tail(f, 10, "b1", 0, 0, 0); /* not one whole line */
	tail(f, 700, "b1", 1, 3, UINT64_MAX - 1);
	/* Programs loaded afresh: old numbers must not hide new events. */
	write_own(log, "daemon.start", "b1");
	tail(f, SIZE_MAX, "b1", 0, 0, 0);
	write_events(log, "b1", 2, 1, 2);
	tail(f, SIZE_MAX, "b1", 2, 2, 2);
}

static void tail_reads_on_in_rotated_files(void **state)
{
	__cleanup(rf_log_close) struct rf_log *log = NULL;
	struct fixture *f = *state;
	char old[128];

	assert_int_equal(rf_log_open(f->path, 2000, 9, &log), 0);
	write_events(log, "b1", 4, 1, 20);
	snprintf(old, sizeof(old), "%s.2", f->path);
	assert_int_equal(access(old, F_OK), 0);
	f->seen = 0;
	assert_int_equal(rf_log_tail(f->path, SIZE_MAX, "b1", see, f), 0);
	assert_int_equal(f->seen, 20);
	/* A crash between two renames leaves no FILE. */
	assert_int_equal(unlink(f->path), 0);
	f->seen = 0;
	assert_int_equal(rf_log_tail(f->path, SIZE_MAX, "b1", see, f), 0);
	assert_true(f->seen > 10 && f->seen < 20);
}

static void tail_cuts_a_torn_line(void **state)
{
	struct fixture *f = *state;
	char text[128];

	spill(f->path, "",
	      "{\"boot\":\"b1\",\"src\":\"kernel\",\"cpu\":1,\"seq\":5}\n,\"boot\":\"b1\",\"src\":\"kernel\",\"cpu\":1,"
	      "\"seq\":6");
	tail(f, SIZE_MAX, NULL, 1, 1, 5);
	assert_int_equal(slurp(f->path, "", text, sizeof(text)), 45);
}

static void tail_ignores_garbage(void **state)
{
	struct fixture *f = *state;

	spill(f->path, "",
	      "\n\n,\"src\":\"kernel\",\"cpu\":\n,\"src\":\"kernel\",\"cpu\":1\n"
	      ",\"src\":\"kernel\",\"cpu\":1,\"seq\":\n,\"src\":\"kernel\",\"cpu\":8192,\"seq\":1\n"
	      ",\"src\":\"kernel\",\"cpu\":1,\"seq\":99999999999999999999\n,\"src\":\"kernel\",\"cpu\":4294967297,"
	      "\"seq\":1\n");
	tail(f, SIZE_MAX, NULL, 0, 0, 0);
	spill(f->path, "", ",\"src\":\"kernel\",\"cpu\":8191,\"seq\":1\n");
	tail(f, SIZE_MAX, NULL, 1, 8191, 1);
	assert_int_equal(chmod(f->dir, 0777), 0);
	assert_int_equal(rf_log_tail(f->path, 100, NULL, see, f), -EPERM);
	assert_int_equal(chmod(f->dir, 0700), 0);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
	static const struct CMUnitTest tests[] = {
		TEST(lines_are_appended),
		TEST(only_one_whole_line_at_a_time),
		TEST(unsafe_places_are_refused),
		TEST(rotation_keeps_every_line_in_order),
		TEST(rotation_that_fails_goes_on_up_to_twice_the_size),
		TEST(partial_write_leaves_no_torn_line),
		TEST(torn_tail_is_cut),
		TEST(tail_sees_kernel_events_of_this_boot),
		TEST(tail_reads_on_in_rotated_files),
		TEST(tail_cuts_a_torn_line),
		TEST(tail_ignores_garbage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
