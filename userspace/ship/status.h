/* SPDX-License-Identifier: Apache-2.0 */
/* What the shipper has done, as one small JSON file for monitoring. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct rf_ship_counts {
	uint64_t delivered; /* lines that have settled */
	uint64_t failed; /* lines that are no event: skipped */
	uint64_t gaps; /* times when lines may have gone before they were read */
	uint64_t reconnects;
	uint64_t lag; /* bytes of the log behind the cursor */
	bool connected;
};

/* Replaces path. 0 or -errno. */
int rf_ship_status_write(const char *path, const struct rf_ship_counts *counts);
