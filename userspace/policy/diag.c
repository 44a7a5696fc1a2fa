// SPDX-License-Identifier: Apache-2.0
/* Errors with their place, one safe line each. */
#include "policy/diag.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

size_t rf_diag_utf8(const char *p, size_t n, uint32_t *ret_code)
{
	const uint8_t *b = (const uint8_t *)p;
	uint32_t code, least;
	size_t len;

	if (!n)
		return 0;
	if (b[0] < 0x80) {
		*ret_code = b[0];
		return 1;
	}
	if (b[0] >= 0xc2 && b[0] <= 0xdf)
		len = 2, code = b[0] & 0x1f, least = 0x80;
	else if (b[0] >= 0xe0 && b[0] <= 0xef)
		len = 3, code = b[0] & 0x0f, least = 0x800;
	else if (b[0] >= 0xf0 && b[0] <= 0xf4)
		len = 4, code = b[0] & 0x07, least = 0x10000;
	else
		return 0;
	if (n < len)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if ((b[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (b[i] & 0x3f);
	}
	if (code < least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	*ret_code = code;
	return len;
}

bool rf_diag_hostile(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || (code >= 0x200b && code <= 0x200f) ||
	       (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0xfeff;
}

/* Copies text to out, hostile and invalid bytes as \xNN; clipped at a whole character, with "..." then. */
static void copy_safe(char *out, size_t size, const char *text, size_t len)
{
	size_t used = 0;

	for (size_t i = 0; i < len;) {
		uint32_t code = 0;
		size_t n = rf_diag_utf8(text + i, len - i, &code);
		bool plain = n && !rf_diag_hostile(code);
		size_t take = n ? n : 1, need = plain ? take : take * 4;

		if (used + need + sizeof("...") > size) {
			memcpy(out + used, "...", 3);
			used += 3;
			break;
		}
		if (plain)
			memcpy(out + used, text + i, take);
		for (size_t k = 0; !plain && k < take; k++)
			snprintf(out + used + k * 4, size - used - k * 4, "\\x%02x", (unsigned char)text[i + k]);
		used += need;
		i += take;
	}
	out[used] = 0;
}

int rf_diag_at(struct rf_diag *diag, struct rf_place place, const char *format, ...)
{
	char text[2048];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (len < 0)
		len = 0;
	if ((size_t)len >= sizeof(text))
		len = sizeof(text) - 1;
	copy_safe(diag->text, sizeof(diag->text), text, (size_t)len);
	copy_safe(diag->file, sizeof(diag->file), place.file ? place.file : "", place.file ? strlen(place.file) : 0);
	diag->line = place.line;
	diag->column = place.column;
	return -EINVAL;
}

void rf_diag_print(const struct rf_diag *diag, FILE *out)
{
	if (diag->line)
		fprintf(out, "%s:%u:%u: %s\n", diag->file, diag->line, diag->column, diag->text);
	else
		fprintf(out, "%s: %s\n", diag->file, diag->text);
}

#define WORD_MAX 32

/* Insertions, deletions, replacements and swaps of neighbours between two words of at most WORD_MAX bytes. */
static size_t distance(const char *a, size_t na, const char *b, size_t nb)
{
	size_t rows[3][WORD_MAX + 1];
	size_t *before = rows[0], *last = rows[1], *now = rows[2];

	for (size_t j = 0; j <= nb; j++)
		last[j] = before[j] = j;
	for (size_t i = 1; i <= na; i++) {
		size_t *spare = before;

		now[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);

			if (last[j] + 1 < best)
				best = last[j] + 1;
			if (now[j - 1] + 1 < best)
				best = now[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < best)
				best = before[j - 2] + 1;
			now[j] = best;
		}
		before = last;
		last = now;
		now = spare;
	}
	return last[nb];
}

const char *rf_diag_closest(const char *word, const char *const *names, size_t n)
{
	const char *closest = NULL;
	size_t best = SIZE_MAX, len = strlen(word);

	if (len > WORD_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t size = names[i] ? strlen(names[i]) : 0, away;

		if (!size || size > WORD_MAX)
			continue;
		away = distance(word, len, names[i], size);
		/* a third of a word changed makes another word: no advice then */
		if (away < best && away <= 1 + size / 4) {
			best = away;
			closest = names[i];
		}
	}
	return closest;
}
