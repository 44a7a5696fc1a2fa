/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel would say: the same step function, over an image in memory. */
#include <errno.h>
#include <string.h>

#include "abi/inclusion.h"
#include "lib/cleanup.h"
#include "policy/automaton.h"

/* Covers every index of an image that rf_image_check() accepts, so it bends none of them. */
static uint32_t mask_of(size_t n)
{
	uint32_t mask = 1;

	while (mask < n - 1)
		mask = mask << 1 | 1;
	return mask;
}

static uint32_t state_after(const union rf_cell *cells, size_t n, enum rf_automaton_kind kind, const uint8_t *bytes,
			    size_t len)
{
	const struct rf_automaton_header *a = &((const struct rf_image *)cells)->automaton[kind];
	uint32_t mask = mask_of(n), state = a->start;

	for (size_t i = 0; i < len; i++)
		state = rf_step(cells, mask, 0, a->classes, state, bytes[i]);
	return state;
}

uint32_t rf_image_state(const union rf_cell *cells, size_t n, const char *path)
{
	return state_after(cells, n, RF_AUTOMATON_PATH, (const uint8_t *)path, strlen(path));
}

static uint32_t state_of_path(const union rf_cell *cells, size_t n, const char *path, size_t len)
{
	/* The root is the empty string: the kernel adds '/' and a name for each level below it. */
	if (len == 1 && path[0] == '/')
		len = 0;
	return state_after(cells, n, RF_AUTOMATON_PATH, (const uint8_t *)path, len);
}

static struct rf_decision decision(const union rf_cell *cells, size_t n, unsigned int access, uint32_t state)
{
	const struct rf_verdicts *verdicts = rf_state_verdicts(cells, mask_of(n), 0, state);

	return (struct rf_decision){
		.allow = verdicts->allow >> (access % RF_ACCESSES) & 1,
		.rule = verdicts->rule[access % RF_ACCESSES],
	};
}

struct rf_decision rf_image_path(const union rf_cell *cells, size_t n, unsigned int access, const char *path,
				 size_t len)
{
	if (access / RF_ACCESSES != RF_AUTOMATON_PATH)
		return (struct rf_decision){.allow = false, .rule = RF_RULE_NONE};
	return decision(cells, n, access, state_of_path(cells, n, path, len));
}

struct rf_decision rf_image_addr(const union rf_cell *cells, size_t n, unsigned int access, const uint8_t *key,
				 size_t len)
{
	if (access / RF_ACCESSES != RF_AUTOMATON_ADDR)
		return (struct rf_decision){.allow = false, .rule = RF_RULE_NONE};
	return decision(cells, n, access, state_after(cells, n, RF_AUTOMATON_ADDR, key, len));
}

/* The byte of a class that a person reads best. */
static char byte_of(const union rf_cell *cells, uint32_t mask, uint32_t classes, uint32_t class)
{
	for (const char *c = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_-.,+"; *c; c++) {
		if (rf_class(cells, mask, 0, classes, (uint8_t)*c) == class)
			return *c;
	}
	for (unsigned int byte = 255; byte; byte--) {
		if (rf_class(cells, mask, 0, classes, (uint8_t)byte) == class)
			return (char)byte;
	}
	return 0;
}

struct walk {
	struct rf_inclusion w;
	struct {
		uint32_t pair, class;
	} parent[RF_PAIRS_MAX]; /* how each pair but the first was met */
};

/* The way to the pair at hand, and its class: read from its end. */
static void tell_below(const union rf_cell *cells, uint32_t mask, const struct walk *walk, struct rf_second_name *ret)
{
	uint32_t classes = ((const struct rf_image *)cells)->automaton[RF_AUTOMATON_PATH].classes;
	uint32_t class = walk->w.class, at = walk->w.at;
	size_t len = 2;

	for (uint32_t i = at; i; i = walk->parent[i].pair)
		len++;
	ret->len = len;
	ret->below[len] = '\0';
	ret->below[0] = '/';
	while (--len) {
		ret->below[len] = byte_of(cells, mask, classes, class);
		class = walk->parent[at].class;
		at = walk->parent[at].pair;
	}
}

static void walk_below(const union rf_cell *cells, uint32_t mask, struct walk *walk, uint32_t from, uint32_t to)
{
	struct rf_inclusion *w = &walk->w;
	uint32_t n, at, class;

	rf_inclusion_start(cells, mask, w, 0, from, to);
	do {
		n = w->n;
		at = w->at;
		class = w->class;
		if (!rf_inclusion_step(cells, mask, w))
			return;
		if (w->n > n) {
			walk->parent[n].pair = at;
			walk->parent[n].class = class;
		}
	} while (1);
}

int rf_image_second_name(const union rf_cell *cells, size_t n, const char *old, size_t old_len, const char *new,
			 size_t new_len, bool directory, struct rf_second_name *ret)
{
	uint32_t from = state_of_path(cells, n, old, old_len), to = state_of_path(cells, n, new, new_len);
	__cleanup(freep) struct walk *walk = NULL;
	uint32_t mask = mask_of(n);

	*ret = (struct rf_second_name){.gained = rf_gained(cells, mask, 0, from, to)};
	if (ret->gained)
		ret->answer = RF_INCLUSION_WIDENS;
	if (ret->gained || rf_alike(cells, mask, 0, from, to) || !directory)
		return 0;
	walk = calloc(1, sizeof(*walk));
	if (!walk)
		return -ENOMEM;
	walk_below(cells, mask, walk, from, to);
	ret->answer = walk->w.answer;
	ret->pairs = walk->w.n;
	if (ret->answer != RF_INCLUSION_WIDENS)
		return 0;
	tell_below(cells, mask, walk, ret);
	for (size_t i = 0; i < ret->len; i++) {
		uint32_t classes = ((const struct rf_image *)cells)->automaton[RF_AUTOMATON_PATH].classes;

		from = rf_step(cells, mask, 0, classes, from, (uint8_t)ret->below[i]);
		to = rf_step(cells, mask, 0, classes, to, (uint8_t)ret->below[i]);
	}
	ret->gained = rf_gained_below(cells, mask, 0, from, to);
	return 0;
}
