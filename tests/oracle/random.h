/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random policies and the paths and addresses to ask them about. The same seed gives the same on every machine.
 * Every policy keeps a few model paths; its patterns are models with parts made general, and the questions are models
 * with parts changed, so that both verdicts are frequent. All paths can be made on a real filesystem: names of 1 to 8
 * bytes, odd ones included, never "." or "..", at most RF_RANDOM_DEPTH deep.
 */
#pragma once

#include "policy/automaton.h"

#define RF_RANDOM_DEPTH 12
#define RF_RANDOM_NAME 8
#define RF_RANDOM_PATH (RF_RANDOM_DEPTH * (RF_RANDOM_NAME + 1) + 1)
#define RF_RANDOM_GLOB 1024
#define RF_RANDOM_PATTERNS 24
#define RF_RANDOM_MODELS 6

struct rf_random {
	uint64_t state; /* the seed at first */
};

struct rf_random_names {
	unsigned int n;
	char name[RF_RANDOM_DEPTH][RF_RANDOM_NAME + 1];
};

struct rf_random_addr {
	uint8_t family, addr[16], protocol;
	uint16_t port;
};

/* Large: keep it off small stacks. patterns point into text: do not copy. */
struct rf_random_policy {
	size_t n;
	struct rf_pattern patterns[RF_RANDOM_PATTERNS];
	char text[RF_RANDOM_PATTERNS][RF_RANDOM_GLOB];
	struct rf_random_names model[RF_RANDOM_MODELS];
	struct rf_random_addr addr_model[RF_RANDOM_MODELS];
};

uint64_t rf_random_next(struct rf_random *r);
/* 0..n-1 */
unsigned int rf_random_below(struct rf_random *r, unsigned int n);
void rf_random_policy(struct rf_random *r, enum rf_automaton_kind kind, struct rf_random_policy *ret);
/* Writes an absolute path ("/" for the root), returns its length; not terminated. */
size_t rf_random_path(struct rf_random *r, const struct rf_random_policy *policy, char path[RF_RANDOM_PATH]);
/* What may follow a directory's name: names of a model, some changed, each with a '/' before it; terminated. */
size_t rf_random_continuation(struct rf_random *r, const struct rf_random_policy *policy,
			      char below[RF_RANDOM_PATH + 1]);
/* Two names to rename between: of any two objects, or of one beside the other; terminated. Whether of a directory. */
bool rf_random_rename(struct rf_random *r, const struct rf_random_policy *policy, char old[RF_RANDOM_PATH + 1],
		      char new[RF_RANDOM_PATH + 1]);
void rf_random_addr(struct rf_random *r, const struct rf_random_policy *policy, struct rf_random_addr *ret);
