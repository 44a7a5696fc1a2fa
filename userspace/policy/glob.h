/* SPDX-License-Identifier: Apache-2.0 */
/* Private to policy/: one pattern as a flat row of tokens, the form that nfa.c reads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct rf_addr_range;

/* A set of bytes (or, once the automaton has classes, of classes). */
struct rf_byteset {
	uint64_t w[4];
};

static inline void rf_byteset_add(struct rf_byteset *s, unsigned int b)
{
	s->w[b >> 6] |= 1ULL << (b & 63);
}

static inline bool rf_byteset_has(const struct rf_byteset *s, unsigned int b)
{
	return s->w[b >> 6] >> (b & 63) & 1;
}

static inline unsigned int rf_byteset_count(const struct rf_byteset *s)
{
	return (unsigned int)(__builtin_popcountll(s->w[0]) + __builtin_popcountll(s->w[1]) +
			      __builtin_popcountll(s->w[2]) + __builtin_popcountll(s->w[3]));
}

static inline void rf_byteset_range(struct rf_byteset *s, unsigned int lo, unsigned int hi)
{
	for (; lo <= hi; lo++)
		rf_byteset_add(s, lo);
}

enum rf_token_kind {
	RF_TOKEN_BYTE, /* value: the byte */
	RF_TOKEN_SET, /* value: index in sets */
	RF_TOKEN_STAR, /* any bytes but '/' */
	RF_TOKEN_NAMES, /* a double star before '/': any number of names, each with the '/' before it */
	RF_TOKEN_TAIL, /* a double star at the end: the directory itself and all beneath */
	RF_TOKEN_OPEN, /* value: index of the first RF_TOKEN_ALT of this brace, or of its RF_TOKEN_CLOSE */
	RF_TOKEN_ALT, /* value: as above, the next one */
	RF_TOKEN_CLOSE,
};

struct rf_token {
	enum rf_token_kind kind;
	uint32_t value;
	uint32_t offset; /* in the glob */
};

/* Owned by the caller, all zero at first; every parse reuses the memory. */
struct rf_tokens {
	struct rf_token *v;
	size_t n, cap;
	struct rf_byteset *sets;
	size_t nsets, sets_cap;
};

void rf_tokens_done(struct rf_tokens *t);
/* 0, -ENOMEM, or -EINVAL with *reterr_offset and *reterr_why */
int rf_glob_parse(const char *glob, size_t len, struct rf_tokens *t, size_t *reterr_offset, const char **reterr_why);

/* A range of addresses is at most this many rows of tokens, which differ in the ports. */
#define RF_ADDR_ROWS_MAX 3
/* Row number `row` of the range: 1 and *t filled, 0 when there are no more, -EINVAL for an impossible range, -ENOMEM. */
int rf_addr_parse(const struct rf_addr_range *range, unsigned int row, struct rf_tokens *t);

int rf_tokens_byte(struct rf_tokens *t, enum rf_token_kind kind, uint32_t value, size_t offset);
int rf_tokens_set(struct rf_tokens *t, const struct rf_byteset *set, size_t offset);
