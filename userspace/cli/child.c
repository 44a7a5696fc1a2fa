// SPDX-License-Identifier: Apache-2.0
/* The agent's process: into the cgroup, nothing inherited but 0-2, signals passed on, its status as ours. */
#define _GNU_SOURCE 1 /* close_range */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/run.h"
#include "lib/cleanup.h"
#include "lib/fdio.h"
#include "lib/msg.h"

#define NOT_EXECUTABLE 126
#define NOT_FOUND 127

static const int passed_on[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT, SIGTSTP};

static bool executable(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

int cli_find_program(const char *name, char **ret_path)
{
	const char *dirs = getenv("PATH");
	char path[4096];
	struct stat st;

	if (strchr(name, '/')) {
		if (stat(name, &st))
			return rf_err(errno == ENOENT || errno == ENOTDIR ? NOT_FOUND : NOT_EXECUTABLE, "%s: %s", name,
				      strerror(errno));
		if (!executable(name))
			return rf_err(NOT_EXECUTABLE, "%s: not an executable file", name);
		*ret_path = realpath(name, NULL);
		return *ret_path ? 0 : rf_err(NOT_EXECUTABLE, "%s: %s", name, strerror(errno));
	}
	for (const char *dir = dirs ? dirs : "/usr/bin:/bin"; *name && dir; dir = strchr(dir, ':')) {
		dir += *dir == ':';
		snprintf(path, sizeof(path), "%.*s/%s", (int)strcspn(dir, ":"), *dir && *dir != ':' ? dir : ".", name);
		if (*dir == ':' || !*dir)
			snprintf(path, sizeof(path), "./%s", name);
		if (!executable(path))
			continue;
		/* No realpath here: busybox and version managers tell by the link's name what they are. */
		*ret_path = strdup(path);
		return *ret_path ? 0 : rf_err(CLI_RUN_FAILED, "out of memory");
	}
	return rf_err(NOT_FOUND, "%s: command not found in PATH", name);
}

static __attribute__((noreturn)) void become(const struct child *child, const sigset_t *mask)
{
	__cleanup(closep) int dir = open(child->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int err = dir < 0 ? -errno : rf_write_control(dir, "cgroup.procs", "0");

	if (err)
		_exit(rf_err(CLI_RUN_FAILED, "cannot enter %s: %s", child->cgroup, strerror(-err)));
	/* From here on the fence holds for this process too. */
	if (child->directory && chdir(child->directory))
		_exit(rf_err(CLI_RUN_FAILED, "--workspace %s: %s", child->directory, strerror(errno)));
	if (close_range(3, ~0U, 0))
		_exit(rf_err(CLI_RUN_FAILED, "close_range: %s", strerror(errno)));
	sigprocmask(SIG_SETMASK, mask, NULL);
	/* execvp for scripts without "#!"; the path holds a '/', so nothing is searched for. */
	execvp(child->path, child->argv);
	if (errno == EACCES || errno == EPERM)
		_exit(rf_err(
			NOT_EXECUTABLE,
			"%s: %s; when the policy denies it, `ringfence policy explain %s file.execute %s` says why",
			child->path, strerror(errno), child->policy, child->path));
	_exit(rf_err(errno == ENOENT ? NOT_FOUND : NOT_EXECUTABLE, "%s: %s", child->path, strerror(errno)));
}

static void pass_on(pid_t pid, const struct signalfd_siginfo *info)
{
	int signal = (int)info->ssi_signo;

	/* What the terminal sends goes to its whole foreground group: the child has it already. */
	if (info->ssi_code != SI_KERNEL)
		kill(pid, signal);
	/* Stopped with the child, so that the shell gets its terminal back; SIGCONT wakes both. */
	if (signal == SIGTSTP)
		raise(SIGSTOP);
}

/* A program that is killed by its group's signal a moment before us must not be missed: the status decides. */
static int wait_for(pid_t pid, int signal_fd)
{
	for (;;) {
		struct signalfd_siginfo info;
		int status;
		pid_t done = waitpid(pid, &status, WNOHANG);

		if (done == pid)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		if (done < 0 && errno != EINTR)
			return rf_err(CLI_RUN_FAILED, "waitpid: %s", strerror(errno));
		if (read(signal_fd, &info, sizeof(info)) == sizeof(info) && info.ssi_signo != SIGCHLD)
			pass_on(pid, &info);
	}
}

int cli_run_child(const struct child *child)
{
	__cleanup(closep) int signal_fd = -1;
	sigset_t ours, before;
	int status;
	pid_t pid;

	sigemptyset(&ours);
	sigaddset(&ours, SIGCHLD);
	for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++)
		sigaddset(&ours, passed_on[i]);
	/* Blocked before the fork: no signal can come between. */
	sigprocmask(SIG_BLOCK, &ours, &before);
	signal_fd = signalfd(-1, &ours, SFD_CLOEXEC);
	pid = signal_fd < 0 ? -1 : fork();
	if (!pid)
		become(child, &before);
	status = pid < 0 ? rf_err(CLI_RUN_FAILED, "cannot start a process: %s", strerror(errno))
			 : wait_for(pid, signal_fd);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return status;
}
