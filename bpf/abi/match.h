/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One step of an automaton, the only place that reads the state layout of image.h: built by clang for the kernel
 * and by cc for the userspace evaluator, so that both decide alike.
 *
 * cells and mask bound every index: a damaged image can give a wrong state, never a read outside the array.
 */
#pragma once

#include "image.h"

static inline __attribute__((always_inline)) __u8 rf_class(const union rf_cell *cells, __u32 mask, __u32 image,
							   __u32 classes, __u8 byte)
{
	const __u8 *bytes = (const __u8 *)cells;

	return bytes[((image + classes) * 8 + byte) & (mask * 8 + 7)];
}

/* State after one byte of a class. image: index of the image's first cell. */
static inline __attribute__((always_inline)) __u32 rf_step_class(const union rf_cell *cells, __u32 mask, __u32 image,
								 __u32 state, __u8 class)
{
	const union rf_cell *node = &cells[(image + state) & mask];
	const union rf_cell *edge = &cells[(image + node->hi + class) & mask];

	return edge->lo == state ? edge->hi : node->lo;
}

/* State after one byte. classes: of struct rf_automaton_header. */
static inline __attribute__((always_inline)) __u32 rf_step(const union rf_cell *cells, __u32 mask, __u32 image,
							   __u32 classes, __u32 state, __u8 byte)
{
	return rf_step_class(cells, mask, image, state, rf_class(cells, mask, image, classes, byte));
}

/* RF_STATE_FIXED or 0 */
static inline __attribute__((always_inline)) __u32 rf_state_fixed(const union rf_cell *cells, __u32 mask, __u32 image,
								  __u32 state)
{
	return cells[(image + state + 1) & mask].hi & RF_STATE_FIXED;
}

/* The verdict record of a state: {allow mask, rule numbers}. It may begin at the last masked cell: see RF_CELLS_PAD. */
static inline __attribute__((always_inline)) const struct rf_verdicts *
rf_state_verdicts(const union rf_cell *cells, __u32 mask, __u32 image, __u32 state)
{
	const union rf_cell *node = &cells[(image + state + 1) & mask];

	return (const struct rf_verdicts *)&cells[(image + node->lo) & mask];
}
