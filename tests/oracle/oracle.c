/* SPDX-License-Identifier: Apache-2.0 */
/* The oracle: braces are written out, stars are tried at every length, names one by one. */
#include "oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of one element: an escape, a whole class, or one byte. */
static size_t element(const char *glob, size_t len)
{
	size_t at = 1;

	if (glob[0] == '\\')
		return 2;
	if (glob[0] != '[')
		return 1;
	while (at < len && glob[at] != ']')
		at += glob[at] == '\\' ? 2 : 1;
	return at + 1;
}

static bool class_matches(const char *class, size_t len, unsigned char byte)
{
	bool negated = class[1] == '!', found = false;
	size_t at = negated ? 2 : 1;

	while (at < len - 1) {
		unsigned char lo, hi;

		if (class[at] == '\\')
			at++;
		lo = hi = (unsigned char)class[at++];
		if (class[at] == '-' && at + 1 < len - 1) {
			at++;
			if (class[at] == '\\')
				at++;
			hi = (unsigned char)class[at++];
		}
		if (lo <= byte && byte <= hi)
			found = true;
	}
	return found != negated;
}

/* A name against a pattern without braces. */
static bool plain_matches(const char *glob, size_t glob_len, const char *name, size_t len)
{
	size_t n;

	if (!glob_len)
		return !len;
	if (glob[0] == '*') {
		for (size_t skip = 0; skip <= len; skip++) {
			if (plain_matches(glob + 1, glob_len - 1, name + skip, len - skip))
				return true;
		}
		return false;
	}
	if (!len)
		return false;
	n = element(glob, glob_len);
	if (glob[0] == '[' && !class_matches(glob, n, (unsigned char)name[0]))
		return false;
	if (glob[0] == '\\' && glob[1] != name[0])
		return false;
	if (glob[0] != '[' && glob[0] != '\\' && glob[0] != '?' && glob[0] != name[0])
		return false;
	return plain_matches(glob + n, glob_len - n, name + 1, len - 1);
}

/* A name against a pattern: the first brace is replaced by each of its alternatives in turn. */
static bool name_matches(const char *glob, size_t glob_len, const char *name, size_t len)
{
	size_t open = 0, depth = 0, from, close;
	bool found = false;
	char *text;

	while (open < glob_len && glob[open] != '{')
		open += element(glob + open, glob_len - open);
	if (open == glob_len)
		return plain_matches(glob, glob_len, name, len);
	for (close = open;; close += element(glob + close, glob_len - close)) {
		if (glob[close] == '{')
			depth++;
		if (glob[close] == '}' && !--depth)
			break;
	}
	text = malloc(glob_len);
	if (!text)
		abort();
	from = open + 1;
	for (size_t at = from; at <= close && !found; at += element(glob + at, glob_len - at)) {
		if (glob[at] == '{')
			depth++;
		if (at == close || (glob[at] == ',' && !depth)) {
			memcpy(text, glob, open);
			memcpy(text + open, glob + from, at - from);
			memcpy(text + open + at - from, glob + close + 1, glob_len - close - 1);
			found = name_matches(text, open + at - from + glob_len - close - 1, name, len);
			from = at + 1;
		}
		if (glob[at] == '}' && at != close)
			depth--;
	}
	free(text);
	return found;
}

/* Bytes up to the next '/'. */
static size_t name_len(const char *text, size_t len)
{
	const char *slash = memchr(text, '/', len);

	return slash ? (size_t)(slash - text) : len;
}

/* glob: names with '/' between them; path: names each with a '/' before it. */
static bool names_match(const char *glob, size_t glob_len, const char *path, size_t len)
{
	size_t part = name_len(glob, glob_len), name;
	bool last = part == glob_len;

	if (part == 2 && !memcmp(glob, "**", 2)) {
		if (last)
			return true;
		while (!names_match(glob + part + 1, glob_len - part - 1, path, len)) {
			if (!len)
				return false;
			name = name_len(path + 1, len - 1);
			path += 1 + name;
			len -= 1 + name;
		}
		return true;
	}
	if (!len)
		return false;
	name = name_len(path + 1, len - 1);
	if (!name_matches(glob, part, path + 1, name))
		return false;
	path += 1 + name;
	len -= 1 + name;
	return last ? !len : names_match(glob + part + 1, glob_len - part - 1, path, len);
}

