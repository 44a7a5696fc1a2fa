// SPDX-License-Identifier: Apache-2.0
/* Keys of a policy file and the kind of value each takes; unknown and not yet enforced ones are refused here. */
#include "policy/ast.h"

#include <errno.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define KEYS_MAX 16

/* take: NULL for a key of the design that this version does not enforce yet: refused, never ignored. */
struct key {
	const char *name;
	int (*take)(struct rf_compile *c, const struct rf_json *v, void *into);
};

static int mistyped(struct rf_compile *c, const struct rf_json *v, const char *wanted)
{
	return rf_diag_at(c->diag, v->place, "\"%.60s\" must be %s, not %s", v->key, wanted, rf_json_what(v->type));
}

static int refuse_key(struct rf_compile *c, const struct rf_json *m, const char *where, const struct key *keys,
		      size_t n)
{
	const char *names[KEYS_MAX] = {}, *close;
	char list[256] = "";
	size_t used = 0;

	for (size_t i = 0; i < n; i++) {
		names[i] = keys[i].name;
		if (keys[i].take)
			used += (size_t)snprintf(list + used, sizeof(list) - used, "%s\"%s\"", used ? ", " : "",
						 keys[i].name);
	}
	close = rf_diag_closest(m->key, names, n);
	if (close)
		return rf_diag_at(c->diag, m->key_place, "unknown key \"%.60s\" in %s: did you mean \"%s\"?", m->key,
				  where, close);
	return rf_diag_at(c->diag, m->key_place, "unknown key \"%.60s\" in %s: known are %s", m->key, where, list);
}

static int take_members(struct rf_compile *c, const struct rf_json *object, const char *where, const struct key *keys,
			size_t n, void *into)
{
	for (const struct rf_json *m = object->first; m; m = m->next) {
		const struct key *key = NULL;
		int err;

		for (size_t i = 0; i < n && !key; i++)
			if (!strcmp(keys[i].name, m->key))
				key = &keys[i];
		if (!key)
			return refuse_key(c, m, where, keys, n);
		if (!key->take)
			return rf_diag_at(c->diag, m->key_place,
					  "\"%s\" in %s is not enforced by this version: remove it", m->key, where);
		err = key->take(c, m, into);
		if (err)
			return err;
	}
	return 0;
}

static int take_string(struct rf_compile *c, const struct rf_json *v, struct rf_ast_string *into)
{
	if (v->type != RF_JSON_STRING)
		return mistyped(c, v, "a string");
	if (!*v->text)
		return rf_diag_at(c->diag, v->place, "\"%.60s\" is empty: leave it out or fill it in", v->key);
	into->text = v->text;
	into->place = v->place;
	return 0;
}

static int take_list(struct rf_compile *c, const struct rf_json *v, struct rf_ast_list *into)
{
	struct rf_ast_string *s;

	if (v->type != RF_JSON_LIST)
		return mistyped(c, v, "a list of strings");
	if (!v->n)
		return rf_diag_at(c->diag, v->place, "\"%.60s\" is empty: name at least one", v->key);
	s = into->items = rf_mem_array(c->mem, v->n, sizeof(*s));
	if (!s)
		return -ENOMEM;
	into->n = v->n;
	into->place = v->place;
	for (const struct rf_json *e = v->first; e; e = e->next, s++) {
		if (e->type != RF_JSON_STRING)
			return rf_diag_at(c->diag, e->place, "\"%.60s\" must be a list of strings, but holds %s",
					  v->key, rf_json_what(e->type));
		if (!*e->text)
			return rf_diag_at(c->diag, e->place, "an empty string in \"%.60s\": remove it", v->key);
		s->text = e->text;
		s->place = e->place;
	}
	return 0;
}

/* One function for each key of a rule. */

static int take_verb(struct rf_compile *c, const struct rf_json *v, struct rf_ast_rule *rule, bool allow)
{
	if (rule->verb.items)
		return rf_diag_at(c->diag, v->key_place,
				  "\"allow\" and \"deny\" in one rule: make two rules, the last that matches wins");
	rule->allow = allow;
	rule->verb_place = v->key_place;
	return take_list(c, v, &rule->verb);
}

static int take_allow(struct rf_compile *c, const struct rf_json *v, void *into)
{
	return take_verb(c, v, into, true);
}

static int take_deny(struct rf_compile *c, const struct rf_json *v, void *into)
{
	return take_verb(c, v, into, false);
}

