// SPDX-License-Identifier: Apache-2.0
/* Tables of expected answers: the tests of a policy, beside it as X.tests.json. */
#include "policy/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/names.h"
#include "policy/ast.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

struct rf_table {
	struct rf_mem mem;
	struct rf_table_row *rows;
	struct row_place {
		struct rf_place object, to;
	} * places;
	size_t n, failed;
	const char **vars; /* "name=value", NULL-terminated */
	struct rf_vars values;
};

static int unknown_key(const struct rf_json *m, const char *where, const char *const *names, size_t n,
		       struct rf_diag *diag)
{
	const char *close = rf_diag_closest(m->key, names, n);

	return rf_diag_at(diag, m->key_place, "unknown key \"%.60s\" in %s: %s \"%s\"%s", m->key, where,
			  close ? "did you mean" : "write one like", close ? close : names[0], close ? "?" : "");
}

static int want_string(const struct rf_json *m, struct rf_diag *diag)
{
	if (m->type == RF_JSON_STRING && *m->text)
		return 0;
	return rf_diag_at(diag, m->place, "\"%.60s\" must be a string that is not empty, not %s", m->key,
			  m->type == RF_JSON_STRING ? "an empty one" : rf_json_what(m->type));
}

static int take_variables(struct rf_table *t, const struct rf_json *v, struct rf_diag *diag)
{
	size_t n = 0;

	if (v->type != RF_JSON_OBJECT)
		return rf_diag_at(diag, v->place, "\"variables\" must be an object, {\"workspace\": \"/w\"}, not %s",
				  rf_json_what(v->type));
	t->vars = rf_mem_array(&t->mem, v->n + 1, sizeof(*t->vars));
	if (!t->vars)
		return -ENOMEM;
	for (const struct rf_json *m = v->first; m; m = m->next) {
		struct rf_policy_args args = {.name = m->place.file};
		struct rf_vars one;
		int err = want_string(m, diag);

		if (err)
			return err;
		t->vars[n] = rf_mem_printf(&t->mem, "%s=%s", m->key, m->text);
		if (!t->vars[n])
			return -ENOMEM;
		/* one by one, for the place of the message */
		args.vars = (const char *const[]){t->vars[n++], NULL};
		err = rf_vars_read(&args, &one, diag);
		if (err) {
			diag->line = m->key_place.line;
			diag->column = m->key_place.column;
			return err;
		}
	}
	return 0;
}

static int take_expect(struct rf_table_row *row, const struct rf_json *m, struct rf_diag *diag)
{
	row->expect_allow = !strcmp(m->text, "allow");
	if (!row->expect_allow && strcmp(m->text, "deny"))
		return rf_diag_at(diag, m->place, "\"expect\" is \"%.40s\": write \"allow\" or \"deny\"", m->text);
	return 0;
}

static int take_row(struct rf_table_row *row, struct row_place *place, const struct rf_json *v, struct rf_diag *diag)
{
	static const char *const names[] = {"access", "object", "expect", "rule", "to", "why"};
	bool expected = false;

	if (v->type != RF_JSON_OBJECT)
		return rf_diag_at(diag, v->place, "a row must be an object, not %s", rf_json_what(v->type));
	row->line = v->place.line;
	for (const struct rf_json *m = v->first; m; m = m->next) {
		size_t key = 0;
		int err = 0;

		while (key < COUNT(names) && strcmp(names[key], m->key))
			key++;
		if (key == COUNT(names))
			return unknown_key(m, "a row", names, COUNT(names), diag);
		err = want_string(m, diag);
		if (!err && key == 2)
			err = take_expect(row, m, diag);
		if (err)
			return err;
		expected = expected || key == 2;
		if (key == 0)
			row->access = m->text;
		if (key == 1) {
			row->object = m->text;
			place->object = m->place;
		}
		if (key == 3)
			row->expect_rule = m->text;
		if (key == 4) {
			row->to = m->text;
			place->to = m->place;
		}
	}
	if (!row->access || !row->object || !expected)
		return rf_diag_at(diag, v->place, "a row needs \"access\", \"object\" and \"expect\": add \"%s\"",
				  !row->access	 ? "access"
				  : !row->object ? "object"
						 : "expect");
	if (rf_policy_is_second(row->access) != !!row->to)
		return rf_diag_at(diag, v->place,
				  row->to ? "only file.rename and file.link take \"to\", not %s"
					  : "%s needs \"to\", the new name",
				  row->access);
	return 0;
}

static int take_rows(struct rf_table *t, const struct rf_json *v, struct rf_diag *diag)
{
	if (v->type != RF_JSON_LIST || !v->n)
		return rf_diag_at(diag, v->place, "\"rows\" must be a list of rows, not %s",
				  v->type == RF_JSON_LIST ? "an empty one" : rf_json_what(v->type));
	t->rows = rf_mem_array(&t->mem, v->n, sizeof(*t->rows));
	t->places = rf_mem_array(&t->mem, v->n, sizeof(*t->places));
	if (!t->rows || !t->places)
		return -ENOMEM;
	for (const struct rf_json *e = v->first; e; e = e->next, t->n++) {
		int err = take_row(&t->rows[t->n], &t->places[t->n], e, diag);

		if (err)
			return err;
	}
	return 0;
}

