/* SPDX-License-Identifier: Apache-2.0 */
/* Seeded policies, paths and addresses. */
#include "random.h"

#include <stdio.h>
#include <string.h>

/* Few, so that names meet; the odd ones are those that break scripts and patterns. */
static const char alphabet[] = "aaabbbccd..-- \n\xff\xc3\xa9*?[]{},\\!^";

uint64_t rf_random_next(struct rf_random *r)
{
	uint64_t x = r->state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

unsigned int rf_random_below(struct rf_random *r, unsigned int n)
{
	return (unsigned int)((rf_random_next(r) >> 32) * n >> 32);
}

static bool one_in(struct rf_random *r, unsigned int n)
{
	return !rf_random_below(r, n);
}

static void random_name(struct rf_random *r, char name[RF_RANDOM_NAME + 1])
{
	unsigned int n = 1 + rf_random_below(r, one_in(r, 6) ? RF_RANDOM_NAME : 3);

	do {
		for (unsigned int i = 0; i < n; i++)
			name[i] = alphabet[rf_random_below(r, one_in(r, 4) ? sizeof(alphabet) - 1 : 9)];
		name[n] = '\0';
	} while (!strcmp(name, ".") || !strcmp(name, ".."));
}

static void random_names(struct rf_random *r, struct rf_random_names *names)
{
	names->n = rf_random_below(r, one_in(r, 8) ? RF_RANDOM_DEPTH + 1 : 5);
	for (unsigned int i = 0; i < names->n; i++)
		random_name(r, names->name[i]);
}

struct text {
	char *v;
	size_t n;
};

static void put(struct text *t, const char *bytes)
{
	size_t len = strlen(bytes);

	memcpy(t->v + t->n, bytes, len);
	t->n += len;
}

static void put_byte(struct text *t, char byte)
{
	if (strchr("*?[]{},\\!^-", byte))
		t->v[t->n++] = '\\';
	t->v[t->n++] = byte;
}

static void put_class(struct rf_random *r, struct text *t, char byte)
{
	unsigned char b = (unsigned char)byte;

	put(t, one_in(r, 4) ? "[!" : "[");
	if (one_in(r, 2)) {
		put_byte(t, one_in(r, 4) ? 'b' : byte);
		put_byte(t, 'c');
	} else {
		put_byte(t, (char)(b > 'a' ? b - 1 : b));
		t->v[t->n++] = '-';
		put_byte(t, (char)(b < 0xff ? b + 1 : b));
	}
	put(t, "]");
}

/* A brace whose alternatives are the bytes given, random names, or braces again. Never all of a name and empty. */
static void put_brace(struct rf_random *r, struct text *t, const char *bytes, size_t n, unsigned int depth)
{
	unsigned int alternatives = 1 + rf_random_below(r, 3), own = rf_random_below(r, alternatives);
	char name[RF_RANDOM_NAME + 1];

	put(t, "{");
	for (unsigned int i = 0; i < alternatives; i++) {
		if (i)
			put(t, ",");
		if (i != own) {
			random_name(r, name);
			for (const char *c = name; *c; c++)
				put_byte(t, *c);
			if (one_in(r, 4))
				put(t, "*");
		} else if (depth < 3 && one_in(r, 3)) {
			put_brace(r, t, bytes, n, depth + 1);
		} else {
			for (size_t k = 0; k < n; k++)
				put_byte(t, bytes[k]);
		}
	}
	put(t, "}");
}

/* A pattern for one name: mostly one that it matches. */
static void put_name(struct rf_random *r, struct text *t, const char *name)
{
	size_t len = strlen(name), step;

	if (one_in(r, 8)) {
		put(t, "*");
		return;
	}
	for (size_t i = 0; i < len; i += step) {
		step = 1;
		switch (rf_random_below(r, 16)) {
		case 0:
			put(t, "?");
			break;
		case 1:
			step = 1 + rf_random_below(r, (unsigned int)(len - i));
			put(t, "*");
			break;
		case 2:
			put_class(r, t, name[i]);
			break;
		case 3:
			step = 1 + rf_random_below(r, (unsigned int)(len - i));
			put_brace(r, t, name + i, step, 0);
			break;
		case 4:
			/* An empty alternative beside the byte itself, which keeps the name from being empty. */
			put(t, "{,x}");
			/* fallthrough */
		default:
			put_byte(t, name[i]);
		}
	}
	if (one_in(r, 10))
		put(t, "*");
}

static void random_glob(struct rf_random *r, const struct rf_random_names *model, struct text *t)
{
	unsigned int from = 0, to = model->n;

	if (one_in(r, 4) && to)
		from = rf_random_below(r, to + 1);
	if (one_in(r, 3) && to > from)
		to = from + rf_random_below(r, to - from + 1);
	if (from)
		put(t, one_in(r, 2) ? "/**" : "**");
	for (unsigned int i = from; i < to; i++) {
		put(t, "/");
		put_name(r, t, model->name[i]);
		if (one_in(r, 12) && i + 1 < to) {
			put(t, "/**");
			i += rf_random_below(r, 2);
		}
	}
	if (to < model->n || one_in(r, 5))
		put(t, "/**");
	if (!t->n)
		put(t, "/");
}

/* Bytes that may stand in a row and still not mean what was meant: "." and ".." from braces, "{}" as a name. */
static void valid_glob(struct rf_random *r, const struct rf_random_names *model, struct text *t)
{
	const char *why;
	size_t offset;

	do {
		t->n = 0;
		random_glob(r, model, t);
	} while (rf_glob_check(t->v, t->n, &offset, &why));
}

static void random_model_addr(struct rf_random *r, struct rf_random_addr *a)
{
	static const uint8_t bytes[] = {0, 1, 10, 127, 128, 192, 254, 255};
	static const uint8_t protocols[] = {0, 1, 6, 17, 255};
	static const uint16_t ports[] = {0, 1, 22, 255, 256, 443, 511, 512, 8080, 65280, 65535};

	*a = (struct rf_random_addr){.family = one_in(r, 2) ? 4 : 6};
	if (!one_in(r, 8)) {
		for (int i = 0; i < (a->family == 4 ? 4 : 16); i++)
			a->addr[i] = bytes[rf_random_below(r, sizeof(bytes))];
	}
	if (a->family == 6 && one_in(r, 6)) {
		memset(a->addr, 0, 10);
		memset(a->addr + 10, 0xff, 2);
	}
	a->protocol = protocols[rf_random_below(r, sizeof(protocols))];
	a->port = ports[rf_random_below(r, sizeof(ports) / sizeof(ports[0]))];
}

static void random_range(struct rf_random *r, const struct rf_random_addr *a, struct rf_addr_range *range)
{
	bool four = a->family == 4;
	unsigned int spread = one_in(r, 2) ? 3 : 20000;

	*range = (struct rf_addr_range){.family = a->family, .protocol_hi = 255, .port_hi = 65535};
	memcpy(range->addr, a->addr, sizeof(range->addr));
	range->prefix = (uint8_t)rf_random_below(r, four ? 33 : 129);
	if (one_in(r, 2))
		range->prefix = four ? 32 : 128;
	if (one_in(r, 2))
		range->protocol_lo = range->protocol_hi = a->protocol;
	if (!one_in(r, 3)) {
		unsigned int below = rf_random_below(r, spread), above = rf_random_below(r, spread);

		range->port_lo = (uint16_t)(a->port > below ? a->port - below : 0);
		range->port_hi = (uint16_t)(a->port + above < 65535 ? a->port + above : 65535);
	}
}

void rf_random_policy(struct rf_random *r, enum rf_automaton_kind kind, struct rf_random_policy *ret)
{
	ret->n = 1 + rf_random_below(r, one_in(r, 5) ? RF_RANDOM_PATTERNS : 6);
	for (int i = 0; i < RF_RANDOM_MODELS; i++) {
		random_names(r, &ret->model[i]);
		random_model_addr(r, &ret->addr_model[i]);
	}
	for (size_t i = 0; i < ret->n; i++) {
		struct rf_pattern *p = &ret->patterns[i];
		struct text t = {ret->text[i], 0};
		unsigned int model = rf_random_below(r, RF_RANDOM_MODELS);

		*p = (struct rf_pattern){
			.accesses = one_in(r, 2) ? 0x3f : rf_random_next(r) & 0x7f,
			.allow = !one_in(r, 3),
			.rule = (uint16_t)(one_in(r, 4) ? 0 : i),
		};
		if (kind == RF_AUTOMATON_PATH) {
			valid_glob(r, &ret->model[model], &t);
			p->glob = t.v;
			p->len = t.n;
		} else {
			random_range(r, &ret->addr_model[model], &p->addr);
		}
	}
}

static size_t put_names(const struct rf_random_names *names, unsigned int from, unsigned int to, char *path)
{
	struct text t = {path, 0};

	for (unsigned int i = from; i < to; i++) {
		put(&t, "/");
		put(&t, names->name[i]);
	}
	return t.n;
}

static void change_one(struct rf_random *r, struct rf_random_names *names)
{
	if (one_in(r, 4) && names->n)
		random_name(r, names->name[rf_random_below(r, names->n)]);
	if (one_in(r, 6) && names->n) {
		char *name = names->name[rf_random_below(r, names->n)];

		name[rf_random_below(r, (unsigned int)strlen(name))] = 'x';
	}
}

size_t rf_random_path(struct rf_random *r, const struct rf_random_policy *policy, char path[RF_RANDOM_PATH])
{
	struct rf_random_names names = policy->model[rf_random_below(r, RF_RANDOM_MODELS)];
	size_t len;

	while (one_in(r, 4) && names.n)
		names.n--;
	while (one_in(r, 4) && names.n < RF_RANDOM_DEPTH)
		random_name(r, names.name[names.n++]);
	change_one(r, &names);
	len = put_names(&names, 0, names.n, path);
	if (!len)
		path[len++] = '/';
	return len;
}

size_t rf_random_continuation(struct rf_random *r, const struct rf_random_policy *policy,
			      char below[RF_RANDOM_PATH + 1])
{
	struct rf_random_names names = policy->model[rf_random_below(r, RF_RANDOM_MODELS)];
	unsigned int from = rf_random_below(r, names.n + 1), to;
	size_t len;

	if (from == names.n && names.n < RF_RANDOM_DEPTH)
		random_name(r, names.name[names.n++]);
	from = from < names.n ? from : 0;
	if (one_in(r, 2))
		change_one(r, &names);
	to = one_in(r, 2) ? names.n : from + 1 + rf_random_below(r, names.n - from);
	len = put_names(&names, from, to, below);
	below[len] = '\0';
	return len;
}

bool rf_random_rename(struct rf_random *r, const struct rf_random_policy *policy, char old[RF_RANDOM_PATH + 1],
		      char new[RF_RANDOM_PATH + 1])
{
	char name[RF_RANDOM_NAME + 1], *last;
	size_t len;

	do
		len = rf_random_path(r, policy, old);
	while (len == 1);
	old[len] = '\0';
	do
		len = rf_random_path(r, policy, new);
	while (len == 1);
	new[len] = '\0';
	if (one_in(r, 3)) {
		strcpy(new, old);
		last = strrchr(new, '/') + 1;
		random_name(r, name);
		strcpy(last, name);
		if (one_in(r, 2)) {
			strcpy(new, old);
			strcpy(old + (last - new), name);
		}
	}
	return !one_in(r, 4);
}

void rf_random_addr(struct rf_random *r, const struct rf_random_policy *policy, struct rf_random_addr *ret)
{
	*ret = policy->addr_model[rf_random_below(r, RF_RANDOM_MODELS)];
	if (one_in(r, 3))
		ret->addr[rf_random_below(r, ret->family == 4 ? 4 : 16)] ^= (uint8_t)(1U << rf_random_below(r, 8));
	if (one_in(r, 4))
		ret->protocol = (uint8_t)rf_random_below(r, 256);
	if (one_in(r, 2))
		ret->port = (uint16_t)(ret->port + rf_random_below(r, 5) - 2);
	if (one_in(r, 6))
		ret->port = (uint16_t)rf_random_below(r, 65536);
	if (one_in(r, 20))
		memset(ret->addr, 0, sizeof(ret->addr));
}
