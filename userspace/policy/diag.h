/* SPDX-License-Identifier: Apache-2.0 */
/* Errors with their place, and the words in them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/policy.h"

struct rf_place {
	const char *file;
	unsigned int line, column; /* from 1; 0: the file as a whole */
};

/*
 * Fills *diag and returns -EINVAL, so that "return rf_diag_at(...)" is the way to refuse. The text is made safe for
 * a terminal: what a policy quotes can't move the cursor or break the line.
 */
int rf_diag_at(struct rf_diag *diag, struct rf_place place, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Bytes of the valid UTF-8 sequence at p, of at most n; 0: none. *ret_code: its code point. */
size_t rf_diag_utf8(const char *p, size_t n, uint32_t *ret_code);
/* Control characters, separators and direction changers: never printed as they are. */
bool rf_diag_hostile(uint32_t code);

/*
 * The name in names[0..n) (NULLs are skipped) that is closest to word, for "did you mean"; NULL: nothing is close.
 */
const char *rf_diag_closest(const char *word, const char *const *names, size_t n);
