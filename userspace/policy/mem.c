// SPDX-License-Identifier: Apache-2.0
/* The arena of one policy. */
#include "policy/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_SIZE ((size_t)64 << 10)
#define ALIGN 16

struct rf_mem_block {
	struct rf_mem_block *next;
	_Alignas(ALIGN) unsigned char bytes[];
};

static int grow(struct rf_mem *mem, size_t need)
{
	size_t size = need > BLOCK_SIZE ? need : BLOCK_SIZE;
	struct rf_mem_block *block = calloc(1, sizeof(*block) + size);

	if (!block)
		return -1;
	block->next = mem->blocks;
	mem->blocks = block;
	mem->used = 0;
	mem->size = size;
	return 0;
}

void *rf_mem_get(struct rf_mem *mem, size_t size)
{
	void *p;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if (!size)
		size = ALIGN;
	if ((!mem->blocks || mem->size - mem->used < size) && grow(mem, size))
		return NULL;
	p = mem->blocks->bytes + mem->used;
	mem->used += size;
	return p;
}

void *rf_mem_array(struct rf_mem *mem, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes))
		return NULL;
	return rf_mem_get(mem, bytes);
}

char *rf_mem_copy(struct rf_mem *mem, const char *bytes, size_t len)
{
	char *copy = len < SIZE_MAX ? rf_mem_get(mem, len + 1) : NULL;

	if (copy && len)
		memcpy(copy, bytes, len);
	return copy;
}

char *rf_mem_printf(struct rf_mem *mem, const char *format, ...)
{
	va_list args;
	char *text;
	int len;

	va_start(args, format);
	len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (len < 0)
		return NULL;
	text = rf_mem_get(mem, (size_t)len + 1);
	if (!text)
		return NULL;
	va_start(args, format);
	vsnprintf(text, (size_t)len + 1, format, args);
	va_end(args);
	return text;
}

void rf_mem_done(struct rf_mem *mem)
{
	while (mem->blocks) {
		struct rf_mem_block *block = mem->blocks;

		mem->blocks = block->next;
		free(block);
	}
	mem->used = mem->size = 0;
}
