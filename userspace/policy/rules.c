// SPDX-License-Identifier: Apache-2.0
/* Layers -> numbered rules and the patterns of both automata, in the order in which the last one wins. */
#include "policy/ast.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/names.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

const char *const rf_section_names[RF_AST_SECTIONS] = {
	[RF_AST_FILES] = "files",
	[RF_AST_EXEC] = "exec",
	[RF_AST_CONNECT] = "network.connect",
	[RF_AST_UNIX] = "network.unix",
};

int rf_rules_add_pattern(struct rf_compile *c, enum rf_automaton_kind kind, const struct rf_pattern *pattern,
			 struct rf_place place)
{
	struct rf_pattern_list *list = &c->lists[kind];

	if (list->n == RF_PATTERNS_MAX)
		return rf_diag_at(c->diag, place,
				  "more than %u patterns, resolved ones counted: write fewer, wider ones",
				  RF_PATTERNS_MAX);
	if (list->n == list->room) {
		size_t room = list->room ? list->room * 2 : 64;
		void *patterns = realloc(list->patterns, room * sizeof(*list->patterns));
		void *places;

		if (!patterns)
			return -ENOMEM;
		list->patterns = patterns;
		places = realloc(list->places, room * sizeof(*list->places));
		if (!places)
			return -ENOMEM;
		list->places = places;
		list->room = room;
	}
	list->patterns[list->n] = *pattern;
	list->places[list->n++] = place;
	return 0;
}

/* The kernel knows processes below /proc by number; "self" is a symlink that is never seen there. */
static bool names_self(const char *glob)
{
	static const char *const links[] = {"/proc/self", "/proc/thread-self"};

	for (size_t i = 0; i < COUNT(links); i++) {
		size_t n = strlen(links[i]);

		if (!strncmp(glob, links[i], n) && (!glob[n] || glob[n] == '/'))
			return true;
	}
	return false;
}

static int add_path(struct rf_compile *c, const struct rf_ast_string *s, struct rf_pattern *pattern)
{
	const char *glob, *more[2], *why;
	size_t offset, n;
	int err = rf_vars_fill(&c->vars, c->mem, c->diag, s, true, &glob);

	if (err)
		return err;
	err = rf_glob_check(glob, strlen(glob), &offset, &why);
	if (err)
		return rf_diag_at(c->diag, s->place, "pattern \"%.200s\", byte %zu: %s", glob, offset + 1, why);
	if (names_self(glob))
		return rf_diag_at(c->diag, s->place,
				  "\"%.80s\": the kernel knows processes by number, write \"/proc/[0-9]*/...\"", glob);
	err = rf_resolve_glob(c, s->place, glob, more, &n);
	if (err)
		return err;
	pattern->glob = glob;
	pattern->len = strlen(glob);
	err = rf_rules_add_pattern(c, RF_AUTOMATON_PATH, pattern, s->place);
	for (size_t i = 0; i < n && !err; i++) {
		/* A link can lead to a name that no pattern can spell, such as one longer than a path. */
		if (rf_glob_check(more[i], strlen(more[i]), &offset, &why))
			return rf_diag_at(c->diag, s->place, "pattern \"%.80s\" leads to \"%.200s\", byte %zu: %s",
					  glob, more[i], offset + 1, why);
		pattern->glob = more[i];
		pattern->len = strlen(more[i]);
		err = rf_rules_add_pattern(c, RF_AUTOMATON_PATH, pattern, s->place);
	}
	return err;
}

static int add_paths(struct rf_compile *c, const struct rf_ast_list *list, struct rf_pattern *pattern)
{
	for (size_t i = 0; i < list->n; i++) {
		int err = add_path(c, &list->items[i], pattern);

		if (err)
			return err;
	}
	return 0;
}

static int file_accesses(struct rf_compile *c, const struct rf_ast_list *list, uint64_t *ret)
{
	static const char *const words[] = {
		[RF_FILE_READ] = "read",     [RF_FILE_WRITE] = "write",	    [RF_FILE_CREATE] = "create",
		[RF_FILE_DELETE] = "delete", [RF_FILE_EXECUTE] = "execute", [RF_FILE_ATTRIBUTES] = "attributes",
	};
	uint64_t accesses = 0;

	_Static_assert(RF_ACCESS_BIT(COUNT(words)) - 1 == RF_FILE_ALL, "an access of files has no word");
	for (size_t i = 0; i < list->n; i++) {
		const struct rf_ast_string *s = &list->items[i];
		size_t a = 0;
		const char *close;

		while (a < COUNT(words) && strcmp(words[a], s->text))
			a++;
		if (a < COUNT(words)) {
			accesses |= RF_ACCESS_BIT(a);
			continue;
		}
		if (!strcmp(s->text, "*")) {
			accesses |= RF_FILE_ALL;
			continue;
		}
		close = rf_diag_closest(s->text, words, COUNT(words));
		if (close)
			return rf_diag_at(c->diag, s->place, "unknown access \"%.40s\": did you mean \"%s\"?", s->text,
					  close);
		return rf_diag_at(c->diag, s->place,
				  "unknown access \"%.40s\": known are read, write, create, delete, execute, "
				  "attributes and *",
				  s->text);
	}
	*ret = accesses;
	return 0;
}

