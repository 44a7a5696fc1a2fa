// SPDX-License-Identifier: Apache-2.0
/* Sockets. */
#include "probe.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Address of "1.2.3.4", "::1", a path, or "@name" for an abstract one. */
static socklen_t address(const char *text, const char *port, struct sockaddr_storage *ret)
{
	struct sockaddr_in *in = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;
	struct sockaddr_un *un = (struct sockaddr_un *)ret;

	memset(ret, 0, sizeof(*ret));
	if (*text == '/' || *text == '@') {
		un->sun_family = AF_UNIX;
		snprintf(un->sun_path, sizeof(un->sun_path), "%s", text);
		if (*text == '@')
			un->sun_path[0] = '\0';
		return offsetof(struct sockaddr_un, sun_path) + strlen(text) + (*text == '/');
	}
	if (strchr(text, ':')) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(atoi(port));
		return inet_pton(AF_INET6, text, &in6->sin6_addr) == 1 ? sizeof(*in6) : 0;
	}
	in->sin_family = AF_INET;
	in->sin_port = htons(atoi(port));
	return inet_pton(AF_INET, text, &in->sin_addr) == 1 ? sizeof(*in) : 0;
}

static int new_socket(const struct sockaddr_storage *to, const char *type)
{
	int kind = !strcmp(type, "udp") || !strcmp(type, "dgram") ? SOCK_DGRAM
		   : !strcmp(type, "seqpacket")			  ? SOCK_SEQPACKET
								  : SOCK_STREAM;

	return socket(to->ss_family, kind | SOCK_CLOEXEC, 0);
}

static int do_connect(char **a)
{
	struct sockaddr_storage to;
	socklen_t len = address(a[1], a[2], &to);
	int fd = new_socket(&to, a[0]), err = answer(fd);

	if (err)
		return err;
	err = answer(connect(fd, (struct sockaddr *)&to, len));
	if (!err)
		err = answer(send(fd, "x", 1, MSG_NOSIGNAL));
	close(fd);
	return err;
}

int connect_unix(const char *path)
{
	struct sockaddr_storage to;
	socklen_t len = address(path, "0", &to);
	int fd = new_socket(&to, "stream");

	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, len)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* A datagram to a UNIX socket without connecting first. */
static int do_send_to(char **a)
{
	struct sockaddr_storage to;
	socklen_t len = address(a[0], "0", &to);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int err = answer(sendto(fd, "x", 1, MSG_NOSIGNAL, (struct sockaddr *)&to, len));

	close(fd);
	return err;
}

/* One UDP socket: to the first, to nobody, to the second. */
static int do_unspec(char **a)
{
	struct sockaddr nobody = {.sa_family = AF_UNSPEC};
	struct sockaddr_storage first, second;
	socklen_t first_len = address(a[0], a[1], &first), second_len = address(a[2], a[3], &second);
	int fd = new_socket(&first, "udp"), err = answer(connect(fd, (struct sockaddr *)&first, first_len));

	if (!err && connect(fd, &nobody, sizeof(nobody)))
		err = -ENOTSUP; /* no error of ours: told apart from a denial */
	if (!err)
		err = answer(connect(fd, (struct sockaddr *)&second, second_len));
	close(fd);
	return err;
}

/* A socket of one family, connected to an address of another or the same. */
static int do_family(char **a)
{
	struct sockaddr_storage to = {.ss_family = (sa_family_t)atoi(a[2])};
	int fd = socket(atoi(a[0]), atoi(a[1]) | SOCK_CLOEXEC, 0), err = answer(fd);

	if (err)
		return err == -EACCES ? -ENOTSUP : err;
	err = answer(connect(fd, (struct sockaddr *)&to, sizeof(struct sockaddr_in)));
	close(fd);
	return err;
}

static int do_socketpair(char **a)
{
	int fds[2], err = answer(socketpair(AF_UNIX, atoi(a[0]), 0, fds));
	char byte;

	if (!err)
		err = answer(send(fds[0], "x", 1, 0));
	if (!err)
		err = recv(fds[1], &byte, 1, MSG_DONTWAIT) == 1 ? 0 : -EIO;
	return err;
}

/* A name for a socket that goes at once. */
static int do_bind(char **a)
{
	struct sockaddr_storage at;
	socklen_t len = address(a[0], "0", &at);
	int fd = new_socket(&at, "stream"), err = answer(bind(fd, (struct sockaddr *)&at, len));

	close(fd);
	return err;
}

/* Stays open: the answer is its descriptor. */
static int do_listen(char **a)
{
	struct sockaddr_storage at;
	socklen_t len = address(a[1], a[2], &at);
	int fd = new_socket(&at, a[0]), one = 1, err = answer(fd);

	if (err)
		return err;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	err = answer(bind(fd, (struct sockaddr *)&at, len));
	if (!err && listen(fd, 64) && errno != EOPNOTSUPP)
		err = -errno;
	return err ? err : fd;
}

/* Bytes that a listener got since it was asked last, by datagrams or connections. */
static int do_heard(char **a)
{
	int fd = atoi(a[0]), from, total = 0;
	char buffer[256];
	ssize_t n;

	usleep(200000); /* what is on its way arrives */
	fcntl(fd, F_SETFL, O_NONBLOCK);
	while ((n = recv(fd, buffer, sizeof(buffer), 0)) > 0)
		total += (int)n;
	while ((from = accept(fd, NULL, NULL)) >= 0) {
		while ((n = recv(from, buffer, sizeof(buffer), 0)) > 0)
			total += (int)n;
		close(from);
	}
	return total;
}

const struct verb net_verbs[] = {
	{"connect", 3, do_connect}, /* tcp|udp|stream|dgram|seqpacket ADDRESS PORT */
	{"send-to", 1, do_send_to}, /* PATH */
	{"unspec", 4, do_unspec}, /* ADDRESS PORT ADDRESS PORT */
	{"family", 3, do_family}, /* FAMILY TYPE ADDRESS-FAMILY */
	{"socketpair", 1, do_socketpair}, /* TYPE */
	{"bind", 1, do_bind}, /* PATH */
	{"listen", 3, do_listen}, /* tcp|udp|stream|dgram ADDRESS PORT */
	{"heard", 1, do_heard}, /* DESCRIPTOR */
	{},
};
