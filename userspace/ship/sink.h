/* SPDX-License-Identifier: Apache-2.0 */
/* A place where messages are delivered: in order, at least once. All calls return at once; nothing here blocks. */
#pragma once

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

struct rf_sink {
	const struct rf_sink_ops *ops;
};

struct rf_sink_ops {
	/* Begins to connect. 0, or -errno with the sink closed. */
	int (*open)(struct rf_sink *sink);
	/*
	 * Whatever can go on now: the connection comes up, bytes go out, the peer is heard. 0; 1: the peer has taken the
	 * end of the stream after finish(), everything it was sent it has read; -EINPROGRESS: not connected yet; another
	 * -errno: lost, close it.
	 */
	int (*advance)(struct rf_sink *sink);
	/* One message. 0: taken; -EAGAIN: nothing of it was taken, wait for POLLOUT; another -errno: lost. */
	int (*write)(struct rf_sink *sink, const char *message, size_t len);
	/* Bytes of the stream since open, framing included: taken by write(), and acknowledged by the peer's host. */
	uint64_t (*taken)(const struct rf_sink *sink);
	int (*acknowledged)(const struct rf_sink *sink, uint64_t *ret);
	/* No more messages come: asks the peer to confirm the stream's end. -EAGAIN: bytes are still on their way. */
	int (*finish)(struct rf_sink *sink);
	/* fd is -1 while closed. */
	void (*poll)(const struct rf_sink *sink, struct pollfd *ret);
	/* May be called at any time, also twice. */
	void (*close)(struct rf_sink *sink);
};