static int take_paths(struct rf_compile *c, const struct rf_json *v, void *into)
{
	return take_list(c, v, &((struct rf_ast_rule *)into)->paths);
}

static int take_ports(struct rf_compile *c, const struct rf_json *v, void *into)
{
	return take_list(c, v, &((struct rf_ast_rule *)into)->ports);
}

static int take_protocol(struct rf_compile *c, const struct rf_json *v, void *into)
{
	return take_string(c, v, &((struct rf_ast_rule *)into)->protocol);
}

static int take_id(struct rf_compile *c, const struct rf_json *v, void *into)
{
	return take_string(c, v, &((struct rf_ast_rule *)into)->id);
}

static int take_why(struct rf_compile *c, const struct rf_json *v, void *into)
{
	return take_string(c, v, &((struct rf_ast_rule *)into)->why);
}

static int take_unknown_fs(struct rf_compile *c, const struct rf_json *v, void *into)
{
	struct rf_ast_rule *rule = into;

	if (v->type != RF_JSON_BOOL)
		return mistyped(c, v, "true");
	if (!v->truth)
		return rf_diag_at(c->diag, v->place, "\"unknown-filesystem\" is true or left out: give \"paths\"");
	rule->unknown_fs = true;
	rule->unknown_fs_place = v->key_place;
	return 0;
}

static const struct key file_keys[] = {{"allow", take_allow}, {"deny", take_deny},
				       {"paths", take_paths}, {"unknown-filesystem", take_unknown_fs},
				       {"id", take_id},	      {"why", take_why}};
static const struct key exec_keys[] = {{"allow", take_allow}, {"deny", take_deny}, {"id", take_id}, {"why", take_why}};
static const struct key connect_keys[] = {{"allow", take_allow},       {"deny", take_deny}, {"ports", take_ports},
					  {"protocol", take_protocol}, {"id", take_id},	    {"why", take_why}};
static const struct key unix_keys[] = {{"allow", take_allow}, {"deny", take_deny}, {"id", take_id}, {"why", take_why}};

struct section {
	const char *where, *what; /* what: the elements of its list */
	const struct key *keys;
	size_t n;
};
static const struct section sections[] = {
	[RF_AST_FILES] = {"a rule of \"files\"", "a list of rules, [{\"allow\": [\"read\"], \"paths\": [\"/usr/**\"]}]",
			  file_keys, COUNT(file_keys)},
	[RF_AST_EXEC] = {"a rule of \"exec\"", "a list of rules, [{\"deny\": [\"anonymous\"]}]", exec_keys,
			 COUNT(exec_keys)},
	[RF_AST_CONNECT] = {"a rule of \"network.connect\"",
			    "a list of rules, [{\"allow\": [\"10.0.0.0/8\"], \"ports\": [\"443\"]}]", connect_keys,
			    COUNT(connect_keys)},
	[RF_AST_UNIX] = {"a rule of \"network.unix\"", "a list of rules, [{\"allow\": [\"/run/x.sock\"]}]", unix_keys,
			 COUNT(unix_keys)},
};
_Static_assert(COUNT(sections) == RF_AST_SECTIONS, "a section has no keys");

static int take_rules(struct rf_compile *c, const struct rf_json *v, struct rf_ast *ast, enum rf_ast_section section)
{
	const struct section *s = &sections[section];
	struct rf_ast_rule *rule;
	size_t index = 0;

	if (v->type != RF_JSON_LIST)
		return mistyped(c, v, s->what);
	rule = ast->rules[section] = rf_mem_array(c->mem, v->n, sizeof(*rule));
	if (!rule)
		return -ENOMEM;
	ast->n_rules[section] = v->n;
	for (const struct rf_json *e = v->first; e; e = e->next, rule++) {
		int err;

		if (e->type != RF_JSON_OBJECT)
			return rf_diag_at(c->diag, e->place, "%s must be an object, not %s", s->where,
					  rf_json_what(e->type));
		rule->section = section;
		rule->index = index++;
		rule->place = e->place;
		err = take_members(c, e, s->where, s->keys, s->n, rule);
		if (err)
			return err;
		if (!rule->verb.items)
			return rf_diag_at(c->diag, e->place, "%s without \"allow\" or \"deny\": add one", s->where);
	}
	return 0;
}

static int take_files(struct rf_compile *c, const struct rf_json *v, void *into)
{
	return take_rules(c, v, into, RF_AST_FILES);
}

