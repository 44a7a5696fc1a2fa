// SPDX-License-Identifier: Apache-2.0
/* Tasks: children, threads, cgroups. */
#include "probe.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int reap(pid_t pid, int from)
{
	int status, err = 0;

	if (read(from, &err, sizeof(err)) != sizeof(err))
		err = 0;
	close(from);
	if (pid > 0 && waitpid(pid, &status, 0) == pid && !err)
		err = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return err;
}

void tell(int fd, int err)
{
	if (write(fd, &err, sizeof(err)) != sizeof(err))
		_exit(99);
}

static int child_reads(pid_t pid, int out[2], bool orphan, char **path)
{
	if (!pid) {
		if (orphan && (setsid() < 0 || fork()))
			_exit(0);
		tell(out[1], try_read(*path));
		_exit(0);
	}
	close(out[1]);
	return pid < 0 ? -errno : reap(pid, out[0]);
}

static int do_fork_read(char **a)
{
	int out[2];

	return pipe(out) ? -errno : child_reads(fork(), out, false, a);
}

static int do_orphan_read(char **a)
{
	int out[2];

	return pipe(out) ? -errno : child_reads(fork(), out, true, a);
}

static int do_clone_into(char **a)
{
	int out[2], cgroup = open(a[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = answer(cgroup);
	struct clone_args args = {.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)cgroup};

	if (!err)
		err = answer(pipe(out));
	if (!err)
		err = child_reads((pid_t)syscall(SYS_clone3, &args, sizeof(args)), out, false, a + 1);
	close(cgroup);
	return err;
}

static int do_enter(char **a)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/cgroup.procs", a[0]);
	return put(path, O_WRONLY, "0");
}

static struct {
	sem_t ask, answered;
	char **path;
	int result;
} held;

static void *hold(void *unused)
{
	for (;;) {
		sem_wait(&held.ask);
		held.result = try_read(*held.path);
		sem_post(&held.answered);
	}
	return unused;
}

/* A thread that lives on; thread-read asks it. */
static int do_thread(char **a)
{
	pthread_t thread;

	(void)a;
	sem_init(&held.ask, 0, 0);
	sem_init(&held.answered, 0, 0);
	return -pthread_create(&thread, NULL, hold, NULL);
}

static int do_thread_read(char **a)
{
	held.path = a;
	sem_post(&held.ask);
	sem_wait(&held.answered);
	return held.result;
}

/*
 * An orphan in another cgroup that outlives the run: reads PATH once FLAG exists (stat is no access), and writes the
 * answer to RESULT, which it has open since before.
 */
static int do_loiter(char **a)
{
	int result = open(a[3], O_WRONLY | O_CREAT | O_CLOEXEC, 0644), err = answer(result);
	const char *text;
	struct stat st;

	if (err || fork())
		return err;
	setsid();
	close(0);
	close(1);
	close(2);
	err = do_enter(a);
	for (int i = 0; i < 1200 && stat(a[2], &st); i++)
		usleep(50000);
	if (!err)
		err = try_read(a[1]);
	text = err ? strerrorname_np(-err) : "ok";
	if (write(result, text, strlen(text)) < 0)
		_exit(1);
	_exit(0);
}

/*
 * Again and again until FLAG exists: DENIED must be denied and ALLOWED opened. The answer is how often, up to TIMES;
 * EBADMSG after one wrong verdict.
 */
static int do_flood(char **a)
{
	int n = 0, times = atoi(a[3]), pause = atoi(a[4]);
	struct stat st;

	for (; n < times && stat(a[0], &st); n++) {
		if (try_open(a[1], O_RDONLY) != -EACCES || try_open(a[2], O_RDONLY))
			return -EBADMSG;
		usleep((useconds_t)pause);
	}
	return n;
}

static int do_pid(char **a)
{
	(void)a;
	return getpid();
}

const struct verb task_verbs[] = {
	{"fork-read", 1, do_fork_read}, /* PATH */
	{"orphan-read", 1, do_orphan_read}, /* PATH */
	{"clone-into", 2, do_clone_into}, /* CGROUP PATH */
	{"enter", 1, do_enter}, /* CGROUP */
	{"thread", 0, do_thread},
	{"thread-read", 1, do_thread_read}, /* PATH */
	{"loiter", 4, do_loiter}, /* CGROUP PATH FLAG RESULT */
	{"flood", 5, do_flood}, /* FLAG DENIED ALLOWED TIMES PAUSE-US */
	{"pid", 0, do_pid},
	{},
};
