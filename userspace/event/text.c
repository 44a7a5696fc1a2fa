/* SPDX-License-Identifier: Apache-2.0 */
/* Escaping: hostile bytes become one valid JSON string, and the line says when that string is not the exact bytes. */
#include "event/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "event/line.h"

static const char hex_digits[] = "0123456789abcdef";

size_t rf_utf8_decode(const void *bytes, size_t len, uint32_t *ret_point)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *b = bytes;
	uint32_t point;
	size_t need;

	if (!len)
		return 0;
	if (b[0] < 0x80) {
		*ret_point = b[0];
		return 1;
	}
	if (b[0] < 0xc2 || b[0] > 0xf4)
		return 0;
	need = b[0] >= 0xf0 ? 4 : b[0] >= 0xe0 ? 3 : 2;
	if (need > len)
		return 0;
	point = b[0] & (0xff >> (need + 1));
	for (size_t i = 1; i < need; i++) {
		if ((b[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (b[i] & 0x3f);
	}
	if (point < least[need] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
		return 0;
	*ret_point = point;
	return need;
}

size_t rf_utf8_clip(const void *bytes, size_t len, size_t max)
{
	const unsigned char *b = bytes;

	if (len <= max)
		return len;
	for (size_t back = 0; back < 4 && back < max; back++)
		if ((b[max - back] & 0xc0) != 0x80)
			return max - back;
	return max;
}

bool rf_text_hidden(uint32_t point)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{0x00, 0x1f}, /* C0 */
		{0x7f, 0x9f}, /* DEL, C1 */
		{0xad, 0xad}, /* soft hyphen */
		{0x61c, 0x61c}, /* Arabic letter mark */
		{0x180e, 0x180e}, /* Mongolian vowel separator */
		{0x200b, 0x200f}, /* zero width, directional marks */
		{0x2028, 0x202e}, /* line and paragraph separator, bidi embedding and override */
		{0x2060, 0x206f}, /* invisible operators, bidi isolates */
		{0xfe00, 0xfe0f}, /* variation selectors */
		{0xfeff, 0xfeff}, /* byte order mark */
		{0xfff9, 0xfffb}, /* interlinear annotation */
		{0xe0000, 0xe0fff}, /* tags: text that people don't see and models read */
	};

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (point >= ranges[i].first && point <= ranges[i].last)
			return true;
	return false;
}

static size_t escape_unit(uint32_t unit, char *out)
{
	out[0] = '\\';
	out[1] = 'u';
	for (int i = 0; i < 4; i++)
		out[2 + i] = hex_digits[unit >> (12 - 4 * i) & 0xf];
	return 6;
}

size_t rf_text_escape(uint32_t point, char ret[RF_TEXT_ESCAPE_MAX])
{
	if (point < 0x10000)
		return escape_unit(point, ret);
	point -= 0x10000;
	return escape_unit(0xd800 + (point >> 10), ret) + escape_unit(0xdc00 + (point & 0x3ff), ret + 6);
}

void rf_line_bytes(struct rf_line *line, const void *bytes, size_t len)
{
	if (line->full || len > line->size - line->len) {
		line->full = true;
		return;
	}
	if (len)
		memcpy(line->buf + line->len, bytes, len);
	line->len += len;
}

void rf_line_raw(struct rf_line *line, const char *text)
{
	rf_line_bytes(line, text, strlen(text));
}

/* The inside of a JSON string; true: decoding it gives back the exact bytes. */
static bool put_escaped(struct rf_line *line, const char *bytes, size_t len)
{
	char escape[RF_TEXT_ESCAPE_MAX];
	bool exact = true;
	size_t n;

	for (size_t i = 0; i < len; i += n) {
		uint32_t point = 0xfffd;

		n = rf_utf8_decode(bytes + i, len - i, &point);
		if (!n) {
			rf_line_bytes(line, escape, rf_text_escape(0xfffd, escape));
			exact = false;
			n = 1;
		} else if (rf_text_hidden(point)) {
			rf_line_bytes(line, escape, rf_text_escape(point, escape));
		} else {
			if (point == '"' || point == '\\')
				rf_line_raw(line, "\\");
			rf_line_bytes(line, bytes + i, n);
		}
	}
	return exact;
}

static void put_key(struct rf_line *line, const char *key, const char *suffix)
{
	if (line->len && line->buf[line->len - 1] != '{')
		rf_line_raw(line, ",");
	rf_line_raw(line, "\"");
	put_escaped(line, key, strlen(key));
	rf_line_raw(line, suffix);
	rf_line_raw(line, "\":");
}

void rf_line_key(struct rf_line *line, const char *key)
{
	put_key(line, key, "");
}

void rf_line_number(struct rf_line *line, const char *key, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	rf_line_key(line, key);
	rf_line_raw(line, text);
}

void rf_line_unsigned(struct rf_line *line, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	rf_line_key(line, key);
	rf_line_raw(line, text);
}

static void put_hex(struct rf_line *line, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char byte = (unsigned char)bytes[i];
		char pair[2] = {hex_digits[byte >> 4], hex_digits[byte & 0xf]};

		rf_line_bytes(line, pair, sizeof(pair));
	}
}

void rf_line_text(struct rf_line *line, const char *key, const char *name, const char *bytes, size_t len, size_t max)
{
	size_t n = rf_utf8_clip(bytes, len, max);
	bool exact;

	if (n < len && line->n_clipped < RF_LINE_CLIPPED_MAX)
		line->clipped[line->n_clipped++] = name ? name : key;
	rf_line_key(line, key);
	rf_line_raw(line, "\"");
	exact = put_escaped(line, bytes, n);
	rf_line_raw(line, "\"");
	if (exact)
		return;
	put_key(line, key, "_hex");
	rf_line_raw(line, "\"");
	put_hex(line, bytes, n);
	rf_line_raw(line, "\"");
}

void rf_line_string(struct rf_line *line, const char *key, const char *text, size_t max)
{
	if (text)
		rf_line_text(line, key, NULL, text, strlen(text), max);
}

void rf_line_flags(struct rf_line *line, const char *const *names)
{
	const char *comma = "";

	if ((!names || !*names) && !line->n_clipped)
		return;
	rf_line_key(line, "flags");
	rf_line_raw(line, "[");
	for (; names && *names; names++) {
		rf_line_raw(line, comma);
		rf_line_raw(line, "\"");
		rf_line_raw(line, *names);
		rf_line_raw(line, "\"");
		comma = ",";
	}
	for (size_t i = 0; i < line->n_clipped; i++) {
		rf_line_raw(line, comma);
		rf_line_raw(line, "\"");
		put_escaped(line, line->clipped[i], strlen(line->clipped[i]));
		rf_line_raw(line, "-clipped\"");
		comma = ",";
	}
	rf_line_raw(line, "]");
}

int rf_line_end(struct rf_line *line)
{
	rf_line_raw(line, "}\n");
	return line->full ? -ENOSPC : (int)line->len;
}
