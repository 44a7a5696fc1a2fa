/* SPDX-License-Identifier: Apache-2.0 */
/*
 * renames DIR: for RENAMES_SECONDS (20), untagged processes move directories and files between an allowed and a denied
 * place below DIR, and tagged tasks open by name and by descriptors from before the move. A secret has bytes only
 * while it is in the denied place: it is made there after the move and emptied before the move back. So one byte of
 * it, read by a tagged task, is a wrong verdict. Beside each secret lies a public file, which is read now and then.
 *
 * Idle tagged tasks rename in their own place all the time: on a full run queue some of them always stand still in the
 * middle of a program of ours, as an attacker could arrange.
 */
#include <linux/fs.h>

#include "fence.h"

#define DEEP "a/bb/a-name-that-is-longer-than-one-step-of-32-bytes"
#define OPENERS 3 /* on each CPU */
#define IDLERS 10 /* on each CPU */
#define IDLE "/run/renames-idle"

enum way { BY_OPEN_NAME, BY_DENIED_NAME, BY_DEEP_FD, BY_TOP_FD, FILE_OPEN, FILE_DENIED, WAYS };
static const char *const way_names[WAYS] = {"allowed name",   "denied name", "deep descriptor",
					    "top descriptor", "moved file",  "denied file"};

static struct tally {
	unsigned long asked[WAYS], read[WAYS], refused[WAYS], leaked[WAYS], moves, idle_moves;
} * tally;
static double deadline;

