// SPDX-License-Identifier: Apache-2.0
/* JSON with comments and places: RFC 8259 without its options. */
#include "policy/json_reader.h"

#include <errno.h>
#include <string.h>

static int value(struct rf_json_reader *r, struct rf_json *v);

/* The whole text once: everything behind can rely on UTF-8 without NUL. */
static int check_bytes(struct rf_json_reader *r)
{
	const char *start = r->p;
	struct rf_place first = r->at;

	if (r->end - r->p >= 3 && !memcmp(r->p, "\xef\xbb\xbf", 3))
		return rf_diag_at(r->diag, r->at, "begins with a byte order mark: save it as UTF-8 without one");
	while (r->p < r->end) {
		uint32_t code;
		size_t n = rf_diag_utf8(r->p, (size_t)(r->end - r->p), &code);

		if (!n)
			return rf_diag_at(r->diag, r->at, "byte 0x%02x is not UTF-8: save the file as UTF-8",
					  (unsigned char)*r->p);
		if (!code)
			return rf_diag_at(r->diag, r->at, "a NUL byte: a policy is a text file");
		rf_json_advance(r, n);
	}
	r->p = start;
	r->at = first;
	return 0;
}

static int comment(struct rf_json_reader *r)
{
	struct rf_place start = r->at;

	if (r->end - r->p < 2 || (r->p[1] != '/' && r->p[1] != '*'))
		return rf_diag_at(r->diag, r->at, "a lone '/': a comment begins with // or /*");
	if (r->p[1] == '/') {
		while (r->p < r->end && *r->p != '\n')
			rf_json_advance(r, 1);
		return 0;
	}
	rf_json_advance(r, 2);
	while (r->end - r->p >= 2) {
		if (r->p[0] == '*' && r->p[1] == '/') {
			rf_json_advance(r, 2);
			return 0;
		}
		rf_json_advance(r, 1);
	}
	return rf_diag_at(r->diag, start, "this comment has no end: close it with */");
}

static int space(struct rf_json_reader *r)
{
	while (r->p < r->end) {
		int err;

		if (strchr(" \t\r\n", *r->p)) {
			rf_json_advance(r, 1);
			continue;
		}
		if (*r->p != '/')
			break;
		err = comment(r);
		if (err)
			return err;
	}
	return 0;
}

static size_t digits(const char *p, const char *end)
{
	const char *start = p;

	while (p < end && *p >= '0' && *p <= '9')
		p++;
	return (size_t)(p - start);
}

static int number(struct rf_json_reader *r, struct rf_json *v)
{
	const char *p = r->p, *whole;
	size_t n;

	if (*p == '-')
		p++;
	whole = p;
	n = digits(p, r->end);
	p += n;
	if (!n || (n > 1 && *whole == '0'))
		return rf_diag_at(r->diag, r->at,
				  "not a number of JSON: write it like 1 or 0.5, without leading zeros");
	if (p < r->end && *p == '.') {
		n = digits(p + 1, r->end);
		if (!n)
			return rf_diag_at(r->diag, r->at, "not a number of JSON: digits must follow the point");
		p += 1 + n;
	}
	if (p < r->end && (*p == 'e' || *p == 'E')) {
		p++;
		if (p < r->end && (*p == '+' || *p == '-'))
			p++;
		n = digits(p, r->end);
		if (!n)
			return rf_diag_at(r->diag, r->at, "not a number of JSON: digits must follow the exponent");
		p += n;
	}
	v->type = RF_JSON_NUMBER;
	v->text = rf_mem_copy(r->mem, r->p, (size_t)(p - r->p));
	rf_json_advance(r, (size_t)(p - r->p));
	return v->text ? 0 : -ENOMEM;
}

static int word(struct rf_json_reader *r, struct rf_json *v)
{
	static const struct {
		const char *text;
		enum rf_json_type type;
		bool truth;
	} words[] = {{"true", RF_JSON_BOOL, true}, {"false", RF_JSON_BOOL, false}, {"null", RF_JSON_NULL, false}};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i].text);

		if ((size_t)(r->end - r->p) < n || memcmp(r->p, words[i].text, n))
			continue;
		v->type = words[i].type;
		v->truth = words[i].truth;
		rf_json_advance(r, n);
		return 0;
	}
	return rf_json_unexpected(r, "a value");
}

