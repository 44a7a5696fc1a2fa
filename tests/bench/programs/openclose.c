/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openclose [--miss DIR] FILE...: nanoseconds that open(O_RDONLY) and close of each FILE take, one number a line. In a
 * guest whose clock counts instructions (run.sh -i) these are instructions, the same to the digit on every run.
 *
 * A batch is short enough to fit between two ticks of the kernel, a round is the cheapest of many batches, and the
 * answer is given when two rounds agree. --miss: a directory below DIR is renamed before each pair, which makes
 * every cached state of a directory stale; the same renames without the pairs are measured and taken off.
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

static char moved[2][4096];

static int64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void fail(const char *what)
{
	fprintf(stderr, "openclose: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void pair(const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		fail(file);
	close(fd);
}

/* There and back again needs an even number of calls. */
static void turn(void)
{
	static unsigned int i;

	if (rename(moved[i & 1], moved[!(i & 1)]))
		fail(moved[i & 1]);
	i++;
}

static int64_t batch(const char *file, int miss)
{
	int64_t start = now(), end;

	for (int i = 0; i < BATCH; i++) {
		if (miss)
			turn();
		if (file)
			pair(file);
	}
	end = now();
	/* What reading the clock takes. */
	return end - start - (now() - end);
}

static int64_t round_of(const char *file, int miss)
{
	int64_t best = INT64_MAX;

	for (int i = 0; i < BATCHES; i++) {
		int64_t ns = batch(file, miss);

		if (ns < best)
			best = ns;
	}
	return (best + BATCH / 2) / BATCH;
}

static int64_t measure(const char *file, int miss)
{
	int64_t last = round_of(file, miss), this;

	for (int i = 0; i < ROUNDS_MAX; i++) {
		this = round_of(file, miss);
		if (this == last)
			return this;
		last = this;
	}
	fprintf(stderr, "openclose: %s: no two rounds agree\n", file ? file : "rename");
	exit(1);
}

int main(int argc, char **argv)
{
	int miss = argc > 2 && !strcmp(argv[1], "--miss");
	int64_t renames = 0;

	if (argc < 2) {
		fprintf(stderr, "usage: openclose [--miss DIR] FILE...\n");
		return 2;
	}
	if (miss) {
		snprintf(moved[0], sizeof(moved[0]), "%s/here", argv[2]);
		snprintf(moved[1], sizeof(moved[1]), "%s/there", argv[2]);
		if (mkdir(moved[0], 0700) && errno != EEXIST)
			fail(moved[0]);
		renames = measure(NULL, 1);
	}
	for (int i = miss ? 3 : 1; i < argc; i++)
		printf("%lld\n", (long long)(measure(argv[i], miss) - renames));
	return 0;
}
