// SPDX-License-Identifier: Apache-2.0
/* A compiled policy: rules, image, digest. */
#include "policy/compiled.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"

/* The effective policy as text: what the digest is taken of. Its form is part of the digest: never change it alone. */
static int canonical(const struct rf_compile *c, const struct rf_policy *p, FILE *out)
{
	fprintf(out, "ringfence 1\nname %s\nowner %s\nstage %s\nexpires %s\nmode %s\nrecord %016llx\n", p->name,
		p->owner ? p->owner : "", p->stage ? p->stage : "", p->expires ? p->expires : "",
		p->observes ? "observe" : "enforce", (unsigned long long)c->record);
	for (size_t i = 0; i < c->n_rules; i++)
		fprintf(out, "rule %zu %s %s %s %s\nwhy %s\n", i, rf_section_names[c->sections[i]], c->rules[i].layer,
			c->rules[i].id, c->rules[i].text, c->rules[i].why ? c->rules[i].why : "");
	/* Resolved spellings come from the host, not from the rules. */
	for (size_t i = 0; i < c->lists[RF_AUTOMATON_PATH].n; i++) {
		const struct rf_pattern *pattern = &c->lists[RF_AUTOMATON_PATH].patterns[i];

		/* Mounts come and go; the policy is the same. */
		if (pattern->name)
			break;
		fprintf(out, "path %u ", pattern->rule);
		rf_json_write(out, pattern->glob);
		fputc('\n', out);
	}
	return ferror(out) ? -ENOMEM : 0;
}

static int digest(const struct rf_compile *c, struct rf_policy *p, uint8_t ret[32])
{
	__cleanup(freep) char *buf = NULL;
	size_t size;
	unsigned int len = 0;
	FILE *out = open_memstream(&buf, &size);
	int err;

	if (!out)
		return -ENOMEM;
	err = canonical(c, p, out);
	if (fclose(out) && !err)
		err = -ENOMEM;
	if (!err && (EVP_Digest(buf, size, ret, &len, EVP_sha256(), NULL) != 1 || len != 32))
		err = -ENOMEM;
	for (size_t i = 0; i < 32 && !err; i++)
		snprintf(p->digest + 2 * i, 3, "%02x", ret[i]);
	return err;
}

static int too_large(struct rf_compile *c, enum rf_automaton_kind kind, size_t blame)
{
	const struct rf_pattern_list *list = &c->lists[kind];
	const char *glob;

	if (blame >= list->n)
		return rf_diag_at(c->diag, (struct rf_place){c->args->name, 0, 0},
				  "the rules need too many states: write fewer patterns");
	glob = list->patterns[blame].glob;
	if (!glob)
		return rf_diag_at(c->diag, list->places[blame],
				  "the addresses need too many states here: write fewer, wider ranges");
	return rf_diag_at(c->diag, list->places[blame],
			  "too many states, most by pattern \"%.120s\": use fewer * and ? behind \"**\"", glob);
}

static size_t states_max(const struct rf_pattern_list *list)
{
	/* The other names' patterns come last. */
	bool aliased = list->n && list->patterns[list->n - 1].name;
	size_t states = RF_STATES_BASE * (aliased ? RF_STATES_ALIASED : 1) + list->n * RF_STATES_PER_PATTERN;

	return states < RF_POLICY_STATES_MAX ? states : RF_POLICY_STATES_MAX;
}

static int build(struct rf_compile *c, struct rf_policy *p, const struct rf_image *header)
{
	struct rf_automaton *automata[RF_AUTOMATON_MAX] = {};
	int err = 0;

	for (int kind = 0; kind < RF_AUTOMATON_MAX && !err; kind++) {
		size_t blame = SIZE_MAX;

		err = rf_automaton_build((enum rf_automaton_kind)kind, c->lists[kind].patterns, c->lists[kind].n,
					 states_max(&c->lists[kind]), &automata[kind], &blame);
		/* Any other refusal would mean that rf_glob_check() has let a pattern through. */
		if (err == -E2BIG)
			err = too_large(c, (enum rf_automaton_kind)kind, blame);
		else if (err && err != -ENOMEM)
			err = rf_diag_at(c->diag, (struct rf_place){c->args->name, 0, 0},
					 "the automaton can't be built: %s", strerror(-err));
	}
	if (!err)
		err = rf_image_layout(header, automata, &p->cells, &p->n_cells);
	if (!err && p->n_cells > RF_CELLS_MAX)
		err = rf_diag_at(c->diag, (struct rf_place){c->args->name, 0, 0},
				 "needs %zu cells, the host has %u: write fewer patterns", p->n_cells, RF_CELLS_MAX);
	for (int kind = 0; kind < RF_AUTOMATON_MAX; kind++)
		rf_automaton_free(&automata[kind]);
	return err;
}

