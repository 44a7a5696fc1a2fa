/* SPDX-License-Identifier: Apache-2.0 */
/* The cursor: how far the log is known to be delivered, in a file that is replaced as a whole. */
#pragma once

#include "ship/reader.h"

struct rf_cursor;
/*
 * Opens the place of the file and locks it against a second shipper (-EBUSY: there is one). The directory must exist.
 * Caller closes *ret.
 */
int rf_cursor_open(const char *path, struct rf_cursor **ret);
void rf_cursor_close(struct rf_cursor **cursor);
/* 0; -ENOENT: none yet; -EBADMSG: not a cursor. */
int rf_cursor_load(const struct rf_cursor *cursor, struct rf_position *ret);
int rf_cursor_save(const struct rf_cursor *cursor, const struct rf_position *position);
