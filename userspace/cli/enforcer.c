// SPDX-License-Identifier: Apache-2.0
/* `ringfence run` on a host without a daemon: start one that leaves when the last run has ended. */
#define _GNU_SOURCE 1 /* memfd_create, close_range */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/run.h"
#include "cli/texts.h"
#include "control/packet.h"
#include "lib/cleanup.h"
#include "lib/msg.h"

/* Loading takes a second or two, in an emulated machine half a minute; an enforcer that leaves is noticed at once. */
#define START_MS 60000
#define STEP_MS 50
#define RIVAL_MS 10000

static int find_daemon(char *path, size_t size)
{
	static const char *const places[] = {"/usr/sbin", "/usr/libexec", "/usr/local/sbin"};
	char dir[PATH_MAX];

	if (!cli_program_dir(dir, sizeof(dir)) && snprintf(path, size, "%s/ringfenced", dir) < (int)size &&
	    !access(path, X_OK))
		return 0;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, size, "%s/ringfenced", places[i]);
		if (!access(path, X_OK))
			return 0;
	}
	return -ENOENT;
}

static void add(const char **argv, int *n, const char *option, const char *value)
{
	if (!value)
		return;
	argv[(*n)++] = option;
	argv[(*n)++] = value;
}

static __attribute__((noreturn)) void exec_daemon(const char *path, const struct run_options *options, int messages)
{
	const char *argv[2 * RF_OPTION_LIST_MAX + 16] = {path, "--embedded"};
	int n = 2, null = open("/dev/null", O_RDWR | O_CLOEXEC);

	add(argv, &n, "--runtime", options->runtime);
	add(argv, &n, "--log", options->log);
	add(argv, &n, "--floor", options->floor);
	for (size_t i = 0; i < options->dirs.n; i++)
		add(argv, &n, "--policies", options->dirs.value[i]);
	/* Its own session: ^C on the terminal ends the agent, not the fence around other agents. */
	setsid();
	if (null < 0 || dup2(null, 0) < 0 || dup2(messages, 1) < 0 || dup2(messages, 2) < 0 || chdir("/"))
		_exit(CLI_RUN_FAILED);
	close_range(3, ~0U, 0);
	execv(path, (char *const *)argv);
	dprintf(2, "%s: %s\n", path, strerror(errno));
	_exit(CLI_RUN_FAILED);
}

/* The daemon's last line, without "ringfenced: ", says why it left. */
static int report(int messages)
{
	char text[4096], *line, *end;
	ssize_t n = pread(messages, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	end = text + strlen(text);
	while (end > text && end[-1] == '\n')
		*--end = '\0';
	line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	if (!strncmp(line, "ringfenced: ", 12))
		line += 12;
	return rf_err(CLI_RUN_FAILED, "no enforcer could start: %s",
		      *line ? line : "ringfenced left without a message");
}

static pid_t spawn(const char *path, const struct run_options *options, int messages)
{
	pid_t pid;

	if (ftruncate(messages, 0))
		return -1;
	pid = fork();
	if (!pid)
		exec_daemon(path, options, messages);
	return pid;
}

/*
 * Another enforcer held the lock: one that another `ringfence run` started a moment ago, whose socket comes soon, or one
 * that is leaving, after which ours can start. Trying again settles both.
 */
static int wait_for_socket(const char *path, const struct run_options *options, int messages, int *ret_fd)
{
	const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};
	pid_t pid = spawn(path, options, messages);
	int rival = RIVAL_MS, status;

	for (int left = START_MS; left > 0 && pid > 0; left -= STEP_MS) {
		if (!rf_client_connect(options->runtime, ret_fd))
			return 0;
		nanosleep(&step, NULL);
		if (waitpid(pid, &status, WNOHANG) != pid)
			continue;
		if (!WIFEXITED(status) || WEXITSTATUS(status) != RF_EXIT_RIVAL || (rival -= STEP_MS) <= 0)
			return report(messages);
		pid = spawn(path, options, messages);
	}
	if (pid < 0)
		return rf_err(CLI_RUN_FAILED, "cannot start %s: %s", path, strerror(errno));
	return rf_err(CLI_RUN_FAILED, "the enforcer (pid %d) does not answer in %s after %d s", (int)pid,
		      options->runtime, START_MS / 1000);
}

int cli_start_enforcer(const struct run_options *options, int *ret_fd)
{
	__cleanup(closep) int messages = memfd_create("ringfenced-messages", MFD_CLOEXEC);
	char path[PATH_MAX + 16];

	if (geteuid())
		return rf_err(CLI_RUN_FAILED, "no enforcer runs and only root can start one: use sudo, or have "
					      "`systemctl enable --now ringfenced` done");
	if (find_daemon(path, sizeof(path)))
		return rf_err(CLI_RUN_FAILED, "no enforcer runs and ringfenced is neither beside this program nor in "
					      "/usr/sbin: install it");
	if (messages < 0)
		return rf_err(CLI_RUN_FAILED, "memfd_create: %s", strerror(errno));
	return wait_for_socket(path, options, messages, ret_fd);
}
