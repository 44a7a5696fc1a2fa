/* SPDX-License-Identifier: Apache-2.0 */
/* Text of a path pattern -> tokens. Each refusal names the byte and what would have been right. */
#include "policy/glob.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/cleanup.h"
#include "policy/automaton.h"
#include "policy/grow.h"

/* Braces inside braces. More has no use, and it bounds the recursion here and in nfa.c. */
#define DEPTH_MAX 8

#define NUL_BYTE "NUL byte; no path holds one, remove it"

struct parser {
	const unsigned char *glob;
	size_t len, pos;
	struct rf_tokens *out;
	unsigned int depth;
	uint32_t link[DEPTH_MAX]; /* the last OPEN or ALT of each open brace: its value is the next one */
	uint32_t open[DEPTH_MAX];
	size_t *reterr_offset;
	const char **reterr_why;
};

static int refuse(const struct parser *p, size_t offset, const char *why)
{
	*p->reterr_offset = offset;
	*p->reterr_why = why;
	return -EINVAL;
}

void rf_tokens_done(struct rf_tokens *t)
{
	free(t->v);
	free(t->sets);
	*t = (struct rf_tokens){};
}

int rf_tokens_byte(struct rf_tokens *t, enum rf_token_kind kind, uint32_t value, size_t offset)
{
	int err = RF_GROW(t->v, t->cap, t->n + 1);

	if (err)
		return err;
	t->v[t->n++] = (struct rf_token){kind, value, (uint32_t)offset};
	return 0;
}

int rf_tokens_set(struct rf_tokens *t, const struct rf_byteset *set, size_t offset)
{
	int err = RF_GROW(t->sets, t->sets_cap, t->nsets + 1);

	if (err)
		return err;
	t->sets[t->nsets] = *set;
	err = rf_tokens_byte(t, RF_TOKEN_SET, (uint32_t)t->nsets, offset);
	if (err)
		return err;
	t->nsets++;
	return 0;
}

static int push(struct parser *p, enum rf_token_kind kind, uint32_t value)
{
	return rf_tokens_byte(p->out, kind, value, p->pos);
}

/* The byte behind a backslash at p->pos. */
static int escaped(struct parser *p, unsigned int *ret)
{
	if (p->pos + 1 >= p->len)
		return refuse(p, p->pos, "'\\' at the end escapes nothing; write '\\\\' for a backslash");
	if (p->glob[p->pos + 1] == '/')
		return refuse(p, p->pos, "'/' cannot be part of a name; write '/' without '\\'");
	if (!p->glob[p->pos + 1])
		return refuse(p, p->pos + 1, NUL_BYTE);
	*ret = p->glob[++p->pos];
	return 0;
}

/* One byte of a class at p->pos, with its escape; the position after it. */
static int class_byte(struct parser *p, size_t start, unsigned int *ret)
{
	int err = 0;

	if (p->pos >= p->len)
		return refuse(p, start, "'[' is never closed; write ']' behind the class, or '\\[' for the byte");
	switch (p->glob[p->pos]) {
	case '\0':
		return refuse(p, p->pos, NUL_BYTE);
	case '/':
		return refuse(p, p->pos, "a class never matches '/'; leave it out, or write '\\[' for the byte '['");
	case '[':
		return refuse(p, p->pos, "'[' inside a class (named classes do not exist); write '\\['");
	case '\\':
		err = escaped(p, ret);
		break;
	default:
		*ret = p->glob[p->pos];
	}
	if (!err)
		p->pos++;
	return err;
}

