/* SPDX-License-Identifier: Apache-2.0 */
/* The image: its layout, and the check of bytes from anywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "abi/match.h"
#include "lib/cleanup.h"
#include "policy/automaton.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define RECORD_CELLS (sizeof(struct rf_verdicts) / sizeof(union rf_cell))

struct image {
	union rf_cell *cells;
	size_t n;
	const struct rf_image *header;
};

static int setup(void **state)
{
	static const char *const globs[] = {"/usr/**", "/home/*/.ssh/**", "**/*.pem", "/usr/{bin,lib}/x"};
	__cleanup(rf_automaton_free) struct rf_automaton *path = NULL, *addr = NULL;
	struct rf_pattern patterns[COUNT(globs)], networks[2];
	struct rf_automaton *automata[RF_AUTOMATON_MAX];
	struct image *image = calloc(1, sizeof(*image));
	struct rf_image header = {.flags = RF_IMAGE_OBSERVE, .record = 5, .rules = 4, .digest = {1, 2, 3}};
	size_t blamed;

	assert_non_null(image);
	for (size_t i = 0; i < COUNT(globs); i++) {
		patterns[i] = (struct rf_pattern){.glob = globs[i], .len = strlen(globs[i]), .rule = (uint16_t)i};
		patterns[i].accesses = RF_FILE_ALL;
		patterns[i].allow = i != 1;
	}
	for (size_t i = 0; i < COUNT(networks); i++) {
		networks[i] = (struct rf_pattern){.accesses = 1, .allow = true, .rule = (uint16_t)i};
		networks[i].addr = (struct rf_addr_range){.family = 4, .addr = {10, (uint8_t)i}, .prefix = 16};
		networks[i].addr.protocol_hi = 255;
		networks[i].addr.port_hi = 1024;
	}
	assert_int_equal(rf_automaton_build(RF_AUTOMATON_PATH, patterns, COUNT(patterns), 1000, &path, &blamed), 0);
	assert_int_equal(rf_automaton_build(RF_AUTOMATON_ADDR, networks, COUNT(networks), 1000, &addr, &blamed), 0);
	automata[RF_AUTOMATON_PATH] = path;
	automata[RF_AUTOMATON_ADDR] = addr;
	assert_int_equal(rf_image_layout(&header, automata, &image->cells, &image->n), 0);
	image->header = (const struct rf_image *)image->cells;
	*state = image;
	return 0;
}

static int teardown(void **state)
{
	struct image *image = *state;

	free(image->cells);
	free(image);
	return 0;
}

static void test_header(void **state)
{
	const struct image *image = *state;

	assert_int_equal(image->header->magic, RF_IMAGE_MAGIC);
	assert_int_equal(image->header->cells, image->n);
	assert_int_equal(image->header->id, 0);
	assert_int_equal(image->header->flags, RF_IMAGE_OBSERVE);
	assert_int_equal(image->header->record, 5);
	assert_int_equal(image->header->rules, 4);
	assert_memory_equal(image->header->digest, "\1\2\3", 4);
	for (int k = 0; k < RF_AUTOMATON_MAX; k++) {
		const struct rf_automaton_header *a = &image->header->automaton[k];
		const uint8_t *class_of = (const uint8_t *)&image->cells[a->classes];
		uint8_t last = 0;

		assert_true(a->dead > a->start);
		for (unsigned int byte = 0; byte < 256; byte++)
			last = class_of[byte] > last ? class_of[byte] : last;
		assert_int_equal(a->n_classes, last + 1);
	}
}

