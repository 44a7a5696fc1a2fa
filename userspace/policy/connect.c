// SPDX-License-Identifier: Apache-2.0
/* Entries of "network.connect": addresses, ports, protocols. */
#include "policy/ast.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <string.h>

/* Decimal digits only, at most max; -1 otherwise. Not strtoul(): it takes spaces and signs. */
static long decimal(const char *text, size_t len, long max)
{
	long value = 0;

	if (!len || len > 5 || (len > 1 && text[0] == '0'))
		return -1;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		value = value * 10 + (text[i] - '0');
	}
	return value <= max ? value : -1;
}

static int not_an_address(struct rf_compile *c, const struct rf_ast_string *s)
{
	bool name = true, letter = false;

	if (!strcmp(s->text, "own"))
		return rf_diag_at(c->diag, s->place,
				  "\"own\" is not enforced by this version: allow \"127.0.0.1\" with \"ports\"");
	for (const char *p = s->text; *p; p++) {
		name = name && (isalnum((unsigned char)*p) || strchr("-._*", *p));
		letter = letter || isalpha((unsigned char)*p);
	}
	if (name && letter)
		return rf_diag_at(c->diag, s->place,
				  "domain names are not enforced by this version: give the addresses of \"%.80s\"",
				  s->text);
	return rf_diag_at(c->diag, s->place,
			  "\"%.80s\" is no address: write \"10.0.0.0/8\", \"::1\", \"2001:db8::/32\" or \"any\"",
			  s->text);
}

/* Zeroes what lies behind the prefix; true: there was something. */
static bool mask(uint8_t *addr, size_t size, unsigned int prefix)
{
	bool bits = false;

	for (size_t i = 0; i < size; i++) {
		unsigned int keep = prefix > i * 8 ? prefix - (unsigned int)i * 8 : 0;
		uint8_t m = keep >= 8 ? 0xff : (uint8_t)(0xff00 >> keep);

		bits = bits || (addr[i] & ~m);
		addr[i] &= m;
	}
	return bits;
}

/* The kernel half makes IPv4 of mapped addresses, and loopback of the unspecified ones, before it asks. */
static int normalise(struct rf_compile *c, const struct rf_ast_string *s, struct rf_addr_range *r)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff}, zero[16];

	if (r->family == 6 && r->prefix >= 96 && !memcmp(r->addr, mapped, 12)) {
		memmove(r->addr, r->addr + 12, 4);
		memset(r->addr + 4, 0, 12);
		r->family = 4;
		r->prefix -= 96;
	}
	if (r->prefix == (r->family == 4 ? 32 : 128) && !memcmp(r->addr, zero, r->family == 4 ? 4 : 16))
		return rf_diag_at(c->diag, s->place, "\"%.60s\" means loopback to the kernel: write \"%s\"", s->text,
				  r->family == 4 ? "127.0.0.1" : "::1");
	return 0;
}

int rf_connect_address(struct rf_compile *c, const struct rf_ast_string *s, struct rf_addr_range ret[2], size_t *ret_n)
{
	const char *slash = strchr(s->text, '/');
	char text[INET6_ADDRSTRLEN + 1] = "";
	size_t len = slash ? (size_t)(slash - s->text) : strlen(s->text);
	struct rf_addr_range r = {};
	long bits, prefix;

	if (!strcmp(s->text, "any")) {
		ret[0] = (struct rf_addr_range){.family = 4};
		ret[1] = (struct rf_addr_range){.family = 6};
		*ret_n = 2;
		return 0;
	}
	if (len >= sizeof(text))
		return not_an_address(c, s);
	memcpy(text, s->text, len);
	if (inet_pton(AF_INET, text, r.addr) == 1)
		r.family = 4;
	else if (inet_pton(AF_INET6, text, r.addr) == 1)
		r.family = 6;
	else
		return not_an_address(c, s);
	bits = r.family == 4 ? 32 : 128;
	prefix = slash ? decimal(slash + 1, strlen(slash + 1), bits) : bits;
	if (prefix < 0)
		return rf_diag_at(c->diag, s->place, "\"%.80s\": the prefix behind '/' must be 0 to %ld", s->text,
				  bits);
	r.prefix = (uint8_t)prefix;
	if (mask(r.addr, (size_t)bits / 8, r.prefix)) {
		inet_ntop(r.family == 4 ? AF_INET : AF_INET6, r.addr, text, sizeof(text));
		return rf_diag_at(c->diag, s->place, "\"%.80s\" has bits behind its prefix: write \"%s/%ld\"", s->text,
				  text, prefix);
	}
	ret[0] = r;
	*ret_n = 1;
	return normalise(c, s, &ret[0]);
}

int rf_connect_ports(struct rf_compile *c, const struct rf_ast_string *s, uint16_t *ret_lo, uint16_t *ret_hi)
{
	const char *dash = strchr(s->text, '-');
	size_t len = dash ? (size_t)(dash - s->text) : strlen(s->text);
	long lo = decimal(s->text, len, 65535);
	long hi = dash ? decimal(dash + 1, strlen(dash + 1), 65535) : lo;

	if (lo < 1 || hi < 1)
		return rf_diag_at(c->diag, s->place,
				  "\"%.40s\" is no port: write \"443\" or \"8080-8090\", from 1 to 65535", s->text);
	if (lo > hi)
		return rf_diag_at(c->diag, s->place, "the ports \"%.40s\" run backwards: write \"%ld-%ld\"", s->text,
				  hi, lo);
	*ret_lo = (uint16_t)lo;
	*ret_hi = (uint16_t)hi;
	return 0;
}

int rf_connect_protocol(struct rf_compile *c, const struct rf_ast_string *s, uint8_t *ret_lo, uint8_t *ret_hi)
{
	static const struct {
		const char *name;
		uint8_t lo, hi;
	} known[] = {{"any", 0, 255}, {"tcp", IPPROTO_TCP, IPPROTO_TCP}, {"udp", IPPROTO_UDP, IPPROTO_UDP}};
	const char *name = s->text ? s->text : "any";

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(known[i].name, name)) {
			*ret_lo = known[i].lo;
			*ret_hi = known[i].hi;
			return 0;
		}
	return rf_diag_at(c->diag, s->place, "\"protocol\" is \"%.40s\": write \"tcp\", \"udp\" or \"any\"", name);
}
