// SPDX-License-Identifier: Apache-2.0
/*
 * The views of runs. A container's files are named as its first process sees them: the mounts of that process's mount
 * namespace, from its root directory on.
 */
#include "daemon/views.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#include "daemon/cgroup.h"
#include "daemon/manager.h"
#include "kern/enforcer.h"
#include "lib/cleanup.h"
#include "lib/fdio.h"
#include "lib/msg.h"

#define PROCS_BYTES_MAX (1U << 20)
#define DEPTH_MAX 16

static void say_skipped(unsigned int skipped, uint32_t id)
{
	if (skipped && id)
		rf_say("%u mounts are not in view %u: what is on them counts as an unknown filesystem", skipped, id);
	else if (skipped)
		rf_say("%u mounts are not in the view: what is on them counts as an unknown filesystem", skipped);
}

static void say_unread(struct manager *m, int err)
{
	rf_say("a mount table cannot be read: %s: %s; new mounts are unknown filesystems, which are denied",
	       strerror(-err), rf_enforcer_why(m->enforcer));
}

void views_refresh_host(struct manager *m)
{
	unsigned int skipped = 0;
	int err = rf_enforcer_refresh_view(m->enforcer, &skipped);

	if (err)
		say_unread(m, err);
	else
		say_skipped(skipped, 0);
}

static void on_table(void *ctx, uint32_t events)
{
	struct view *view = ctx;
	unsigned int skipped = 0;
	int err = rf_view_refresh(view->manager->enforcer, view->kernel, &skipped);

	(void)events;
	if (err)
		say_unread(view->manager, err);
	else
		say_skipped(skipped, rf_view_id(view->kernel));
}

static void set(struct run *run, struct view *view)
{
	run->view = view;
	view->runs++;
}

unsigned int views_count(const struct manager *m)
{
	unsigned int n = 0;

	for (const struct view *view = m->views; view; view = view->next)
		n++;
	return n;
}

/* Takes kernel; it is in the table from now on. */
static int add(struct manager *m, struct run *run, struct rf_view **kernel)
{
	struct view *view = calloc(1, sizeof(*view));
	int fd = rf_view_table_fd(*kernel);

	if (!view)
		return -ENOMEM;
	*view = (struct view){.next = m->views, .kernel = *kernel, .manager = m};
	view->table = (struct rf_source){fd, on_table, view};
	if (fd >= 0) {
		int err = rf_loop_add(m->epoll_fd, &view->table, EPOLLPRI);

		if (err) {
			free(view);
			return err;
		}
	}
	*kernel = NULL;
	m->views = view;
	set(run, view);
	return 0;
}

/* A remnant's namespace may be gone and its numbers another's. */
static struct view *find(struct manager *m, const struct rf_view *kernel)
{
	for (struct view *view = m->views; view; view = view->next)
		if (rf_view_table_fd(view->kernel) >= 0 && rf_view_same(view->kernel, kernel))
			return view;
	return NULL;
}

/* The process's directory of /proc: it stands for this process even when its number is given to another. */
static int open_process(pid_t pid, int pidfd, int *ret)
{
	__cleanup(closep) int fd = -1;
	char path[64];

	if (pid <= 0)
		return -ESRCH;
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	if (pidfd >= 0 && syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0))
		return -errno;
	*ret = TAKE_FD(fd);
	return 0;
}

int views_take(struct manager *m, struct run *run, pid_t pid, int pidfd, char *reterr, size_t size)
{
	struct rf_view *kernel = NULL;
	__cleanup(closep) int fd = -1;
	unsigned int skipped = 0;
	struct view *known;
	int err = open_process(pid, pidfd, &fd);

	if (!err)
		err = rf_view_open(m->enforcer, fd, &kernel);
	if (err) {
		snprintf(reterr, size, "process %d: its mounts cannot be read: %s", (int)pid, strerror(-err));
		return err;
	}
	known = kernel ? find(m, kernel) : NULL;
	if (known)
		set(run, known);
	if (!kernel || known) {
		rf_view_close(m->enforcer, &kernel, true);
		return 0;
	}
	if (views_count(m) >= RF_VIEWS_MAX) {
		snprintf(reterr, size, "runs in %d other mount namespaces are alive, the most there can be",
			 RF_VIEWS_MAX);
		rf_view_close(m->enforcer, &kernel, true);
		return -ENOSPC;
	}
	err = rf_view_start(m->enforcer, kernel, 0, &skipped);
	if (err)
		snprintf(reterr, size, "process %d: its mounts give no view: %s", (int)pid,
			 rf_enforcer_why(m->enforcer));
	else
		err = add(m, run, &kernel);
	rf_view_close(m->enforcer, &kernel, false);
	if (!err)
		say_skipped(skipped, rf_view_id(run->view->kernel));
	return err;
}

/* Start times grow; a number can be smaller than that of an older process. */
static unsigned long long started(pid_t pid)
{
	__cleanup(freep) char *text = NULL;
	unsigned long long start = 0;
	char path[64], *at;
	size_t len;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (rf_read_file(AT_FDCWD, path, 4096, &text, &len))
		return 0;
	at = strrchr(text, ')');
	/* Field 22; the one behind ')' is the third. */
	if (!at || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
			  &start) != 1)
		return 0;
	return start;
}

