/* SPDX-License-Identifier: Apache-2.0 */
/*
 * storm: for STORM_SECONDS (30), eight tagged tasks on every CPU open allowed and denied paths and fork children that
 * fork children that do the same, while an untagged process renames directories and the image is replaced, so that the
 * directory cache hits and misses. Some of the children leave the tagged cgroup first. Every result is compared with
 * what it must be. Two untagged tasks on every CPU do the same, and must never be refused.
 */
#include "fence.h"

#define TREE "/run/storm"
#define CONTROL FENCE_CGROUPS "/storm-control"
#define DIRS 64
#define LEVELS 5
#define PER_CPU 8
#define CONTROL_PER_CPU 2

/* What one file must answer to the tagged, for reading and for writing. */
static const struct kind {
	const char *place, *name;
	bool read, write;
} kinds[] = {
	{"open", "file", true, true},
	{"open", "read-only", true, false},
	{"open", "secret-key", false, false},
	{"denied", "file", false, false},
	{"denied", "exempt", true, true},
	{"mixed/a-rather-long-name-of-a-directory-x", "f", true, true},
	{"mixed/a-rather-long-name-of-a-directory-y", "f", false, false},
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct tally {
	unsigned long opens, denied, forks, no_fork, wrong_open, wrong_deny, children, lost_children;
};

static struct tally *tallies; /* [0] tagged, [1] control; shared by all tasks */
static double deadline;
static int control_fd; /* cgroup.procs of the untagged */

/* last: a pattern that matches nothing here and makes another image of it. */
static uint32_t put_policy(struct fence *f, const char *last)
{
	struct rf_pattern p[] = {
		{.glob = "/**", .accesses = FENCE_ALL, .allow = true, .rule = 0},
		{.glob = TREE "/*/**/secret*", .accesses = FENCE_ALL, .rule = 1},
		{.glob = TREE "/**/read-only", .accesses = 2, .rule = 2},
		{.glob = TREE "/denied/**", .accesses = FENCE_ALL, .rule = 3},
		{.glob = TREE "/denied/**/exempt", .accesses = FENCE_ALL, .allow = true, .rule = 4},
		{.glob = TREE "/mixed/*-y/**", .accesses = FENCE_ALL, .rule = 5},
		{.glob = last, .accesses = FENCE_ALL, .rule = 6},
	};
	size_t n = sizeof(p) / sizeof(p[0]);

	for (size_t i = 0; i < n; i++)
		p[i].len = strlen(p[i].glob);
	return fence_put_paths(f, p, n);
}

static void file_path(char *path, size_t size, const struct kind *kind, unsigned int dir)
{
	int n = snprintf(path, size, TREE "/%s", kind->place);

	for (int i = 0; i <= (int)(dir % LEVELS); i++)
		n += snprintf(path + n, size - (size_t)n, "/level-%d-of-%u", i, dir);
	snprintf(path + n, size - (size_t)n, "/%s", kind->name);
}

static void make_tree(void)
{
	char path[512], *slash;

	for (unsigned int dir = 0; dir < DIRS; dir++) {
		for (size_t i = 0; i < KINDS; i++) {
			file_path(path, sizeof(path), &kinds[i], dir);
			slash = strrchr(path, '/');
			*slash = '\0';
			fence_mkdirs(path);
			*slash = '/';
			fence_write(path, "x");
		}
	}
}

static void say_wrong(const char *what, const char *path, int err)
{
	static unsigned int said;

	if (said++ < 3)
		printf("# wrong: %s %s: %s\n", what, path, strerror(err));
	fflush(stdout);
}

static void one_open(unsigned int *seed, struct tally *t, bool tagged)
{
	const struct kind *kind = &kinds[(unsigned int)rand_r(seed) % KINDS];
	bool writes = rand_r(seed) & 1, may = !tagged || (writes ? kind->write : kind->read);
	char path[512];
	int fd;

	file_path(path, sizeof(path), kind, (unsigned int)rand_r(seed) % DIRS);
	fd = open(path, (writes ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
	__atomic_add_fetch(&t->opens, 1, __ATOMIC_RELAXED);
	if (fd < 0 && errno == EACCES)
		__atomic_add_fetch(&t->denied, 1, __ATOMIC_RELAXED);
	if (may && fd < 0) {
		__atomic_add_fetch(&t->wrong_deny, 1, __ATOMIC_RELAXED);
		say_wrong(writes ? "refused to write" : "refused to read", path, errno);
	} else if (!may && (fd >= 0 || errno != EACCES)) {
		__atomic_add_fetch(&t->wrong_open, 1, __ATOMIC_RELAXED);
		say_wrong(writes ? "let write" : "let read", path, fd >= 0 ? 0 : errno);
	}
	if (fd >= 0)
		close(fd);
}

/* A child that opens and forks in turn. */
static void breed(unsigned int seed, struct tally *t, bool tagged, unsigned int generations)
{
	pid_t child = fork();
	int status;

	if (child < 0) {
		__atomic_add_fetch(&t->no_fork, 1, __ATOMIC_RELAXED);
		return;
	}
	if (child) {
		__atomic_add_fetch(&t->forks, 1, __ATOMIC_RELAXED);
		if (waitpid(child, &status, 0) != child || status)
			__atomic_add_fetch(&t->lost_children, 1, __ATOMIC_RELAXED);
		return;
	}
	/* Leaving the cgroup sheds nothing: not even before a first decision, so the descriptor was opened by another. */
	if (!generations && seed % 2 && write(control_fd, "0", 1) != 1)
		fence_die("leaving the cgroup");
	for (int i = 0; i < 4; i++)
		one_open(&seed, t, tagged);
	if (generations)
		breed(seed + 1, t, tagged, generations - 1);
	__atomic_add_fetch(&t->children, 1, __ATOMIC_RELAXED);
	_exit(0);
}

static void work(unsigned int number, unsigned int cpu, const char *cgroup, bool tagged)
{
	struct tally *t = &tallies[!tagged];
	unsigned int seed = number * 7919 + 1;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		fence_die("sched_setaffinity");
	fence_enter(cgroup);
	while (fence_now() < deadline) {
		for (int i = 0; i < 100; i++)
			one_open(&seed, t, tagged);
		breed((unsigned int)rand_r(&seed), t, tagged, 2);
	}
	_exit(0);
}

/* Renames of directories make every cached state stale; not so often that a walk finds no quiet moment. */
static void rename_directories(void)
{
	fence_mkdirs(TREE "/other/a");
	while (fence_now() < deadline) {
		if (rename(TREE "/other/a", TREE "/other/b") || rename(TREE "/other/b", TREE "/other/a"))
			fence_die("rename");
		usleep(20000);
	}
	_exit(0);
}

static unsigned int start(struct fence *f, unsigned int cpus)
{
	unsigned int n = 0;

	fence_mkdirs(CONTROL);
	control_fd = open(CONTROL "/cgroup.procs", O_WRONLY | O_CLOEXEC);
	if (control_fd < 0)
		fence_die(CONTROL);
	for (unsigned int cpu = 0; cpu < cpus; cpu++) {
		for (unsigned int i = 0; i < PER_CPU + CONTROL_PER_CPU; i++, n++) {
			if (fork() == 0)
				work(n, cpu, i < PER_CPU ? f->path : CONTROL, i < PER_CPU);
		}
	}
	if (fork() == 0)
		rename_directories();
	return n + 1;
}

static void judge(struct fence *f, unsigned int cpus)
{
	struct tally *t = &tallies[0], *c = &tallies[1];
	struct rf_run run = fence_run(f);

	fence_ok(t->opens > 500 * cpus && t->forks > 20 * cpus && t->denied * 4 > t->opens &&
			 t->denied * 4 < t->opens * 3,
		 "a storm: %lu opens, %lu denied, %lu forks", t->opens, t->denied, t->forks);
	fence_ok(!t->wrong_open, "denied paths that opened: %lu", t->wrong_open);
	fence_ok(!t->wrong_deny, "allowed paths that did not open: %lu", t->wrong_deny);
	fence_ok(!t->no_fork && !t->lost_children && t->children == t->forks,
		 "forks refused: %lu, children that died: %lu, %lu of %lu ended", t->no_fork, t->lost_children,
		 t->children, t->forks);
	fence_ok(run.denied == t->denied, "the kernel counted %llu denials, the tasks %lu",
		 (unsigned long long)run.denied, t->denied);
	fence_ok(c->opens && !c->wrong_deny && !c->denied && !c->no_fork,
		 "control: %lu of %lu opens refused, %lu forks", c->wrong_deny, c->opens, c->no_fork);
}

int main(void)
{
	unsigned int cpus = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN), left;
	struct fence f = {};
	uint32_t base[2];

	fence_open(&f);
	make_tree();
	base[0] = put_policy(&f, "/nowhere/a");
	base[1] = put_policy(&f, "/nowhere/b/*");
	fence_tag(&f, "storm", base[0]);
	tallies = fence_shared(2 * sizeof(*tallies));
	deadline = fence_now() + fence_seconds("STORM_SECONDS", 30);
	left = start(&f, cpus);
	if (setpriority(PRIO_PROCESS, 0, -15))
		fence_die("setpriority");
	for (unsigned int round = 1; left; round++) {
		int status;

		while (left && waitpid(-1, &status, WNOHANG) > 0) {
			left--;
			if (status)
				fence_ok(false, "a task ended with %#x", status);
		}
		if (fence_now() > deadline + 120)
			break;
		fence_drain(&f);
		if (round % 8 == 0)
			rf_enforcer_replace_image(f.e, f.slot, base[round / 8 % 2]);
		usleep(10000);
	}
	fence_ok(!left, "all tasks ended (%u left)", left);
	judge(&f, cpus);
	fence_books(&f);
	fence_end(&f);
	fence_no_misses();
	fence_no_warning();
	return fence_finish();
}
