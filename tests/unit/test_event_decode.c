/* SPDX-License-Identifier: Apache-2.0 */
/* decode.c: what is refused, each with its accepted twin. */
#define _GNU_SOURCE 1
#include <errno.h>

#include "event_fixture.h"

static void decode_gives_the_views(void **state)
{
	struct fixture *f = *state;
	struct rf_record record;

	assert_int_equal(rf_event_decode(f->bytes, f->len, &record), 0);
	assert_ptr_equal(record.event, f->bytes);
	assert_int_equal(record.object_len, 15);
	assert_memory_equal(record.object, "/home/x/.ssh/id", 15);
	assert_int_equal(record.exe_len, 12);
	assert_memory_equal(record.exe, "/usr/bin/cat", 12);
	/* The ring may round up: slack behind head.size is not data. */
	assert_int_equal(rf_event_decode(f->bytes, f->len + 5, &record), 0);
	assert_int_equal(record.exe_len, 12);
}

static void decode_refuses_every_shorter_length(void **state)
{
	struct fixture *f = *state;
	struct rf_record record;

	for (size_t len = 0; len < f->len; len++) {
		__cleanup(freep) char *copy = malloc(len + 1); /* so that ASan sees a read too many */

		memcpy(copy, f->bytes, len);
		assert_int_equal(rf_event_decode(copy, len, &record), -EBADMSG);
	}
	assert_int_equal(rf_event_decode(NULL, 0, &record), -EBADMSG);
	assert_int_equal(decode(f), 0);
}

#define REFUSED(f, field, bad)                                        \
	do {                                                          \
		__typeof__((f)->event.field) good = (f)->event.field; \
		assert_int_equal(decode(f), 0);                       \
		(f)->event.field = (bad);                             \
		assert_int_equal(decode(f), -EBADMSG);                \
		(f)->event.field = good;                              \
	} while (0)

static void decode_refuses_contradictions(void **state)
{
	struct fixture *f = *state;
	struct rf_record record;

	REFUSED(f, head.size, 0);
	REFUSED(f, head.size, sizeof(struct rf_event) - 1);
	REFUSED(f, head.size, f->event.head.size + 1);
	REFUSED(f, head.size, f->event.head.size - 1);
	REFUSED(f, head.size, UINT32_MAX);
	REFUSED(f, head.kind, 0);
	REFUSED(f, head.kind, RF_EVENT_VERDICT + 1);
	REFUSED(f, head.version, RF_EVENT_VERSION + 1);
	REFUSED(f, head.cpu, RF_CPUS_MAX);
	REFUSED(f, head.seq, 0);
	REFUSED(f, head.flags, 0x10);
	REFUSED(f, access, RF_ACCESS_MAX);
	REFUSED(f, access, RF_NET_UNIX + 1); /* a hole in the numbering */
	REFUSED(f, verdict, RF_OBSERVE + 1);
	REFUSED(f, reason, RF_REASON_MAX);
	REFUSED(f, hook, RF_HOOK_MAX);
	REFUSED(f, family, 5);
	REFUSED(f, path_len, f->event.path_len + 1);
	REFUSED(f, path_len, UINT16_MAX);
	REFUSED(f, exe_len, f->event.exe_len - 1);
	memmove(f->bytes + 1, f->bytes, f->len);
	assert_int_equal(rf_event_decode(f->bytes + 1, f->len, &record), -EBADMSG);
}

static void decode_bounds_names(void **state)
{
	static const char zeros[RF_PATH_MAX + 1];
	struct fixture *f = *state;

	fill(f, zeros, RF_PATH_MAX, zeros, RF_EXE_MAX);
	assert_int_equal(decode(f), 0);
	fill(f, zeros, RF_PATH_MAX + 1, zeros, 0);
	assert_int_equal(decode(f), -EBADMSG);
	fill(f, zeros, 0, zeros, RF_EXE_MAX + 1);
	assert_int_equal(decode(f), -EBADMSG);
	fill(f, zeros, 0, zeros, 0);
	assert_int_equal(decode(f), 0);
}

/* What a consumer does: object_hex if it is there, the decoded text otherwise. */

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
	static const struct CMUnitTest tests[] = {
		TEST(decode_gives_the_views),
		TEST(decode_refuses_every_shorter_length),
		TEST(decode_refuses_contradictions),
		TEST(decode_bounds_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
