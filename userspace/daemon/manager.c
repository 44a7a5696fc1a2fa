// SPDX-License-Identifier: Apache-2.0
/* Start, loop and stop of the enforcer. */
#include "daemon/manager.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "daemon/cgroup.h"
#include "daemon/clock.h"
#include "kern/enforcer.h"
#include "lib/cleanup.h"
#include "lib/fdio.h"
#include "lib/msg.h"
#include "lib/version.h"

#define TICK_MS 200
#define SLOW_TICK_MS 5000
/* Embedded: how long to wait for the first client, and for another one after the last. */
#define FIRST_CLIENT_MS 20000
#define ALONE_MS 2000
#define GROUP "ringfence"

static void on_mounts(void *ctx, uint32_t events)
{
	struct manager *m = ctx;
	char buf[4096];

	(void)events;
	/* Read to the end, as a poll for changes begins behind what was read. */
	lseek(m->mounts_fd, 0, SEEK_SET);
	while (read(m->mounts_fd, buf, sizeof(buf)) > 0)
		;
	views_refresh_host(m);
}

static void on_ring(void *ctx, uint32_t events)
{
	struct manager *m = ctx;

	(void)events;
	journal_drain(&m->journal, false);
}

static void on_signal(void *ctx, uint32_t events)
{
	struct manager *m = ctx;
	struct signalfd_siginfo info;
	struct failure failure = {};
	unsigned int replaced;

	(void)events;
	if (read(m->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGHUP)
		reload_policies(m, &replaced, &failure);
	else
		m->stopping = true;
}

static int watch(struct manager *m)
{
	sigset_t signals;
	int err;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	m->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	m->mounts_fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	if (m->signal_fd < 0 || m->mounts_fd < 0)
		return -errno;
	m->signals = (struct rf_source){m->signal_fd, on_signal, m};
	m->mounts = (struct rf_source){m->mounts_fd, on_mounts, m};
	m->ring = (struct rf_source){rf_enforcer_ring_fd(m->enforcer), on_ring, m};
	err = rf_loop_add(m->epoll_fd, &m->signals, EPOLLIN);
	if (!err)
		err = rf_loop_add(m->epoll_fd, &m->mounts, EPOLLPRI);
	/* Edge: while the log cannot be written the ring stays full, and a level would spin. The tick tries again. */
	if (!err)
		err = rf_loop_add(m->epoll_fd, &m->ring, EPOLLIN | EPOLLET);
	return err;
}

static int open_log(struct manager *m)
{
	const char *path = m->options->log, *slash = strrchr(path, '/');
	__cleanup(freep) char *dir = strndup(path, slash ? (size_t)(slash - path) : 0);

	if (!dir)
		return rf_err(-ENOMEM, "out of memory");
	if (*dir)
		rf_make_dirs(dir, 0750); /* the log itself says what is wrong */
	m->journal.enforcer = m->enforcer;
	m->journal.runs = &m->runs;
	m->journal.root_fd = m->root_fd;
	m->journal.root_path = m->root_path;
	return journal_open(&m->journal, path, m->options->log_max, (unsigned int)m->options->log_keep, m->runtime_fd);
}

static int open_kernel(struct manager *m)
{
	int err = cgroup_open_root(&m->root_fd, &m->root_path);

	if (err)
		return rf_err(1, "no cgroup2 is mounted at /sys/fs/cgroup; see `ringfence doctor`");
	err = rf_enforcer_open(&m->enforcer, &m->adopted);
	if (err)
		return rf_err(1, "%s; see `ringfence doctor`",
			      m->enforcer && *rf_enforcer_why(m->enforcer) ? rf_enforcer_why(m->enforcer)
									   : strerror(-err));
	return 0;
}

static int listen_for_clients(struct manager *m)
{
	const struct rf_server_calls calls = {control_packet, control_gone, m};
	const struct group *group = getgrnam(GROUP);
	int err;

	m->gid = group ? group->gr_gid : (gid_t)-1;
	err = rf_server_new(m->epoll_fd, m->options->runtime, m->gid, &calls, &m->server);
	return err ? rf_err(1, "%s/" RF_SOCKET_NAME ": %s", m->options->runtime, strerror(-err)) : 0;
}

static void write_begin(struct manager *m)
{
	char pid[16];
	const char *fields[] = {"version", RF_VERSION, "pid#", pid, NULL};

	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	journal_own(&m->journal, m->adopted ? "adopt" : "daemon.start", NULL, fields);
}

int manager_start(struct manager *m, const struct daemon_options *options)
{
	int err;

	*m = (struct manager){.options = options, .epoll_fd = -1, .lock_fd = -1, .runtime_fd = -1, .runs_fd = -1};
	m->root_fd = m->signal_fd = m->mounts_fd = m->journal.seq_fd = -1;
	m->since = time(NULL);
	m->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (m->epoll_fd < 0)
		return rf_err(1, "epoll: %s", strerror(errno));
	err = manager_lock(m);
	if (!err)
		err = open_kernel(m);
	if (err)
		return err;
	if (open_log(m))
		return 1;
	if (m->adopted)
		journal_skip_written(&m->journal, options->log);
	err = watch(m);
	if (err)
		return rf_err(1, "cannot watch signals, mounts and the ring: %s", strerror(-err));
	views_refresh_host(m);
	rf_enforcer_on_aliases(m->enforcer, views_renamed, m);
	write_begin(m);
	adopt_runs(m);
	views_sweep(m);
	journal_drain(&m->journal, true);
	err = listen_for_clients(m);
	if (err)
		return err;
	m->alone_ms = clock_ms();
	rf_say("%s, %zu runs%s", m->adopted ? "took over the fences of a former enforcer" : "loaded", m->runs.count,
	       m->options->embedded ? ", leaving with the last one" : "");
	notify_systemd("READY=1");
	return 0;
}

/* Whether an embedded enforcer has nobody left to serve. */
static bool is_alone(struct manager *m, int64_t now)
{
	if (!m->options->embedded)
		return false;
	if (m->runs.count || rf_server_clients(m->server)) {
		m->had_client = true;
		m->alone_ms = now;
	}
	return now - m->alone_ms > (m->had_client ? ALONE_MS : FIRST_CLIENT_MS);
}

static int timeout(const struct manager *m)
{
	if (m->options->embedded || m->journal.first || m->journal.error || m->leftovers)
		return TICK_MS;
	for (size_t i = 0; m->runs.count && i < RF_RUNS_MAX; i++)
		if (m->runs.live[i] && m->runs.live[i]->ending_ms)
			return TICK_MS;
	return m->runs.count || rf_server_clients(m->server) ? SLOW_TICK_MS : -1;
}

static void tick(struct manager *m, int64_t now)
{
	journal_drain(&m->journal, false);
	lifecycle_tick(m, now);
	rf_server_tick(m->server, now);
}

static int stop(struct manager *m)
{
	const char *fields[] = {"how", m->runs.count ? "runs stay fenced" : "nothing is fenced", NULL};
	int err;

	notify_systemd("STOPPING=1");
	m->stopping = true;
	rf_server_free(&m->server);
	journal_drain(&m->journal, true);
	journal_own(&m->journal, "daemon.stop", NULL, fields);
	if (journal_flush(&m->journal))
		rf_say("the event log cannot be written: %s; events that waited in memory are lost, and the books show "
		       "how "
		       "many",
		       strerror(-m->journal.error));
	if (m->runs.count) {
		rf_say("%zu runs are alive and stay fenced; the next enforcer takes them over", m->runs.count);
		return 0;
	}
	err = rf_enforcer_remove(m->enforcer);
	return err ? rf_err(1, "the kernel half stays: %s", strerror(-err)) : 0;
}

int manager_loop(struct manager *m)
{
	int64_t last = clock_ms();

	while (!m->stopping) {
		int n = rf_loop_once(m->epoll_fd, timeout(m));
		int64_t now = clock_ms();

		if (n < 0)
			return rf_err(1, "epoll: %s", strerror(-n));
		/* Also under load: a busy ring must not starve what waits for its time. */
		if (now - last >= TICK_MS) {
			last = now;
			tick(m, now);
		}
		if (is_alone(m, now))
			m->stopping = true;
	}
	return stop(m);
}

void manager_done(struct manager *m)
{
	m->stopping = true;
	if (m->server)
		rf_server_free(&m->server);
	runs_done(&m->runs);
	views_done(m);
	journal_done(&m->journal);
	rf_enforcer_close(&m->enforcer);
	closep(&m->signal_fd);
	closep(&m->mounts_fd);
	closep(&m->root_fd);
	closep(&m->runs_fd);
	closep(&m->runtime_fd);
	closep(&m->epoll_fd);
	closep(&m->lock_fd); /* last: another enforcer may start from here on */
}
