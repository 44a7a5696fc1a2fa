// SPDX-License-Identifier: Apache-2.0
/* Descriptors: held, handed over, got without a path. Verbs that take a PATH take "#5" for descriptor 5. */
#include "probe.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/aio_abi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static int mode(const char *text)
{
	return !strcmp(text, "path") ? O_PATH : !strcmp(text, "rw") ? O_RDWR : *text == 'w' ? O_WRONLY : O_RDONLY;
}

static int do_hold(char **a)
{
	int fd = get(a[2], mode(a[1])), err = answer(fd);

	if (err)
		return err;
	err = answer(dup3(fd, atoi(a[0]), O_CLOEXEC));
	close(fd);
	return err;
}

/* O_PATH asks nothing; what it leads to through /proc does. */
static int do_reopen(char **a)
{
	char link[64];
	int fd = open(a[1], O_PATH | O_CLOEXEC), err = answer(fd);

	if (err)
		return err;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	err = try_open(link, *a[0] == 'w' ? O_WRONLY : O_RDONLY);
	close(fd);
	return err;
}

/* Names what O_TMPFILE made. */
static int do_tmpfile_link(char **a)
{
	char link[64];
	int fd = open(a[0], O_TMPFILE | O_RDWR | O_CLOEXEC, 0644), err = answer(fd);

	if (err)
		return err;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	err = answer(write(fd, "new", 3));
	if (!err)
		err = answer(linkat(AT_FDCWD, link, AT_FDCWD, a[1], AT_SYMLINK_FOLLOW));
	close(fd);
	return err;
}

union control {
	char room[CMSG_SPACE(sizeof(int))];
	struct cmsghdr header;
};

static int hand_over(int to, int fd)
{
	char byte = 'x';
	struct iovec iov = {&byte, 1};
	union control control = {.header = {CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	return answer(sendmsg(to, &msg, MSG_NOSIGNAL));
}

/* Opens what is asked for as "MODE PATH" on a connection, and answers with the descriptor, for ever. */
static void give(int listener)
{
	for (;;) {
		char ask[PATH_MAX + 8], *path;
		int from = accept(listener, NULL, NULL), fd;
		ssize_t n = read(from, ask, sizeof(ask) - 1);

		ask[n < 0 ? 0 : n] = '\0';
		path = strchr(ask, ' ');
		if (path) {
			*path++ = '\0';
			fd = open(path, mode(ask) | O_CLOEXEC);
			if (fd < 0 || hand_over(from, fd))
				fprintf(stderr, "giver: %s: %m\n", path);
			if (fd >= 0)
				close(fd);
		}
		close(from);
	}
}

/* A child that gives; it ends with us. */
static int do_giver(char **a)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), err;

	snprintf(at.sun_path, sizeof(at.sun_path), "%s", a[0]);
	err = answer(bind(listener, (struct sockaddr *)&at, sizeof(at)));
	if (!err)
		err = answer(listen(listener, 8));
	if (!err && !fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(0);
		close(1);
		give(listener);
	}
	close(listener);
	return err;
}

/* What a descriptor from elsewhere is good for: reading answers the first byte. */
static int use(int fd, const char *how)
{
	int err;

	if (*how == 'r')
		return first_byte(fd);
	err = answer(write(fd, "received", 8));
	close(fd);
	return err;
}

/* ENODATA: the message came, and the kernel says that something which it carried did not. */
static int do_receive(char **a)
{
	char byte;
	struct iovec iov = {&byte, 1};
	union control control = {};
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	int from = connect_unix(a[0]), err = answer(from), fd;

	if (err)
		return err;
	if (dprintf(from, "%s %s", a[1], a[2]) < 0 || recvmsg(from, &msg, MSG_CMSG_CLOEXEC) != 1)
		err = -EPROTO;
	else if (msg.msg_controllen < CMSG_LEN(sizeof(int)))
		err = msg.msg_flags & MSG_CTRUNC ? -ENODATA : -EPROTO;
	close(from);
	if (err)
		return err;
	memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	return use(fd, a[1]);
}

static int do_pidfd_getfd(char **a)
{
	int pid = (int)syscall(SYS_pidfd_open, atoi(a[1]), 0), fd, err = answer(pid);

	if (err)
		return err;
	fd = (int)syscall(SYS_pidfd_getfd, pid, atoi(a[2]), 0);
	err = answer(fd);
	close(pid);
	return err ? err : use(fd, a[0]);
}

/* A file by its handle; DIR is any directory of its filesystem. */
static int do_handle(char **a)
{
	struct {
		struct file_handle handle;
		char room[MAX_HANDLE_SZ];
	} at = {.handle = {.handle_bytes = MAX_HANDLE_SZ}};
	int mount_id, dir, err = answer(name_to_handle_at(AT_FDCWD, a[2], &at.handle, &mount_id, 0));

	if (err)
		return err;
	dir = open(a[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	err = answer(dir);
	if (err)
		return err;
	err = use(open_by_handle_at(dir, &at.handle, mode(a[0]) | O_CLOEXEC), a[0]);
	close(dir);
	return err;
}

static int do_aio_read(char **a)
{
	unsigned char byte = 0;
	int fd = get(a[0], O_RDONLY), err = answer(fd);
	struct iocb iocb = {.aio_lio_opcode = IOCB_CMD_PREAD,
			    .aio_fildes = (uint32_t)fd,
			    .aio_buf = (uintptr_t)&byte,
			    .aio_nbytes = 1};
	struct iocb *list[] = {&iocb};
	struct io_event event = {};
	aio_context_t context = 0;

	if (err)
		return err;
	err = answer(syscall(SYS_io_setup, 1, &context));
	if (!err)
		err = answer(syscall(SYS_io_submit, context, 1, list));
	if (!err)
		err = answer(syscall(SYS_io_getevents, context, 1, 1, &event, NULL));
	syscall(SYS_io_destroy, context);
	close(fd);
	if (err)
		return err;
	return event.res < 0 ? (int)event.res : byte;
}

const struct verb descriptor_verbs[] = {
	{"hold", 3, do_hold}, /* NUMBER r|w|rw|path PATH: as that descriptor */
	{"reopen", 2, do_reopen}, /* r|w PATH */
	{"tmpfile-link", 2, do_tmpfile_link}, /* DIR NEW */
	{"giver", 1, do_giver}, /* SOCKET */
	{"receive", 3, do_receive}, /* SOCKET r|w PATH: what the giver opens; its first byte */
	{"pidfd-getfd", 3, do_pidfd_getfd}, /* r|w PID DESCRIPTOR: the first byte */
	{"handle", 3, do_handle}, /* r|w DIR PATH: its first byte */
	{"aio-read", 1, do_aio_read}, /* PATH: its first byte */
	{},
};
