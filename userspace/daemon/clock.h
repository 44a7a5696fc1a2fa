/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks. */
#pragma once

#include <stdint.h>

int64_t clock_ms(void); /* CLOCK_MONOTONIC */
int64_t clock_boot_offset(void); /* CLOCK_REALTIME - CLOCK_BOOTTIME, ns */
