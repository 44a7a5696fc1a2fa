/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compile [--check] [--json] [RULES]: compiles that many rules (10,000) of each kind and prints what it took.
 * --json: as lines of JSON. --check: exits 1 above the bounds of 200 ms and 100 MB.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "lib/cleanup.h"
#include "policy/automaton.h"

#define RULES_MAX 30000
#define MS_MAX 200.0
#define MIB_MAX 100.0

static bool json;

struct set {
	struct rf_pattern pattern[RULES_MAX];
	char text[RULES_MAX][96];
};

static void projects(struct set *s, size_t i)
{
	snprintf(s->text[i], sizeof(s->text[i]), "/srv/build/team-%03zu/project-%04zu/**", i % 100, i);
}

/* As people write them: ten in a hundred with alternatives, some with stars, four that match anywhere. */
static void mixed(struct set *s, size_t i)
{
	static const char *const anywhere[] = {"**/.env", "**/*.secret17", "**/.ssh/**", "**/*.pem"};
	char *text = s->text[i];
	size_t size = sizeof(s->text[i]);

	if (i % 2500 == 2499)
		snprintf(text, size, "%s", anywhere[i / 2500 % 4]);
	else if (i % 10 == 3)
		snprintf(text, size, "/srv/build/team-%03zu/project-%04zu/{src,lib}/**", i % 100, i);
	else if (i % 10 == 7)
		snprintf(text, size, "/srv/build/team-%03zu/project-%04zu/*.log", i % 100, i);
	else
		projects(s, i);
}

static void names(struct set *s, size_t i)
{
	snprintf(s->text[i], sizeof(s->text[i]), "**/secret-%05zu.key", i);
}

static void networks(struct set *s, size_t i)
{
	struct rf_addr_range *range = &s->pattern[i].addr;

	*range = (struct rf_addr_range){.family = 4, .addr = {10, (uint8_t)(i >> 8), (uint8_t)i, 0}, .prefix = 24};
	range->protocol_hi = 255;
	range->port_lo = i % 3 ? 443 : 1024;
	range->port_hi = i % 3 ? (uint16_t)(443 + i % 7) : 65535;
	if (i % 5 == 0) {
		*range = (struct rf_addr_range){.family = 6,
						.addr = {0x20, 1, 0xd, 0xb8, (uint8_t)(i >> 8), (uint8_t)i}};
		range->prefix = 48;
		range->protocol_lo = range->protocol_hi = 6;
		range->port_hi = 65535;
	}
}

static double cpu_ms(void)
{
	struct timespec t;

	/* Of the process: what else the machine does is not the compiler's. */
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int compile(const char *name, enum rf_automaton_kind kind, void (*make)(struct set *, size_t), size_t rules,
		   bool check)
{
	__cleanup(rf_automaton_free) struct rf_automaton *a = NULL, *empty = NULL;
	__cleanup(freep) union rf_cell *cells = NULL;
	__cleanup(freep) struct set *s = calloc(1, sizeof(*s));
	struct rf_automaton *automata[RF_AUTOMATON_MAX];
	struct rf_image header = {.rules = (uint32_t)rules};
	struct rusage before, after;
	double start, built, laid, mib;
	size_t n = 0, blamed = 0;
	int err;

	if (!s)
		return -ENOMEM;
	for (size_t i = 0; i < rules; i++) {
		s->pattern[i] = (struct rf_pattern){.accesses = 0x3f, .allow = i % 2500 != 2499, .rule = (uint16_t)i};
		make(s, i);
		s->pattern[i].glob = kind == RF_AUTOMATON_PATH ? s->text[i] : NULL;
		s->pattern[i].len = strlen(s->text[i]);
	}
	getrusage(RUSAGE_SELF, &before);
	start = cpu_ms();
	err = rf_automaton_build(kind, s->pattern, rules, 400000, &a, &blamed);
	built = cpu_ms();
	if (!err)
		err = rf_automaton_build(!kind, NULL, 0, 1, &empty, &blamed);
	automata[kind] = a;
	automata[!kind] = empty;
	if (!err)
		err = rf_image_layout(&header, automata, &cells, &n);
	laid = cpu_ms();
	getrusage(RUSAGE_SELF, &after);
	if (!err)
		err = rf_image_check(cells, n);
	if (err) {
		fprintf(stderr, "compile: %s: %s, pattern %zu\n", name, strerror(-err), blamed);
		return err;
	}
	mib = (double)(after.ru_maxrss - before.ru_maxrss) / 1024;
	if (json)
		printf("{\"set\":\"%s\",\"rules\":%zu,\"ms\":%.0f,\"mib\":%.0f,\"states\":%zu,\"cells\":%zu}\n", name,
		       rules, laid - start, mib, rf_automaton_states(a), n);
	else
		printf("compile: %zu %s: %.0f ms of CPU (automaton %.0f, layout %.0f), peak +%.0f MiB (RSS %ld), %zu "
		       "states, %zu cells\n",
		       rules, name, laid - start, built - start, laid - built, mib, after.ru_maxrss / 1024,
		       rf_automaton_states(a), n);
	if (check && (laid - start > MS_MAX || mib > MIB_MAX)) {
		fprintf(stderr, "compile: %s: above %.0f ms or %.0f MiB; profile userspace/policy/\n", name, MS_MAX,
			MIB_MAX);
		return -E2BIG;
	}
	return 0;
}

/* In a child, so that each has its own peak. */
static int measure(const char *name, enum rf_automaton_kind kind, void (*make)(struct set *, size_t), size_t rules,
		   bool check)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid)
		exit(compile(name, kind, make, rules, check) ? 1 : 0);
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	return status ? -ECHILD : 0;
}

int main(int argc, char **argv)
{
	size_t rules = 10000;
	bool check = false;
	int err = 0;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--check"))
			check = true;
		else if (!strcmp(argv[i], "--json"))
			json = true;
		else
			rules = strtoul(argv[i], NULL, 10);
	}
	if (!rules || rules > RULES_MAX) {
		fprintf(stderr, "usage: compile [--check] [--json] [1..%d]\n", RULES_MAX);
		return 2;
	}
	err |= measure("projects", RF_AUTOMATON_PATH, projects, rules, check);
	err |= measure("mixed paths", RF_AUTOMATON_PATH, mixed, rules, check);
	err |= measure("names anywhere", RF_AUTOMATON_PATH, names, rules, check);
	err |= measure("networks", RF_AUTOMATON_ADDR, networks, rules, check);
	return err ? 1 : 0;
}