struct oldest {
	pid_t pid;
	unsigned long long start;
};

static void look_at_procs(int cgroup_fd, struct oldest *oldest)
{
	__cleanup(closep) int fd = openat(cgroup_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	__cleanup(freep) char *text = NULL;
	size_t len;

	if (fd < 0 || rf_read_all(fd, PROCS_BYTES_MAX, &text, &len))
		return;
	for (char *line = text, *next; *line; line = next) {
		pid_t pid = (pid_t)strtol(line, &next, 10);
		unsigned long long start = pid > 0 ? started(pid) : 0;

		if (start && (!oldest->pid || start < oldest->start))
			*oldest = (struct oldest){pid, start};
		next += *next == '\n';
		if (next == line)
			break;
	}
}

static void look_below(int cgroup_fd, struct oldest *oldest, unsigned int depth)
{
	__cleanup(closep) int copy = openat(cgroup_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	if (!dir)
		return;
	TAKE_FD(copy);
	look_at_procs(cgroup_fd, oldest);
	while (depth < DEPTH_MAX && (entry = readdir(dir))) {
		__cleanup(closep) int child = -1;

		if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
		    !cgroup_open(cgroup_fd, entry->d_name, &child))
			look_below(child, oldest, depth + 1);
	}
	closedir(dir);
}

pid_t views_first_process(int cgroup_fd)
{
	struct oldest oldest = {};

	look_below(cgroup_fd, &oldest, 0);
	return oldest.pid;
}

/* A process of the run that lives in a place, as a view without a number; NULL: none does. */
static struct rf_view *find_place(struct manager *m, int cgroup_fd, const struct rf_view_place *place,
				  unsigned int depth)
{
	__cleanup(closep) int copy = openat(cgroup_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	__cleanup(closep) int procs = openat(cgroup_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	__cleanup(freep) char *text = NULL;
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct rf_view *found = NULL;
	struct dirent *entry;
	size_t len;

	if (!dir)
		return NULL;
	TAKE_FD(copy);
	if (procs >= 0 && !rf_read_all(procs, PROCS_BYTES_MAX, &text, &len))
		for (char *line = strtok(text, "\n"); line && !found; line = strtok(NULL, "\n")) {
			__cleanup(closep) int fd = -1;

			if (open_process((pid_t)atoi(line), -1, &fd) || rf_view_open(m->enforcer, fd, &found))
				continue;
			if (found && memcmp(rf_view_place(found), place, sizeof(*place)))
				rf_view_close(m->enforcer, &found, true);
		}
	while (!found && depth < DEPTH_MAX && (entry = readdir(dir))) {
		__cleanup(closep) int child = -1;

		if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
		    !cgroup_open(cgroup_fd, entry->d_name, &child))
			found = find_place(m, child, place, depth + 1);
	}
	closedir(dir);
	return found;
}

int views_adopt(struct manager *m, struct run *run, uint32_t id, const struct rf_view_place *place)
{
	__cleanup(closep) int cgroup = -1;
	struct rf_view *kernel = NULL;
	unsigned int skipped = 0;
	int err;

	for (struct view *view = m->views; view; view = view->next)
		if (rf_view_id(view->kernel) == id) {
			set(run, view);
			return 0;
		}
	if (!cgroup_open(m->root_fd, run->cgroup + 1, &cgroup))
		kernel = find_place(m, cgroup, place, 0);
	if (!kernel) {
		rf_say("run %s: none of its processes is where it began: later mounts there are unknown filesystems",
		       run->name);
		kernel = rf_view_remnant(id, place);
		return kernel ? add(m, run, &kernel) : -ENOMEM;
	}
	err = rf_view_start(m->enforcer, kernel, id, &skipped);
	if (err)
		say_unread(m, err);
	return add(m, run, &kernel);
}

int views_look_up(void *ctx, const char *path, char **ret)
{
	const struct run *run = ctx;

	return rf_view_realpath(run->view ? run->view->kernel : NULL, path, ret);
}

void views_drop(struct manager *m, struct run *run)
{
	struct view *view = run->view, **at = &m->views;

	run->view = NULL;
	if (!view || --view->runs)
		return;
	while (*at != view)
		at = &(*at)->next;
	*at = view->next;
	if (view->table.fd >= 0)
		rf_loop_remove(m->epoll_fd, &view->table);
	rf_view_close(m->enforcer, &view->kernel, false);
	free(view);
}

void views_done(struct manager *m)
{
	while (m->views) {
		struct view *view = m->views;

		m->views = view->next;
		rf_view_close(m->enforcer, &view->kernel, true);
		free(view);
	}
}

void views_sweep(struct manager *m)
{
	uint32_t used[RF_VIEWS_MAX + 1];
	size_t n = 0;

	for (const struct view *view = m->views; view && n <= RF_VIEWS_MAX; view = view->next)
		used[n++] = rf_view_id(view->kernel);
	rf_enforcer_drop_views(m->enforcer, used, n);
}
