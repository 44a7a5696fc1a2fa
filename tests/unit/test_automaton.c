/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns and what they match: the language, last match wins, addresses, bounds, minimality. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "abi/match.h"
#include "lib/cleanup.h"
#include "policy/automaton.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct image {
	union rf_cell *cells;
	size_t n;
};

static void image_done(struct image *image)
{
	free(image->cells);
}

static int try_build(enum rf_automaton_kind kind, const struct rf_pattern *patterns, size_t n, size_t max_states,
		     struct image *ret, size_t *blamed)
{
	__cleanup(rf_automaton_free) struct rf_automaton *a = NULL, *empty = NULL;
	struct rf_automaton *automata[RF_AUTOMATON_MAX];
	struct rf_image header = {.rules = RF_RULES_MAX};
	size_t unused;
	int err;

	err = rf_automaton_build(kind, patterns, n, max_states, &a, blamed);
	if (err) {
		assert_null(a);
		return err;
	}
	assert_int_equal(rf_automaton_build(!kind, NULL, 0, 1, &empty, &unused), 0);
	assert_int_equal(rf_automaton_states(empty), 1);
	automata[kind] = a;
	automata[!kind] = empty;
	assert_int_equal(rf_image_layout(&header, automata, &ret->cells, &ret->n), 0);
	assert_int_equal(rf_image_check(ret->cells, ret->n), 0);
	return 0;
}

static void build(enum rf_automaton_kind kind, const struct rf_pattern *patterns, size_t n, struct image *ret)
{
	size_t blamed;

	assert_int_equal(try_build(kind, patterns, n, 400000, ret, &blamed), 0);
}

static struct rf_pattern glob(const char *text, uint64_t accesses, bool allow, uint16_t rule)
{
	return (struct rf_pattern){
		.glob = text, .len = strlen(text), .accesses = accesses, .allow = allow, .rule = rule};
}

static bool matches(const char *pattern, const char *path)
{
	__cleanup(image_done) struct image image = {};
	struct rf_pattern p = glob(pattern, 1, true, 7);
	struct rf_decision d;

	build(RF_AUTOMATON_PATH, &p, 1, &image);
	d = rf_image_path(image.cells, image.n, RF_FILE_READ, path, strlen(path));
	assert_int_equal(d.rule, d.allow ? 7 : RF_RULE_NONE);
	return d.allow;
}

