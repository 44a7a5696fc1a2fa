// SPDX-License-Identifier: Apache-2.0
/* One JSON object as one packet. */
#include "control/packet.h"

#include <errno.h>
#include <json-c/json.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "control/request.h"
#include "lib/cleanup.h"

void rf_packet_buffers(int fd)
{
	int bytes = RF_CONTROL_BYTES_MAX;

	/* The kernel doubles what it is told, up to twice net.core.wmem_max: 416 KiB by default, enough for a packet. */
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

int rf_packet_send(int fd, struct json_object *object, int flags)
{
	size_t len;
	const char *text = json_object_to_json_string_length(object, JSON_C_TO_STRING_PLAIN, &len);

	if (!text)
		return -ENOMEM;
	if (len > RF_CONTROL_BYTES_MAX)
		return -EMSGSIZE;
	while (send(fd, text, len, flags | MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

int rf_client_connect(const char *runtime_dir, int *ret_fd)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	__cleanup(closep) int fd = -1;

	if (snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/%s", runtime_dir, RF_SOCKET_NAME) >=
	    (int)sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	rf_packet_buffers(fd);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		return -errno;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int receive(int fd, int timeout_ms, struct json_object **ret, char *reterr, size_t size)
{
	__cleanup(freep) char *text = malloc(RF_CONTROL_BYTES_MAX + 1);
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	ssize_t n;
	int polled;

	if (!text) {
		snprintf(reterr, size, "out of memory");
		return -ENOMEM;
	}
	do
		polled = poll(&ready, 1, timeout_ms);
	while (polled < 0 && errno == EINTR);
	if (polled <= 0) {
		snprintf(reterr, size, "the enforcer did not answer within %d s", timeout_ms / 1000);
		return -ETIMEDOUT;
	}
	n = recv(fd, text, RF_CONTROL_BYTES_MAX, 0);
	if (n <= 0) {
		snprintf(reterr, size, "the enforcer hung up; see its messages (journalctl -u ringfenced)");
		return -ECONNRESET;
	}
	text[n] = '\0';
	*ret = json_tokener_parse(text);
	if (json_object_is_type(*ret, json_type_object))
		return 0;
	json_object_put(*ret);
	snprintf(reterr, size, "the enforcer's answer is no JSON object: is it of another version?");
	return -EBADMSG;
}

int rf_client_call(int fd, struct json_object *request, int timeout_ms, struct json_object **ret_reply, char *reterr,
		   size_t size)
{
	struct json_object *reply = NULL, *ok;
	int err = rf_packet_send(fd, request, 0);

	if (err == -EMSGSIZE)
		snprintf(reterr, size,
			 "the request is longer than %d KiB: put the policy into a policy directory of the enforcer "
			 "and name it",
			 RF_CONTROL_BYTES_MAX / 1024);
	else if (err)
		snprintf(reterr, size, "the enforcer cannot be reached: %s", strerror(-err));
	if (err)
		return err;
	err = receive(fd, timeout_ms, &reply, reterr, size);
	if (err)
		return err;
	if (json_object_object_get_ex(reply, "ok", &ok) && json_object_get_boolean(ok)) {
		*ret_reply = reply;
		return 0;
	}
	snprintf(reterr, size, "%s", rf_member_string(reply, "error"));
	json_object_put(reply);
	return -EREMOTEIO;
}

const char *rf_member_string(struct json_object *object, const char *key)
{
	struct json_object *value;

	if (!json_object_object_get_ex(object, key, &value) || !json_object_is_type(value, json_type_string))
		return "";
	return json_object_get_string(value);
}

long long rf_member_number(struct json_object *object, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(object, key, &value) ? json_object_get_int64(value) : 0;
}

void rf_member_add(struct json_object *object, const char *key, const char *value)
{
	if (value)
		json_object_object_add(object, key, json_object_new_string(value));
}
