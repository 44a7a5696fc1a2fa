/* SPDX-License-Identifier: Apache-2.0 */
/* Private to policy/: growing arrays and an index of numbered things by their content. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Room for `need` elements of `size` bytes at *array (a pointer to the array's pointer): 0 or -ENOMEM. */
int rf_grow(void *array, size_t *cap, size_t need, size_t size);

#define RF_GROW(array, cap, need) ((need) <= (cap) ? 0 : rf_grow(&(array), &(cap), (need), sizeof(*(array))))

/* splitmix64's finaliser: constants of a permutation that mixes every bit into every other. */
static inline uint64_t rf_mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

uint64_t rf_hash_words(const uint32_t *words, size_t n);

/* Content -> number. All zero at first. Equal hashes are told apart by asking eq(ctx, number). */
struct rf_index {
	struct rf_index_slot {
		uint32_t hash;
		uint32_t id; /* number + 1; 0: free */
	} * slots;
	size_t size, used;
};

typedef bool (*rf_index_eq)(const void *ctx, uint32_t number);

void rf_index_done(struct rf_index *index);
/* Number of the thing that eq() agrees with: 1 and *number set; or 0, and `*number` as given is now its number. */
int rf_index_add(struct rf_index *index, uint64_t hash, rf_index_eq eq, const void *ctx, uint32_t *number);
