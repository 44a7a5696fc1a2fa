/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oracle --seed S --pairs N: random policies, compiled, against the oracle, which reads their patterns. A pair is a
 * policy and what it is asked of:
 *   an object    every access, by its whole path, and as the kernel goes: from a mount point name by name
 *   a rename     would it widen? Yes: the oracle must see the same accesses appear at the continuation that is named.
 *                No: it must see none at any continuation that it tries
 *   an address
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/match.h"
#include "lib/cleanup.h"
#include "oracle.h"
#include "random.h"

/* Of one policy; every fifth policy is one of addresses. */
#define PAIRS_PER_POLICY 400
#define RENAMES_PER_POLICY 120
#define CONTINUATIONS 24 /* tried for one rename */
#define ACCESSES (RF_NET_UNIX + 1)

struct tally {
	uint64_t pairs, verdicts, differences, allowed, denied, unruled, policies;
	uint64_t renames, holds, walked, widens, complex; /* walked: holds, for states that differ */
	uint64_t below, tried; /* widening below a directory; such that the continuations tried find too */
	uint64_t compared, most; /* pairs of states, for those that hold */
};

struct asked {
	struct rf_random *r;
	const struct rf_random_policy *policy;
	const union rf_cell *cells;
	size_t n;
	struct tally *t;
};

static void print_bytes(const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)bytes[i];

		printf(c >= ' ' && c < 0x7f ? "%c" : "\\x%02x", c);
	}
	putchar('\n');
}

/* The first differences are told in full. */
static bool differs(const struct asked *q, const char *object, size_t len)
{
	if (q->t->differences++ > 5)
		return false;
	printf("difference: ");
	print_bytes(object, len);
	for (size_t i = 0; i < q->policy->n; i++) {
		const struct rf_pattern *p = &q->policy->patterns[i];

		printf("  rule %d %s %#llx ", p->rule, p->allow ? "allow" : "deny", (unsigned long long)p->accesses);
		print_bytes(p->glob ? p->glob : "(address)", p->glob ? p->len : 9);
	}
	return true;
}

static void count(const struct asked *q, struct rf_decision got, struct rf_decision want, unsigned int access,
		  const char *object, size_t len)
{
	struct tally *t = q->t;

	t->verdicts++;
	if (want.allow)
		t->allowed++;
	else
		t->denied++;
	if (want.rule == RF_RULE_NONE)
		t->unruled++;
	if (got.allow == want.allow && got.rule == want.rule)
		return;
	if (differs(q, object, len))
		printf("  access %u, image: allow %d rule %d, oracle: allow %d rule %d\n", access, got.allow, got.rule,
		       want.allow, want.rule);
}

/* As path.bpf.c: the mount point's path without a '/' at its end, then '/' and a name for each level. */
static struct rf_verdicts walk_from(const struct asked *q, const char *path, size_t len, unsigned int mount_names)
{
	const struct rf_automaton_header *a = &((const struct rf_image *)q->cells)->automaton[RF_AUTOMATON_PATH];
	uint32_t state = a->start;
	struct rf_verdicts verdicts;
	size_t at = 0;

	if (len == 1)
		len = 0;
	for (; mount_names && at < len; mount_names--) {
		do
			state = rf_step(q->cells, RF_CELLS_MASK, 0, a->classes, state, (uint8_t)path[at++]);
		while (at < len && path[at] != '/');
	}
	while (at < len) {
		const char *end = memchr(path + at + 1, '/', len - at - 1);
		size_t next = end ? (size_t)(end - path) : len;

		state = rf_step(q->cells, RF_CELLS_MASK, 0, a->classes, state, '/');
		for (at++; at < next; at++)
			state = rf_step(q->cells, RF_CELLS_MASK, 0, a->classes, state, (uint8_t)path[at]);
	}
	memcpy(&verdicts, rf_state_verdicts(q->cells, RF_CELLS_MASK, 0, state), sizeof(verdicts));
	return verdicts;
}

static void ask_path(const struct asked *q)
{
	struct rf_verdicts want, from_mount;
	char path[RF_RANDOM_PATH];
	size_t len = rf_random_path(q->r, q->policy, path);

	q->t->pairs++;
	oracle_path_all(q->policy->patterns, q->policy->n, path, len, &want);
	for (unsigned int access = 0; access < ACCESSES; access++)
		count(q, rf_image_path(q->cells, q->n, access, path, len),
		      (struct rf_decision){want.allow >> access & 1, want.rule[access]}, access, path, len);
	from_mount = walk_from(q, path, len, rf_random_below(q->r, RF_RANDOM_DEPTH));
	if (memcmp(&from_mount, &want, sizeof(want)) && differs(q, path, len))
		printf("  walked from a mount point: allow %#llx, oracle: %#llx\n",
		       (unsigned long long)from_mount.allow, (unsigned long long)want.allow);
}

/* Does the oracle see something widen, at the object itself or at one of some continuations? */
static bool oracle_finds(const struct asked *q, const char *old, const char *new, bool directory,
			 char below[RF_RANDOM_PATH + 1])
{
	below[0] = '\0';
	for (int i = 0; i <= (directory ? CONTINUATIONS : 0); i++) {
		if (i)
			rf_random_continuation(q->r, q->policy, below);
		if (oracle_gained(q->policy->patterns, q->policy->n, old, new, below))
			return true;
	}
	return false;
}

