/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * May a directory get another name without widening? Everything that state `to` allows must be allowed by state `from`,
 * for whatever name follows; and what may be made below `from` must be something that may be made below `to`, for it
 * comes along. A walk over pairs of states: what the same bytes lead to from the one and from the other. Pairs of states
 * that allow alike can't differ and are left out.
 *
 * Names are never empty, so no '/' follows a '/', and a path that ends in one is no object. Other bytes are taken to
 * follow freely, although a path holds no NUL, no "." and no name beyond NAME_MAX: a rule that only tells these apart
 * costs a refusal at the worst, for it can only be a pattern of classes that names each other byte.
 *
 * One step is one class of one pair, with all state in *w, so that the kernel (bpf_loop, map memory) and userspace (a
 * plain loop) walk alike, pair by pair.
 */
#pragma once

#include "match.h"

#define RF_INCLUSION_STEPS (RF_PAIRS_MAX * 256 + 1)
/* Half of the slots stay free. */
#define RF_PAIR_SLOTS (RF_PAIRS_MAX * 2)
/* Slots looked at for one pair. All taken by others: with half of them free, once in 60,000 pairs. */
#define RF_PAIR_TRIES 16

enum rf_inclusion_answer {
	RF_INCLUSION_HOLDS = 0,
	RF_INCLUSION_WIDENS = 1,
	RF_INCLUSION_TOO_COMPLEX = 2, /* more than RF_PAIRS_MAX pairs */
	RF_INCLUSION_OPEN = 3, /* at work */
};

struct rf_pair {
	__u32 from, to;
};
#define RF_PAIR_SLASH (1U << 31) /* in from: reached by a '/' */

struct rf_inclusion {
	__u32 image;
	__u32 n_classes; /* of struct rf_automaton_header */
	__u32 slash; /* class of '/' */
	__u32 answer; /* enum rf_inclusion_answer */
	__u32 n; /* pairs met */
	__u32 at; /* the one at hand: those before it are done */
	__u32 class; /* its next class */
	struct rf_pair pair[RF_PAIRS_MAX];
	union {
		__u16 slot[RF_PAIR_SLOTS]; /* hash table: number of a pair + 1 */
		__u64 slots[RF_PAIR_SLOTS / 4];
	};
};

/* What `to` allows and `from` does not. */
static inline __attribute__((always_inline)) __u64 rf_gained(const union rf_cell *cells, __u32 mask, __u32 image,
							     __u32 from, __u32 to)
{
	return rf_state_verdicts(cells, mask, image, to)->allow & ~rf_state_verdicts(cells, mask, image, from)->allow;
}

/* The same of a name below a directory that moves, and create if only `from` allows it: the name would be made anyway. */
static inline __attribute__((always_inline)) __u64 rf_gained_below(const union rf_cell *cells, __u32 mask, __u32 image,
								   __u32 from, __u32 to)
{
	__u64 lost = rf_gained(cells, mask, image, to, from);

	return rf_gained(cells, mask, image, from, to) | (lost & RF_ACCESS_BIT(RF_FILE_CREATE));
}

/* Equal states, and those that differ only in the rules that decide: there is nothing to walk over. */
static inline __attribute__((always_inline)) __u32 rf_alike(const union rf_cell *cells, __u32 mask, __u32 image,
							    __u32 from, __u32 to)
{
	return !((cells[(image + from + 1) & mask].hi ^ cells[(image + to + 1) & mask].hi) & ~RF_STATE_FIXED);
}

/* Another pair to look at, unless it was met. */
static inline __attribute__((always_inline)) void rf_inclusion_add(struct rf_inclusion *w, __u32 from, __u32 to)
{
	__u32 hash = (from * 0x9e3779b1U) ^ (to * 0x85ebca6bU), n;

	hash ^= hash >> 15;
	for (__u32 i = 0; i < RF_PAIR_TRIES; i++) {
		__u16 *slot = &w->slot[(hash + i * (hash >> 16 | 1)) & (RF_PAIR_SLOTS - 1)];
		struct rf_pair *pair = &w->pair[(*slot - 1) & (RF_PAIRS_MAX - 1)];

		if (*slot && (pair->from != from || pair->to != to))
			continue;
		if (*slot)
			return;
		/* Read twice, so that clang keeps the mask: 6.1 forgets a bound that was learned of another copy. */
		if (*(volatile __u32 *)&w->n >= RF_PAIRS_MAX)
			break;
		n = *(volatile __u32 *)&w->n & (RF_PAIRS_MAX - 1);
		*slot = (__u16)(n + 1);
		w->pair[n].from = from;
		w->pair[n].to = to;
		w->n = n + 1;
		return;
	}
	w->answer = RF_INCLUSION_TOO_COMPLEX;
}

/* Begins behind the '/' that follows the directory's two names. */
static inline __attribute__((always_inline)) void
rf_inclusion_start(const union rf_cell *cells, __u32 mask, struct rf_inclusion *w, __u32 image, __u32 from, __u32 to)
{
	const struct rf_image *header = (const struct rf_image *)&cells[image & mask];
	const struct rf_automaton_header *a = &header->automaton[RF_AUTOMATON_PATH];
	__u8 slash = rf_class(cells, mask, image, a->classes, '/');

	w->image = image;
	w->n_classes = a->n_classes;
	w->slash = slash;
	w->answer = RF_INCLUSION_OPEN;
	w->n = w->at = w->class = 0;
	/* volatile: clang makes a call of memset() otherwise, which BPF has not. */
	for (__u32 i = 0; i < RF_PAIR_SLOTS / 4; i++)
		*(volatile __u64 *)&w->slots[i] = 0;
	from = rf_step_class(cells, mask, image, from, slash);
	to = rf_step_class(cells, mask, image, to, slash);
	if (!rf_alike(cells, mask, image, from, to))
		rf_inclusion_add(w, from | RF_PAIR_SLASH, to);
}

/* Is there more to do? Otherwise the answer is found. Of RF_INCLUSION_WIDENS, w->at and w->class tell where. */
static inline __attribute__((always_inline)) __u32 rf_inclusion_step(const union rf_cell *cells, __u32 mask,
								     struct rf_inclusion *w)
{
	const struct rf_pair *pair = &w->pair[w->at & (RF_PAIRS_MAX - 1)];
	__u32 class = w->class, image = w->image, from = pair->from & ~RF_PAIR_SLASH, to = pair->to;
	__u32 slash = class == w->slash;

	if (w->answer != RF_INCLUSION_OPEN)
		return 0;
	if (w->at >= w->n) {
		w->answer = RF_INCLUSION_HOLDS;
		return 0;
	}
	if (!slash || !(pair->from & RF_PAIR_SLASH)) {
		from = rf_step_class(cells, mask, image, from, class);
		to = rf_step_class(cells, mask, image, to, class);
		if (!rf_alike(cells, mask, image, from, to)) {
			if (!slash && rf_gained_below(cells, mask, image, from, to)) {
				w->answer = RF_INCLUSION_WIDENS;
				return 0;
			}
			rf_inclusion_add(w, slash ? from | RF_PAIR_SLASH : from, to);
			if (w->answer != RF_INCLUSION_OPEN)
				return 0;
		}
	}
	w->class = class + 1;
	if (w->class >= w->n_classes) {
		w->class = 0;
		w->at++;
	}
	return 1;
}
