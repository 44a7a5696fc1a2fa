/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything a policy is compiled from, in one value: its text, the texts it extends, the floor, the variables and what
 * the symlinks led to. The enforcer stores it with the run, so that one that starts later rebuilds the same policy
 * whatever became of the files and symlinks since. The command line uses it to check and explain.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "control/request.h"
#include "lib/options.h"
#include "policy/policy.h"

#define RF_POLICY_DIRS_DEFAULT                                                  \
	{                                                                       \
		{"/etc/ringfence/policies", "/usr/share/ringfence/policies"}, 2 \
	}
#define RF_FLOOR_DEFAULT "/etc/ringfence/floor.json"
#define RF_VARS_MAX 8

struct rf_text {
	char *name; /* by which "extends" finds it; of the floor: NULL */
	char *file; /* what messages call it */
	char *text;
	size_t len;
};

struct rf_resolution {
	char *path, *target;
};

struct rf_texts {
	struct rf_text policy;
	char *dir; /* where the policy's file lies; the command line looks for "extends" there */
	bool named; /* policy.name is a file of the policy directories, which a reload reads again */
	struct rf_text layers[RF_LAYERS_MAX];
	size_t layer_count;
	struct rf_text floor; /* text NULL: none */
	char *vars[RF_VARS_MAX + 1]; /* "name=value" */
	size_t var_count;
	struct rf_resolution *resolved; /* only paths that led elsewhere */
	size_t resolved_count;
	time_t now; /* for "expires"; 0: the present. A run that began in time goes on */
	const struct rf_option_list *dirs; /* borrowed from the last call */
	/* What a path is when all symlinks are followed; NULL: realpath(3). */
	int (*look)(void *ctx, const char *path, char **ret);
	void *look_ctx;
	const struct rf_aliases *aliases; /* what the view shows at several places; NULL: nothing */
	bool frozen; /* resolved[] is complete: look nothing up in the filesystem */
};

void rf_texts_done(struct rf_texts *t);
/* Takes copies. -ENOMEM, -E2BIG. */
int rf_text_set(struct rf_text *text, const char *name, const char *file, const char *bytes, size_t len);
int rf_texts_add_layer(struct rf_texts *t, const char *name, const char *file, const char *bytes, size_t len);
/* Adds "name=value" unless value is NULL. */
int rf_texts_add_var(struct rf_texts *t, const char *name, const char *value);
/* Reads a policy by bare name from the first directory that has it. -ENOENT: none has. *ret_file is where it was. */
int rf_texts_find(const struct rf_option_list *dirs, const char *name, char **ret_text, size_t *ret_len,
		  char **ret_file);
int rf_texts_load_named(struct rf_texts *t, const struct rf_option_list *dirs, const char *name);
/* -ENOENT is no error for the default floor: t->floor stays empty. */
int rf_texts_load_floor(struct rf_texts *t, const char *path);

/*
 * Compiles; what "extends" names comes from t->layers, then from dirs (may be NULL) and is then added to t->layers.
 * As rf_policy_compile(): 0, -EINVAL with *diag, -ENOMEM. rf_policy_explain() asks t again for symlinks: t must then stay
 * where it is while the policy lives.
 */
int rf_texts_compile(struct rf_texts *t, const struct rf_option_list *dirs, struct rf_policy **ret,
		     struct rf_diag *diag);
/* The same with no look at the filesystem for symlinks: `policy check`. */
int rf_texts_check(struct rf_texts *t, const struct rf_option_list *dirs, struct rf_policy **ret, struct rf_diag *diag);

/* What rf_policy_compile() and rf_policy_table_run() take; borrows t and dirs, which must outlive its use. */
void rf_texts_args(struct rf_texts *t, const struct rf_option_list *dirs, bool look, struct rf_policy_args *ret);

struct json_object;
/* *ret is the caller's to put. from_json takes bytes of the enforcer's own file: -EBADMSG when they are not whole. */
int rf_texts_to_json(const struct rf_texts *t, struct json_object **ret);
int rf_texts_from_json(struct rf_texts *t, struct json_object *object);
