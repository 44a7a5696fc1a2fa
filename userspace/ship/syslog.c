/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Syslog over TCP has no acknowledgement of its own. What there is: SIOCOUTQ says how much the peer's kernel has taken,
 * and a peer that closes after it has read the end of the stream has read everything before it (had it left bytes
 * unread, its kernel would have sent a reset).
 */
#define _GNU_SOURCE 1
#include "ship/syslog.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "lib/cleanup.h"
#include "ship/format.h"

#define DEFAULT_PORT "601" /* syslog-conn */
#define BUFFER_SIZE (64 * 1024)
#define SILENCE_MS 30000 /* unacknowledged for so long: the connection is dead */

struct syslog {
	struct rf_sink sink; /* first */
	char *host, *port;
	int fd;
	bool connected, finished;
	unsigned int attempt; /* which of the host's addresses is tried */
	uint64_t taken; /* by write() */
	uint64_t sent; /* by the kernel */
	size_t start, have;
	char buf[BUFFER_SIZE];
};

static struct syslog *of(struct rf_sink *sink)
{
	return (struct syslog *)sink;
}

static void syslog_close(struct rf_sink *sink)
{
	struct syslog *s = of(sink);

	if (s->fd >= 0 && !s->connected)
		s->attempt++;
	closep(&s->fd);
	s->fd = -1;
}

static int set_options(int fd)
{
	static const unsigned int silence = SILENCE_MS;
	static const int on = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0 ||
	    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence, sizeof(silence)) < 0)
		return -errno;
	return 0;
}

static int try_address(const struct addrinfo *a, int *ret_fd)
{
	__cleanup(closep) int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
	int err;

	if (fd < 0)
		return -errno;
	err = set_options(fd);
	if (err)
		return err;
	if (connect(fd, a->ai_addr, a->ai_addrlen) < 0 && errno != EINPROGRESS)
		return -errno;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int syslog_open(struct rf_sink *sink)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
	struct syslog *s = of(sink);
	struct addrinfo *all = NULL, *a;
	unsigned int n = 0;
	int err;

	syslog_close(sink);
	/* Asked anew each time: the receiver may have moved. */
	if (getaddrinfo(s->host, s->port, &hints, &all) || !all)
		return -EHOSTUNREACH;
	for (a = all; a; a = a->ai_next)
		n++;
	a = all;
	for (n = s->attempt % (n ?: 1); n; n--)
		a = a->ai_next;
	err = try_address(a, &s->fd);
	s->attempt += err != 0;
	freeaddrinfo(all);
	s->connected = s->finished = false;
	s->taken = s->sent = 0;
	s->start = s->have = 0;
	return err;
}

