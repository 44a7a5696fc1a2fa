/* SPDX-License-Identifier: Apache-2.0 */
/* ship/reader.c, cursor.c: every line once and in order across rotation; places that are gone are noticed. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "event/event.h"
#include "lib/cleanup.h"
#include "ship/cursor.h"
#include "ship/reader.h"
#include "scratch.h"

struct fixture {
	char dir[64];
	char path[96];
	struct rf_log *log;
	struct rf_reader *reader;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	strcpy(f->dir, "/tmp/rf-reader-XXXXXX");
	if (!mkdtemp(f->dir))
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/log", f->dir);
	*state = f;
	return rf_reader_open(f->path, &f->reader);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	rf_log_close(&f->log);
	rf_reader_close(&f->reader);
	scratch_remove(f->dir);
	free(f);
	return 0;
}

static void write_lines(struct fixture *f, unsigned int from, unsigned int to)
{
	char line[32];

	/* 9 bytes a line, three lines a file */
	if (!f->log)
		assert_int_equal(rf_log_open(f->path, 27, 4, &f->log), 0);
	for (unsigned int i = from; i <= to; i++) {
		snprintf(line, sizeof(line), "line%04u\n", i);
		assert_int_equal(rf_log_append(f->log, line, strlen(line)), 0);
	}
}

