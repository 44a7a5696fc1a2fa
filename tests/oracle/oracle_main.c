/* SPDX-License-Identifier: Apache-2.0 */
/* oracle --seed S --pairs N: random (policy, path or address) pairs, the compiled image against the oracle. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "oracle.h"
#include "random.h"

/* Of one policy; every fifth policy is one of addresses. */
#define PAIRS_PER_POLICY 400

struct tally {
	uint64_t pairs, differences, allowed, denied, unruled, policies;
};

static void print_bytes(const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)bytes[i];

		printf(c >= ' ' && c < 0x7f ? "%c" : "\\x%02x", c);
	}
	putchar('\n');
}

static void count(struct tally *t, struct rf_decision got, struct rf_decision want,
		  const struct rf_random_policy *policy, unsigned int access, const char *object, size_t len)
{
	t->pairs++;
	if (want.allow)
		t->allowed++;
	else
		t->denied++;
	if (want.rule == RF_RULE_NONE)
		t->unruled++;
	if (got.allow == want.allow && got.rule == want.rule)
		return;
	if (t->differences++ > 5)
		return;
	printf("difference: access %u, image: allow %d rule %d, oracle: allow %d rule %d\n  object ", access, got.allow,
	       got.rule, want.allow, want.rule);
	print_bytes(object, len);
	for (size_t i = 0; i < policy->n; i++) {
		const struct rf_pattern *p = &policy->patterns[i];

		printf("  rule %d %s %#llx ", p->rule, p->allow ? "allow" : "deny", (unsigned long long)p->accesses);
		print_bytes(p->glob ? p->glob : "(address)", p->glob ? p->len : 9);
	}
}

static void ask_path(struct rf_random *r, const struct rf_random_policy *policy, const union rf_cell *cells, size_t n,
		     struct tally *t)
{
	unsigned int access = rf_random_below(r, RF_NET_UNIX + 1);
	char path[RF_RANDOM_PATH];
	size_t len = rf_random_path(r, policy, path);

	count(t, rf_image_path(cells, n, access, path, len),
	      oracle_path(policy->patterns, policy->n, access, path, len), policy, access, path, len);
}

static void ask_addr(struct rf_random *r, const struct rf_random_policy *policy, const union rf_cell *cells, size_t n,
		     struct tally *t)
{
	uint8_t key[RF_ADDR_KEY_MAX];
	unsigned int access = rf_random_below(r, 3);
	struct rf_random_addr a;
	char text[64];
	size_t len;

	rf_random_addr(r, policy, &a);
	len = rf_addr_key(key, a.family, a.addr, a.protocol, a.port);
	for (size_t i = 0; i < len; i++)
		snprintf(text + 2 * i, 3, "%02x", key[i]);
	count(t, rf_image_addr(cells, n, RF_NET_CONNECT + access, key, len),
	      oracle_addr(policy->patterns, policy->n, access, a.family, a.addr, a.protocol, a.port), policy, access,
	      text, 2 * len);
}

static int one_policy(struct rf_random *r, struct rf_random_policy *policy, struct tally *t)
{
	enum rf_automaton_kind kind = t->policies++ % 5 == 4 ? RF_AUTOMATON_ADDR : RF_AUTOMATON_PATH;
	__cleanup(rf_automaton_free) struct rf_automaton *asked = NULL, *empty = NULL;
	struct rf_automaton *automata[RF_AUTOMATON_MAX];
	__cleanup(freep) union rf_cell *cells = NULL;
	struct rf_image header = {.rules = RF_RANDOM_PATTERNS};
	size_t n, blamed;
	int err;

	rf_random_policy(r, kind, policy);
	err = rf_automaton_build(kind, policy->patterns, policy->n, 400000, &asked, &blamed);
	if (!err)
		err = rf_automaton_build(!kind, NULL, 0, 10, &empty, &blamed);
	automata[kind] = asked;
	automata[!kind] = empty;
	if (!err)
		err = rf_image_layout(&header, automata, &cells, &n);
	if (!err)
		err = rf_image_check(cells, n);
	if (err) {
		fprintf(stderr,
			"oracle: policy %llu cannot be compiled: %s; run again with the same seed in a debugger\n",
			(unsigned long long)t->policies, strerror(-err));
		return err;
	}
	for (int i = 0; i < PAIRS_PER_POLICY; i++)
		(kind == RF_AUTOMATON_PATH ? ask_path : ask_addr)(r, policy, cells, n, t);
	return 0;
}

int main(int argc, char **argv)
{
	static struct rf_random_policy policy;
	struct rf_random r = {1};
	uint64_t pairs = 2000000;
	struct tally t = {};

	for (int i = 1; i < argc; i += 2) {
		if (i + 1 < argc && !strcmp(argv[i], "--seed")) {
			r.state = strtoull(argv[i + 1], NULL, 0);
		} else if (i + 1 < argc && !strcmp(argv[i], "--pairs")) {
			pairs = strtoull(argv[i + 1], NULL, 0);
		} else {
			fprintf(stderr, "usage: oracle [--seed S] [--pairs N]\n");
			return 2;
		}
	}
	while (t.pairs < pairs) {
		if (one_policy(&r, &policy, &t))
			return 1;
	}
	printf("oracle: %llu pairs, %llu differences, %llu allowed, %llu denied\n", (unsigned long long)t.pairs,
	       (unsigned long long)t.differences, (unsigned long long)t.allowed, (unsigned long long)t.denied);
	/* A generator that hardly ever matches, or always, would prove nothing. */
	if (t.allowed * 5 < t.pairs || t.denied * 5 < t.pairs || (t.denied - t.unruled) * 20 < t.pairs) {
		fprintf(stderr, "oracle: verdicts too one-sided (%llu denied by no rule); mend tests/oracle/random.c\n",
			(unsigned long long)t.unruled);
		return 1;
	}
	return t.differences ? 1 : 0;
}