/* Both automata share one record of "nothing matched", and no two records are equal. */
static void test_records_shared(void **state)
{
	const struct image *image = *state;
	uint32_t first = UINT32_MAX, last = 0, at[RF_AUTOMATON_MAX];

	for (int k = 0; k < RF_AUTOMATON_MAX; k++) {
		const struct rf_automaton_header *a = &image->header->automaton[k];

		at[k] = image->cells[a->start + 1].lo;
		for (uint32_t s = a->start; s < a->start + 2 * a->states; s += 2) {
			first = image->cells[s + 1].lo < first ? image->cells[s + 1].lo : first;
			last = image->cells[s + 1].lo > last ? image->cells[s + 1].lo : last;
		}
	}
	assert_int_equal(at[0], at[1]);
	assert_int_equal(last + RECORD_CELLS, image->n);
	assert_true(last > first);
	for (uint32_t x = first; x <= last; x += RECORD_CELLS) {
		for (uint32_t y = x + RECORD_CELLS; y <= last; y += RECORD_CELLS)
			assert_memory_not_equal(&image->cells[x], &image->cells[y], sizeof(struct rf_verdicts));
	}
}

/* Does some byte lead from some state to a place that is no state, or read outside of the image? Slow and plain. */
static bool leads_outside(const union rf_cell *cells, size_t n)
{
	const struct rf_image *header = (const struct rf_image *)cells;

	for (int k = 0; k < RF_AUTOMATON_MAX; k++) {
		const struct rf_automaton_header *a = &header->automaton[k];
		uint64_t end = a->start + 2ULL * a->states;

		if (end > n || a->classes + 32ULL > n)
			return true;
		for (uint64_t s = a->start; s < end; s += 2) {
			if (cells[s].hi + 256ULL > n || cells[s + 1].lo + RECORD_CELLS > n)
				return true;
			for (unsigned int byte = 0; byte < 256; byte++) {
				uint32_t to = rf_step(cells, RF_CELLS_MASK, 0, a->classes, (uint32_t)s, (uint8_t)byte);

				if (to < a->start || to >= end || (to - a->start) % 2)
					return true;
			}
		}
	}
	return false;
}

struct copy {
	union rf_cell *cells;
	struct rf_image *header;
};

static struct copy copy_of(const struct image *image)
{
	struct copy copy = {.cells = malloc(image->n * sizeof(*image->cells))};

	assert_non_null(copy.cells);
	memcpy(copy.cells, image->cells, image->n * sizeof(*image->cells));
	copy.header = (struct rf_image *)copy.cells;
	return copy;
}