static void set_special(struct rf_compile *c, enum rf_special special, bool allow, uint16_t number)
{
	if (allow)
		c->special_allow |= 1U << special;
	else
		c->special_allow &= ~(1U << special);
	c->special_rule[special] = number;
}

static int add_exec(struct rf_compile *c, const struct rf_ast_rule *rule, uint16_t number)
{
	for (size_t i = 0; i < rule->verb.n; i++)
		if (strcmp(rule->verb.items[i].text, "anonymous"))
			return rf_diag_at(
				c->diag, rule->verb.items[i].place,
				"\"%.60s\" in \"exec\": only \"anonymous\" is known; paths are \"execute\" in "
				"\"files\"",
				rule->verb.items[i].text);
	set_special(c, RF_SPECIAL_ANONYMOUS_EXEC, rule->allow, number);
	return 0;
}

/* Every address with every range of ports. */
static int add_connect(struct rf_compile *c, const struct rf_ast_rule *rule, struct rf_pattern *pattern)
{
	struct rf_ast_string *ports = rule->ports.items;
	uint16_t lo = 0, hi = 65535;
	uint8_t first, last;
	int err = rf_connect_protocol(c, &rule->protocol, &first, &last);

	if (err)
		return err;
	for (size_t i = 0; i < rule->verb.n; i++) {
		struct rf_addr_range ranges[2];
		size_t n, k = 0;

		err = rf_connect_address(c, &rule->verb.items[i], ranges, &n);
		do {
			if (!err && ports)
				err = rf_connect_ports(c, &ports[k], &lo, &hi);
			for (size_t j = 0; !err && j < n; j++) {
				pattern->addr = ranges[j];
				pattern->addr.protocol_lo = first;
				pattern->addr.protocol_hi = last;
				pattern->addr.port_lo = lo;
				pattern->addr.port_hi = hi;
				err = rf_rules_add_pattern(c, RF_AUTOMATON_ADDR, pattern, rule->verb.items[i].place);
			}
			if (err)
				return err;
		} while (++k < rule->ports.n);
	}
	return 0;
}

static int add_patterns(struct rf_compile *c, const struct rf_ast_rule *rule, uint16_t number)
{
	struct rf_pattern pattern = {.allow = rule->allow, .rule = number};
	int err;

	switch (rule->section) {
	case RF_AST_FILES:
		err = file_accesses(c, &rule->verb, &pattern.accesses);
		if (err)
			return err;
		if (rule->unknown_fs) {
			set_special(c, RF_SPECIAL_UNKNOWN_FS, rule->allow, number);
			return 0;
		}
		return add_paths(c, &rule->paths, &pattern);
	case RF_AST_UNIX:
		pattern.accesses = RF_ACCESS_BIT(RF_NET_UNIX);
		return add_paths(c, &rule->verb, &pattern);
	case RF_AST_EXEC:
		return add_exec(c, rule, number);
	case RF_AST_CONNECT:
		pattern.accesses = RF_ACCESS_BIT(RF_NET_CONNECT % RF_ACCESSES);
		return add_connect(c, rule, &pattern);
	case RF_AST_SECTIONS:
		break;
	}
	return -EINVAL;
}

static int add_rule(struct rf_compile *c, const struct rf_layer *layer, const struct rf_ast_rule *from)
{
	struct rf_rule *rule = &c->rules[c->n_rules];
	int err = rf_rule_describe(c, from, &rule->text);

	if (err)
		return err;
	rule->id = from->id.text;
	if (!rule->id)
		rule->id = rf_mem_printf(c->mem, "%s[%zu]", rf_section_names[from->section], from->index);
	if (!rule->id)
		return -ENOMEM;
	rule->why = from->why.text;
	rule->layer = layer->name;
	rule->file = from->place.file;
	rule->line = from->place.line;
	rule->allow = from->allow;
	c->sections[c->n_rules] = from->section;
	return add_patterns(c, from, (uint16_t)c->n_rules++);
}

