// SPDX-License-Identifier: Apache-2.0
/* A rule as compact JSON, its variables filled in: what people, `show` and the digest read. */
#include "policy/ast.h"

#include <errno.h>

#include "lib/cleanup.h"

static int put_list(struct rf_compile *c, FILE *out, const char *key, const struct rf_ast_list *list, bool glob)
{
	fprintf(out, "%s\"%s\":[", ftell(out) > 1 ? "," : "", key);
	for (size_t i = 0; i < list->n; i++) {
		const char *text = list->items[i].text;
		int err = glob ? rf_vars_fill(&c->vars, c->mem, c->diag, &list->items[i], true, &text) : 0;

		if (err)
			return err;
		if (i)
			fputc(',', out);
		rf_json_write(out, text);
	}
	fputc(']', out);
	return 0;
}

static int put_rule(struct rf_compile *c, FILE *out, const struct rf_ast_rule *rule)
{
	bool glob = rule->section == RF_AST_UNIX;
	int err;

	fputc('{', out);
	err = put_list(c, out, rule->allow ? "allow" : "deny", &rule->verb, glob);
	if (!err && rule->paths.items)
		err = put_list(c, out, "paths", &rule->paths, true);
	if (!err && rule->ports.items)
		err = put_list(c, out, "ports", &rule->ports, false);
	if (err)
		return err;
	if (rule->protocol.text) {
		fputs(",\"protocol\":", out);
		rf_json_write(out, rule->protocol.text);
	}
	if (rule->unknown_fs)
		fputs(",\"unknown-filesystem\":true", out);
	fputc('}', out);
	return 0;
}

int rf_rule_describe(struct rf_compile *c, const struct rf_ast_rule *rule, const char **ret)
{
	__cleanup(freep) char *buf = NULL;
	size_t size;
	FILE *out = open_memstream(&buf, &size);
	int err;

	if (!out)
		return -ENOMEM;
	err = put_rule(c, out, rule);
	if (fclose(out) && !err)
		err = -ENOMEM;
	if (err)
		return err;
	*ret = rf_mem_copy(c->mem, buf, size);
	return *ret ? 0 : -ENOMEM;
}
