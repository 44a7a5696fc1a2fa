/* SPDX-License-Identifier: Apache-2.0 */
/* The shipper speaks to the network and parses what agents named: it is no program for root. */
#pragma once

#include <stdbool.h>

/*
 * Becomes user (NULL: stays who it is), with that user's groups only, and can gain nothing afterwards. -EPERM: root
 * without a user to become and without allow_root; -ENOENT: no such user. Logs.
 */
int rf_ship_drop(const char *user, bool allow_root);
