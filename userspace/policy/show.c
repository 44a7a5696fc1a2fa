// SPDX-License-Identifier: Apache-2.0
/* The effective policy, as a policy that compiles to the same decisions on its own. */
#include "policy/compiled.h"

#include <errno.h>
#include <string.h>

#include "lib/names.h"

static void put_member(FILE *out, const char *key, const char *value)
{
	if (!value)
		return;
	fprintf(out, ",\n  \"%s\": ", key);
	rf_json_write(out, value);
}

/* The ids of other layers get their layer's name, so that they stay unique in one file and say where they came from. */
static void put_id(const struct rf_policy *p, const struct rf_rule *rule, FILE *out)
{
	char id[RF_NAME_BYTES_MAX + RF_ID_BYTES_MAX + 2];

	snprintf(id, sizeof(id), "%s:%s", rule->layer, rule->id);
	rf_json_write(out, strcmp(rule->layer, p->own) && strlen(id) <= RF_ID_BYTES_MAX ? id : rule->id);
}

static void put_section(const struct rf_policy *p, enum rf_ast_section section, const char *head, const char *indent,
			FILE *out)
{
	bool first = true;

	for (size_t i = 0; i < p->n_rules; i++) {
		const struct rf_rule *rule = &p->rules[i];

		if (p->sections[i] != section)
			continue;
		fprintf(out, "%s\n%s  {\"id\": ", first ? head : ",", indent);
		put_id(p, rule, out);
		if (rule->why) {
			fputs(", \"why\": ", out);
			rf_json_write(out, rule->why);
		}
		fprintf(out, ", %s", rule->text + 1);
		first = false;
	}
	if (!first)
		fprintf(out, "\n%s]", indent);
}

static bool has(const struct rf_policy *p, enum rf_ast_section section)
{
	for (size_t i = 0; i < p->n_rules; i++)
		if (p->sections[i] == section)
			return true;
	return false;
}

static void put_network(const struct rf_policy *p, FILE *out)
{
	bool connect = has(p, RF_AST_CONNECT);

	if (!connect && !has(p, RF_AST_UNIX))
		return;
	fputs(",\n  \"network\": {\n", out);
	put_section(p, RF_AST_CONNECT, "    \"connect\": [", "    ", out);
	put_section(p, RF_AST_UNIX, connect ? ",\n    \"unix\": [" : "    \"unix\": [", "    ", out);
	fputs("\n  }", out);
}

static void put_record(const struct rf_policy *p, FILE *out)
{
	const char *separator = "";

	if (!p->record)
		return;
	fputs(",\n  \"audit\": {\"record\": [", out);
	for (unsigned int a = 0; a < RF_RULE_ACCESSES; a++)
		if (p->record & RF_ACCESS_BIT(a)) {
			fprintf(out, "%s\"%s\"", separator, rf_access_name(a));
			separator = ", ";
		}
	fputs("]}", out);
}

int rf_policy_show(const struct rf_policy *p, FILE *out)
{
	fputs("{\n  \"ringfence\": 1", out);
	put_member(out, "name", p->name);
	put_member(out, "owner", p->owner);
	put_member(out, "stage", p->stage);
	put_member(out, "expires", p->expires);
	put_member(out, "mode", p->observes ? "observe" : "enforce");
	put_section(p, RF_AST_FILES, ",\n  \"files\": [", "  ", out);
	put_section(p, RF_AST_EXEC, ",\n  \"exec\": [", "  ", out);
	put_network(p, out);
	put_record(p, out);
	fputs("\n}\n", out);
	return fflush(out) || ferror(out) ? -EIO : 0;
}
