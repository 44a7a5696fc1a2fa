// SPDX-License-Identifier: Apache-2.0
/* sd_notify(3) in a few lines: no library for one datagram. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "daemon/manager.h"
#include "lib/cleanup.h"

void notify_systemd(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	__cleanup(closep) int fd = -1;
	size_t len = path ? strlen(path) : 0;

	if (!len || len >= sizeof(addr.sun_path) || (*path != '/' && *path != '@'))
		return;
	memcpy(addr.sun_path, path, len);
	if (*path == '@')
		addr.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	/* Without an answer systemd's own timeout speaks. */
	if (fd >= 0)
		sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&addr,
		       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
}