/* The floor's rules come last: the number of the first, or how many rules there are. */
static uint32_t first_of_floor(const struct rf_compile *c)
{
	uint32_t n = (uint32_t)c->n_rules;

	while (c->n_layers > c->own + 1 && n && c->rules[n - 1].layer == c->layers[c->own + 1].name)
		n--;
	return n;
}

static int compile(struct rf_compile *c, struct rf_policy *p)
{
	struct rf_image header = {};
	const struct rf_ast *ast;
	int err = rf_vars_read(c->args, &c->vars, c->diag);

	if (!err)
		err = rf_layers_load(c);
	if (!err)
		err = rf_rules_make(c);
	if (err)
		return err;
	ast = c->layers[c->own].ast;
	p->name = ast->name.text;
	p->owner = ast->owner.text;
	p->stage = ast->stage.text;
	p->expires = ast->expires.text;
	p->observes = ast->mode.text && !strcmp(ast->mode.text, "observe");
	p->own = c->layers[c->own].name;
	p->rules = c->rules;
	p->sections = c->sections;
	p->n_rules = c->n_rules;
	p->record = c->record;
	p->aliased = c->aliased;
	header.flags = p->observes ? RF_IMAGE_OBSERVE : 0;
	header.record = c->record;
	header.special_allow = c->special_allow;
	memcpy(header.special_rule, c->special_rule, sizeof(header.special_rule));
	header.rules = (uint32_t)c->n_rules;
	header.floor = first_of_floor(c);
	err = digest(c, p, header.digest);
	return err ? err : build(c, p, &header);
}

int rf_policy_compile(const struct rf_policy_args *args, struct rf_policy **ret, struct rf_diag *diag)
{
	__cleanup(rf_policy_free) struct rf_policy *p = calloc(1, sizeof(*p));
	struct rf_compile c = {.args = args, .diag = diag};
	int err;

	if (!p)
		return -ENOMEM;
	c.mem = &p->mem;
	p->resolve = args->resolve;
	p->ctx = args->ctx;
	p->aliases = args->aliases;
	err = compile(&c, p);
	rf_compile_done(&c);
	if (!err)
		*ret = TAKE_PTR(p);
	return err;
}

void rf_policy_free(struct rf_policy **p)
{
	if (!*p)
		return;
	free((*p)->cells);
	rf_mem_done(&(*p)->mem);
	free(*p);
	*p = NULL;
}

const char *rf_policy_name(const struct rf_policy *p)
{
	return p->name;
}

const char *rf_policy_owner(const struct rf_policy *p)
{
	return p->owner;
}

const char *rf_policy_stage(const struct rf_policy *p)
{
	return p->stage;
}

const char *rf_policy_expires(const struct rf_policy *p)
{
	return p->expires;
}

bool rf_policy_observes(const struct rf_policy *p)
{
	return p->observes;
}

const char *rf_policy_digest(const struct rf_policy *p)
{
	return p->digest;
}

size_t rf_policy_rules(const struct rf_policy *p)
{
	return p->n_rules;
}

const struct rf_rule *rf_policy_rule(const struct rf_policy *p, uint16_t number)
{
	return number < p->n_rules ? &p->rules[number] : NULL;
}

bool rf_policy_aliased(const struct rf_policy *p)
{
	return p->aliased;
}

bool rf_policy_tells_apart(const struct rf_policy *p, const char *path, const char *other)
{
	return rf_image_state(p->cells, p->n_cells, path) != rf_image_state(p->cells, p->n_cells, other);
}

const union rf_cell *rf_policy_image(const struct rf_policy *p, size_t *ret_n)
{
	*ret_n = p->n_cells;
	return p->cells;
}