bool oracle_glob(const char *glob, size_t glob_len, const char *path, size_t len)
{
	if (len == 1 && path[0] == '/')
		len = 0;
	if (glob_len == 1 && glob[0] == '/')
		return !len;
	if (glob[0] == '/')
		return names_match(glob + 1, glob_len - 1, path, len);
	return names_match(glob, glob_len, path, len);
}

struct rf_decision oracle_path(const struct rf_pattern *patterns, size_t n, unsigned int access_index, const char *path,
			       size_t len)
{
	for (size_t i = n; i--;) {
		const struct rf_pattern *p = &patterns[i];

		if (p->accesses >> access_index & 1 && oracle_glob(p->glob, p->len, path, len))
			return (struct rf_decision){p->allow, p->rule};
	}
	return (struct rf_decision){false, RF_RULE_NONE};
}

void oracle_path_all(const struct rf_pattern *patterns, size_t n, const char *path, size_t len, struct rf_verdicts *ret)
{
	uint64_t open = (1ULL << RF_ACCESSES) - 1;

	ret->allow = 0;
	memset(ret->rule, 0xff, sizeof(ret->rule));
	for (size_t i = n; i-- && open;) {
		const struct rf_pattern *p = &patterns[i];
		uint64_t decided = p->accesses & open;

		if (!decided || !oracle_glob(p->glob, p->len, path, len))
			continue;
		open &= ~decided;
		if (p->allow)
			ret->allow |= decided;
		for (unsigned int access = 0; access < RF_ACCESSES; access++) {
			if (decided >> access & 1)
				ret->rule[access] = p->rule;
		}
	}
}

uint64_t oracle_gained(const struct rf_pattern *patterns, size_t n, const char *old, const char *new, const char *below)
{
	struct rf_verdicts verdicts[2];

	for (int i = 0; i < 2; i++) {
		const char *base = i ? new : old;
		size_t len = strcmp(base, "/") ? strlen(base) : 0;
		char *path;

		if (asprintf(&path, "%.*s%s", (int)len, base, below) < 0)
			abort();
		oracle_path_all(patterns, n, path, strlen(path), &verdicts[i]);
		free(path);
	}
	return (verdicts[1].allow & ~verdicts[0].allow) |
	       (*below ? verdicts[0].allow & ~verdicts[1].allow & RF_ACCESS_BIT(RF_FILE_CREATE) : 0);
}

static bool in_range(const struct rf_addr_range *range, uint8_t family, const uint8_t *addr, uint8_t protocol,
		     uint16_t port)
{
	if (family != range->family || protocol < range->protocol_lo || protocol > range->protocol_hi ||
	    port < range->port_lo || port > range->port_hi)
		return false;
	for (unsigned int bit = 0; bit < range->prefix; bit++) {
		if ((addr[bit / 8] ^ range->addr[bit / 8]) >> (7 - bit % 8) & 1)
			return false;
	}
	return true;
}

struct rf_decision oracle_addr(const struct rf_pattern *patterns, size_t n, unsigned int access_index, uint8_t family,
			       const uint8_t *addr, uint8_t protocol, uint16_t port)
{
	static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
	static const uint8_t zero[16], loopback4[4] = {127, 0, 0, 1}, loopback6[16] = {[15] = 1};

	if (family == 6 && !memcmp(addr, mapped, 12))
		return oracle_addr(patterns, n, access_index, 4, addr + 12, protocol, port);
	if (family == 4 && !memcmp(addr, zero, 4))
		addr = loopback4;
	if (family == 6 && !memcmp(addr, zero, 16))
		addr = loopback6;
	for (size_t i = n; i--;) {
		const struct rf_pattern *p = &patterns[i];

		if (p->accesses >> access_index & 1 && in_range(&p->addr, family, addr, protocol, port))
			return (struct rf_decision){p->allow, p->rule};
	}
	return (struct rf_decision){false, RF_RULE_NONE};
}