static int check_connected(struct syslog *s)
{
	struct pollfd p = {.fd = s->fd, .events = POLLOUT};
	socklen_t len = sizeof(int);
	int err = 0;

	if (poll(&p, 1, 0) <= 0)
		return -EINPROGRESS;
	if (getsockopt(s->fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
		return -errno;
	if (err)
		return -err;
	s->connected = true;
	return 0;
}

static int send_buffer(struct syslog *s)
{
	while (s->start < s->have) {
		ssize_t n = send(s->fd, s->buf + s->start, s->have - s->start, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		s->start += (size_t)n;
		s->sent += (uint64_t)n;
	}
	s->start = s->have = 0;
	return 0;
}

/* 1: the peer closed. What it says is not for us. */
static int hear(struct syslog *s)
{
	char heard[512];
	ssize_t n;

	for (int i = 0; i < 16; i++) {
		n = recv(s->fd, heard, sizeof(heard), 0);
		if (n == 0)
			return 1;
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	}
	return 0;
}

static int syslog_acknowledged(const struct rf_sink *sink, uint64_t *ret)
{
	const struct syslog *s = (const struct syslog *)sink;
	int queued;

	if (ioctl(s->fd, SIOCOUTQ, &queued) < 0)
		return -errno;
	/* After finish() the end of the stream counts as one byte. */
	*ret = (uint64_t)queued < s->sent ? s->sent - (uint64_t)queued : 0;
	return 0;
}

static int syslog_advance(struct rf_sink *sink)
{
	struct syslog *s = of(sink);
	uint64_t acknowledged = 0;
	int err;

	if (s->fd < 0)
		return -ENOTCONN;
	err = s->connected ? 0 : check_connected(s);
	if (!err)
		err = send_buffer(s);
	if (err)
		return err;
	err = hear(s);
	if (err != 1)
		return err;
	/* It closes before the end of the stream: whatever is under way is lost. */
	if (!s->finished || syslog_acknowledged(sink, &acknowledged) < 0 || acknowledged < s->taken)
		return -ECONNRESET;
	return 1;
}

static int syslog_write(struct rf_sink *sink, const char *message, size_t len)
{
	struct syslog *s = of(sink);
	char count[24];
	size_t n = (size_t)snprintf(count, sizeof(count), "%zu ", len);
	int err;

	if (n + len > sizeof(s->buf))
		return -EMSGSIZE;
	if (n + len > sizeof(s->buf) - s->have) {
		err = send_buffer(s);
		if (err)
			return err;
		memmove(s->buf, s->buf + s->start, s->have - s->start);
		s->have -= s->start;
		s->start = 0;
		if (n + len > sizeof(s->buf) - s->have)
			return -EAGAIN;
	}
	memcpy(s->buf + s->have, count, n);
	memcpy(s->buf + s->have + n, message, len);
	s->have += n + len;
	s->taken += n + len;
	return 0;
}

static uint64_t syslog_taken(const struct rf_sink *sink)
{
	return ((const struct syslog *)sink)->taken;
}

static int syslog_finish(struct rf_sink *sink)
{
	struct syslog *s = of(sink);

	if (s->start < s->have)
		return -EAGAIN;
	if (shutdown(s->fd, SHUT_WR) < 0)
		return -errno;
	s->finished = true;
	return 0;
}

static void syslog_poll(const struct rf_sink *sink, struct pollfd *ret)
{
	const struct syslog *s = (const struct syslog *)sink;

	ret->fd = s->fd;
	ret->events = POLLIN;
	if (s->fd >= 0 && (!s->connected || s->start < s->have))
		ret->events |= POLLOUT;
	ret->revents = 0;
}

static const struct rf_sink_ops syslog_ops = {
	.open = syslog_open,
	.advance = syslog_advance,
	.write = syslog_write,
	.taken = syslog_taken,
	.acknowledged = syslog_acknowledged,
	.finish = syslog_finish,
	.poll = syslog_poll,
	.close = syslog_close,
};

int rf_syslog_new(const char *host, const char *port, struct rf_sink **ret)
{
	struct rf_sink *sink;
	struct syslog *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	sink = &s->sink;
	s->sink.ops = &syslog_ops;
	s->fd = -1;
	s->host = strdup(host);
	s->port = strdup(port);
	if (!s->host || !s->port) {
		rf_syslog_free(&sink);
		return -ENOMEM;
	}
	*ret = sink;
	return 0;
}

void rf_syslog_free(struct rf_sink **sink)
{
	struct syslog *s = (struct syslog *)*sink;

	if (!s)
		return;
	syslog_close(*sink);
	free(s->host);
	free(s->port);
	free(s);
	*sink = NULL;
}

int rf_syslog_address(const char *text, char **ret_host, char **ret_port)
{
	const char *end = *text == '[' ? strchr(text, ']') : strchr(text, ':'), *start = text + (*text == '[');
	__cleanup(freep) char *host = NULL, *port = NULL;

	if (*text == '[' && !end)
		return -EINVAL;
	end = end ? end : text + strlen(text);
	host = strndup(start, (size_t)(end - start));
	end += *end == ']';
	/* A bare IPv6 address would leave it open where its port begins. */
	if ((*end && (*end != ':' || !end[1] || strchr(end + 1, ':'))) || (host && !*host))
		return -EINVAL;
	port = strdup(*end ? end + 1 : DEFAULT_PORT);
	if (!host || !port)
		return -ENOMEM;
	*ret_host = TAKE_PTR(host);
	*ret_port = TAKE_PTR(port);
	return 0;
}