static void check_rename(const struct asked *q, const char *old, const char *new, bool directory,
			 const struct rf_second_name *got)
{
	char below[RF_RANDOM_PATH + 1] = "";
	uint64_t want = oracle_gained(q->policy->patterns, q->policy->n, old, new, got->below);
	bool finds = oracle_finds(q, old, new, directory, below), wrong;
	struct tally *t = q->t;

	switch (got->answer) {
	case RF_INCLUSION_HOLDS:
		t->holds++;
		t->walked += got->pairs > 0;
		t->compared += got->pairs;
		t->most = got->pairs > t->most ? got->pairs : t->most;
		wrong = finds || got->gained;
		break;
	case RF_INCLUSION_WIDENS:
		t->widens++;
		t->below += got->len > 0;
		t->tried += got->len > 0 && finds;
		wrong = want != got->gained || !want || (!directory && got->len);
		break;
	default:
		t->complex++;
		wrong = got->answer != RF_INCLUSION_TOO_COMPLEX || !directory;
	}
	if (!wrong || !differs(q, old, strlen(old)))
		return;
	printf("  renamed to ");
	print_bytes(new, strlen(new));
	printf("  answer %d, %s, gains %#llx, oracle: %#llx, at ", got->answer, directory ? "directory" : "file",
	       (unsigned long long)got->gained, (unsigned long long)want);
	print_bytes(got->below, got->len);
	printf("  the oracle itself found it %s ", finds ? "widens at" : "does not");
	print_bytes(below, strlen(below));
}

static void ask_rename(const struct asked *q)
{
	char old[RF_RANDOM_PATH + 1], new[RF_RANDOM_PATH + 1];
	bool directory = rf_random_rename(q->r, q->policy, old, new);
	struct rf_second_name got;

	q->t->pairs++;
	q->t->renames++;
	if (rf_image_second_name(q->cells, q->n, old, strlen(old), new, strlen(new), directory, &got))
		abort();
	check_rename(q, old, new, directory, &got);
}

static void ask_addr(const struct asked *q)
{
	uint8_t key[RF_ADDR_KEY_MAX];
	unsigned int access = rf_random_below(q->r, 3);
	struct rf_random_addr a;
	char text[64];
	size_t len;

	q->t->pairs++;
	rf_random_addr(q->r, q->policy, &a);
	len = rf_addr_key(key, a.family, a.addr, a.protocol, a.port);
	for (size_t i = 0; i < len; i++)
		snprintf(text + 2 * i, 3, "%02x", key[i]);
	count(q, rf_image_addr(q->cells, q->n, RF_NET_CONNECT + access, key, len),
	      oracle_addr(q->policy->patterns, q->policy->n, access, a.family, a.addr, a.protocol, a.port), access,
	      text, 2 * len);
}

static int one_policy(struct rf_random *r, struct rf_random_policy *policy, struct tally *t)
{
	enum rf_automaton_kind kind = t->policies++ % 5 == 4 ? RF_AUTOMATON_ADDR : RF_AUTOMATON_PATH;
	__cleanup(rf_automaton_free) struct rf_automaton *asked = NULL, *empty = NULL;
	struct rf_automaton *automata[RF_AUTOMATON_MAX];
	__cleanup(freep) union rf_cell *cells = NULL;
	struct rf_image header = {.rules = RF_RANDOM_PATTERNS};
	struct asked q = {.r = r, .policy = policy, .t = t};
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
	q.cells = cells;
	q.n = n;
	for (int i = 0; i < PAIRS_PER_POLICY; i++)
		(kind == RF_AUTOMATON_ADDR ? ask_addr : i < RENAMES_PER_POLICY ? ask_rename : ask_path)(&q);
	return 0;
}

#define NUMBER(n) ((unsigned long long)(n))

/* A generator that hardly ever matches, or always, would prove nothing; nor would continuations that find nothing. */
static bool is_one_sided(const struct tally *t)
{
	if (t->allowed * 5 < t->verdicts || t->denied * 5 < t->verdicts || (t->denied - t->unruled) * 20 < t->verdicts)
		fprintf(stderr, "oracle: verdicts too one-sided (%llu denied by no rule)", NUMBER(t->unruled));
	else if (t->walked * 60 < t->renames || t->widens * 10 < t->renames || t->below * 50 < t->renames)
		fprintf(stderr, "oracle: renames too one-sided");
	else if (t->tried * 3 < t->below)
		fprintf(stderr, "oracle: the continuations it tries find too little");
	else
		return false;
	fprintf(stderr, "; mend tests/oracle/random.c\n");
	return true;
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
	printf("oracle: renames: %llu, %llu hold (%llu by %llu pairs of states, at most %llu), %llu widen, %llu of "
	       "them below "
	       "(%llu "
	       "found by trying), %llu too complex\n",
	       NUMBER(t.renames), NUMBER(t.holds), NUMBER(t.walked), NUMBER(t.compared), NUMBER(t.most),
	       NUMBER(t.widens), NUMBER(t.below), NUMBER(t.tried), NUMBER(t.complex));
	printf("oracle: %llu pairs of %llu policies, %llu verdicts, %llu differences, %llu allowed, %llu denied\n",
	       NUMBER(t.pairs), NUMBER(t.policies), NUMBER(t.verdicts), NUMBER(t.differences), NUMBER(t.allowed),
	       NUMBER(t.denied));
	return is_one_sided(&t) || t.differences;
}