/* [a-z] or [!a-z]; p->pos stands on '['. */
static int parse_class(struct parser *p)
{
	size_t start = p->pos++;
	struct rf_byteset set = {};
	bool negated = false;
	unsigned int lo, hi;
	int err;

	if (p->pos < p->len && p->glob[p->pos] == '!') {
		negated = true;
		p->pos++;
	} else if (p->pos < p->len && p->glob[p->pos] == '^') {
		return refuse(p, p->pos, "'^' does not negate a class; write '[!...]', or '\\^' for the byte");
	}
	if (p->pos < p->len && p->glob[p->pos] == ']')
		return refuse(p, p->pos, "a class of no bytes; name at least one, or write '\\]' for the byte");
	do {
		err = class_byte(p, start, &lo);
		if (err)
			return err;
		hi = lo;
		if (p->pos + 1 < p->len && p->glob[p->pos] == '-' && p->glob[p->pos + 1] != ']') {
			size_t dash = p->pos++;

			err = class_byte(p, start, &hi);
			if (err)
				return err;
			if (hi < lo)
				return refuse(p, dash, "range of a class runs backwards; write the lower byte first");
		}
		rf_byteset_range(&set, lo, hi);
	} while (p->pos >= p->len || p->glob[p->pos] != ']');
	if (negated) {
		for (int i = 0; i < 4; i++)
			set.w[i] = ~set.w[i];
	}
	/* "[+-9]" spans '/', which no name holds. */
	set.w['/' >> 6] &= ~(1ULL << ('/' & 63));
	/* NUL alone is as good as nothing: no path holds one. */
	if (!((set.w[0] & ~1ULL) | set.w[1] | set.w[2] | set.w[3]))
		return refuse(p, start, "a class that matches no byte; name at least one");
	return rf_tokens_set(p->out, &set, start);
}

static int parse_brace(struct parser *p)
{
	uint32_t here = (uint32_t)p->out->n;
	unsigned char c = p->glob[p->pos];
	int err;

	if (c == '{') {
		if (p->depth == DEPTH_MAX)
			return refuse(p, p->pos, "braces nested more than 8 deep; write several patterns");
		err = push(p, RF_TOKEN_OPEN, 0);
		if (err)
			return err;
		p->open[p->depth] = p->link[p->depth] = here;
		p->depth++;
		return 0;
	}
	err = push(p, c == '}' ? RF_TOKEN_CLOSE : RF_TOKEN_ALT, 0);
	if (err)
		return err;
	p->out->v[p->link[p->depth - 1]].value = here;
	p->link[p->depth - 1] = here;
	if (c == '}')
		p->depth--;
	return 0;
}

static int parse_star(struct parser *p)
{
	if (p->pos + 1 < p->len && p->glob[p->pos + 1] == '*')
		return refuse(p, p->pos,
			      "'**' beside other characters; it stands alone between slashes: '/**/', or write '*'");
	return push(p, RF_TOKEN_STAR, 0);
}

/* One element of a name at p->pos, which is moved behind it. */
static int parse_element(struct parser *p)
{
	static const struct rf_byteset any = {
		{~0ULL & ~(1ULL << '/'), ~0ULL, ~0ULL, ~0ULL},
	};
	unsigned int byte = p->glob[p->pos];
	int err;

	switch (byte) {
	case '\0':
		return refuse(p, p->pos, NUL_BYTE);
	case '*':
		err = parse_star(p);
		break;
	case '?':
		err = rf_tokens_set(p->out, &any, p->pos);
		break;
	case '[':
		err = parse_class(p);
		break;
	case ']':
		return refuse(p, p->pos, "']' without '['; write '\\]' for the byte");
	case '}':
		if (!p->depth)
			return refuse(p, p->pos, "'}' without '{'; write '\\}' for the byte");
		/* fallthrough */
	case '{':
		err = parse_brace(p);
		break;
	case ',':
		err = p->depth ? parse_brace(p) : push(p, RF_TOKEN_BYTE, byte);
		break;
	case '\\':
		err = escaped(p, &byte);
		if (err)
			return err;
		/* fallthrough */
	default:
		err = push(p, RF_TOKEN_BYTE, byte);
	}
	p->pos++;
	return err;
}

/*
 * Which of the places in `mask` (bit i: i bytes of text are spelled) the tokens [from, to) lead to without the help of a
 * wildcard. Finds names that are "", "." or "..", however their braces and escapes are written.
 */
