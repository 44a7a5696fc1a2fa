// SPDX-License-Identifier: Apache-2.0
/* Strings of JSON, read and written; the reader's steps over its text. */
#include "policy/json_reader.h"

#include <errno.h>
#include <string.h>

/* Over n bytes of checked UTF-8. */
void rf_json_advance(struct rf_json_reader *r, size_t n)
{
	for (; n; n--, r->p++) {
		if (*r->p == '\n') {
			r->at.line++;
			r->at.column = 1;
		} else if (((unsigned char)*r->p & 0xc0) != 0x80) {
			r->at.column++;
		}
	}
}

/* What stands here, for messages. */
const char *rf_json_here(const struct rf_json_reader *r, char word[8])
{
	uint32_t code;
	size_t n = rf_diag_utf8(r->p, (size_t)(r->end - r->p), &code);

	if (!n)
		return "the end of the file";
	snprintf(word, 8, "'%.*s'", (int)n, r->p);
	return word;
}

int rf_json_unexpected(struct rf_json_reader *r, const char *wanted)
{
	char word[8];

	return rf_diag_at(r->diag, r->at, "found %s where %s should be", rf_json_here(r, word), wanted);
}

static int hex4(struct rf_json_reader *r, const char *p, uint32_t *ret)
{
	uint32_t code = 0;

	if (r->end - p < 4)
		return rf_diag_at(r->diag, r->at, "\\u needs four hexadecimal digits");
	for (int i = 0; i < 4; i++) {
		const char *digits = "0123456789abcdef", *d = strchr(digits, p[i] | (p[i] >= 'A' ? 0x20 : 0));

		if (!d)
			return rf_diag_at(r->diag, r->at, "\\u needs four hexadecimal digits");
		code = code << 4 | (uint32_t)(d - digits);
	}
	*ret = code;
	return 0;
}

static size_t put_utf8(char *out, uint32_t code)
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		out[0] = (char)(0xe0 | code >> 12);
		out[1] = (char)(0x80 | (code >> 6 & 0x3f));
		out[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | code >> 18);
	out[1] = (char)(0x80 | (code >> 12 & 0x3f));
	out[2] = (char)(0x80 | (code >> 6 & 0x3f));
	out[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

/* At "\u". */
static int unicode(struct rf_json_reader *r, char **out)
{
	uint32_t code = 0, low = 0;
	int err = hex4(r, r->p + 2, &code);

	if (err)
		return err;
	if (!code)
		return rf_diag_at(r->diag, r->at, "\\u0000 can't be part of a name or path");
	if (code >= 0xdc00 && code <= 0xdfff)
		return rf_diag_at(r->diag, r->at, "half of a surrogate pair: the other half must stand before it");
	if (code >= 0xd800 && code <= 0xdbff) {
		if (r->end - r->p < 12 || r->p[6] != '\\' || r->p[7] != 'u')
			return rf_diag_at(r->diag, r->at, "half of a surrogate pair: the other half must follow");
		err = hex4(r, r->p + 8, &low);
		if (err)
			return err;
		if (low < 0xdc00 || low > 0xdfff)
			return rf_diag_at(r->diag, r->at, "half of a surrogate pair: the other half must follow");
		code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
		rf_json_advance(r, 6);
	}
	rf_json_advance(r, 6);
	*out += put_utf8(*out, code);
	return 0;
}

static int escape(struct rf_json_reader *r, char **out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *found;
	char word[8];

	if (r->end - r->p < 2)
		return rf_diag_at(r->diag, r->at, "the file ends inside a string");
	if (r->p[1] == 'u')
		return unicode(r, out);
	found = strchr(from, r->p[1]);
	if (!found) {
		struct rf_json_reader next = *r;

		next.p++;
		return rf_diag_at(r->diag, r->at, "\\ before %s is no escape of JSON: write \\\\ for a backslash",
				  rf_json_here(&next, word));
	}
	*(*out)++ = to[found - from];
	rf_json_advance(r, 2);
	return 0;
}

/* At the opening quote. An escape is never longer decoded than written, so the raw length bounds the copy. */
int rf_json_string(struct rf_json_reader *r, const char **ret)
{
	struct rf_place start = r->at;
	const char *close = r->p + 1;
	char *text, *out;
	int err = 0;

	while (close < r->end && *close != '"' && *close != '\n')
		close += *close == '\\' && r->end - close > 1 ? 2 : 1;
	text = out = rf_mem_get(r->mem, (size_t)(close - r->p) + 1);
	if (!text)
		return -ENOMEM;
	rf_json_advance(r, 1);
	while (r->p < r->end && *r->p != '"') {
		if (*r->p == '\\') {
			err = escape(r, &out);
			if (err)
				return err;
			continue;
		}
		if (*r->p == '\n')
			return rf_diag_at(r->diag, start, "this string has no end on its line: close it with '\"'");
		if ((unsigned char)*r->p < 0x20 || *r->p == 0x7f)
			return rf_diag_at(r->diag, r->at, "control character 0x%02x in a string: write it as \\u%04x",
					  *r->p, *r->p);
		*out++ = *r->p;
		rf_json_advance(r, 1);
	}
	if (r->p == r->end)
		return rf_diag_at(r->diag, start, "the file ends inside this string");
	rf_json_advance(r, 1);
	*out = 0;
	*ret = text;
	return 0;
}

void rf_json_write(FILE *out, const char *text)
{
	size_t len = strlen(text);

	fputc('"', out);
	for (size_t i = 0, n; i < len; i += n) {
		uint32_t code = 0;

		n = rf_diag_utf8(text + i, len - i, &code);
		if (!n) {
			fputs("\\ufffd", out);
			n = 1;
		} else if (rf_diag_hostile(code)) {
			fprintf(out, "\\u%04x", code);
		} else if (code == '"' || code == '\\') {
			fprintf(out, "\\%c", (char)code);
		} else {
			fwrite(text + i, 1, n, out);
		}
	}
	fputc('"', out);
}
