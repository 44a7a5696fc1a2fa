/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns -> one minimal deterministic automaton per kind -> the cells of a policy image (bpf/abi/image.h).
 * Pure functions on memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/inclusion.h"

/*
 * One pattern of one rule. Patterns are given in the order of the layers: the last that matches wins, access by access.
 * RF_AUTOMATON_PATH: glob is the pattern text (docs/policy.md), absolute or beginning with a double star; len bytes.
 *   '?' and classes take one byte, so a character of several bytes needs as many, or a star.
 * RF_AUTOMATON_ADDR: glob is NULL and addr is used.
 */
struct rf_addr_range {
	uint8_t family; /* 4 or 6 */
	uint8_t addr[16]; /* network order; 4 bytes for family 4 */
	uint8_t prefix; /* bits */
	uint8_t protocol_lo, protocol_hi; /* 0..255: any */
	uint16_t port_lo, port_hi; /* 0..65535: any; host order, inclusive */
};

struct rf_pattern {
	const char *glob;
	size_t len;
	struct rf_addr_range addr;
	uint64_t accesses; /* bit i: access i of this automaton (RF_ACCESS_BIT shifted down) */
	/*
	 * Which name of the file it is about; patterns of equal name stand together, in ascending order. Each name is
	 * decided for itself; then a rule that denies goes before one that allows.
	 */
	uint32_t name;
	uint16_t rule; /* number of the rule it belongs to; several patterns may share one */
	bool allow;
	bool hole; /* here the name has nothing to say */
};

/*
 * Checks one glob and says where it is wrong: 0, or -EINVAL with *reterr_offset (byte in glob) and *reterr_why (a
 * static string that ends in what would be right), or -ENOMEM. rf_automaton_build() accepts exactly what this accepts.
 */
int rf_glob_check(const char *glob, size_t len, size_t *reterr_offset, const char **reterr_why);

struct rf_automaton; /* states and verdicts of one kind, minimal, not yet laid out */

/*
 * Builds the automaton of n patterns; n may be 0. Limits: at most max_states states while building, and memory in
 * proportion to that (-E2BIG). On failure *reterr_pattern is the index of the pattern to blame (for -E2BIG: the one that
 * is at most places in the states made so far) and nothing is returned. -EINVAL: a pattern that rf_glob_check() refuses,
 * an impossible address range, accesses or rule beyond their bounds. The same patterns give the same bytes.
 * Caller frees *ret with rf_automaton_free(). -ENOMEM as usual.
 */
int rf_automaton_build(enum rf_automaton_kind kind, const struct rf_pattern *patterns, size_t n, size_t max_states,
		       struct rf_automaton **ret, size_t *reterr_pattern);
void rf_automaton_free(struct rf_automaton **a);
size_t rf_automaton_states(const struct rf_automaton *a);

/*
 * Lays the automata out behind a header; fills magic, cells, automaton[] of the header and leaves the other fields
 * as they are in *header. *ret_cells is malloc'ed, *ret_n its length in cells. -ENOMEM, or -E2BIG: more than
 * RF_CELLS_MAX cells.
 */
int rf_image_layout(const struct rf_image *header, struct rf_automaton *const automata[RF_AUTOMATON_MAX],
		    union rf_cell **ret_cells, size_t *ret_n);

/* Is this a whole image whose every state, transition and record lies inside? 0 or -EBADMSG. Bytes from anywhere. */
int rf_image_check(const union rf_cell *cells, size_t n);

/* A decision of an automaton: what the kernel would say. cells: an image that rf_image_check() accepts. */
struct rf_decision {
	bool allow;
	uint16_t rule; /* RF_RULE_NONE: nothing matched */
};

/* path: absolute, no "." or "..", no trailing '/', "/" for the root. Uses match.h. access: enum rf_access. */
struct rf_decision rf_image_path(const union rf_cell *cells, size_t n, unsigned int access, const char *path,
				 size_t len);
/*
 * Would a second name of an object (rename, link) widen, by abi/inclusion.h? old, new: paths as above; they need not
 * exist. answer is RF_INCLUSION_HOLDS, _WIDENS or _TOO_COMPLEX. Widening: at new + below, and at no shorter
 * continuation, the accesses of `gained` (bits) would be allowed that old + below denies, or a name that may be made
 * there (file.create) would come to where it may not; below is "" for the object itself. 0 or -ENOMEM.
 */
struct rf_second_name {
	enum rf_inclusion_answer answer;
	uint32_t pairs; /* that were compared */
	uint64_t gained;
	size_t len;
	char below[RF_PAIRS_MAX + 3]; /* terminated too */
};
int rf_image_second_name(const union rf_cell *cells, size_t n, const char *old, size_t old_len, const char *new,
			 size_t new_len, bool directory, struct rf_second_name *ret);
/* key: as in RF_ADDR_KEY_MAX's comment. */
/* The state behind a path: equal states say the same of it and of all below. path: "" for the root. */
uint32_t rf_image_state(const union rf_cell *cells, size_t n, const char *path);
struct rf_decision rf_image_addr(const union rf_cell *cells, size_t n, unsigned int access, const uint8_t *key,
				 size_t len);
/* Writes the key; returns its length. Normalises mapped addresses and the unspecified ones, as the kernel half does. */
size_t rf_addr_key(uint8_t key[RF_ADDR_KEY_MAX], uint8_t family, const uint8_t *addr, uint8_t protocol, uint16_t port);