static int take_table(struct rf_table *t, const struct rf_json *tree, struct rf_diag *diag)
{
	static const char *const names[] = {"variables", "rows"};

	if (tree->type != RF_JSON_OBJECT)
		return rf_diag_at(diag, tree->place, "a table must be an object with \"rows\", not %s",
				  rf_json_what(tree->type));
	for (const struct rf_json *m = tree->first; m; m = m->next) {
		int err;

		if (!strcmp(m->key, names[0]))
			err = take_variables(t, m, diag);
		else if (!strcmp(m->key, names[1]))
			err = take_rows(t, m, diag);
		else
			err = unknown_key(m, "a table", names, COUNT(names), diag);
		if (err)
			return err;
	}
	if (!t->rows)
		return rf_diag_at(diag, tree->place, "\"rows\" is missing: a table without rows tests nothing");
	return 0;
}

static bool rule_is(const struct rf_rule *rule, const char *expected, const char *full)
{
	return !strcmp(expected, full) || (rule && !strcmp(expected, rule->id));
}

/* A message about an answer, which knows no place, gets the row's. */
static int placed(int err, struct rf_place place, struct rf_diag *diag)
{
	struct rf_diag why = *diag;

	return err == -EINVAL ? rf_diag_at(diag, place, "%s", why.text) : err;
}

static int name_rule(struct rf_table *t, struct rf_table_row *row, const struct rf_rule *rule)
{
	row->rule = rule ? rf_mem_printf(&t->mem, "%s:%s", rule->layer, rule->id) : "none";
	return row->rule ? 0 : -ENOMEM;
}

static int ask_one(struct rf_table *t, const struct rf_policy *p, size_t i, const struct rf_rule **ret_rule,
		   struct rf_diag *diag)
{
	struct rf_table_row *row = &t->rows[i];
	struct rf_explanation answer;
	int err = placed(rf_policy_explain(p, row->access, row->object, &answer, diag), t->places[i].object, diag);

	if (err)
		return err;
	row->allow = answer.decision.allow;
	*ret_rule = answer.rule;
	return name_rule(t, row, answer.rule);
}

static int ask_second(struct rf_table *t, const struct rf_policy *p, size_t i, const struct rf_rule **ret_rule,
		      struct rf_diag *diag)
{
	struct rf_table_row *row = &t->rows[i];
	struct rf_ast_string to = {row->to, t->places[i].to};
	struct rf_second_explanation answer;
	int err = rf_vars_fill(&t->values, &t->mem, diag, &to, false, &row->to);

	if (!err)
		err = placed(rf_policy_explain_second(p, row->access, row->object, row->to, &answer, diag),
			     t->places[i].object, diag);
	if (err)
		return err;
	row->allow = answer.allow;
	*ret_rule = answer.rule;
	if (answer.allow || answer.reason == RF_REASON_RULE || answer.reason == RF_REASON_NO_RULE)
		return name_rule(t, row, answer.rule);
	*ret_rule = NULL;
	row->rule = rf_reason_name(answer.reason);
	return 0;
}

static int ask(struct rf_table *t, const struct rf_policy *p, size_t i, struct rf_diag *diag)
{
	struct rf_table_row *row = &t->rows[i];
	struct rf_ast_string object = {row->object, t->places[i].object};
	const struct rf_rule *rule = NULL;
	int err = rf_vars_fill(&t->values, &t->mem, diag, &object, false, &row->object);

	if (!err)
		err = (row->to ? ask_second : ask_one)(t, p, i, &rule, diag);
	if (err)
		return err;
	row->passed =
		row->allow == row->expect_allow && (!row->expect_rule || rule_is(rule, row->expect_rule, row->rule));
	t->failed += !row->passed;
	return 0;
}

int rf_policy_table_run(const struct rf_policy_args *args, const char *name, const char *text, size_t len,
			struct rf_table **ret, struct rf_diag *diag)
{
	__cleanup(rf_policy_table_free) struct rf_table *t = calloc(1, sizeof(*t));
	__cleanup(rf_policy_free) struct rf_policy *p = NULL;
	struct rf_policy_args mine = *args;
	struct rf_json *tree;
	const char *file;
	int err;

	if (!t)
		return -ENOMEM;
	file = rf_mem_copy(&t->mem, name, strlen(name));
	if (!file)
		return -ENOMEM;
	err = rf_json_read(&t->mem, file, text, len, &tree, diag);
	if (!err)
		err = take_table(t, tree, diag);
	mine.vars = t->vars;
	mine.resolve = NULL;
	if (!err)
		err = rf_vars_read(&mine, &t->values, diag);
	if (!err)
		err = rf_policy_compile(&mine, &p, diag);
	for (size_t i = 0; i < t->n && !err; i++)
		err = ask(t, p, i, diag);
	if (!err)
		*ret = TAKE_PTR(t);
	return err;
}

size_t rf_policy_table_rows(const struct rf_table *table)
{
	return table->n;
}

const struct rf_table_row *rf_policy_table_row(const struct rf_table *table, size_t i)
{
	return i < table->n ? &table->rows[i] : NULL;
}

size_t rf_policy_table_failed(const struct rf_table *table)
{
	return table->failed;
}

void rf_policy_table_free(struct rf_table **table)
{
	if (!*table)
		return;
	rf_mem_done(&(*table)->mem);
	free(*table);
	*table = NULL;
}
