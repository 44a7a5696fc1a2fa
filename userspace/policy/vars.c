// SPDX-License-Identifier: Apache-2.0
/* Variables of a policy: their values come from the caller and are never patterns. */
#include "policy/ast.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"

static const char *const names[RF_VAR_MAX] = {
	[RF_VAR_WORKSPACE] = "workspace", [RF_VAR_HOME] = "home", [RF_VAR_TMP] = "tmp",
	[RF_VAR_USER] = "user",		  [RF_VAR_RUN] = "run",
};
#define KNOWN "${workspace}, ${home}, ${tmp}, ${user}, ${run}"

static int number(const char *name, size_t len)
{
	for (int i = 0; i < RF_VAR_MAX; i++)
		if (strlen(names[i]) == len && !memcmp(names[i], name, len))
			return i;
	return -1;
}

/* NULL, or what is wrong with a directory's path. "/" would open or close the whole host. */
static const char *bad_path(const char *path)
{
	size_t len = strlen(path);

	if (path[0] != '/')
		return "must be an absolute path";
	if (len == 1)
		return "is \"/\": name a directory of its own";
	if (len > RF_PATH_MAX)
		return "is longer than a path can be";
	for (const char *p = path; *p; p += strcspn(p, "/")) {
		size_t n = strcspn(++p, "/");

		if (!n)
			return "must be written without \"//\" and without '/' at its end";
		if ((n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
			return "must not hold \".\" or \"..\"";
	}
	return NULL;
}

static const char *bad_value(int var, const char *value)
{
	size_t len = strlen(value);

	for (size_t i = 0, n; i < len; i += n) {
		uint32_t code = 0;

		n = rf_diag_utf8(value + i, len - i, &code);
		if (!n)
			return "is not UTF-8: a policy can't name such a path";
	}
	if (!len)
		return "is empty: leave it out or fill it in";
	if (var != RF_VAR_USER && var != RF_VAR_RUN)
		return bad_path(value);
	if (strchr(value, '/') || !strcmp(value, ".") || !strcmp(value, ".."))
		return "must be one name without '/'";
	return NULL;
}

int rf_vars_read(const struct rf_policy_args *args, struct rf_vars *ret, struct rf_diag *diag)
{
	struct rf_vars vars = {};
	struct rf_place place = {args->name, 0, 0};

	for (const char *const *v = args->vars; v && *v; v++) {
		size_t len = strcspn(*v, "=");
		int var = (*v)[len] ? number(*v, len) : -1;
		const char *bad;

		if (var < 0)
			return rf_diag_at(diag, place, "variable \"%.60s\" is not known: known are " KNOWN, *v);
		bad = bad_value(var, *v + len + 1);
		if (bad)
			return rf_diag_at(diag, place, "the value of ${%s}, \"%.200s\", %s", names[var], *v + len + 1,
					  bad);
		if (vars.value[var])
			return rf_diag_at(diag, place, "variable ${%s} is given twice: keep one", names[var]);
		vars.value[var] = *v + len + 1;
	}
	*ret = vars;
	return 0;
}

static void put(FILE *out, const char *value, bool glob)
{
	for (; *value; value++) {
		if (glob && strchr("*?[]{},\\", *value))
			fputc('\\', out);
		fputc(*value, out);
	}
}

/* At "${". *ret_len: bytes of the whole "${name}". */
static int fill_one(const struct rf_vars *vars, struct rf_diag *diag, struct rf_place place, const char *p, FILE *out,
		    bool glob, size_t *ret_len)
{
	size_t len = strcspn(p + 2, "}");
	int var = p[2 + len] ? number(p + 2, len) : -1;

	if (!p[2 + len])
		return rf_diag_at(diag, place, "\"${\" without '}': close it, or write \"$\\\\{\" for the characters");
	if (var < 0)
		return rf_diag_at(diag, place, "variable ${%.*s} is not known: known are " KNOWN,
				  len > 60 ? 60 : (int)len, p + 2);
	if (!vars->value[var])
		return rf_diag_at(diag, place, "variable ${%s} has no value here: give it one", names[var]);
	put(out, vars->value[var], glob);
	*ret_len = len + 3;
	return 0;
}

int rf_vars_fill(const struct rf_vars *vars, struct rf_mem *mem, struct rf_diag *diag, const struct rf_ast_string *from,
		 bool glob, const char **ret)
{
	__cleanup(freep) char *buf = NULL;
	size_t size;
	FILE *out = open_memstream(&buf, &size);
	int err = 0;

	if (!out)
		return -ENOMEM;
	for (const char *p = from->text; *p && !err;) {
		size_t n = 1;

		if (p[0] == '$' && p[1] == '{') {
			err = fill_one(vars, diag, from->place, p, out, glob, &n);
		} else {
			/* an escaped byte begins no variable */
			if (glob && p[0] == '\\' && p[1])
				n = 2;
			fwrite(p, 1, n, out);
		}
		p += n;
	}
	if (fclose(out) && !err)
		err = -ENOMEM;
	if (err)
		return err;
	*ret = rf_mem_copy(mem, buf, size);
	return *ret ? 0 : -ENOMEM;
}

char *rf_glob_quote(struct rf_mem *mem, const char *literal)
{
	__cleanup(freep) char *buf = NULL;
	size_t size;
	FILE *out = open_memstream(&buf, &size);

	if (!out)
		return NULL;
	put(out, literal, true);
	if (fclose(out))
		return NULL;
	return rf_mem_copy(mem, buf, size);
}
