/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a client: the request parser refuses in one line, or every string it gives keeps its promise. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "control/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int truth)
{
	if (!truth)
		abort();
}

static void check_path(const char *path)
{
	check(!path || (path[0] == '/' && strlen(path) < 4096 && !strstr(path, "/../")));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rf_request r;
	char why[256];

	memset(why, 'x', sizeof(why));
	if (rf_request_parse(data, size, &r, why, sizeof(why))) {
		check(memchr(why, '\0', sizeof(why)) != NULL);
		return 0;
	}
	check(r.op < RF_OP_MAX && rf_op_name(r.op)[0]);
	check(!r.run || rf_bare_name(r.run));
	check(!r.after || rf_bare_name(r.after));
	check(!r.policy || r.text || rf_bare_name(r.policy));
	check(!r.cgroup || (r.cgroup[0] != '/' && strcmp(r.cgroup, "..") && strncmp(r.cgroup, "../", 3) &&
			    !strstr(r.cgroup, "/../")));
	check_path(r.workspace);
	check_path(r.home);
	check_path(r.tmp);
	check(r.layer_count <= RF_LAYERS_MAX);
	for (size_t i = 0; i < r.layer_count; i++)
		check(rf_bare_name(r.layers[i].name) && strlen(r.layers[i].text) == r.layers[i].len);
	check(r.status >= -1 && r.status <= 255);
	rf_request_done(&r);
	return 0;
}
