/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses: ranges -> tokens for the automaton, one address -> the key that the automaton reads. */
#include <errno.h>
#include <string.h>

#include "policy/automaton.h"
#include "policy/glob.h"

static int push_range(struct rf_tokens *t, unsigned int lo, unsigned int hi)
{
	struct rf_byteset set = {};

	if (lo == hi)
		return rf_tokens_byte(t, RF_TOKEN_BYTE, lo, 0);
	rf_byteset_range(&set, lo, hi);
	return rf_tokens_set(t, &set, 0);
}

/*
 * Ports lo..hi as rows of (high byte range, low byte range):
 *   [lo.high][lo.low-255]   [lo.high+1 - hi.high-1][0-255]   [hi.high][0-hi.low]
 * An end that is whole already belongs to the middle.
 */
static bool port_row(unsigned int lo, unsigned int hi, unsigned int row, unsigned int high[2], unsigned int low[2])
{
	unsigned int lh = lo >> 8, hh = hi >> 8;
	unsigned int rows[RF_ADDR_ROWS_MAX][4], n = 0;

	if (lh == hh) {
		memcpy(rows[n++], (unsigned int[]){lh, lh, lo & 255, hi & 255}, sizeof(rows[0]));
	} else {
		if (lo & 255) {
			memcpy(rows[n++], (unsigned int[]){lh, lh, lo & 255, 255}, sizeof(rows[0]));
			lh++;
		}
		if ((hi & 255) != 255) {
			memcpy(rows[n++], (unsigned int[]){hh, hh, 0, hi & 255}, sizeof(rows[0]));
			hh--;
		}
		if (lh <= hh)
			memcpy(rows[n++], (unsigned int[]){lh, hh, 0, 255}, sizeof(rows[0]));
	}
	if (row >= n)
		return false;
	memcpy(high, rows[row], 2 * sizeof(high[0]));
	memcpy(low, rows[row] + 2, 2 * sizeof(low[0]));
	return true;
}

int rf_addr_parse(const struct rf_addr_range *range, unsigned int row, struct rf_tokens *t)
{
	unsigned int bytes = range->family == 4 ? 4 : 16, high[2], low[2];
	int err;

	t->n = t->nsets = 0;
	if ((range->family != 4 && range->family != 6) || range->prefix > bytes * 8 ||
	    range->protocol_lo > range->protocol_hi || range->port_lo > range->port_hi)
		return -EINVAL;
	if (!port_row(range->port_lo, range->port_hi, row, high, low))
		return 0;
	err = rf_tokens_byte(t, RF_TOKEN_BYTE, range->family, 0);
	for (unsigned int i = 0; !err && i < bytes; i++) {
		unsigned int bits = range->prefix > 8 * i ? range->prefix - 8 * i : 0;
		unsigned int open = bits >= 8 ? 0 : 0xff >> bits; /* bits of this byte that may be anything */

		err = push_range(t, range->addr[i] & ~open & 0xff, range->addr[i] | open);
	}
	if (!err)
		err = push_range(t, range->protocol_lo, range->protocol_hi);
	if (!err)
		err = push_range(t, high[0], high[1]);
	if (!err)
		err = push_range(t, low[0], low[1]);
	return err ? err : 1;
}

size_t rf_addr_key(uint8_t key[RF_ADDR_KEY_MAX], uint8_t family, const uint8_t *addr, uint8_t protocol, uint16_t port)
{
	static const uint8_t zero[16], mapped[12] = {[10] = 0xff, [11] = 0xff};
	size_t bytes;

	if (family == 6 && !memcmp(addr, mapped, sizeof(mapped))) {
		family = 4;
		addr += sizeof(mapped);
	}
	bytes = family == 4 ? 4 : 16;
	key[0] = family;
	memcpy(key + 1, addr, bytes);
	if (!memcmp(addr, zero, bytes)) {
		/* Linux connects 0.0.0.0 and :: to the host itself. */
		if (family == 4)
			key[1] = 127;
		key[bytes] = 1;
	}
	key[bytes + 1] = protocol;
	key[bytes + 2] = (uint8_t)(port >> 8);
	key[bytes + 3] = (uint8_t)port;
	return bytes + 4;
}
