/* SPDX-License-Identifier: Apache-2.0 */
/* One thread, one epoll: a source calls back when its descriptor is ready. */
#pragma once

#include <stdint.h>

struct rf_source {
	int fd; /* not owned */
	void (*ready)(void *ctx, uint32_t events);
	void *ctx;
};

/* The source must stay where it is until it is removed. events: EPOLLIN, EPOLLPRI ... */
int rf_loop_add(int epoll_fd, struct rf_source *source, uint32_t events);
void rf_loop_remove(int epoll_fd, struct rf_source *source);
/*
 * Waits for one source and serves it: 1, or 0 when the time is up. One at a time on purpose: a callback may free any
 * source, itself included, and no stale pointer is left in a batch. epoll hands ready sources out in turn.
 */
int rf_loop_once(int epoll_fd, int timeout_ms);
