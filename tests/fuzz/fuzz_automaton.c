/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two inputs in one target.
 *   Fields ended by NUL: "+GLOB" allows, "-GLOB" denies, "@PATH" asks, "~OLD\nNEW\nBELOW" asks what a rename would
 *   widen, of a file (no BELOW) and of a directory. Image and oracle must agree; BELOW must not be what the image missed.
 *   "I" and the cells of an image: what rf_image_check() accepts must stay inside, whatever is asked.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The whole of it, so that this target needs nothing but userspace/. */
#include "../oracle/oracle.c"

#include "abi/match.h"
#include "lib/cleanup.h"

#define PATTERNS_MAX 8
/* The oracle tries everything: keep what it has to try within reason. */
#define GLOB_MAX 40
#define WILD_MAX 6
#define PATH_MAX_HERE 48

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* A path as the kernel spells it: no empty names. "." and ".." are only names to both sides. */
static bool is_path(const char *path, size_t len)
{
	if (!len || path[0] != '/' || len > PATH_MAX_HERE)
		return false;
	for (size_t i = 1; i < len; i++) {
		if (path[i] == '/' && path[i - 1] == '/')
			return false;
	}
	return len == 1 || path[len - 1] != '/';
}

static bool is_modest(const char *glob, size_t len)
{
	size_t wild = 0;

	for (size_t i = 0; i < len; i++)
		wild += glob[i] == '*' || glob[i] == '{' || glob[i] == ',';
	return len <= GLOB_MAX && wild <= WILD_MAX;
}

/* The image of some patterns; NULL: they take too many states. Caller frees. */
static union rf_cell *compile(const struct rf_pattern *patterns, size_t n, size_t *ret_n)
{
	__cleanup(rf_automaton_free) struct rf_automaton *path_automaton = NULL, *addr_automaton = NULL;
	struct rf_automaton *automata[RF_AUTOMATON_MAX];
	struct rf_image header = {.rules = PATTERNS_MAX};
	union rf_cell *cells = NULL;
	size_t blamed = 0;
	int err;

	err = rf_automaton_build(RF_AUTOMATON_PATH, patterns, n, 2000, &path_automaton, &blamed);
	require(!err || err == -E2BIG);
	require(blamed < PATTERNS_MAX);
	if (err)
		return NULL;
	require(!rf_automaton_build(RF_AUTOMATON_ADDR, NULL, 0, 1, &addr_automaton, &blamed));
	automata[RF_AUTOMATON_PATH] = path_automaton;
	automata[RF_AUTOMATON_ADDR] = addr_automaton;
	require(!rf_image_layout(&header, automata, &cells, ret_n));
	require(!rf_image_check(cells, *ret_n));
	return cells;
}

static void ask(const struct rf_pattern *patterns, size_t n, const char *path, size_t len)
{
	size_t cells_n;
	__cleanup(freep) union rf_cell *cells = compile(patterns, n, &cells_n);
	struct rf_verdicts want;

	if (!cells)
		return;
	oracle_path_all(patterns, n, path, len, &want);
	for (unsigned int access = RF_FILE_READ; access <= RF_NET_UNIX; access++) {
		struct rf_decision got = rf_image_path(cells, cells_n, access, path, len);

		require(got.allow == (want.allow >> access & 1) && got.rule == want.rule[access]);
	}
}

static void check_second(const struct rf_pattern *patterns, size_t n, const union rf_cell *cells, size_t cells_n,
			 const char *old, const char *new, const char *below)
{
	bool directory = *below, widens = oracle_gained(patterns, n, old, new, "") ||
					  (directory && oracle_gained(patterns, n, old, new, below));
	struct rf_second_name got;

	require(!rf_image_second_name(cells, cells_n, old, strlen(old), new, strlen(new), directory, &got));
	require(got.answer == RF_INCLUSION_HOLDS ? !widens && !got.gained
						 : directory || got.answer == RF_INCLUSION_WIDENS);
	if (got.answer == RF_INCLUSION_WIDENS)
		require(got.gained && oracle_gained(patterns, n, old, new, got.below) == got.gained);
}

