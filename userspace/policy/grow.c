/* SPDX-License-Identifier: Apache-2.0 */
/* Growing arrays and the index that finds equal things: sets of positions, tokens, records, rows. */
#include "policy/grow.h"

#include <stdlib.h>
#include <string.h>

int rf_grow(void *array, size_t *cap, size_t need, size_t size)
{
	size_t n = *cap ? *cap + *cap / 2 : 64;
	void *old, *new;

	if (need <= *cap)
		return 0;
	if (n < need)
		n = need;
	memcpy(&old, array, sizeof(old));
	new = reallocarray(old, n, size);
	if (!new)
		return -ENOMEM;
	memcpy(array, &new, sizeof(new));
	*cap = n;
	return 0;
}

uint64_t rf_hash_words(const uint32_t *words, size_t n)
{
	uint64_t h = n * 0x9e3779b97f4a7c15ULL;

	for (size_t i = 0; i < n; i++) {
		h = (h ^ words[i]) * 0xff51afd7ed558ccdULL;
		h ^= h >> 32;
	}
	return rf_mix(h);
}

void rf_index_done(struct rf_index *index)
{
	free(index->slots);
	*index = (struct rf_index){};
}

static int enlarge(struct rf_index *index)
{
	size_t size = index->size ? index->size * 2 : 64;
	struct rf_index_slot *slots = calloc(size, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < index->size; i++) {
		size_t at = index->slots[i].hash & (size - 1);

		if (!index->slots[i].id)
			continue;
		while (slots[at].id)
			at = (at + 1) & (size - 1);
		slots[at] = index->slots[i];
	}
	free(index->slots);
	index->slots = slots;
	index->size = size;
	return 0;
}

int rf_index_add(struct rf_index *index, uint64_t hash, rf_index_eq eq, const void *ctx, uint32_t *number)
{
	uint32_t h = (uint32_t)hash;
	size_t at;
	int err;

	if (index->used * 4 >= index->size * 3) {
		err = enlarge(index);
		if (err)
			return err;
	}
	for (at = h & (index->size - 1); index->slots[at].id; at = (at + 1) & (index->size - 1)) {
		if (index->slots[at].hash == h && eq(ctx, index->slots[at].id - 1)) {
			*number = index->slots[at].id - 1;
			return 1;
		}
	}
	index->slots[at] = (struct rf_index_slot){h, *number + 1};
	index->used++;
	return 0;
}
