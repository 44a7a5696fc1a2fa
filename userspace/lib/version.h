/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The Makefile gives the released version. */
#ifndef RF_VERSION
#define RF_VERSION "0.1.0"
#endif
