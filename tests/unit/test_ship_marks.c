/* SPDX-License-Identifier: Apache-2.0 */
/* ship/marks.c: what settles, when, and that a full ring is late and never early. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ship/marks.h"

static void marks_settle_in_order(void **state)
{
	struct rf_marks marks = {0};
	struct rf_position position = {0};
	uint64_t lines = 0;

	(void)state;
	for (uint64_t i = 1; i <= 3; i++)
		rf_marks_add(&marks, i * 100, &(struct rf_position){1, i, 0}, 1, (int64_t)i * 1000, 5000);
	assert_false(rf_marks_all_acknowledged(&marks));
	assert_int_equal(rf_marks_acknowledge(&marks, 199, 4000), 1);
	assert_int_equal(rf_marks_acknowledge(&marks, 199, 4500), 0);
	assert_false(rf_marks_settle(&marks, 8999, 5000, &position, &lines));
	assert_true(rf_marks_settle(&marks, 9000, 5000, &position, &lines));
	assert_int_equal(position.offset, 1);
	assert_int_equal(lines, 1);
	assert_false(rf_marks_settle(&marks, 99999, 5000, &position, &lines)); /* not acknowledged: never */
	assert_int_equal(rf_marks_acknowledge(&marks, 300, 9000), 2);
	assert_true(rf_marks_all_acknowledged(&marks));
	assert_true(rf_marks_settle(&marks, 9000, 0, &position, &lines));
	assert_int_equal(position.offset, 3);
	assert_int_equal(lines, 3);
}

static void full_marks_are_late_never_early(void **state)
{
	struct rf_marks marks = {0};
	struct rf_position position = {0};
	uint64_t lines = 0;

	(void)state;
	for (uint64_t i = 1; i <= 10 * RF_MARKS_MAX; i++)
		rf_marks_add(&marks, i, &(struct rf_position){1, i, 0}, 1, (int64_t)i * 100, 5000);
	assert_int_equal(marks.n, RF_MARKS_MAX);
	/* The last stands for all that came after: it must not be taken as acknowledged by half of it. */
	rf_marks_acknowledge(&marks, 10 * RF_MARKS_MAX - 1, 1000000);
	assert_true(rf_marks_settle(&marks, 1000000, 0, &position, &lines));
	assert_int_equal(position.offset, RF_MARKS_MAX - 1);
	rf_marks_acknowledge(&marks, 10 * RF_MARKS_MAX, 1000000);
	assert_true(rf_marks_settle(&marks, 1000000, 0, &position, &lines));
	assert_int_equal(position.offset, 10 * RF_MARKS_MAX);
	assert_int_equal(lines, 10 * RF_MARKS_MAX);

	/* An acknowledged mark that is written over because of a full ring is open again. */
	memset(&marks, 0, sizeof(marks));
	for (uint64_t i = 1; i <= RF_MARKS_MAX; i++)
		rf_marks_add(&marks, i, &(struct rf_position){1, i, 0}, 1, (int64_t)i * 100, 5000);
	rf_marks_acknowledge(&marks, RF_MARKS_MAX, 1000);
	rf_marks_add(&marks, 1000, &(struct rf_position){1, 1000, 0}, 1, 1000, 5000);
	assert_false(rf_marks_all_acknowledged(&marks));
	/* Close in time: one mark. */
	memset(&marks, 0, sizeof(marks));
	rf_marks_add(&marks, 1, &position, 1, 1000, 5000);
	rf_marks_add(&marks, 2, &position, 1, 1038, 5000);
	assert_int_equal(marks.n, 1);
	rf_marks_add(&marks, 3, &position, 1, 1039, 5000);
	assert_int_equal(marks.n, 2);
	rf_marks_clear(&marks);
	assert_true(rf_marks_all_acknowledged(&marks));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(marks_settle_in_order),
		cmocka_unit_test(full_marks_are_late_never_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
