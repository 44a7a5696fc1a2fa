// SPDX-License-Identifier: Apache-2.0
/* One thread, one epoll. */
#include "lib/loop.h"

#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>

int rf_loop_add(int epoll_fd, struct rf_source *source, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = source};

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, source->fd, &event) ? -errno : 0;
}

void rf_loop_remove(int epoll_fd, struct rf_source *source)
{
	if (source->fd >= 0)
		epoll_ctl(epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
}

int rf_loop_once(int epoll_fd, int timeout_ms)
{
	struct epoll_event event;
	struct rf_source *source;
	int n = epoll_wait(epoll_fd, &event, 1, timeout_ms);

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (!n)
		return 0;
	source = event.data.ptr;
	source->ready(source->ctx, event.events);
	return 1;
}