struct id {
	const char *id;
	const struct rf_ast_rule *rule;
};

static int compare_ids(const void *a, const void *b)
{
	const struct id *x = a, *y = b;
	int order = strcmp(x->id, y->id);

	if (order)
		return order;
	/* by place, so that the later one is blamed */
	return x->rule->place.line != y->rule->place.line ? (x->rule->place.line > y->rule->place.line) * 2 - 1
							  : (x->rule->place.column > y->rule->place.column) * 2 - 1;
}

/* rules[first..) are those of one layer. An event names layer and id: together they must mean one rule. */
static int check_ids(struct rf_compile *c, const struct rf_layer *layer, size_t first)
{
	size_t n = c->n_rules - first, k = 0;
	__cleanup(freep) struct id *ids = calloc(n ? n : 1, sizeof(*ids));

	if (!ids)
		return -ENOMEM;
	for (int s = 0; s < RF_AST_SECTIONS; s++)
		for (size_t i = 0; i < layer->ast->n_rules[s]; i++, k++)
			ids[k] = (struct id){c->rules[first + k].id, &layer->ast->rules[s][i]};
	qsort(ids, n, sizeof(*ids), compare_ids);
	for (size_t i = 1; i < n; i++)
		if (!strcmp(ids[i - 1].id, ids[i].id)) {
			const struct rf_ast_rule *blame = ids[i].rule->id.text ? ids[i].rule : ids[i - 1].rule;
			const struct rf_ast_rule *other = blame == ids[i].rule ? ids[i - 1].rule : ids[i].rule;

			return rf_diag_at(c->diag, blame->id.place,
					  "the id \"%.80s\" belongs to the rule in line %u already: choose another",
					  ids[i].id, other->place.line);
		}
	return 0;
}

static int add_record(struct rf_compile *c, const struct rf_ast_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct rf_ast_string *s = &list->items[i];
		int access = rf_access_number(s->text);
		const char *names[RF_RULE_ACCESSES], *close;

		if (access >= 0) {
			c->record |= RF_ACCESS_BIT(access);
			continue;
		}
		for (unsigned int a = 0; a < RF_RULE_ACCESSES; a++)
			names[a] = rf_access_name(a);
		close = rf_diag_closest(s->text, names, RF_RULE_ACCESSES);
		return rf_diag_at(c->diag, s->place, "unknown access \"%.40s\": %s \"%s\"%s", s->text,
				  close ? "did you mean" : "write names like", close ? close : "file.execute",
				  close ? "?" : " and \"net.connect\"");
	}
	return 0;
}

int rf_rules_make(struct rf_compile *c)
{
	size_t total = 0;
	int err = 0;

	for (size_t i = 0; i < c->n_layers; i++)
		for (int s = 0; s < RF_AST_SECTIONS; s++) {
			const struct rf_ast *ast = c->layers[i].ast;

			if (total + ast->n_rules[s] > RF_RULES_MAX)
				return rf_diag_at(c->diag, ast->rules[s][RF_RULES_MAX - total].place,
						  "more than %d rules, all layers together: join rules of one kind",
						  RF_RULES_MAX);
			total += ast->n_rules[s];
		}
	for (int i = 0; i < RF_SPECIAL_MAX; i++)
		c->special_rule[i] = RF_RULE_NONE;
	c->rules = rf_mem_array(c->mem, total, sizeof(*c->rules));
	c->sections = rf_mem_array(c->mem, total, sizeof(*c->sections));
	if (!c->rules || !c->sections)
		return -ENOMEM;
	for (size_t i = 0; i < c->n_layers && !err; i++) {
		const struct rf_layer *layer = &c->layers[i];
		size_t first = c->n_rules;

		for (int s = 0; s < RF_AST_SECTIONS && !err; s++)
			for (size_t k = 0; k < layer->ast->n_rules[s] && !err; k++)
				err = add_rule(c, layer, &layer->ast->rules[s][k]);
		if (!err)
			err = check_ids(c, layer, first);
		if (!err)
			err = add_record(c, &layer->ast->record);
	}
	return err ? err : rf_aliases_add(c);
}

void rf_compile_done(struct rf_compile *c)
{
	for (int i = 0; i < RF_AUTOMATON_MAX; i++) {
		free(c->lists[i].patterns);
		free(c->lists[i].places);
		c->lists[i] = (struct rf_pattern_list){};
	}
}
