/* SPDX-License-Identifier: Apache-2.0 */
/* Names are bytes: strict UTF-8, and which characters may be shown as they are. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length of the valid UTF-8 sequence at bytes and its code point; 0: none (overlong, surrogate, cut off, stray). */
size_t rf_utf8_decode(const void *bytes, size_t len, uint32_t *ret_point);

/* Moves a cut back so that it doesn't split a character. */
size_t rf_utf8_clip(const void *bytes, size_t len, size_t max);

/* Characters that move the cursor, end a line, reorder the text around them or cannot be seen. */
bool rf_text_hidden(uint32_t point);

/* JSON's escape of any code point, \u00XX or a surrogate pair; the length. */
#define RF_TEXT_ESCAPE_MAX 12
size_t rf_text_escape(uint32_t point, char ret[RF_TEXT_ESCAPE_MAX]);
