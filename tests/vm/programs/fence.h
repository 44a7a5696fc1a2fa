/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For test programs that run in a guest and hold the kernel half in their own hands: a fence around one cgroup, the
 * ring drained and counted, and checks that print and count like tests/vm/lib.sh. Everything here ends the program
 * when it fails for a reason that is not what a test asks.
 */
#pragma once

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "abi/event.h"
#include "kern/enforcer.h"
#include "policy/automaton.h"

#define FENCE_CGROUPS "/sys/fs/cgroup"
/* Bits of the files that a rule of tests speaks of. */
#define FENCE_ALL 0x7fULL

static unsigned int fence_passed, fence_failed;

struct fence {
	struct rf_enforcer *e;
	uint32_t base, slot;
	uint64_t run, cgroup;
	char path[128];
	int fd;
	/* of every event that was drained */
	void (*on_event)(const struct rf_event *event);
};

static inline void fence_die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	_exit(1);
}

static inline __attribute__((format(printf, 2, 3))) bool fence_ok(bool good, const char *format, ...)
{
	va_list args;

	good ? fence_passed++ : fence_failed++;
	fputs(good ? "ok      " : "FAILED  ", stdout);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
	return good;
}

static inline int fence_finish(void)
{
	printf("%u passed, %u failed\n", fence_passed, fence_failed);
	return fence_failed || !fence_passed;
}

static inline double fence_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static inline double fence_seconds(const char *name, double otherwise)
{
	const char *value = getenv(name);

	return value ? atof(value) : otherwise;
}

static inline void *fence_shared(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		fence_die("mmap");
	return p;
}

static inline void fence_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		fence_die(path);
	close(fd);
}

/* mkdir -p */
static inline void fence_mkdirs(const char *path)
{
	char copy[4096];

	snprintf(copy, sizeof(copy), "%s", path);
	for (char *at = strchr(copy + 1, '/');; at = strchr(at + 1, '/')) {
		if (at)
			*at = '\0';
		if (mkdir(copy, 0755) && errno != EEXIST)
			fence_die(copy);
		if (!at)
			break;
		*at = '/';
	}
}

/* An image of both automata; caller frees. */
static inline union rf_cell *fence_image(const struct rf_pattern *paths, size_t n_paths, const struct rf_pattern *addrs,
					 size_t n_addrs, size_t *ret_n)
{
	struct rf_automaton *automata[RF_AUTOMATON_MAX] = {};
	struct rf_image header = {.rules = RF_RULES_MAX};
	union rf_cell *cells = NULL;
	size_t blamed;
	int err;

	err = rf_automaton_build(RF_AUTOMATON_PATH, paths, n_paths, 400000, &automata[RF_AUTOMATON_PATH], &blamed);
	if (!err)
		err = rf_automaton_build(RF_AUTOMATON_ADDR, addrs, n_addrs, 400000, &automata[RF_AUTOMATON_ADDR],
					 &blamed);
	if (!err)
		err = rf_image_layout(&header, automata, &cells, ret_n);
	rf_automaton_free(&automata[RF_AUTOMATON_PATH]);
	rf_automaton_free(&automata[RF_AUTOMATON_ADDR]);
	if (err) {
		errno = -err;
		fence_die("a policy cannot be compiled");
	}
	return cells;
}

static inline uint32_t fence_put(struct fence *f, const union rf_cell *cells, size_t n)
{
	uint32_t base, id;
	int err = rf_enforcer_put_image(f->e, cells, n, &base, &id);

	if (err) {
		errno = -err;
		fence_die("put_image");
	}
	return base;
}

static inline uint32_t fence_put_paths(struct fence *f, const struct rf_pattern *paths, size_t n_paths)
{
	size_t n;
	union rf_cell *cells = fence_image(paths, n_paths, NULL, 0, &n);
	uint32_t base = fence_put(f, cells, n);

	free(cells);
	return base;
}

static inline void fence_refresh(struct fence *f)
{
	unsigned int skipped;

	if (rf_enforcer_refresh_view(f->e, &skipped)) {
		fprintf(stderr, "view: %s\n", rf_enforcer_why(f->e));
		_exit(1);
	}
}

/* Loads (or adopts) the programs and reads the view. */
static inline void fence_open(struct fence *f)
{
	bool adopted;
	double start = fence_now();

	if (rf_enforcer_open(&f->e, &adopted)) {
		fprintf(stderr, "cannot enforce: %s\n", rf_enforcer_why(f->e));
		_exit(1);
	}
	printf("# %s in %.1f s\n", adopted ? "adopted" : "loaded", fence_now() - start);
	fence_refresh(f);
}