static int take_exec(struct rf_compile *c, const struct rf_json *v, void *into)
{
	return take_rules(c, v, into, RF_AST_EXEC);
}

static int take_connect(struct rf_compile *c, const struct rf_json *v, void *into)
{
	return take_rules(c, v, into, RF_AST_CONNECT);
}

static int take_unix(struct rf_compile *c, const struct rf_json *v, void *into)
{
	return take_rules(c, v, into, RF_AST_UNIX);
}

static int take_network(struct rf_compile *c, const struct rf_json *v, void *into)
{
	static const struct key keys[] = {
		{"connect", take_connect}, {"unix", take_unix}, {"listen", NULL}, {"resolvers", NULL}};

	if (v->type != RF_JSON_OBJECT)
		return mistyped(c, v, "an object with \"connect\" and \"unix\"");
	return take_members(c, v, "\"network\"", keys, COUNT(keys), into);
}

static int take_record(struct rf_compile *c, const struct rf_json *v, void *into)
{
	return take_list(c, v, &((struct rf_ast *)into)->record);
}

static int take_audit(struct rf_compile *c, const struct rf_json *v, void *into)
{
	static const struct key keys[] = {{"record", take_record}};

	if (v->type != RF_JSON_OBJECT)
		return mistyped(c, v, "an object with \"record\"");
	return take_members(c, v, "\"audit\"", keys, COUNT(keys), into);
}

/* One function for each of the other keys at the top. */

static int take_version(struct rf_compile *c, const struct rf_json *v, void *into)
{
	struct rf_ast *ast = into;

	if (v->type != RF_JSON_NUMBER)
		return mistyped(c, v, "the number 1");
	if (strcmp(v->text, "1"))
		return rf_diag_at(c->diag, v->place, "policy version %.20s is not known here: write \"ringfence\": 1",
				  v->text);
	ast->version.text = v->text;
	return 0;
}

static int take_name(struct rf_compile *c, const struct rf_json *v, void *into)
{
	return take_string(c, v, &((struct rf_ast *)into)->name);
}

static int take_owner(struct rf_compile *c, const struct rf_json *v, void *into)
{
	return take_string(c, v, &((struct rf_ast *)into)->owner);
}

static int take_stage(struct rf_compile *c, const struct rf_json *v, void *into)
{
	((struct rf_ast *)into)->stage_key = v->key_place;
	return take_string(c, v, &((struct rf_ast *)into)->stage);
}

static int take_expires(struct rf_compile *c, const struct rf_json *v, void *into)
{
	((struct rf_ast *)into)->expires_key = v->key_place;
	return take_string(c, v, &((struct rf_ast *)into)->expires);
}

static int take_mode(struct rf_compile *c, const struct rf_json *v, void *into)
{
	((struct rf_ast *)into)->mode_key = v->key_place;
	return take_string(c, v, &((struct rf_ast *)into)->mode);
}

static int take_extends(struct rf_compile *c, const struct rf_json *v, void *into)
{
	((struct rf_ast *)into)->extends_key = v->key_place;
	return take_list(c, v, &((struct rf_ast *)into)->extends);
}

int rf_ast_parse(struct rf_compile *c, const char *file, const char *text, size_t len, const struct rf_ast **ret)
{
	static const struct key keys[] = {{"ringfence", take_version},
					  {"name", take_name},
					  {"owner", take_owner},
					  {"stage", take_stage},
					  {"expires", take_expires},
					  {"mode", take_mode},
					  {"extends", take_extends},
					  {"files", take_files},
					  {"exec", take_exec},
					  {"network", take_network},
					  {"audit", take_audit},
					  {"process", NULL},
					  {"limits", NULL},
					  {"env", NULL},
					  {"degrade", NULL}};
	struct rf_json *tree;
	struct rf_ast *ast;
	int err = rf_json_read(c->mem, file, text, len, &tree, c->diag);

	_Static_assert(COUNT(keys) <= KEYS_MAX, "refuse_key() has no room");
	if (err)
		return err;
	if (tree->type != RF_JSON_OBJECT)
		return rf_diag_at(c->diag, tree->place, "a policy must be an object, {\"ringfence\": 1, ...}, not %s",
				  rf_json_what(tree->type));
	ast = rf_mem_get(c->mem, sizeof(*ast));
	if (!ast)
		return -ENOMEM;
	ast->place = tree->place;
	err = take_members(c, tree, "a policy", keys, COUNT(keys), ast);
	if (!err)
		*ret = ast;
	return err;
}
