/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mounts DEVICE DEVICE: for MOUNTS_SECONDS (20), an untagged process mounts tmpfs and the two ext4 devices in turn at an
 * allowed and at a denied place and takes them away again, so that superblocks and root inodes come back at addresses
 * that named something else before. The view is refreshed as the daemon does it. A secret has bytes only in what is
 * mounted at the denied place; one of them read by a tagged task would be a stale anchor.
 */
#include <poll.h>
#include <sys/mount.h>

#include "fence.h"

#define TREE "/run/mounts"
#define READERS 3
#define STACKED 8 /* mounted over each other */
#define LAG 100000 /* microseconds from a change of the mount table to the refresh: a daemon that is busy */

static struct tally {
	unsigned long cycles, asked, read, refused_open, refused_denied, leaked, other;
} * tally;
static double deadline;
static const char *devices[2];

static void add(unsigned long *counter)
{
	__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

static void take_away(const char *place, int flags)
{
	for (int i = 0; umount2(place, flags); i++) {
		if (errno != EBUSY || i > 2000)
			fence_die(place);
		usleep(1000);
	}
}

static void put(const char *place, unsigned int kind, const char *text)
{
	char path[64];

	if (kind == 2 ? mount("mounts", place, "tmpfs", 0, NULL) : mount(devices[kind], place, "ext4", 0, NULL))
		fence_die(place);
	snprintf(path, sizeof(path), "%s/key", place);
	fence_write(path, text);
}

static void cycle(unsigned int i)
{
	/* Kinds 0 and 1: a device, which can be at one place only. */
	static const unsigned char kinds[][2] = {{2, 2}, {0, 1}, {1, 0}, {2, 0}, {1, 2}, {0, 2}, {2, 1}};
	const unsigned char *kind = kinds[i % (sizeof(kinds) / sizeof(kinds[0]))];

	/* The denied place comes first or second: which gets the address that was free last? */
	if (i & 1)
		put(TREE "/denied", kind[1], "SECRET");
	put(TREE "/open", kind[0], "public");
	if (!(i & 1))
		put(TREE "/denied", kind[1], "SECRET");
	usleep(i % 3 ? 3 * LAG : 1000);
	if (truncate(TREE "/denied/key", 0))
		fence_die("truncate");
	take_away(TREE "/denied", i % 5 ? 0 : MNT_DETACH);
	if (truncate(TREE "/open/key", 0))
		fence_die("truncate");
	take_away(TREE "/open", 0);
	add(&tally->cycles);
}

/*
 * What goes from the allowed place has an anchor there; before the view is read again, what comes to the denied place is
 * made of the memory that became free. On one CPU, whose free lists give back what was freed last.
 */
static void reuse(void)
{
	put(TREE "/open", 2, "public");
	usleep(2 * LAG);
	if (truncate(TREE "/open/key", 0))
		fence_die("truncate");
	take_away(TREE "/open", 0);
	usleep(LAG / 5);
	for (int i = 0; i < STACKED; i++)
		put(TREE "/denied", 2, "SECRET");
	usleep(LAG / 5);
	for (int i = 0; i < STACKED; i++) {
		if (truncate(TREE "/denied/key", 0))
			fence_die("truncate");
		take_away(TREE "/denied", 0);
		usleep(LAG / 20);
	}
	add(&tally->cycles);
}

static void mount_all(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		fence_die("sched_setaffinity");
	for (unsigned int i = 0; fence_now() < deadline; i++)
		i % 2 ? reuse() : cycle(i / 2);
	_exit(0);
}

static void look(const char *path, unsigned long *refused)
{
	char bytes[8] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	add(&tally->asked);
	if (fd < 0) {
		add(errno == EACCES ? refused : &tally->other);
		return;
	}
	if (read(fd, bytes, sizeof(bytes)) > 0)
		add(bytes[0] == 'S' ? &tally->leaked : &tally->read);
	close(fd);
}

static void read_all(const char *cgroup, bool denied)
{
	fence_enter(cgroup);
	while (fence_now() < deadline) {
		look(TREE "/open/key", &tally->refused_open);
		if (denied)
			look(TREE "/denied/key", &tally->refused_denied);
		usleep(500);
	}
	_exit(0);
}

static void start(struct fence *f)
{
	struct rf_pattern p[] = {
		{.glob = TREE "/open/**", .accesses = FENCE_ALL, .allow = true, .rule = 0},
		{.glob = FENCE_CGROUPS "/**", .accesses = FENCE_ALL, .allow = true, .rule = 1},
	};

	for (size_t i = 0; i < 2; i++)
		p[i].len = strlen(p[i].glob);
	fence_open(f);
	fence_tag(f, "mounts", fence_put_paths(f, p, 2));
	tally = fence_shared(sizeof(*tally));
	deadline = fence_now() + fence_seconds("MOUNTS_SECONDS", 20);
	for (int i = 0; i < READERS; i++)
		if (fork() == 0)
			read_all(f->path, i);
	if (fork() == 0)
		mount_all();
}

static void judge(struct fence *f)
{
	fence_ok(tally->cycles > 10 && !tally->leaked, "%lu cycles, %lu opens, %lu secrets read", tally->cycles,
		 tally->asked, tally->leaked);
	fence_ok(
		tally->read > 10 && tally->refused_denied > tally->cycles,
		"the permitted twin was read %lu times (refused before the refresh: %lu), the secret refused %lu times",
		tally->read, tally->refused_open, tally->refused_denied);
	fence_ok(fence_run(f).denied == tally->refused_open + tally->refused_denied, "the kernel counted %llu denials",
		 (unsigned long long)fence_run(f).denied);
}

int main(int argc, char **argv)
{
	struct pollfd view = {.fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC), .events = POLLPRI};
	struct fence f = {};
	unsigned int left = READERS + 1, refreshed = 0;

	if (argc != 3) {
		fprintf(stderr, "usage: mounts DEVICE DEVICE\n");
		return 2;
	}
	devices[0] = argv[1], devices[1] = argv[2];
	fence_mkdirs(TREE "/open");
	fence_mkdirs(TREE "/denied");
	start(&f);
	while (left && fence_now() < deadline + 120) {
		int status;

		if (poll(&view, 1, 10) > 0) {
			usleep(LAG);
			fence_refresh(&f);
			refreshed++;
		}
		while (left && waitpid(-1, &status, WNOHANG) > 0) {
			left--;
			if (status)
				fence_ok(false, "a task ended with %#x", status);
		}
		fence_drain(&f);
	}
	fence_ok(!left && refreshed, "all tasks ended (%u left), the view was refreshed %u times", left, refreshed);
	judge(&f);
	fence_books(&f);
	fence_end(&f);
	fence_no_misses();
	fence_no_warning();
	return fence_finish();
}