static void test_matches(void **state)
{
	static const struct {
		const char *pattern;
		const char *yes[6], *no[6];
	} cases[] = {
		{"/", {"/"}, {"/a", "/a/b"}},
		{"/**", {"/", "/a", "/a/b/c"}, {}},
		{"**", {"/", "/a", "/a/b/c"}, {}},
		{"/usr/bin", {"/usr/bin"}, {"/", "/usr", "/usr/bi", "/usr/bin2", "/usr/bin/x", "/Usr/bin"}},
		{"/dir/**", {"/dir", "/dir/a", "/dir/a/b", "/dir/.x"}, {"/", "/dirx", "/di", "/x/dir", "/dirx/a"}},
		{"/dir/**/x",
		 {"/dir/x", "/dir/a/x", "/dir/a/b/x", "/dir/x/x"},
		 {"/dir", "/dirx", "/dir/ax", "/x", "/dir/x/a"}},
		{"/**/x", {"/x", "/a/x", "/a/b/x"}, {"/", "/ax", "/a/bx", "/x/a"}},
		{"**/x", {"/x", "/a/x", "/a/b/x"}, {"/", "/ax", "/a/bx", "/x/a"}},
		{"**/.ssh/**",
		 {"/.ssh", "/home/u/.ssh", "/home/u/.ssh/id"},
		 {"/home/u/x.ssh", "/home/u/.ssh2/id", "/"}},
		{"/a/**/b/**/c", {"/a/b/c", "/a/x/b/y/z/c", "/a/b/b/c/c"}, {"/a/c", "/a/b", "/a/bc", "/a/b/c/d"}},
		{"/a/**/**/b", {"/a/b", "/a/x/y/b"}, {"/a", "/ab"}},
		{"/*", {"/a", "/.a", "/\xff\n "}, {"/", "/a/b"}},
		{"/a*c", {"/ac", "/abc", "/abcc"}, {"/a", "/acd", "/a/c", "/bac"}},
		{"/*a*b*", {"/ab", "/xaxbx", "/aab"}, {"/ba", "/a/b", "/a"}},
		{"/a?c",
		 {"/abc", "/a.c",
		  "/a\xff"
		  "c"},
		 {"/ac", "/a/c", "/abbc",
		  "/a\xc3\xa9"
		  "c"}},
		{"/a??c",
		 {"/a\xc3\xa9"
		  "c"},
		 {"/abc"}},
		{"/[a-c]", {"/a", "/b", "/c"}, {"/d", "/`", "/aa", "/"}},
		{"/[!a-c]", {"/d", "/`", "/\xff", "/!"}, {"/a", "/b", "/c", "/", "/dd"}},
		{"/x[+-9]y", {"/x+y", "/x0y", "/x.y"}, {"/x/y", "/x:y", "/xy"}},
		{"/[a-]", {"/a", "/-"}, {"/b", "/."}},
		{"/[-a]", {"/a", "/-"}, {"/b"}},
		{"/[\\]\\-]", {"/]", "/-"}, {"/\\", "/a"}},
		{"/{a,bc}d", {"/ad", "/bcd"}, {"/d", "/bd", "/abcd", "/{a,bc}d"}},
		{"/x{,y}", {"/x", "/xy"}, {"/y", "/xyy", "/"}},
		{"/{a,{b,c}d}{,e}", {"/a", "/ae", "/bd", "/cde"}, {"/b", "/ad", "/e"}},
		{"/{[,x],c}", {"/,", "/x", "/c"}, {"/[", "/]"}},
		{"/{*a,b*}c", {"/ac", "/xac", "/bc", "/bxc"}, {"/c", "/xc", "/b"}},
		{"/a,b", {"/a,b"}, {"/a", "/b"}},
		{"/\\*\\?\\[\\]\\{\\}\\\\\\a", {"/*?[]{}\\a"}, {"/x?[]{}\\a", "/*?[]{}\\\\a"}},
		{"/a-!^b", {"/a-!^b"}, {"/a"}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		for (size_t k = 0; k < 6; k++) {
			if (cases[i].yes[k] && !matches(cases[i].pattern, cases[i].yes[k]))
				fail_msg("%s should match %s", cases[i].pattern, cases[i].yes[k]);
			if (cases[i].no[k] && matches(cases[i].pattern, cases[i].no[k]))
				fail_msg("%s should not match %s", cases[i].pattern, cases[i].no[k]);
		}
	}
}

static const struct {
	const char *pattern;
	size_t len, offset;
	const char *why;
} refused[] = {
	{"", 0, 0, "write an absolute path"},
	{"a", 1, 0, "begin with '/'"},
	{"*", 1, 0, "begin with '/'"},
	{"***/a", 5, 0, "begin with '/'"},
	{"/a/", 3, 2, "at the end"},
	{"**/", 3, 2, "at the end"},
	{"//", 2, 1, "write one '/'"},
	{"/a//b", 5, 3, "write one '/'"},
	{"/a/./b", 6, 3, "'.' or '..'"},
	{"/a/../b", 7, 3, "'.' or '..'"},
	{"/\\.", 3, 1, "'.' or '..'"},
	{"/{x,.}{,.}", 10, 1, "'.' or '..'"},
	{"/{a,}", 5, 1, "may be empty"},
	{"/{,}{a,{b,}}/c", 14, 1, "may be empty"},
	{"/a**", 4, 2, "stands alone"},
	{"/**a", 4, 1, "stands alone"},
	{"/{**,a}", 7, 2, "stands alone"},
	{"/{a/b}", 6, 3, "inside braces"},
	{"/x{a", 4, 2, "never closed"},
	{"/a}", 3, 2, "without '{'"},
	{"/a]", 3, 2, "without '['"},
	{"/x[ab", 5, 2, "never closed"},
	{"/x[a-", 5, 2, "never closed"},
	{"/[]", 3, 2, "no bytes"},
	{"/[!]", 4, 3, "no bytes"},
	{"/[^a]", 5, 2, "[!...]"},
	{"/[a/]", 5, 3, "never matches '/'"},
	{"/[[:alpha:]]", 12, 2, "write '\\['"},
	{"/[z-a]", 6, 3, "backwards"},
	{"/[!\x01-.0-\xff]", 10, 1, "matches no byte"},
	{"/[/-/]", 6, 2, "never matches '/'"},
	{"/[.-/]", 6, 4, "never matches '/'"},
	{"/a\\", 3, 2, "escapes nothing"},
	{"/a\\/b", 5, 2, "cannot be part"},
	{"/a\0b", 4, 2, "NUL"},
	{"/a\\\0b", 5, 3, "NUL"},
	{"/[\0]", 4, 2, "NUL"},
	{"/{{{{{{{{{a}}}}}}}}}", 20, 9, "8 deep"},
};

static void test_refused(void **state)
{
	char longest[RF_PATH_MAX + 1];
	const char *why;
	size_t offset;

	(void)state;
	for (size_t i = 0; i < COUNT(refused); i++) {
		struct rf_pattern p[2] = {glob("/ok", 1, true, 0), glob("", 1, true, 0)};
		__cleanup(image_done) struct image image = {};
		size_t blamed = 99;
		int err;

		why = NULL;
		err = rf_glob_check(refused[i].pattern, refused[i].len, &offset, &why);
		if (err != -EINVAL || offset != refused[i].offset || !strstr(why, refused[i].why))
			fail_msg("%s: %d at %zu: %s", refused[i].pattern, err, offset, why);
		p[1].glob = refused[i].pattern;
		p[1].len = refused[i].len;
		assert_int_equal(try_build(RF_AUTOMATON_PATH, p, 2, 1000, &image, &blamed), -EINVAL);
		assert_int_equal(blamed, 1);
	}
	memset(longest, 'a', sizeof(longest));
	longest[0] = '/';
	assert_int_equal(rf_glob_check(longest, RF_PATH_MAX, &offset, &why), 0);
	assert_int_equal(rf_glob_check(longest, RF_PATH_MAX + 1, &offset, &why), -EINVAL);
	assert_int_equal(offset, RF_PATH_MAX);
}

static struct rf_decision ask(const struct image *image, unsigned int access, const char *path)
{
	return rf_image_path(image->cells, image->n, access, path, strlen(path));
}

static void expect(const struct image *image, unsigned int access, const char *path, bool allow, uint16_t rule)
{
	struct rf_decision d = ask(image, access, path);

	if (d.allow != allow || d.rule != rule)
		fail_msg("%s access %u: allow %d rule %d", path, access, d.allow, d.rule);
}

static void test_last_wins(void **state)
{
	const struct rf_pattern patterns[] = {
		glob("/work/**", RF_FILE_ALL, true, 0),
		glob("**/.env", 1 << RF_FILE_WRITE | 1 << RF_FILE_READ, false, 1),
		glob("/work/open/**", 1 << RF_FILE_READ, true, 2),
		glob("/work/open/no/**", RF_FILE_ALL, false, 3),
		glob("/sock", 1 << RF_NET_UNIX, true, 4),
	};
	__cleanup(image_done) struct image image = {};

	(void)state;
	build(RF_AUTOMATON_PATH, patterns, COUNT(patterns), &image);
	expect(&image, RF_FILE_READ, "/work/a", true, 0);
	expect(&image, RF_FILE_READ, "/work/.env", false, 1);
	expect(&image, RF_FILE_EXECUTE, "/work/.env", true, 0);
	expect(&image, RF_FILE_READ, "/work/open/.env", true, 2);
	expect(&image, RF_FILE_WRITE, "/work/open/.env", false, 1);
	expect(&image, RF_FILE_DELETE, "/work/open/.env", true, 0);
	expect(&image, RF_FILE_READ, "/work/open/no/.env", false, 3);
	expect(&image, RF_FILE_READ, "/elsewhere", false, RF_RULE_NONE);
	expect(&image, RF_NET_UNIX, "/sock", true, 4);
	expect(&image, RF_NET_UNIX, "/work/sock", false, RF_RULE_NONE);
	expect(&image, RF_FILE_READ, "/sock", false, RF_RULE_NONE);
	/* An access of the other automaton, or of none, is never allowed. */
	expect(&image, RF_NET_CONNECT, "/work/a", false, RF_RULE_NONE);
	expect(&image, 99, "/work/a", false, RF_RULE_NONE);
}

static bool connects(const struct image *image, const char *addr_hex, uint8_t family, uint8_t protocol, uint16_t port)
{
	uint8_t addr[16] = {}, key[RF_ADDR_KEY_MAX];
	struct rf_decision d;
	size_t len;

	for (size_t i = 0; addr_hex[2 * i]; i++) {
		unsigned int byte;

		assert_int_equal(sscanf(addr_hex + 2 * i, "%2x", &byte), 1);
		addr[i] = (uint8_t)byte;
	}
	len = rf_addr_key(key, family, addr, protocol, port);
	d = rf_image_addr(image->cells, image->n, RF_NET_CONNECT, key, len);
	assert_int_equal(d.rule, d.allow ? 0 : RF_RULE_NONE);
	return d.allow;
}

static void test_ports(void **state)
{
	static const uint16_t edges[] = {0, 1, 254, 255, 256, 257, 511, 512, 513, 767, 768, 65279, 65280, 65534, 65535};

	(void)state;
	for (size_t lo = 0; lo < COUNT(edges); lo++) {
		for (size_t hi = lo; hi < COUNT(edges); hi++) {
			struct rf_pattern p = {.accesses = 1, .allow = true};
			__cleanup(image_done) struct image image = {};

			p.addr = (struct rf_addr_range){.family = 4, .addr = {10}, .prefix = 8, .protocol_lo = 6};
			p.addr.protocol_hi = 6;
			p.addr.port_lo = edges[lo];
			p.addr.port_hi = edges[hi];
			build(RF_AUTOMATON_ADDR, &p, 1, &image);
			for (size_t at = 0; at < COUNT(edges); at++)
				assert_int_equal(connects(&image, "0a000001", 4, 6, edges[at]), at >= lo && at <= hi);
			assert_false(connects(&image, "0a000001", 4, 17, edges[lo]));
			assert_false(connects(&image, "0b000001", 4, 6, edges[lo]));
		}
	}
}

static void test_networks(void **state)
{
	struct rf_pattern p = {.accesses = 1, .allow = true};

	(void)state;
	for (unsigned int prefix = 0; prefix <= 32; prefix++) {
		__cleanup(image_done) struct image image = {};
		char twin[9];

		p.addr = (struct rf_addr_range){
			.family = 4, .addr = {0xac, 0x10, 0x5a, 0xa5}, .prefix = (uint8_t)prefix};
		p.addr.protocol_hi = 255;
		p.addr.port_hi = 65535;
		build(RF_AUTOMATON_ADDR, &p, 1, &image);
		assert_true(connects(&image, "ac105aa5", 4, 6, 443));
		assert_false(connects(&image, "ac105aa5000000000000000000000000", 6, 6, 443));
		/* One bit changed: inside when it lies behind the prefix. */
		for (unsigned int bit = 0; bit < 32; bit++) {
			snprintf(twin, sizeof(twin), "%08x", 0xac105aa5U ^ 1U << (31 - bit));
			assert_int_equal(connects(&image, twin, 4, 6, 443), bit >= prefix);
		}
	}
}

static void test_normalised(void **state)
{
	struct rf_pattern p = {.accesses = 1, .allow = true};
	__cleanup(image_done) struct image four = {}, six = {};

	(void)state;
	p.addr = (struct rf_addr_range){.family = 4, .addr = {127, 0, 0, 1}, .prefix = 32, .protocol_hi = 255};
	p.addr.port_hi = 65535;
	build(RF_AUTOMATON_ADDR, &p, 1, &four);
	assert_true(connects(&four, "7f000001", 4, 6, 80));
	assert_true(connects(&four, "00000000", 4, 6, 80));
	assert_true(connects(&four, "00000000000000000000ffff7f000001", 6, 6, 80));
	assert_true(connects(&four, "00000000000000000000ffff00000000", 6, 6, 80));
	assert_false(connects(&four, "00000000000000000000fffe7f000001", 6, 6, 80));
	assert_false(connects(&four, "00000000000000000000000000000001", 6, 6, 80));
	assert_false(connects(&four, "00000001", 4, 6, 80));
	p.addr = (struct rf_addr_range){.family = 6, .addr = {[15] = 1}, .prefix = 128, .protocol_hi = 255};
	p.addr.port_hi = 65535;
	build(RF_AUTOMATON_ADDR, &p, 1, &six);
	assert_true(connects(&six, "00000000000000000000000000000001", 6, 6, 80));
	assert_true(connects(&six, "00000000000000000000000000000000", 6, 6, 80));
	assert_false(connects(&six, "00000000000000000000000000000002", 6, 6, 80));
	assert_false(connects(&six, "7f000001", 4, 6, 80));
}

static void test_impossible(void **state)
{
	const struct rf_addr_range good = {.family = 4, .protocol_hi = 255, .port_hi = 65535};
	struct rf_pattern p[2] = {{.accesses = 1, .addr = good}, {.accesses = 1, .addr = good}};
	struct rf_pattern path = glob("/a", 1, true, 0);
	__cleanup(image_done) struct image image = {};
	size_t blamed = 99;

#define REFUSED(field, value)                                                                        \
	do {                                                                                         \
		p[1] = p[0];                                                                         \
		p[1].field = value;                                                                  \
		blamed = 99;                                                                         \
		assert_int_equal(try_build(RF_AUTOMATON_ADDR, p, 2, 100, &image, &blamed), -EINVAL); \
		assert_int_equal(blamed, 1);                                                         \
	} while (0)
	(void)state;
	REFUSED(addr.family, 5);
	REFUSED(addr.prefix, 33);
	REFUSED(addr.port_hi, 0; p[1].addr.port_lo = 1);
	REFUSED(addr.protocol_hi, 0; p[1].addr.protocol_lo = 1);
	REFUSED(accesses, 1 << RF_ACCESSES);
	REFUSED(rule, RF_RULES_MAX);
	p[1] = p[0];
	build(RF_AUTOMATON_ADDR, p, 2, &image);
	path.glob = NULL;
	image_done(&image);
	image = (struct image){};
	assert_int_equal(try_build(RF_AUTOMATON_PATH, &path, 1, 100, &image, &blamed), -EINVAL);
}

static void test_too_many_states(void **state)
{
	/* "an a, nine bytes before the end" needs a state for each of 2^10 histories. */
	const struct rf_pattern patterns[] = {
		glob("/usr/**", 1, true, 0),
		glob("/etc/*/x", 1, true, 1),
		glob("/x/*a?????????", 1, true, 2),
		glob("/home/**", 1, true, 3),
	};
	__cleanup(image_done) struct image image = {};
	size_t blamed = 99;

	(void)state;
	assert_int_equal(try_build(RF_AUTOMATON_PATH, patterns, 4, 1000, &image, &blamed), -E2BIG);
	assert_int_equal(blamed, 2);
	build(RF_AUTOMATON_PATH, patterns, 4, &image);
	expect(&image, RF_FILE_READ, "/x/bbbabbbbbbbbb", true, 2);
	expect(&image, RF_FILE_READ, "/x/bbabbbbbbbbbb", false, RF_RULE_NONE);
}

/* "/x{,a}{,a}..." of that many braces. */
static void write_braces(char *text, size_t braces)
{
	strcpy(text, "/x");
	for (size_t i = 0; i < braces; i++)
		strcpy(text + 2 + 4 * i, "{,a}");
}

/* Braces with empty alternatives lead far by nothing: each position's closure is as long as what follows. */
static void test_long_closures(void **state)
{
	static char text[64][4000];
	struct rf_pattern patterns[64];
	__cleanup(image_done) struct image image = {};
	size_t blamed;

	(void)state;
	write_braces(text[0], 100);
	patterns[0] = glob(text[0], 1, true, 0);
	build(RF_AUTOMATON_PATH, patterns, 1, &image);
	expect(&image, RF_FILE_READ, "/xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", true, 0);
	expect(&image, RF_FILE_READ, "/xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", false, RF_RULE_NONE);
	image_done(&image);
	image = (struct image){};
	/* Refused for its time, then for its memory. */
	write_braces(text[0], 900);
	patterns[0] = glob(text[0], 1, true, 0);
	assert_int_equal(try_build(RF_AUTOMATON_PATH, patterns, 1, 10000, &image, &blamed), -E2BIG);
	assert_int_equal(blamed, 0);
	for (size_t i = 0; i < COUNT(patterns); i++) {
		write_braces(text[i], 900);
		text[i][1] = (char)(i < 26 ? 'a' + i : i < 52 ? 'A' + i - 26 : '\x80' + i);
		patterns[i] = glob(text[i], 1, true, 0);
	}
	assert_int_equal(try_build(RF_AUTOMATON_PATH, patterns, COUNT(patterns), 100000, &image, &blamed), -E2BIG);
}

/* The digest depends on it. */
static void test_same_bytes(void **state)
{
	const struct rf_pattern patterns[] = {
		glob("/srv/{a,b}/**/*.c", RF_FILE_ALL, true, 0),
		glob("**/[!x]*.{h,hh}", 3, false, 1),
		glob("/srv/**", 5, true, 2),
	};
	__cleanup(image_done) struct image a = {}, b = {};

	(void)state;
	build(RF_AUTOMATON_PATH, patterns, COUNT(patterns), &a);
	build(RF_AUTOMATON_PATH, patterns, COUNT(patterns), &b);
	assert_int_equal(a.n, b.n);
	assert_memory_equal(a.cells, b.cells, a.n * sizeof(*a.cells));
}

#define STATES 1024

/* How many states the smallest automaton has: reachable ones, told apart by every byte until nothing changes. */
static size_t smallest(const struct image *image, size_t *ret_reachable)
{
	static uint32_t state[STATES], next[STATES][256], block[STATES], new_block[STATES];
	const struct rf_automaton_header *a = &((const struct rf_image *)image->cells)->automaton[RF_AUTOMATON_PATH];
	size_t n = 1, blocks = 0, old;

	state[0] = a->start;
	for (size_t i = 0; i < n; i++) {
		for (unsigned int byte = 0; byte < 256; byte++) {
			uint32_t to = rf_step(image->cells, RF_CELLS_MASK, 0, a->classes, state[i], (uint8_t)byte);
			size_t k = 0;

			while (k < n && state[k] != to)
				k++;
			if (k == n)
				state[n++] = to;
			assert_true(n < STATES);
			next[i][byte] = (uint32_t)k;
		}
	}
	memset(block, 0, sizeof(block));
	do {
		old = blocks;
		blocks = 0;
		for (size_t i = 0; i < n; i++) {
			const void *vi = rf_state_verdicts(image->cells, RF_CELLS_MASK, 0, state[i]);
			size_t k;

			for (k = 0; k < i; k++) {
				const void *vk = rf_state_verdicts(image->cells, RF_CELLS_MASK, 0, state[k]);
				unsigned int byte = 0;

				if (block[i] != block[k] || memcmp(vi, vk, sizeof(struct rf_verdicts)))
					continue;
				while (byte < 256 && block[next[i][byte]] == block[next[k][byte]])
					byte++;
				if (byte == 256)
					break;
			}
			new_block[i] = k < i ? new_block[k] : (uint32_t)blocks++;
		}
		memcpy(block, new_block, sizeof(block));
	} while (blocks != old);
	*ret_reachable = n;
	return blocks;
}

static void test_minimal(void **state)
{
	static const char *const sets[][5] = {
		{"/**"},
		{"/a/**", "/b/**"},
		{"/srv/{a,b}/**", "/srv/c/**"},
		{"**/*.pem", "/a/**"},
		{"/a/**", "**/*.pem"},
		{"/a/**/b", "/a/**/**/b", "/a/b"},
		{"/x*y*z", "/x*z", "/xy[a-z]?"},
		{"**/a/**/b/**/c", "/a/*/c"},
		{"/[!a]*", "/[a-f]?", "/\xff*"},
		{"/a/**", "/a/b/**", "/a/b/c/**", "**/d"},
		{"/{a,ab,abc}{,c,bc}", "/a{,b}c"},
		{"/p1/**", "/p2/**", "**/.env", "**/.ssh/**", "/p3/*.log"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(sets); i++) {
		/* All patterns of one rule, then of a rule each: what may be merged differs. */
		for (uint16_t rules = 0; rules < 2; rules++) {
			__cleanup(image_done) struct image image = {};
			struct rf_pattern patterns[5];
			const struct rf_image *header;
			size_t n = 0, reachable;

			for (; n < 5 && sets[i][n]; n++)
				patterns[n] = glob(sets[i][n], n % 3 ? 1 : 3, n % 4 != 2, (uint16_t)(n * rules));
			build(RF_AUTOMATON_PATH, patterns, n, &image);
			header = (const struct rf_image *)image.cells;
			assert_int_equal(smallest(&image, &reachable), header->automaton[RF_AUTOMATON_PATH].states);
			assert_int_equal(reachable, header->automaton[RF_AUTOMATON_PATH].states);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_matches),	      cmocka_unit_test(test_refused),
		cmocka_unit_test(test_last_wins),     cmocka_unit_test(test_ports),
		cmocka_unit_test(test_networks),      cmocka_unit_test(test_normalised),
		cmocka_unit_test(test_impossible),    cmocka_unit_test(test_too_many_states),
		cmocka_unit_test(test_long_closures), cmocka_unit_test(test_same_bytes),
		cmocka_unit_test(test_minimal),
	};

	return cmocka_run_group_tests_name("automaton", tests, NULL, NULL);
}
