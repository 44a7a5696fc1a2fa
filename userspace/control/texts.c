// SPDX-License-Identifier: Apache-2.0
/* Everything a policy is compiled from. */
#define _GNU_SOURCE 1 /* asprintf */

#include "control/texts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/fdio.h"

static void text_done(struct rf_text *text)
{
	free(text->name);
	free(text->file);
	free(text->text);
	*text = (struct rf_text){};
}

void rf_texts_done(struct rf_texts *t)
{
	text_done(&t->policy);
	text_done(&t->floor);
	for (size_t i = 0; i < t->layer_count; i++)
		text_done(&t->layers[i]);
	for (size_t i = 0; i < t->var_count; i++)
		free(t->vars[i]);
	for (size_t i = 0; i < t->resolved_count; i++) {
		free(t->resolved[i].path);
		free(t->resolved[i].target);
	}
	free(t->resolved);
	free(t->dir);
	*t = (struct rf_texts){};
}

int rf_text_set(struct rf_text *text, const char *name, const char *file, const char *bytes, size_t len)
{
	struct rf_text copy = {.name = name ? strdup(name) : NULL, .file = strdup(file), .text = malloc(len + 1)};

	if ((name && !copy.name) || !copy.file || !copy.text) {
		text_done(&copy);
		return -ENOMEM;
	}
	memcpy(copy.text, bytes, len);
	copy.text[len] = '\0';
	copy.len = len;
	text_done(text);
	*text = copy;
	return 0;
}

int rf_texts_add_layer(struct rf_texts *t, const char *name, const char *file, const char *bytes, size_t len)
{
	int err;

	if (t->layer_count == RF_LAYERS_MAX)
		return -E2BIG;
	err = rf_text_set(&t->layers[t->layer_count], name, file, bytes, len);
	t->layer_count += !err;
	return err;
}

int rf_texts_add_var(struct rf_texts *t, const char *name, const char *value)
{
	if (!value)
		return 0;
	if (t->var_count == RF_VARS_MAX)
		return -E2BIG;
	if (asprintf(&t->vars[t->var_count], "%s=%s", name, value) < 0) {
		t->vars[t->var_count] = NULL;
		return -ENOMEM;
	}
	t->var_count++;
	return 0;
}

int rf_texts_find(const struct rf_option_list *dirs, const char *name, char **ret_text, size_t *ret_len,
		  char **ret_file)
{
	/* The name may come from a client: it must not lead out of the directories. */
	if (!rf_bare_name(name))
		return -ENOENT;
	for (size_t i = 0; i < dirs->n; i++) {
		__cleanup(freep) char *file = NULL;
		int err;

		if (asprintf(&file, "%s/%s.json", dirs->value[i], name) < 0) {
			file = NULL;
			return -ENOMEM;
		}
		err = rf_read_file(AT_FDCWD, file, RF_POLICY_BYTES_MAX, ret_text, ret_len);
		if (err == -ENOENT || err == -ENOTDIR)
			continue;
		if (!err)
			*ret_file = TAKE_PTR(file);
		return err;
	}
	return -ENOENT;
}

int rf_texts_load_named(struct rf_texts *t, const struct rf_option_list *dirs, const char *name)
{
	__cleanup(freep) char *text = NULL, *file = NULL;
	size_t len;
	int err = rf_texts_find(dirs, name, &text, &len, &file);

	if (!err)
		err = rf_text_set(&t->policy, name, file, text, len);
	if (!err)
		t->named = true;
	return err;
}

int rf_texts_load_floor(struct rf_texts *t, const char *path)
{
	__cleanup(freep) char *text = NULL;
	size_t len;
	int err = rf_read_file(AT_FDCWD, path ? path : RF_FLOOR_DEFAULT, RF_POLICY_BYTES_MAX, &text, &len);

	if (err == -ENOENT && !path)
		return 0;
	return err ? err : rf_text_set(&t->floor, NULL, path ? path : RF_FLOOR_DEFAULT, text, len);
}

