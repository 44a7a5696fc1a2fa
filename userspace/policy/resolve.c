// SPDX-License-Identifier: Apache-2.0
/*
 * The kernel names a file by where it is, never by the symlinks that led there. So a pattern whose literal beginning
 * leads through symlinks is matched in the resolved spelling as well.
 */
#include "policy/ast.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"

/*
 * Splits a checked glob behind its literal whole names: "/a\*b/c*d" is "/a*b" and "/c*d". *ret_prefix is unescaped
 * and may be empty; *ret_rest points into glob.
 */
static int split(struct rf_mem *mem, const char *glob, char **ret_prefix, const char **ret_rest)
{
	char *prefix = rf_mem_get(mem, strlen(glob) + 1);
	const char *rest = glob, *p = glob;
	size_t n = 0, whole = 0;

	if (!prefix)
		return -ENOMEM;
	while (*p && !strchr("*?[{", *p)) {
		if (*p == '/') {
			whole = n;
			rest = p;
		}
		if (*p == '\\' && p[1])
			p++;
		prefix[n++] = *p++;
	}
	if (!*p) {
		whole = n;
		rest = p;
	}
	prefix[whole] = 0;
	*ret_prefix = prefix;
	*ret_rest = rest;
	return 0;
}

/* Below /proc a link leads to whoever asks, and what it leads to is no name for anybody else. */
static bool in_proc(const char *path)
{
	return !strncmp(path, "/proc", 5) && (!path[5] || path[5] == '/');
}

static bool usable(const char *path)
{
	return path[0] == '/' && strlen(path) <= RF_PATH_MAX;
}

/* *ret: path with the longest part of it that exists resolved; path itself where nothing changes. */
static int resolve(const struct rf_policy_args *args, struct rf_mem *mem, const char *path, const char **ret)
{
	char *head = rf_mem_copy(mem, path, strlen(path));

	if (!head)
		return -ENOMEM;
	*ret = path;
	while (args->resolve && *head && !in_proc(path)) {
		__cleanup(freep) char *found = NULL;
		int err = args->resolve(args->ctx, head, &found);

		if (err == -ENOMEM)
			return err;
		if (!err) {
			const char *tail = path + strlen(head);

			if (!usable(found) || in_proc(found))
				return 0;
			*ret = rf_mem_printf(mem, "%s%s", !strcmp(found, "/") ? "" : found, tail);
			return *ret ? 0 : -ENOMEM;
		}
		*strrchr(head, '/') = 0;
	}
	return 0;
}

/* As resolve(), but the last name stays: what unlink(2) and rename(2) act on. */
static int resolve_parent(const struct rf_policy_args *args, struct rf_mem *mem, const char *path, const char **ret)
{
	const char *last = strrchr(path, '/'), *parent = rf_mem_copy(mem, path, (size_t)(last - path));
	int err = parent ? resolve(args, mem, parent, &parent) : -ENOMEM;

	if (err)
		return err;
	*ret = rf_mem_printf(mem, "%s%s", parent, last);
	return *ret ? 0 : -ENOMEM;
}

int rf_resolve_glob(struct rf_compile *c, struct rf_place place, const char *glob, const char *ret_more[2],
		    size_t *ret_n)
{
	const char *ways[2], *rest;
	char *prefix;
	size_t n = 0;
	int err = split(c->mem, glob, &prefix, &rest);

	*ret_n = 0;
	if (err || !*prefix || !strcmp(prefix, "/") || !c->args->resolve)
		return err;
	err = resolve(c->args, c->mem, prefix, &ways[0]);
	if (!err)
		err = resolve_parent(c->args, c->mem, prefix, &ways[1]);
	for (int i = 0; i < 2 && !err; i++) {
		const char *quoted;

		if (!strcmp(ways[i], prefix) || (i && !strcmp(ways[1], ways[0])))
			continue;
		if (!*ways[i])
			return rf_diag_at(c->diag, place,
					  "\"%.200s\" is a symlink to \"/\": the rule would mean the whole host",
					  prefix);
		quoted = rf_glob_quote(c->mem, ways[i]);
		if (!quoted)
			return -ENOMEM;
		ret_more[n] = rf_mem_printf(c->mem, "%s%s", quoted, rest);
		if (!ret_more[n++])
			return -ENOMEM;
	}
	*ret_n = n;
	return err;
}

int rf_resolve_object(const struct rf_policy_args *args, struct rf_mem *mem, const char *path, bool last,
		      const char **ret)
{
	int err = last ? resolve(args, mem, path, ret) : resolve_parent(args, mem, path, ret);

	if (!err && !**ret)
		*ret = "/";
	return err;
}