static unsigned int spell(const struct rf_token *v, size_t from, size_t to, const char *text, unsigned int mask)
{
	for (size_t i = from; i < to && mask; i++) {
		unsigned int next = 0;

		if (v[i].kind == RF_TOKEN_BYTE) {
			for (unsigned int at = 0; text[at]; at++) {
				if (mask >> at & 1 && (unsigned char)text[at] == v[i].value)
					next |= 2U << at;
			}
		} else if (v[i].kind == RF_TOKEN_OPEN) {
			do {
				next |= spell(v, i + 1, v[i].value, text, mask);
				i = v[i].value;
			} while (v[i].kind == RF_TOKEN_ALT);
		}
		mask = next;
	}
	return mask;
}

static int parse_name(struct parser *p)
{
	size_t start = p->pos, first;
	const struct rf_tokens *t = p->out;
	int err = push(p, RF_TOKEN_BYTE, '/');

	first = t->n;
	while (!err && p->pos < p->len && p->glob[p->pos] != '/')
		err = parse_element(p);
	if (err)
		return err;
	if (p->depth && p->pos < p->len)
		return refuse(p, p->pos, "'/' inside braces; write one pattern for each path");
	if (p->depth)
		return refuse(p, t->v[p->open[p->depth - 1]].offset,
			      "'{' is never closed; write '}', or '\\{' for the byte");
	if (spell(t->v, first, t->n, "", 1) & 1)
		return refuse(p, start, "a name that may be empty; every alternative needs at least one byte");
	if (spell(t->v, first, t->n, ".", 1) & 2 || spell(t->v, first, t->n, "..", 1) & 4)
		return refuse(p, start, "'.' or '..' as a name; write the path that it leads to");
	return 0;
}

/* "**" at p->pos, alone between slashes. Neighbours mean no more than one of them. */
static int parse_names(struct parser *p)
{
	bool tail = p->pos + 2 == p->len;
	struct rf_tokens *t = p->out;

	if (t->n && t->v[t->n - 1].kind == RF_TOKEN_NAMES)
		t->n--;
	p->pos += 2;
	return push(p, tail ? RF_TOKEN_TAIL : RF_TOKEN_NAMES, 0);
}

static bool at_names(const struct parser *p)
{
	return p->len - p->pos >= 2 && p->glob[p->pos] == '*' && p->glob[p->pos + 1] == '*' &&
	       (p->len - p->pos == 2 || p->glob[p->pos + 2] == '/');
}

int rf_glob_parse(const char *glob, size_t len, struct rf_tokens *t, size_t *reterr_offset, const char **reterr_why)
{
	struct parser p = {
		.glob = (const unsigned char *)glob,
		.len = len,
		.out = t,
		.reterr_offset = reterr_offset,
		.reterr_why = reterr_why,
	};
	int err;

	t->n = t->nsets = 0;
	if (!len)
		return refuse(&p, 0, "an empty pattern; write an absolute path");
	if (len > RF_PATH_MAX)
		return refuse(&p, RF_PATH_MAX, "longer than 4096 bytes, the longest path; shorten it");
	if (len == 1 && glob[0] == '/')
		return 0; /* the root, whose path is no byte at all */
	if (!at_names(&p)) {
		if (glob[0] != '/')
			return refuse(&p, 0, "not absolute; begin with '/' or '**/'");
		p.pos = 1;
	}
	for (;;) {
		if (p.pos < len && p.glob[p.pos] == '/')
			return refuse(&p, p.pos, "'//'; write one '/'");
		if (p.pos == len)
			return refuse(&p, len - 1, "'/' at the end; leave it out, or write '/**' for all beneath");
		err = at_names(&p) ? parse_names(&p) : parse_name(&p);
		if (err || p.pos == len)
			return err;
		p.pos++;
	}
}

int rf_glob_check(const char *glob, size_t len, size_t *reterr_offset, const char **reterr_why)
{
	__cleanup(rf_tokens_done) struct rf_tokens t = {};

	return rf_glob_parse(glob, len, &t, reterr_offset, reterr_why);
}