static void spill(struct fixture *f, const char *bytes, size_t len, int flags)
{
	__cleanup(closep) int fd = open(f->path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
}

static void expect_line(struct fixture *f, unsigned int i)
{
	char expected[32];
	const char *line = NULL;
	size_t len = 0;

	snprintf(expected, sizeof(expected), "line%04u", i);
	assert_int_equal(rf_reader_next(f->reader, &line, &len), 1);
	assert_int_equal(len, 8);
	assert_memory_equal(line, expected, 8);
}

static void expect(struct fixture *f, int n)
{
	const char *line;
	size_t len;

	assert_int_equal(rf_reader_next(f->reader, &line, &len), n);
}

static void waits_for_the_log_and_for_lines(void **state)
{
	struct fixture *f = *state;
	struct rf_position position;

	expect(f, 0);
	rf_reader_position(f->reader, &position);
	assert_int_equal(position.inode, 0);
	write_lines(f, 1, 2);
	expect_line(f, 1);
	expect_line(f, 2);
	expect(f, 0);
	write_lines(f, 3, 3);
	expect_line(f, 3);
	expect(f, 0);
	assert_int_equal(rf_reader_gaps(f->reader), 0);
}

static void begins_with_the_oldest_and_follows(void **state)
{
	struct fixture *f = *state;

	write_lines(f, 1, 10);
	for (unsigned int i = 1; i <= 10; i++)
		expect_line(f, i);
	expect(f, 0);
	/* Rotated while we waited at the end, and again before we looked. */
	write_lines(f, 11, 16);
	for (unsigned int i = 11; i <= 16; i++)
		expect_line(f, i);
	expect(f, 0);
	assert_int_equal(rf_reader_gaps(f->reader), 0);
}

static void lines_before_a_rotation_are_not_lost(void **state)
{
	struct fixture *f = *state;

	write_lines(f, 1, 1);
	expect_line(f, 1);
	expect(f, 0);
	/* Two more in the old file, one in the new one. */
	write_lines(f, 2, 4);
	for (unsigned int i = 2; i <= 4; i++)
		expect_line(f, i);
	expect(f, 0);
}

static void a_deleted_file_is_read_to_its_end(void **state)
{
	struct fixture *f = *state;

	write_lines(f, 1, 3);
	expect_line(f, 1);
	write_lines(f, 4, 21); /* keep is 4: 1-3 and 4-6 are deleted */
	expect_line(f, 2);
	expect_line(f, 3);
	expect_line(f, 7);
	assert_int_equal(rf_reader_gaps(f->reader), 1);
	for (unsigned int i = 8; i <= 21; i++)
		expect_line(f, i);
	expect(f, 0);
	assert_int_equal(rf_reader_gaps(f->reader), 1);
}

static void torn_bytes_are_read_again(void **state)
{
	struct fixture *f = *state;

	spill(f, "line0001\nline00", 15, 0);
	expect_line(f, 1);
	expect(f, 0);
	/* The writer cuts its torn line and writes another. */
	assert_int_equal(truncate(f->path, 9), 0);
	expect(f, 0);
	spill(f, "line0007\n", 9, O_APPEND);
	expect_line(f, 7);
	assert_int_equal(rf_reader_gaps(f->reader), 0);
}

static void torn_end_of_a_finished_file_is_skipped(void **state)
{
	struct fixture *f = *state;
	char old[128];

	spill(f, "line0001\nline00", 15, 0);
	snprintf(old, sizeof(old), "%s.1", f->path);
	assert_int_equal(rename(f->path, old), 0);
	write_lines(f, 2, 2);
	expect_line(f, 1);
	expect(f, -EBADMSG);
	expect_line(f, 2);
	expect(f, 0);
}

static void long_lines_are_skipped_once(void **state)
{
	static const size_t sizes[] = {RF_LINE_MAX, 4 * RF_LINE_MAX, 10 * RF_LINE_MAX + 7};
	__cleanup(freep) char *text = malloc(11 * RF_LINE_MAX);
	struct fixture *f = *state;
	struct rf_position position;
	const char *line;
	size_t len = 0;

	memset(text, 'x', 11 * RF_LINE_MAX);
	text[RF_LINE_MAX - 1] = '\n';
	spill(f, text, RF_LINE_MAX, 0);
	assert_int_equal(rf_reader_next(f->reader, &line, &len), 1);
	assert_int_equal(len, RF_LINE_MAX - 1);
	text[RF_LINE_MAX - 1] = 'x';
	for (size_t i = 0; i < 3; i++) {
		text[sizes[i]] = '\n';
		spill(f, text, sizes[i] + 1, O_APPEND);
		spill(f, "line0001\n", 9, O_APPEND);
		expect(f, -EBADMSG);
		rf_reader_position(f->reader, &position);
		expect_line(f, 1);
		assert_int_equal(rf_reader_seek(f->reader, &position), 0);
		expect_line(f, 1);
		expect(f, 0);
		text[sizes[i]] = 'x';
	}
}

static void seeks_to_a_place_in_a_rotated_file(void **state)
{
	struct fixture *f = *state;
	struct rf_position position;

	write_lines(f, 1, 2);
	expect_line(f, 1);
	rf_reader_position(f->reader, &position);
	write_lines(f, 3, 9);
	for (unsigned int i = 2; i <= 9; i++)
		expect_line(f, i);
	assert_int_equal(rf_reader_lag(f->reader, &position), 8 * 9);
	assert_int_equal(rf_reader_seek(f->reader, &position), 0);
	expect_line(f, 2);
	/* And by a new process. */
	rf_reader_close(&f->reader);
	assert_int_equal(rf_reader_open(f->path, &f->reader), 0);
	assert_int_equal(rf_reader_seek(f->reader, &position), 0);
	expect_line(f, 2);
	assert_int_equal(rf_reader_gaps(f->reader), 0);
	rf_reader_end(f->reader, &position);
	assert_int_equal(position.offset, 27);
	assert_int_equal(rf_reader_lag(f->reader, &position), 0);
}

static void a_held_file_outlives_its_name(void **state)
{
	struct fixture *f = *state;
	struct rf_position position;

	write_lines(f, 1, 3);
	expect_line(f, 1);
	rf_reader_position(f->reader, &position);
	expect_line(f, 2);
	write_lines(f, 4, 30);
	assert_int_equal(rf_reader_seek(f->reader, &position), 0);
	expect_line(f, 2);
	expect_line(f, 3);
}

static void a_place_that_is_gone_is_told(void **state)
{
	struct fixture *f = *state;
	struct rf_position position, other;

	write_lines(f, 1, 2);
	expect_line(f, 1);
	rf_reader_position(f->reader, &position);
	write_lines(f, 3, 30);
	rf_reader_close(&f->reader);
	assert_int_equal(rf_reader_open(f->path, &f->reader), 0);
	assert_int_equal(rf_reader_seek(f->reader, &position), 1);
	assert_int_equal(rf_reader_gaps(f->reader), 1);
	expect_line(f, 16);

	/* The number is there, but it is another file, a shorter one, or not between two lines. */
	rf_reader_position(f->reader, &position);
	other = position;
	other.head ^= 1;
	rf_reader_close(&f->reader);
	assert_int_equal(rf_reader_open(f->path, &f->reader), 0);
	assert_int_equal(rf_reader_seek(f->reader, &other), 1);
	other = position;
	other.offset += 1000;
	assert_int_equal(rf_reader_seek(f->reader, &other), 1);
	other = position;
	other.offset++;
	assert_int_equal(rf_reader_seek(f->reader, &other), 1);
	assert_int_equal(rf_reader_seek(f->reader, &position), 0);
	expect_line(f, 17);
}

static void a_truncated_log_is_a_gap(void **state)
{
	struct fixture *f = *state;

	spill(f, "line0001\nline0002\n", 18, 0);
	expect_line(f, 1);
	expect_line(f, 2);
	assert_int_equal(truncate(f->path, 0), 0);
	spill(f, "line0003\n", 9, O_APPEND);
	expect_line(f, 3);
	assert_int_equal(rf_reader_gaps(f->reader), 1);
}

static void a_missing_file_between_two_renames_is_waited_for(void **state)
{
	struct fixture *f = *state;
	char old[128];

	write_lines(f, 1, 2);
	expect_line(f, 1);
	expect_line(f, 2);
	snprintf(old, sizeof(old), "%s.1", f->path);
	assert_int_equal(rename(f->path, old), 0);
	expect(f, 0);
	spill(f, "line0003\n", 9, O_EXCL);
	expect_line(f, 3);
	expect(f, 0);
	assert_int_equal(rf_reader_gaps(f->reader), 0);
}

static void links_and_strange_files_are_not_followed(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(symlink("/etc/passwd", f->path), 0);
	expect(f, 0);
	assert_int_equal(unlink(f->path), 0);
	assert_int_equal(mkfifo(f->path, 0600), 0);
	expect(f, 0);
	assert_int_equal(unlink(f->path), 0);
	write_lines(f, 1, 1);
	expect_line(f, 1);
}

static void cursor_comes_back(void **state)
{
	static const char *const bad[] = {"",
					  "x",
					  "{}",
					  "{\"inode\":1,\"offset\":2,\"head\":3}",
					  "{\"inode\":\"1\",\"offset\":\"-2\",\"head\":\"3\"}",
					  "{\"inode\":\"1\",\"offset\":\"\",\"head\":\"3\"}",
					  "{\"inode\":\"1\",\"offset\":\"2x\",\"head\":\"3\"}",
					  "{\"inode\":\"99999999999999999999\",\"offset\":\"2\",\"head\":\"3\"}"};
	const struct rf_position saved = {UINT64_MAX, 1ULL << 60, 0xfedcba9876543210};
	__cleanup(rf_cursor_close) struct rf_cursor *cursor = NULL, *second = NULL;
	struct rf_position loaded = {0};
	struct fixture *f = *state;

	assert_int_equal(rf_cursor_open(f->path, &cursor), 0);
	assert_int_equal(rf_cursor_open(f->path, &second), -EBUSY);
	assert_null(second);
	assert_int_equal(rf_cursor_load(cursor, &loaded), -ENOENT);
	assert_int_equal(rf_cursor_save(cursor, &saved), 0);
	assert_int_equal(rf_cursor_load(cursor, &loaded), 0);
	assert_memory_equal(&saved, &loaded, sizeof(saved));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		spill(f, bad[i], strlen(bad[i]), O_TRUNC);
		assert_int_equal(rf_cursor_load(cursor, &loaded), -EBADMSG);
	}
	assert_memory_equal(&saved, &loaded, sizeof(saved));
	rf_cursor_close(&cursor);
	assert_int_equal(rf_cursor_open(f->path, &second), 0);
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
	static const struct CMUnitTest tests[] = {
		TEST(waits_for_the_log_and_for_lines),
		TEST(begins_with_the_oldest_and_follows),
		TEST(lines_before_a_rotation_are_not_lost),
		TEST(a_deleted_file_is_read_to_its_end),
		TEST(torn_bytes_are_read_again),
		TEST(torn_end_of_a_finished_file_is_skipped),
		TEST(long_lines_are_skipped_once),
		TEST(seeks_to_a_place_in_a_rotated_file),
		TEST(a_held_file_outlives_its_name),
		TEST(a_place_that_is_gone_is_told),
		TEST(a_truncated_log_is_a_gap),
		TEST(a_missing_file_between_two_renames_is_waited_for),
		TEST(links_and_strange_files_are_not_followed),
		TEST(cursor_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
