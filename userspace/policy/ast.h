/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One policy file as it was written, and the steps that make rules of it. Private to the compiler.
 *
 *   text --json.c--> tree --parse.c--> struct rf_ast --check.c--> checked --layers.c--> layers in order
 *        --rules.c (vars.c resolve.c connect.c describe.c)--> rules and patterns --policy.c--> automata, image, digest
 */
#pragma once

#include "policy/diag.h"
#include "policy/json.h"
#include "policy/mem.h"

#define RF_NAME_BYTES_MAX 64 /* of a policy's name */
#define RF_ID_BYTES_MAX 200 /* of a rule's id: room for "layer:id", as show writes it */
#define RF_TEXT_BYTES_MAX 1024 /* of why and owner: they travel in every event of a denial */
/* Patterns of one automaton: a rule of 1,000 addresses and 1,000 ports would be a million. */
#define RF_PATTERNS_MAX (1U << 17)
/*
 * States grow with the patterns: 10,000 project directories need 4 each, with 20 patterns that match anywhere 31 each.
 * What grows faster multiplies, and would take many seconds to reach RF_POLICY_STATES_MAX.
 */
#define RF_STATES_BASE 10000
#define RF_STATES_PER_PATTERN 100
/* ... and a file of two names is followed by both: what multiplies once does it twice. */
#define RF_STATES_ALIASED 8

enum rf_ast_section { RF_AST_FILES, RF_AST_EXEC, RF_AST_CONNECT, RF_AST_UNIX, RF_AST_SECTIONS };

struct rf_ast_string {
	const char *text; /* NULL: not there */
	struct rf_place place;
};
struct rf_ast_list {
	struct rf_ast_string *items; /* NULL: not there */
	size_t n;
	struct rf_place place;
};

struct rf_ast_rule {
	enum rf_ast_section section;
	size_t index; /* in its list */
	struct rf_place place;
	bool allow;
	struct rf_place verb_place; /* of the key "allow" or "deny" */
	struct rf_ast_list verb; /* its value: accesses, addresses, paths or "anonymous" */
	struct rf_ast_list paths, ports;
	struct rf_ast_string protocol, id, why;
	bool unknown_fs;
	struct rf_place unknown_fs_place;
};

struct rf_ast {
	struct rf_place place;
	struct rf_ast_string version, name, owner, stage, expires, mode;
	struct rf_place stage_key, expires_key, mode_key, extends_key;
	struct rf_ast_list extends, record;
	struct rf_ast_rule *rules[RF_AST_SECTIONS];
	size_t n_rules[RF_AST_SECTIONS];
};

enum rf_var { RF_VAR_WORKSPACE, RF_VAR_HOME, RF_VAR_TMP, RF_VAR_USER, RF_VAR_RUN, RF_VAR_MAX };
struct rf_vars {
	const char *value[RF_VAR_MAX]; /* NULL: not given */
};

struct rf_layer {
	const char *name; /* "floor" for the floor */
	const struct rf_ast *ast;
	bool floor;
};

struct rf_pattern_list {
	struct rf_pattern *patterns;
	struct rf_place *places; /* one each */
	size_t n, room;
};

/* One compilation. What it makes for the policy lives in mem; the rest goes with rf_compile_done(). */
struct rf_compile {
	const struct rf_policy_args *args;
	struct rf_diag *diag;
	struct rf_mem *mem;
	struct rf_vars vars;
	struct rf_layer layers[RF_POLICY_LAYERS_MAX + 1]; /* and the floor */
	size_t n_layers;
	size_t own; /* which of them is the policy itself */
	struct rf_rule *rules;
	enum rf_ast_section *sections; /* one for each rule */
	size_t n_rules;
	struct rf_pattern_list lists[RF_AUTOMATON_MAX];
	bool aliased; /* mounts of the view have made more of the patterns */
	uint64_t record;
	uint32_t special_allow;
	uint16_t special_rule[RF_SPECIAL_MAX];
};

extern const char *const rf_section_names[RF_AST_SECTIONS]; /* "network.connect" */

/* Each: 0, -EINVAL with the diagnostic, or -ENOMEM. */

/* parse.c: what a key means and which kind of value it takes. */
int rf_ast_parse(struct rf_compile *c, const char *file, const char *text, size_t len, const struct rf_ast **ret);
/* check.c: what must be true of one file, whatever lies above or below it. */
int rf_ast_check(struct rf_compile *c, const struct rf_ast *ast, bool floor);
bool rf_ast_is_name(const char *text, size_t max);
/* layers.c: fills layers[]. */
int rf_layers_load(struct rf_compile *c);
/* rules.c: fills rules, sections, lists, record and specials. */
int rf_rules_make(struct rf_compile *c);
int rf_rules_add_pattern(struct rf_compile *c, enum rf_automaton_kind kind, const struct rf_pattern *pattern,
			 struct rf_place place);
void rf_compile_done(struct rf_compile *c);
/* alias.c: patterns for the other names of what the view shows at several places. */
int rf_aliases_add(struct rf_compile *c);
/* The name that the kernel knows a path by; NULL: no memory. */
const char *rf_aliases_name(const struct rf_aliases *aliases, struct rf_mem *mem, const char *path);

/* vars.c */
int rf_vars_read(const struct rf_policy_args *args, struct rf_vars *ret, struct rf_diag *diag);
/* ${name} -> value; in a glob the value's special characters are escaped: a value is never a pattern. */
int rf_vars_fill(const struct rf_vars *vars, struct rf_mem *mem, struct rf_diag *diag, const struct rf_ast_string *from,
		 bool glob, const char **ret);
/* "\*" for "*" and so on; NULL: no memory */
char *rf_glob_quote(struct rf_mem *mem, const char *literal);

/* resolve.c: how the kernel sees a pattern whose literal prefix leads through symlinks; at most two more spellings. */
int rf_resolve_glob(struct rf_compile *c, struct rf_place place, const char *glob, const char *ret_more[2],
		    size_t *ret_n);
/* The object of an access: *ret is the path with its symlinks resolved; last: its last name too. */
int rf_resolve_object(const struct rf_policy_args *args, struct rf_mem *mem, const char *path, bool last,
		      const char **ret);

/* connect.c: one entry of "connect" -> at most two ranges; "443" or "8080-8090" -> first and last. */
int rf_connect_address(struct rf_compile *c, const struct rf_ast_string *s, struct rf_addr_range ret[2], size_t *ret_n);
int rf_connect_ports(struct rf_compile *c, const struct rf_ast_string *s, uint16_t *ret_lo, uint16_t *ret_hi);
int rf_connect_protocol(struct rf_compile *c, const struct rf_ast_string *s, uint8_t *ret_lo, uint8_t *ret_hi);

/* describe.c: a rule as compact JSON, with variables filled in. */
int rf_rule_describe(struct rf_compile *c, const struct rf_ast_rule *rule, const char **ret);
