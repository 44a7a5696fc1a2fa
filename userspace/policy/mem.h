/* SPDX-License-Identifier: Apache-2.0 */
/* An arena: everything a policy is made of lives as long as the policy and goes with one call. */
#pragma once

#include <stdarg.h>
#include <stddef.h>

struct rf_mem_block;
struct rf_mem {
	struct rf_mem_block *blocks; /* newest first */
	size_t used, size; /* of the newest */
};

/* Zeroed memory, aligned for any type; NULL: no memory. Lives until rf_mem_done(). {0} is an empty arena. */
void *rf_mem_get(struct rf_mem *mem, size_t size);
void *rf_mem_array(struct rf_mem *mem, size_t n, size_t size); /* NULL too when n * size overflows */
char *rf_mem_copy(struct rf_mem *mem, const char *bytes, size_t len); /* with a terminating NUL */
char *rf_mem_printf(struct rf_mem *mem, const char *format, ...) __attribute__((format(printf, 2, 3)));
void rf_mem_done(struct rf_mem *mem);