/* Starts a run under an image and tags a new cgroup with it. */
static inline void fence_tag(struct fence *f, const char *name, uint32_t base)
{
	snprintf(f->path, sizeof(f->path), FENCE_CGROUPS "/%s", name);
	fence_mkdirs(f->path);
	f->base = base;
	f->fd = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->fd < 0)
		fence_die(f->path);
	if (rf_enforcer_start_run(f->e, base, 0, &f->slot, &f->run) ||
	    rf_enforcer_tag(f->e, f->slot, f->fd, &f->cgroup)) {
		fprintf(stderr, "tag: %s\n", rf_enforcer_why(f->e));
		_exit(1);
	}
}

static inline void fence_enter(const char *cgroup)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	fence_write(path, "0");
}

static inline struct rf_run fence_run(struct fence *f)
{
	struct rf_run run = {};

	rf_enforcer_run(f->e, f->slot, &run);
	return run;
}

static struct fence *fence_draining;

static inline int fence_on_record(void *ctx, const void *bytes, size_t len)
{
	const struct rf_event *event = bytes;

	(void)ctx;
	if (len < sizeof(*event))
		return 0;
	if (fence_draining->on_event)
		fence_draining->on_event(event);
	return 0;
}

static inline void fence_drain(struct fence *f)
{
	fence_draining = f;
	rf_enforcer_drain(f->e, fence_on_record, NULL);
}

/* Denials of tasks that no tag could be had for: refused like all, but in nobody's name. */
static inline uint64_t fence_nobody(struct fence *f)
{
	struct rf_run run = {};

	rf_enforcer_run(f->e, 0, &run);
	return run.denied;
}

/* emitted = delivered + lost on every CPU, once all writers have ended. */
static inline void fence_books(struct fence *f)
{
	uint64_t emitted = 0, delivered = 0, lost = 0, wrong = 0;

	fence_drain(f);
	for (unsigned int cpu = 0; cpu < rf_enforcer_cpus(f->e); cpu++) {
		struct rf_cpu books;

		if (rf_enforcer_books(f->e, cpu, &books))
			continue;
		emitted += books.emitted, delivered += books.delivered, lost += books.lost;
		wrong += books.emitted != books.delivered + books.lost;
	}
	fence_ok(!wrong, "books: emitted %llu = delivered %llu + lost %llu, on each CPU", (unsigned long long)emitted,
		 (unsigned long long)delivered, (unsigned long long)lost);
}

/* Runs of our programs that the kernel left out because the same program was at work on that CPU. */
static inline uint64_t fence_misses(unsigned int *ret_programs)
{
	uint64_t misses = 0;
	uint32_t id = 0;

	*ret_programs = 0;
	while (!bpf_prog_get_next_id(id, &id)) {
		struct bpf_prog_info info = {};
		uint32_t len = sizeof(info);
		int fd = bpf_prog_get_fd_by_id(id);

		if (fd < 0)
			continue;
		if (!bpf_obj_get_info_by_fd(fd, &info, &len) && !strncmp(info.name, "rf_", 3)) {
			++*ret_programs;
			misses += info.recursion_misses;
			if (info.recursion_misses)
				printf("# %s was left out %llu times\n", info.name,
				       (unsigned long long)info.recursion_misses);
		}
		close(fd);
	}
	return misses;
}

static inline void fence_no_misses(void)
{
	unsigned int programs;
	uint64_t misses = fence_misses(&programs);

	fence_ok(programs >= 10 && !misses, "%u programs, left out %llu times", programs, (unsigned long long)misses);
}

/* What the kernel complains of since it booted. */
static inline void fence_no_warning(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	unsigned int warnings = 0, lines = 0;
	char line[8192];
	ssize_t n;

	while ((n = read(fd, line, sizeof(line) - 1)) > 0 || (n < 0 && errno == EPIPE)) {
		if (n < 0)
			continue;
		line[n] = '\0';
		lines++;
		if (strstr(line, "WARNING:") || strstr(line, "BUG:") || strstr(line, "Oops")) {
			warnings++;
			printf("# %s", line);
		}
	}
	close(fd);
	fence_ok(lines && !warnings, "no kernel warning in %u lines", lines);
}

/* Takes the fence away; its cgroup must be empty, and nothing of it may stay. */
static inline void fence_end(struct fence *f)
{
	uint64_t key, *none = NULL;
	int maps, err = 0;

	for (int i = 0; i < 100 && rmdir(f->path); i++) {
		err = errno;
		usleep(100000);
	}
	if (access(f->path, F_OK))
		err = 0;
	fence_ok(!err, "cgroup %s is empty and goes%s%s", f->path, err ? ": " : "", err ? strerror(err) : "");
	close(f->fd);
	rf_enforcer_end_run(f->e, f->slot);
	rf_enforcer_free_run(f->e, f->slot);
	maps = bpf_obj_get(RF_PIN_DIR "/map_rf_cgroups");
	fence_ok(maps >= 0 && bpf_map_get_next_key(maps, none, &key) && errno == ENOENT, "no cgroup is left tagged");
	if (maps >= 0)
		close(maps);
}
