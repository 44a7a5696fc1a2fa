// SPDX-License-Identifier: Apache-2.0
/*
 * Which files a policy is made of, in the order in which they are laid over each other: what it extends, depth first
 * in the order of the list, then the policy, then the host's floor.
 */
#include "policy/ast.h"

#include <errno.h>
#include <string.h>

#include "lib/cleanup.h"

_Static_assert(RF_POLICY_LAYERS_MAX == 16, "a message names the bound");

/* From the policy to the file that is being loaded. */
struct chain {
	const char *name;
	const struct chain *below;
};

static void put_chain(const struct chain *chain, char *text, size_t size)
{
	size_t used;

	if (chain->below)
		put_chain(chain->below, text, size);
	used = strlen(text);
	snprintf(text + used, size - used, "%s%s", used ? " -> " : "", chain->name);
}

static int refuse_chain(struct rf_compile *c, const struct rf_ast_string *s, const struct chain *chain,
			const char *what)
{
	char names[1400] = "";

	put_chain(chain, names, sizeof(names));
	return rf_diag_at(c->diag, s->place, "%s: %s", what, names);
}

static int load(struct rf_compile *c, const struct rf_ast *ast, const struct chain *chain);

static int find(struct rf_compile *c, const struct rf_ast_string *s, const struct rf_ast **ret)
{
	__cleanup(freep) char *text = NULL, *file = NULL;
	const char *name;
	size_t len = 0;
	int err;

	if (!c->args->find)
		return rf_diag_at(c->diag, s->place, "nothing can be extended here: remove \"extends\"");
	err = c->args->find(c->args->ctx, s->text, &text, &len, &file);
	if (err == -ENOMEM)
		return err;
	if (err == -ENOENT)
		return rf_diag_at(c->diag, s->place, "there is no policy \"%.80s\" to extend: check the name", s->text);
	if (err)
		return rf_diag_at(c->diag, s->place, "policy \"%.80s\" can't be read: %s", s->text, strerror(-err));
	name = rf_mem_copy(c->mem, file ? file : s->text, strlen(file ? file : s->text));
	if (!name)
		return -ENOMEM;
	/* nothing of the tree points into text */
	err = rf_ast_parse(c, name, text, len, ret);
	if (!err)
		err = rf_ast_check(c, *ret, false);
	if (!err && strcmp((*ret)->name.text, s->text))
		err = rf_diag_at(c->diag, (*ret)->name.place,
				 "the policy found for \"%.80s\" calls itself \"%.80s\": make them equal", s->text,
				 (*ret)->name.text);
	/* Its rules would be enforced: to say nothing of its mode would be to ignore it. */
	if (!err && (*ret)->mode.text && !strcmp((*ret)->mode.text, "observe"))
		err = rf_diag_at(c->diag, (*ret)->mode_key,
				 "\"mode\": \"observe\" of a policy that is extended has no effect: set it in the one "
				 "above");
	return err;
}

static int extend(struct rf_compile *c, const struct rf_ast_string *s, const struct chain *chain)
{
	const struct chain here = {s->text, chain};
	const struct rf_ast *ast = NULL;
	size_t depth = 0; /* the chain itself becomes that many layers */
	int err;

	if (!rf_ast_is_name(s->text, RF_NAME_BYTES_MAX))
		return rf_diag_at(c->diag, s->place, "\"%.80s\" is no policy's name: write \"linux-base\", not a path",
				  s->text);
	for (const struct chain *l = chain; l; l = l->below, depth++)
		if (!strcmp(l->name, s->text))
			return refuse_chain(c, s, &here, "a circle of \"extends\", break it");
	/* Laid once, where it is named first: laid again, it would undo what others had denied on top of it. */
	for (size_t i = 0; i < c->n_layers; i++)
		if (!strcmp(c->layers[i].name, s->text))
			return 0;
	if (depth + c->n_layers >= RF_POLICY_LAYERS_MAX)
		return refuse_chain(c, s, &here, "more than 16 layers, join some");
	err = find(c, s, &ast);
	if (!err && !ast)
		err = -EINVAL;
	return err ? err : load(c, ast, &here);
}

/* chain ends in the policy of ast. */
static int load(struct rf_compile *c, const struct rf_ast *ast, const struct chain *chain)
{
	for (size_t i = 0; i < ast->extends.n; i++) {
		int err = extend(c, &ast->extends.items[i], chain);

		if (err)
			return err;
	}
	c->layers[c->n_layers++] = (struct rf_layer){ast->name.text, ast, false};
	return 0;
}

static int load_floor(struct rf_compile *c)
{
	const struct rf_policy_args *args = c->args;
	const char *file = args->floor_name ? args->floor_name : "floor";
	const struct rf_ast *ast;
	int err;

	if (!args->floor_text)
		return 0;
	file = rf_mem_copy(c->mem, file, strlen(file));
	if (!file)
		return -ENOMEM;
	err = rf_ast_parse(c, file, args->floor_text, args->floor_len, &ast);
	if (!err)
		err = rf_ast_check(c, ast, true);
	if (err)
		return err;
	c->layers[c->n_layers++] = (struct rf_layer){"floor", ast, true};
	return 0;
}

int rf_layers_load(struct rf_compile *c)
{
	const char *file = rf_mem_copy(c->mem, c->args->name, strlen(c->args->name));
	const struct rf_ast *ast;
	struct chain chain = {};
	int err;

	if (!file)
		return -ENOMEM;
	err = rf_ast_parse(c, file, c->args->text, c->args->len, &ast);
	if (!err)
		err = rf_ast_check(c, ast, false);
	if (err)
		return err;
	chain.name = ast->name.text;
	err = load(c, ast, &chain);
	if (err)
		return err;
	c->own = c->n_layers - 1;
	return load_floor(c);
}