static void add(unsigned long *counter)
{
	__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

static void must(bool good, const char *what)
{
	if (!good)
		fence_die(what);
}

static void make_secret(const char *path)
{
	fence_write(path, "SECRET");
}

/* Afterwards nobody can read it, not even by a descriptor. */
static void empty_secret(const char *path)
{
	must(!truncate(path, 0) && !unlink(path), path);
}

/* One directory, there and back. */
static void move_directory(void)
{
	fence_mkdirs("open/moved/" DEEP);
	fence_write("open/moved/" DEEP "/public", "public");
	while (fence_now() < deadline) {
		must(!rename("open/moved", "denied/moved"), "rename to the denied place");
		make_secret("denied/moved/" DEEP "/secret");
		usleep(3000);
		empty_secret("denied/moved/" DEEP "/secret");
		must(!rename("denied/moved", "open/moved"), "rename to the allowed place");
		add(&tally->moves);
		usleep(3000);
	}
	_exit(0);
}

/* Two directories that change places. */
static void exchange_directories(void)
{
	fence_mkdirs("open/pair/" DEEP);
	fence_mkdirs("denied/pair/" DEEP);
	fence_write("open/pair/" DEEP "/public", "public");
	fence_write("denied/pair/" DEEP "/public", "public");
	while (fence_now() < deadline) {
		must(!renameat2(AT_FDCWD, "open/pair", AT_FDCWD, "denied/pair", RENAME_EXCHANGE), "exchange");
		make_secret("denied/pair/" DEEP "/secret");
		usleep(3000);
		empty_secret("denied/pair/" DEEP "/secret");
		add(&tally->moves);
	}
	_exit(0);
}

/* A file that is full only in the denied place. */
static void move_file(void)
{
	while (fence_now() < deadline) {
		make_secret("denied/tmp");
		must(!rename("denied/tmp", "denied/key"), "rename in the denied place");
		usleep(1000);
		must(!truncate("denied/key", 0), "truncate");
		must(!rename("denied/key", "open/key"), "rename a file to the allowed place");
		usleep(1000);
		must(!unlink("open/key"), "unlink");
		add(&tally->moves);
	}
	_exit(0);
}

static void look(enum way way, int dir, const char *path)
{
	char bytes[16] = "";
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	add(&tally->asked[way]);
	if (fd < 0) {
		if (errno == EACCES)
			add(&tally->refused[way]);
		return;
	}
	n = read(fd, bytes, sizeof(bytes));
	if (n > 0 && bytes[0] == 'S') {
		add(&tally->leaked[way]);
		printf("# a secret, by %s %s\n", way_names[way], path);
		fflush(stdout);
	} else if (n >= 0) {
		add(&tally->read[way]);
	}
	close(fd);
}

static void look_everywhere(const char *name, int top, int deep)
{
	char path[256];

	for (int i = 0; i < 2; i++) {
		const char *file = i ? "secret" : "public";

		snprintf(path, sizeof(path), "open/%s/" DEEP "/%s", name, file);
		look(BY_OPEN_NAME, AT_FDCWD, path);
		snprintf(path, sizeof(path), "denied/%s/" DEEP "/%s", name, file);
		look(BY_DENIED_NAME, AT_FDCWD, path);
		look(BY_DEEP_FD, deep, file);
		snprintf(path, sizeof(path), DEEP "/%s", file);
		look(BY_TOP_FD, top, path);
	}
}

/* Tagged; its descriptors are from before the first move. */
static void open_all(const int *fds)
{
	while (fence_now() < deadline) {
		look_everywhere("moved", fds[0], fds[1]);
		look_everywhere("pair", fds[2], fds[3]);
		look(FILE_OPEN, AT_FDCWD, "open/key");
		look(FILE_DENIED, AT_FDCWD, "denied/key");
	}
	_exit(0);
}

/* Tagged, at the lowest priority. */
static void idle(unsigned int number)
{
	char a[64], b[64], c[64];

	must(!setpriority(PRIO_PROCESS, 0, 19), "setpriority");
	snprintf(a, sizeof(a), IDLE "/%u-a", number);
	snprintf(b, sizeof(b), IDLE "/%u-b", number);
	snprintf(c, sizeof(c), IDLE "/%u-c", number);
	fence_write(a, "x");
	while (fence_now() < deadline) {
		must(!rename(a, b) && !rename(b, c) && !rename(c, a), "rename of an idle task");
		add(&tally->idle_moves);
	}
	_exit(0);
}

static void start(struct fence *f, unsigned int cpus, unsigned int *ret_n)
{
	static const char *const names[] = {"open/moved", "open/moved/" DEEP, "open/pair", "open/pair/" DEEP};
	static void (*const movers[])(void) = {move_directory, exchange_directories, move_file};
	int fds[4];

	for (int i = 0; i < 4; i++) {
		fence_mkdirs(names[i]);
		fds[i] = open(names[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		must(fds[i] >= 0, names[i]);
	}
	*ret_n = 0;
	for (unsigned int i = 0; i < 3; i++, ++*ret_n)
		if (fork() == 0)
			movers[i]();
	for (unsigned int i = 0; i < cpus * (OPENERS + IDLERS); i++, ++*ret_n) {
		cpu_set_t set;

		if (fork())
			continue;
		CPU_ZERO(&set);
		CPU_SET(i % cpus, &set);
		must(!sched_setaffinity(0, sizeof(set), &set), "sched_setaffinity");
		fence_enter(f->path);
		i < cpus *OPENERS ? open_all(fds) : idle(i);
	}
}

static void judge(struct fence *f, uint64_t nobody)
{
	unsigned long denied = 0;

	for (int i = 0; i < WAYS; i++) {
		const struct tally *t = tally;

		denied += t->refused[i];
		fence_ok(t->asked[i] && !t->leaked[i], "%s: %lu opens, %lu refused, %lu read, %lu secrets",
			 way_names[i], t->asked[i], t->refused[i], t->read[i], t->leaked[i]);
	}
	fence_ok(tally->read[BY_OPEN_NAME] && tally->read[BY_DEEP_FD] && tally->refused[BY_DENIED_NAME] &&
			 tally->refused[BY_DEEP_FD] && tally->refused[FILE_DENIED],
		 "the permitted twins are read, and what is denied was asked for, in %lu moves", tally->moves);
	fence_ok(tally->moves > 5 && tally->idle_moves > 20, "%lu moves and %lu of idle tasks", tally->moves,
		 tally->idle_moves);
	/* Idle tasks stand still inside 6.1's task storage too, and who waits for it in vain is refused in nobody's name. */
	fence_ok(fence_run(f).denied + nobody == denied, "the kernel counted %llu denials and %llu for want of storage",
		 (unsigned long long)fence_run(f).denied, (unsigned long long)nobody);
}

static uint32_t put_policy(struct fence *f, const char *dir)
{
	char denied[256];
	struct rf_pattern p[] = {
		{.glob = "/**", .len = 3, .accesses = FENCE_ALL, .allow = true, .rule = 0},
		{.glob = denied, .accesses = FENCE_ALL, .rule = 1},
	};

	p[1].len = (size_t)snprintf(denied, sizeof(denied), "%s/denied/**", dir);
	return fence_put_paths(f, p, 2);
}

int main(int argc, char **argv)
{
	unsigned int cpus = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN), left;
	struct fence f = {};
	uint64_t nobody;

	if (argc != 2 || chdir(argv[1])) {
		fprintf(stderr, "usage: renames DIR\n");
		return 2;
	}
	fence_mkdirs(IDLE);
	fence_mkdirs("denied");
	fence_open(&f);
	fence_tag(&f, "renames", put_policy(&f, argv[1]));
	nobody = fence_nobody(&f);
	tally = fence_shared(sizeof(*tally));
	deadline = fence_now() + fence_seconds("RENAMES_SECONDS", 20);
	start(&f, cpus, &left);
	must(!setpriority(PRIO_PROCESS, 0, -10), "setpriority");
	while (left && fence_now() < deadline + 120) {
		int status;

		while (left && waitpid(-1, &status, WNOHANG) > 0) {
			left--;
			if (status)
				fence_ok(false, "a task ended with %#x", status);
		}
		fence_drain(&f);
		usleep(10000);
	}
	fence_ok(!left, "all tasks ended (%u left)", left);
	judge(&f, fence_nobody(&f) - nobody);
	fence_books(&f);
	fence_end(&f);
	fence_no_misses();
	fence_no_warning();
	return fence_finish();
}