static void ask_second(const struct rf_pattern *patterns, size_t n, const char *text, size_t len)
{
	char copy[3 * PATH_MAX_HERE + 3], *part[3] = {copy, NULL, NULL};
	__cleanup(freep) union rf_cell *cells = NULL;
	size_t cells_n;

	if (len >= sizeof(copy))
		return;
	memcpy(copy, text, len);
	copy[len] = '\0';
	for (int i = 1; i < 3; i++) {
		part[i] = strchr(part[i - 1], '\n');
		if (!part[i])
			return;
		*part[i]++ = '\0';
	}
	for (int i = 0; i < 3; i++) {
		if (!is_path(part[i], strlen(part[i])) || !part[i][1])
			return;
	}
	cells = compile(patterns, n, &cells_n);
	if (!cells)
		return;
	check_second(patterns, n, cells, cells_n, part[0], part[1], part[2]);
	check_second(patterns, n, cells, cells_n, part[1], part[0], "");
}

static void policy(const char *text, size_t size)
{
	struct rf_pattern patterns[PATTERNS_MAX];
	const char *end, *why;
	size_t n = 0, offset, len;

	for (; size; size -= len + 1, text += len + 1) {
		end = memchr(text, 0, size);
		len = end ? (size_t)(end - text) : size - 1;
		if (!len)
			continue;
		if (text[0] == '@') {
			if (is_path(text + 1, len - 1))
				ask(patterns, n, text + 1, len - 1);
			continue;
		}
		if (text[0] == '~') {
			ask_second(patterns, n, text + 1, len - 1);
			continue;
		}
		if (rf_glob_check(text + 1, len - 1, &offset, &why)) {
			require(offset <= len && why);
			continue;
		}
		if (n == PATTERNS_MAX || !is_modest(text + 1, len - 1))
			continue;
		patterns[n] = (struct rf_pattern){.glob = text + 1, .len = len - 1, .rule = (uint16_t)n};
		patterns[n].accesses = (n % 3 ? 3 : 1) | (n & 1 ? 1 << RF_NET_UNIX : 0);
		patterns[n++].allow = text[0] == '+';
	}
}

/* Whatever such an image makes of it, the walk must stay inside and come to its end. */
static void walk_pairs(const union rf_cell *cells, uint32_t to)
{
	static struct rf_inclusion w;
	unsigned int steps = 0;

	rf_inclusion_start(cells, RF_CELLS_MASK, &w, 0, ((const struct rf_image *)cells)->automaton[0].start, to);
	while (rf_inclusion_step(cells, RF_CELLS_MASK, &w))
		require(++steps < RF_INCLUSION_STEPS);
	require(w.n <= RF_PAIRS_MAX && w.answer != RF_INCLUSION_OPEN);
}

static void image(const uint8_t *data, size_t size)
{
	size_t n = size / sizeof(union rf_cell);
	__cleanup(freep) union rf_cell *cells = malloc(n * sizeof(*cells) + 1);
	const struct rf_image *header = (const struct rf_image *)cells;
	struct rf_verdicts record;

	require(cells);
	memcpy(cells, data, n * sizeof(*cells));
	if (rf_image_check(cells, n))
		return;
	for (int k = 0; k < RF_AUTOMATON_MAX; k++) {
		const struct rf_automaton_header *a = &header->automaton[k];
		uint32_t end = a->start + 2 * a->states;

		/* Bounded by the input's size; no mask can hide a wrong index: the allocation is exact. */
		for (uint32_t s = a->start; s < end; s += 2) {
			for (unsigned int byte = 0; byte < 256; byte++) {
				uint32_t to = rf_step(cells, RF_CELLS_MASK, 0, a->classes, s, (uint8_t)byte);

				require(to >= a->start && to < end && (to - a->start) % 2 == 0);
			}
			memcpy(&record, rf_state_verdicts(cells, RF_CELLS_MASK, 0, s), sizeof(record));
			if (!k && s < a->start + 4)
				walk_pairs(cells, s);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size && data[0] == 'I')
		image(data + 1, size - 1);
	else if (size)
		policy((const char *)data, size);
	return 0;
}
