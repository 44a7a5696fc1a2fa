// SPDX-License-Identifier: Apache-2.0
/* One enforcer per host: a lock on a file of the runtime directory. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/request.h"
#include "daemon/manager.h"
#include "lib/fdio.h"
#include "lib/msg.h"

#define RUNTIME_MODE 0755 /* the socket inside has a mode of its own */

static int open_dirs(struct manager *m)
{
	const char *dir = m->options->runtime;
	struct stat st = {};
	int err = rf_make_dirs(dir, RUNTIME_MODE);

	if (!err) {
		m->runtime_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		err = m->runtime_fd < 0 || fstat(m->runtime_fd, &st) ? -errno : 0;
	}
	if (err)
		return rf_err(err, "--runtime %s: %s", dir, strerror(-err));
	if (st.st_uid != geteuid() || (st.st_mode & 022))
		return rf_err(-EPERM, "--runtime %s: must belong to the enforcer's user and be writable by nobody else",
			      dir);
	if (mkdirat(m->runtime_fd, "runs", 0700) && errno != EEXIST)
		return rf_err(-errno, "%s/runs: %s", dir, strerror(errno));
	m->runs_fd = openat(m->runtime_fd, "runs", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return m->runs_fd < 0 ? rf_err(-errno, "%s/runs: %s", dir, strerror(errno)) : 0;
}

int manager_lock(struct manager *m)
{
	char pid[32] = "";
	int n;

	if (open_dirs(m))
		return 1;
	m->lock_fd = openat(m->runtime_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (m->lock_fd < 0)
		return rf_err(1, "%s/lock: %s", m->options->runtime, strerror(errno));
	if (flock(m->lock_fd, LOCK_EX | LOCK_NB)) {
		if (pread(m->lock_fd, pid, sizeof(pid) - 1, 0) < 0)
			pid[0] = '\0';
		pid[strcspn(pid, "\n")] = '\0';
		return rf_err(RF_EXIT_RIVAL, "another enforcer runs, pid %s; `ringfence status` asks it",
			      *pid ? pid : "?");
	}
	n = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	if (ftruncate(m->lock_fd, 0) || pwrite(m->lock_fd, pid, (size_t)n, 0) != n)
		return rf_err(1, "%s/lock: %s", m->options->runtime, strerror(errno));
	return 0;
}