static int member_key(struct rf_json_reader *r, const struct rf_json *object, struct rf_json *member)
{
	int err;

	member->key_place = r->at;
	if (r->p == r->end || *r->p != '"')
		return rf_json_unexpected(r, "a key in quotes");
	err = rf_json_string(r, &member->key);
	if (err)
		return err;
	for (const struct rf_json *m = object->first; m; m = m->next)
		if (!strcmp(m->key, member->key))
			return rf_diag_at(r->diag, member->key_place,
					  "\"%.60s\" is here twice, first in line %u: keep one", member->key,
					  m->key_place.line);
	if (object->n == RF_JSON_MEMBERS_MAX)
		return rf_diag_at(r->diag, member->key_place, "more than %d keys in one object", RF_JSON_MEMBERS_MAX);
	err = space(r);
	if (err)
		return err;
	if (r->p == r->end || *r->p != ':')
		return rf_json_unexpected(r, "':'");
	rf_json_advance(r, 1);
	return space(r);
}

/* List or object: first bracket to last. */
static int container(struct rf_json_reader *r, struct rf_json *v)
{
	bool object = *r->p == '{';
	const char close = object ? '}' : ']', *separators = object ? "',' or '}'" : "',' or ']'";
	struct rf_json **tail = &v->first;
	int err;

	v->type = object ? RF_JSON_OBJECT : RF_JSON_LIST;
	if (++r->depth > RF_JSON_DEPTH_MAX)
		return rf_diag_at(r->diag, r->at, "nested deeper than %d levels", RF_JSON_DEPTH_MAX);
	for (bool first = true;; first = false) {
		struct rf_place comma = r->at;
		struct rf_json *item;

		rf_json_advance(r, 1); /* the bracket or the comma */
		err = space(r);
		if (err)
			return err;
		if (r->p < r->end && *r->p == close) {
			if (!first)
				return rf_diag_at(r->diag, comma, "a comma before '%c': remove it", close);
			break;
		}
		item = rf_mem_get(r->mem, sizeof(*item));
		if (!item)
			return -ENOMEM;
		err = object ? member_key(r, v, item) : 0;
		if (!err)
			err = value(r, item);
		if (!err)
			err = space(r);
		if (err)
			return err;
		*tail = item;
		tail = &item->next;
		v->n++;
		if (r->p < r->end && *r->p == close)
			break;
		if (r->p == r->end || *r->p != ',')
			return rf_json_unexpected(r, separators);
	}
	rf_json_advance(r, 1);
	r->depth--;
	return 0;
}

static int value(struct rf_json_reader *r, struct rf_json *v)
{
	v->place = r->at;
	if (r->p == r->end)
		return rf_json_unexpected(r, "a value");
	if (*r->p == '{' || *r->p == '[')
		return container(r, v);
	if (*r->p == '"') {
		v->type = RF_JSON_STRING;
		return rf_json_string(r, &v->text);
	}
	if (*r->p == '-' || (*r->p >= '0' && *r->p <= '9'))
		return number(r, v);
	return word(r, v);
}

int rf_json_read(struct rf_mem *mem, const char *file, const char *text, size_t len, struct rf_json **ret,
		 struct rf_diag *diag)
{
	struct rf_json_reader r = {.mem = mem, .diag = diag, .p = text, .end = text + len, .at = {file, 1, 1}};
	struct rf_json *v;
	int err;

	if (len > RF_POLICY_BYTES_MAX)
		return rf_diag_at(diag, (struct rf_place){file, 0, 0}, "is larger than %u bytes: split it into layers",
				  RF_POLICY_BYTES_MAX);
	err = check_bytes(&r);
	if (!err)
		err = space(&r);
	if (err)
		return err;
	if (r.p == r.end)
		return rf_diag_at(diag, r.at, "is empty: a policy is a JSON object, {\"ringfence\": 1, ...}");
	v = rf_mem_get(mem, sizeof(*v));
	if (!v)
		return -ENOMEM;
	err = value(&r, v);
	if (!err)
		err = space(&r);
	if (err)
		return err;
	if (r.p != r.end)
		return rf_json_unexpected(&r, "the end of the file");
	*ret = v;
	return 0;
}

const char *rf_json_what(enum rf_json_type type)
{
	switch (type) {
	case RF_JSON_NULL:
		return "null";
	case RF_JSON_BOOL:
		return "true or false";
	case RF_JSON_NUMBER:
		return "a number";
	case RF_JSON_STRING:
		return "a string";
	case RF_JSON_LIST:
		return "a list";
	case RF_JSON_OBJECT:
		return "an object";
	}
	return "?";
}
