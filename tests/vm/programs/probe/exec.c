// SPDX-License-Identifier: Apache-2.0
/* Programs. */
#include "probe.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

static int start(int fd, const char *path, char **argv)
{
	int out[2];
	pid_t pid;

	if (pipe2(out, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (!pid) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 0);
		dup2(null, 1);
		if (path)
			execv(path, argv);
		else
			fexecve(fd, argv, environ);
		tell(out[1], -errno);
		_exit(99);
	}
	close(out[1]);
	return pid < 0 ? -errno : reap(pid, out[0]);
}

static int do_exec(char **a)
{
	return start(-1, a[0], a);
}

static int do_memfd_exec(char **a)
{
	int from = open(a[0], O_RDONLY | O_CLOEXEC), memory = memfd_create("probe", 0), err = answer(from);
	struct stat st;

	if (!err && (fstat(from, &st) || sendfile(memory, from, NULL, (size_t)st.st_size) != st.st_size))
		err = -EIO;
	if (!err)
		err = start(memory, NULL, a);
	close(from);
	close(memory);
	return err;
}

static int do_deleted_exec(char **a)
{
	int fd = open(a[0], O_RDONLY), err = answer(fd); /* not O_CLOEXEC: an interpreter would need it */

	if (!err)
		err = answer(unlink(a[0]));
	if (!err)
		err = start(fd, NULL, a);
	close(fd);
	return err;
}

/* path|read PATH: execveat of a descriptor without a name */
static int do_exec_fd(char **a)
{
	int fd = open(a[1], (*a[0] == 'p' ? O_PATH : O_RDONLY) | O_CLOEXEC), err = answer(fd);

	if (err)
		return err;
	err = start(fd, NULL, a + 1);
	close(fd);
	return err;
}

static int do_sh(char **a)
{
	char *argv[] = {"/bin/bash", "-c", a[0], NULL};

	return start(-1, argv[0], argv);
}

const struct verb exec_verbs[] = {
	{"exec", 1, do_exec}, /* PATH ARG... */
	{"memfd-exec", 1, do_memfd_exec}, /* PATH ARG... */
	{"deleted-exec", 1, do_deleted_exec}, /* PATH ARG...: unlinks PATH */
	{"exec-fd", 2, do_exec_fd}, /* path|read PATH ARG... */
	{"sh", 1, do_sh}, /* COMMAND */
	{},
};