static int give(const struct rf_text *text, char **ret_text, size_t *ret_len, char **ret_file)
{
	__cleanup(freep) char *copy = malloc(text->len + 1), *file = strdup(text->file);

	if (!copy || !file)
		return -ENOMEM;
	memcpy(copy, text->text, text->len + 1);
	*ret_text = TAKE_PTR(copy);
	*ret_file = TAKE_PTR(file);
	*ret_len = text->len;
	return 0;
}

static int find(void *ctx, const char *name, char **ret_text, size_t *ret_len, char **ret_file)
{
	struct rf_texts *t = ctx;
	__cleanup(freep) char *text = NULL, *file = NULL;
	size_t len;
	int err;

	for (size_t i = 0; i < t->layer_count; i++)
		if (!strcmp(t->layers[i].name, name))
			return give(&t->layers[i], ret_text, ret_len, ret_file);
	err = t->dirs ? rf_texts_find(t->dirs, name, &text, &len, &file) : -ENOENT;
	if (!err)
		err = rf_texts_add_layer(t, name, file, text, len);
	return err ? err : give(&t->layers[t->layer_count - 1], ret_text, ret_len, ret_file);
}

static int remember(struct rf_texts *t, const char *path, const char *target)
{
	struct rf_resolution *more = realloc(t->resolved, (t->resolved_count + 1) * sizeof(*more)), *r;

	if (!more)
		return -ENOMEM;
	t->resolved = more;
	r = &more[t->resolved_count];
	*r = (struct rf_resolution){strdup(path), strdup(target)};
	if (!r->path || !r->target) {
		free(r->path);
		free(r->target);
		return -ENOMEM;
	}
	t->resolved_count++;
	return 0;
}

/*
 * What was once found stays for the run's life: an agent that turns a directory of its workspace into a symlink must
 * not get a policy for the place it leads to when the policy is compiled again.
 */
static int resolve(void *ctx, const char *path, char **ret)
{
	struct rf_texts *t = ctx;
	__cleanup(freep) char *target = NULL;
	int err;

	for (size_t i = 0; i < t->resolved_count; i++)
		if (!strcmp(t->resolved[i].path, path))
			return (*ret = strdup(t->resolved[i].target)) ? 0 : -ENOMEM;
	if (t->frozen)
		return -ENOENT;
	if (t->look) {
		err = t->look(t->look_ctx, path, &target);
		if (err)
			return err;
	} else {
		target = realpath(path, NULL);
		if (!target)
			return -errno;
	}
	err = strcmp(path, target) ? remember(t, path, target) : 0;
	if (!err)
		*ret = TAKE_PTR(target);
	return err;
}

void rf_texts_args(struct rf_texts *t, const struct rf_option_list *dirs, bool look, struct rf_policy_args *ret)
{
	t->dirs = dirs;
	*ret = (struct rf_policy_args){
		.name = t->policy.file,
		.text = t->policy.text,
		.len = t->policy.len,
		.find = find,
		.resolve = look ? resolve : NULL,
		.ctx = t,
		.aliases = look ? t->aliases : NULL,
		.floor_name = t->floor.file,
		.floor_text = t->floor.text,
		.floor_len = t->floor.len,
		.vars = (const char *const *)t->vars,
		.now = t->now ? t->now : time(NULL),
	};
}

int rf_texts_compile(struct rf_texts *t, const struct rf_option_list *dirs, struct rf_policy **ret,
		     struct rf_diag *diag)
{
	struct rf_policy_args args;

	rf_texts_args(t, dirs, true, &args);
	return rf_policy_compile(&args, ret, diag);
}

int rf_texts_check(struct rf_texts *t, const struct rf_option_list *dirs, struct rf_policy **ret, struct rf_diag *diag)
{
	struct rf_policy_args args;

	rf_texts_args(t, dirs, false, &args);
	return rf_policy_compile(&args, ret, diag);
}
