// SPDX-License-Identifier: Apache-2.0
/* Clocks. */
#include "daemon/clock.h"

#include <time.h>

static int64_t ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int64_t clock_ms(void)
{
	return ns(CLOCK_MONOTONIC) / 1000000;
}

int64_t clock_boot_offset(void)
{
	return ns(CLOCK_REALTIME) - ns(CLOCK_BOOTTIME);
}
