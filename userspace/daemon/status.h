/* SPDX-License-Identifier: Apache-2.0 */
/* What `ringfence ps` and `ringfence status` are told. */
#pragma once

struct json_object;
struct manager;

/* One page of runs, those whose names come after `after` (NULL: from the first); "next" when there are more. */
struct json_object *status_runs(const struct manager *m, const char *after);
struct json_object *status_enforcer(struct manager *m);
