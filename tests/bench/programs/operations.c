/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operations [--miss DIR] OPERATION PATH...: nanoseconds that OPERATION takes, one number for each PATH: a file to open
 * and close or to stat, a directory in which to create, unlink, rename, mkdir or rmdir. In a guest whose clock counts
 * instructions (run.sh -i) these are instructions, the same to the digit on every run.
 *
 * A batch is short enough to fit between two ticks of the kernel, a round is the cheapest of many batches, and the
 * answer is given when two rounds agree. --miss: a directory below DIR is renamed before each operation, which makes
 * every cached state of a directory stale; the same renames without the operation are measured and taken off.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BATCH 20
#define BATCHES 100
#define ROUNDS_MAX 50

/* What the steps of a batch act on. */
static char names[BATCH][4096], others[BATCH][4096];
static char turned[2][4096];

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void fail(const char *what)
{
	fprintf(stderr, "operations: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void check(int err, int i)
{
	if (err < 0)
		fail(names[i]);
}

static void open_close(int i)
{
	int fd = open(names[i], O_RDONLY | O_CLOEXEC);

	check(fd, i);
	close(fd);
}

static void create(int i)
{
	int fd = open(names[i], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	check(fd, i);
	close(fd);
}

static void get_stat(int i)
{
	struct stat st;

	check(stat(names[i], &st), i);
}

static void remove_file(int i)
{
	check(unlink(names[i]), i);
}

static void move(int i)
{
	check(rename(names[i], others[i]), i);
}

static void remove_moved(int i)
{
	check(unlink(others[i]), i);
}

static void make_directory(int i)
{
	check(mkdir(names[i], 0700), i);
}

static void remove_directory(int i)
{
	check(rmdir(names[i]), i);
}

/* before and after are not measured; without them the path itself is the name, not a directory for names. */
static const struct operation {
	const char *name;
	void (*before)(int i), (*measured)(int i), (*after)(int i);
} operations[] = {
	{"open", NULL, open_close, NULL},
	{"stat", NULL, get_stat, NULL},
	{"create", NULL, create, remove_file},
	{"unlink", create, remove_file, NULL},
	{"rename", create, move, remove_moved},
	{"mkdir", NULL, make_directory, remove_directory},
	{"rmdir", make_directory, remove_directory, NULL},
	/* with --miss: the renames alone */
	{"nothing", NULL, NULL, NULL},
};

/* There and back again needs an even number of calls. */
static void turn(void)
{
	static unsigned int i;

	if (rename(turned[i & 1], turned[!(i & 1)]))
		fail(turned[i & 1]);
	i++;
}

static void each(void (*step)(int i))
{
	for (int i = 0; step && i < BATCH; i++)
		step(i);
}

static int64_t batch(const struct operation *o, int miss)
{
	int64_t start, end, read;

	each(o->before);
	start = now();
	for (int i = 0; i < BATCH; i++) {
		if (miss)
			turn();
		if (o->measured)
			o->measured(i);
	}
	end = now();
	/* What reading the clock takes. */
	read = now() - end;
	each(o->after);
	return end - start - read;
}

static int64_t round_of(const struct operation *o, int miss)
{
	int64_t best = INT64_MAX;

	for (int i = 0; i < BATCHES; i++) {
		int64_t ns = batch(o, miss);

		if (ns < best)
			best = ns;
	}
	return (best + BATCH / 2) / BATCH;
}

static int64_t measure(const struct operation *o, const char *path, int miss)
{
	int64_t last, this;

	for (int i = 0; i < BATCH; i++) {
		if (o->before || o->after)
			snprintf(names[i], sizeof(names[i]), "%s/file.%03d", path, i);
		else
			snprintf(names[i], sizeof(names[i]), "%s", path);
		snprintf(others[i], sizeof(others[i]), "%s/moved.%02d", path, i);
	}
	last = round_of(o, miss);
	for (int i = 0; i < ROUNDS_MAX; i++) {
		this = round_of(o, miss);
		if (this == last)
			return this;
		last = this;
	}
	fprintf(stderr, "operations: %s %s: no two rounds agree\n", o->name, path);
	exit(1);
}

static const struct operation *operation_named(const char *name)
{
	for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++) {
		if (!strcmp(operations[i].name, name))
			return &operations[i];
	}
	fprintf(stderr, "operations: no operation %s\n", name);
	exit(2);
}

int main(int argc, char **argv)
{
	int miss = argc > 2 && !strcmp(argv[1], "--miss"), arg = miss ? 3 : 1;
	const struct operation *o;
	int64_t renames = 0;

	if (argc < arg + 2) {
		fprintf(stderr, "usage: operations [--miss DIR] OPERATION PATH...\n");
		return 2;
	}
	o = operation_named(argv[arg]);
	if (miss) {
		snprintf(turned[0], sizeof(turned[0]), "%s/here", argv[2]);
		snprintf(turned[1], sizeof(turned[1]), "%s/there", argv[2]);
		if (mkdir(turned[0], 0700) && errno != EEXIST)
			fail(turned[0]);
		renames = measure(operation_named("nothing"), "", 1);
	}
	while (++arg < argc)
		printf("%lld\n", (long long)(measure(o, argv[arg], miss) - renames));
	return 0;
}