static void test_check_header(void **state)
{
	const struct image *image = *state;
	const uint32_t start = image->header->automaton[0].start;
	__cleanup(freep) union rf_cell *cut = NULL;

	assert_int_equal(rf_image_check(image->cells, image->n), 0);
	assert_false(leads_outside(image->cells, image->n));
#define REFUSED(assignment)                                                    \
	do {                                                                   \
		struct copy copy = copy_of(image);                             \
		struct rf_automaton_header *path = &copy.header->automaton[0]; \
		assignment;                                                    \
		(void)path;                                                    \
		if (rf_image_check(copy.cells, image->n) != -EBADMSG)          \
			fail_msg("not refused: %s", #assignment);              \
		free(copy.cells);                                              \
	} while (0)
	REFUSED(copy.header->magic++);
	REFUSED(copy.header->cells++);
	REFUSED(copy.header->cells--);
	REFUSED(path->classes = 0);
	REFUSED(path->classes = (uint32_t)image->n - 31);
	REFUSED(path->classes = UINT32_MAX);
	REFUSED(path->n_classes = 0);
	REFUSED(path->n_classes--);
	REFUSED(path->n_classes = 257);
	REFUSED(copy.header->automaton[1].n_classes--);
	/* Another byte of the class of '/', or '/' in another's. */
	REFUSED(((uint8_t *)&copy.cells[path->classes])['x'] = ((uint8_t *)&copy.cells[path->classes])['/']);
	REFUSED(((uint8_t *)&copy.cells[path->classes])['/'] = ((uint8_t *)&copy.cells[path->classes])['x']);
	REFUSED(((uint8_t *)&copy.cells[path->classes])[255] = 255);
	REFUSED(path->start++);
	REFUSED(path->start = 0);
	REFUSED(path->start = UINT32_MAX - 1);
	REFUSED(path->states = 0);
	REFUSED(path->states = (uint32_t)image->n);
	REFUSED(path->states = UINT32_MAX);
	REFUSED(path->states--);
	REFUSED(path->dead = start);
	REFUSED(path->dead++);
	REFUSED(path->dead = UINT32_MAX);
	REFUSED(copy.cells[start].lo++);
	REFUSED(copy.cells[start].lo = copy.header->automaton[1].start);
	REFUSED(copy.cells[start].lo = UINT32_MAX);
	REFUSED(copy.cells[start].hi = (uint32_t)image->n - 255);
	REFUSED(copy.cells[start].hi = 0);
	REFUSED(copy.cells[start].hi = UINT32_MAX);
	REFUSED(copy.cells[start + 1].lo = (uint32_t)image->n - 4);
	REFUSED(copy.cells[start + 1].lo = UINT32_MAX);
	REFUSED(copy.cells[path->dead].lo = start);
	REFUSED(copy.cells[path->dead + 1].lo = copy.cells[path->dead + 1].lo + 5);
	/* Every shorter piece, and none at all; exact allocations, so that a read behind the end is seen. */
	for (size_t n = 0; n < image->n; n += n < 64 ? 1 : 97) {
		free(cut);
		cut = malloc(n * sizeof(*cut) + !n);
		assert_non_null(cut);
		memcpy(cut, image->cells, n * sizeof(*cut));
		assert_int_equal(rf_image_check(cut, n), -EBADMSG);
		if (n < sizeof(struct rf_image) / sizeof(*cut))
			continue;
		((struct rf_image *)cut)->cells = (uint32_t)n;
		assert_int_equal(rf_image_check(cut, n), -EBADMSG);
	}
}

/* Each transition of each state, sent to places that are no states. */
static void test_check_transitions(void **state)
{
	const struct image *image = *state;
	size_t found = 0;

	for (int k = 0; k < RF_AUTOMATON_MAX; k++) {
		const struct rf_automaton_header *a = &image->header->automaton[k];
		const uint32_t wrong[] = {0,
					  1,
					  a->start - 2,
					  a->start + 1,
					  a->start + 2 * a->states,
					  UINT32_MAX,
					  image->header->automaton[!k].start};

		for (size_t i = a->start + 2 * a->states; i < image->n - RECORD_CELLS; i++) {
			uint32_t owner = image->cells[i].lo;

			if (owner < a->start || owner >= a->start + 2 * a->states || image->cells[owner].hi > i ||
			    i - image->cells[owner].hi > 255)
				continue;
			found++;
			for (size_t w = 0; w < COUNT(wrong); w++) {
				struct copy copy = copy_of(image);

				copy.cells[i].hi = wrong[w];
				assert_int_equal(rf_image_check(copy.cells, image->n), -EBADMSG);
				free(copy.cells);
			}
		}
	}
	assert_true(found > 30);
}

/* The last class of a row is 255: a wrong transition there counts, one cell further it is no transition. */
static void test_check_window(void **state)
{
	const struct image *image = *state;
	const uint32_t start = image->header->automaton[0].start, base = image->cells[start].hi;
	struct copy copy = copy_of(image);

	assert_true(base + 256 < image->n - RECORD_CELLS);
	copy.cells[base + 255] = (union rf_cell){.lo = start, .hi = 0};
	assert_int_equal(rf_image_check(copy.cells, image->n), -EBADMSG);
	copy.cells[base + 255] = image->cells[base + 255];
	copy.cells[base + 256] = (union rf_cell){.lo = start, .hi = 0};
	assert_int_equal(rf_image_check(copy.cells, image->n), 0);
	free(copy.cells);
}

/* Whatever is damaged: refused, or harmless. And both happen. */
static void test_check_damage(void **state)
{
	const struct image *image = *state;
	size_t refused = 0, harmless = 0;
	uint64_t x = 88172645463325252ULL;

	for (int round = 0; round < 4000; round++) {
		struct copy copy = copy_of(image);
		unsigned int damages = 1 + round % 3;

		for (unsigned int i = 0; i < damages; i++) {
			uint32_t *word;

			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			word = (uint32_t *)copy.cells + x % (image->n * 2);
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			*word = x & 1 ? (uint32_t)(x >> 32) % (uint32_t)image->n : *word ^ 1U << (x >> 40) % 32;
		}
		if (rf_image_check(copy.cells, image->n)) {
			refused++;
		} else {
			harmless++;
			assert_false(leads_outside(copy.cells, image->n));
			rf_image_path(copy.cells, image->n, RF_FILE_READ, "/usr/bin/x.pem", 14);
		}
		free(copy.cells);
	}
	assert_true(refused > 400);
	assert_true(harmless > 400);
}

/* Rows share their gaps: few more cells than states and transitions need. */
static void test_tight(void **state)
{
	enum { RULES = 2000 };
	__cleanup(rf_automaton_free) struct rf_automaton *path = NULL, *addr = NULL;
	struct rf_pattern *patterns = calloc(RULES, sizeof(*patterns));
	char(*text)[64] = calloc(RULES, sizeof(*text));
	struct rf_automaton *automata[RF_AUTOMATON_MAX];
	const struct rf_automaton_header *a;
	__cleanup(freep) union rf_cell *cells = NULL;
	struct rf_image header = {};
	size_t n, blamed, comb, owned = 0, end;

	(void)state;
	assert_true(patterns && text);
	for (size_t i = 0; i < RULES; i++) {
		patterns[i] = (struct rf_pattern){.glob = text[i], .accesses = 1, .allow = true, .rule = (uint16_t)i};
		patterns[i].len = (size_t)snprintf(text[i], sizeof(text[i]), "/srv/team-%02zu/p-%04zu/%s", i % 50, i,
						   i % 9 ? "**" : "*.[ch]");
	}
	assert_int_equal(rf_automaton_build(RF_AUTOMATON_PATH, patterns, RULES, 100000, &path, &blamed), 0);
	assert_int_equal(rf_automaton_build(RF_AUTOMATON_ADDR, NULL, 0, 1, &addr, &blamed), 0);
	automata[RF_AUTOMATON_PATH] = path;
	automata[RF_AUTOMATON_ADDR] = addr;
	assert_int_equal(rf_image_layout(&header, automata, &cells, &n), 0);
	assert_int_equal(rf_image_check(cells, n), 0);
	a = &((struct rf_image *)cells)->automaton[RF_AUTOMATON_PATH];
	comb = a->start + 2 * (a->states + 1);
	end = n - (RULES + 1) * RECORD_CELLS;
	for (size_t i = comb; i < end; i++)
		owned += cells[i].lo != 0;
	assert_true(owned > RULES);
	assert_true(end - comb < owned + owned / 20 + 512);
	for (size_t i = 0; i < RULES; i++) {
		char object[80];
		int len = snprintf(object, sizeof(object), "/srv/team-%02zu/p-%04zu/a.c", i % 50, i);
		struct rf_decision d = rf_image_path(cells, n, RF_FILE_READ, object, (size_t)len);

		assert_true(d.allow && d.rule == i);
		len = snprintf(object, sizeof(object), "/srv/team-%02zu/p-%04zu/a.c", (i + 1) % 50, i);
		assert_false(rf_image_path(cells, n, RF_FILE_READ, object, (size_t)len).allow);
	}
	free(patterns);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_header),	     cmocka_unit_test(test_records_shared),
		cmocka_unit_test(test_check_header), cmocka_unit_test(test_check_transitions),
		cmocka_unit_test(test_check_window), cmocka_unit_test(test_check_damage),
		cmocka_unit_test(test_tight),
	};

	return cmocka_run_group_tests_name("image", tests, setup, teardown);
}
