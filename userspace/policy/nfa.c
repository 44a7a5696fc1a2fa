/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns -> one tree of positions. Equal beginnings are shared, so ten thousand rules under /srv cost one "/srv". */
#include "policy/nfa.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/cleanup.h"
#include "policy/grow.h"

struct brace {
	const char *text;
	size_t len;
};

struct tree {
	struct rf_nfa *nfa;
	struct rf_index by_token, by_set, by_brace;
	struct brace *braces; /* braces of equal text mean the same */
	size_t n_braces, braces_cap;
	struct rf_nfa_empty *empties;
	size_t n_empties, empties_cap;
	size_t max_nodes;
	uint32_t pattern; /* the one being added */
	const struct rf_tokens *tokens;
};

static void tree_done(struct tree *t)
{
	rf_index_done(&t->by_token);
	rf_index_done(&t->by_set);
	rf_index_done(&t->by_brace);
	free(t->braces);
	free(t->empties);
}

void rf_nfa_done(struct rf_nfa *nfa)
{
	free(nfa->nodes);
	free(nfa->accepts);
	free(nfa->sets);
	free(nfa->outside);
	free(nfa->wide);
	free(nfa->edges);
	free(nfa->edge_at);
	free(nfa->closure);
	free(nfa->closure_at);
	free(nfa->reach);
	free(nfa->traits);
	*nfa = (struct rf_nfa){};
}

struct wanted {
	const struct tree *tree;
	uint32_t parent, token;
	const struct rf_byteset *set;
	struct brace brace;
};

static bool same_token(const void *ctx, uint32_t number)
{
	const struct wanted *w = ctx;
	const struct rf_nfa_node *node = &w->tree->nfa->nodes[number];

	return node->parent == w->parent && node->token == w->token;
}

static bool same_set(const void *ctx, uint32_t number)
{
	const struct wanted *w = ctx;

	return !memcmp(&w->tree->nfa->sets[number], w->set, sizeof(*w->set));
}

static bool same_brace(const void *ctx, uint32_t number)
{
	const struct wanted *w = ctx;
	const struct brace *brace = &w->tree->braces[number];

	return brace->len == w->brace.len && !memcmp(brace->text, w->brace.text, brace->len);
}

/* The position that `token` leads to: 1 it was there, 0 it is new, or -errno. */
static int child(struct tree *t, uint32_t parent, uint32_t token, uint32_t *ret)
{
	struct rf_nfa *nfa = t->nfa;
	struct wanted w = {.tree = t, .parent = parent, .token = token};
	uint32_t number = (uint32_t)nfa->n_nodes;
	int err;

	err = rf_index_add(&t->by_token, rf_mix((uint64_t)parent << 32 | token), same_token, &w, &number);
	if (err < 0)
		return err;
	if (!err) {
		if (nfa->n_nodes >= t->max_nodes)
			return -E2BIG;
		if (RF_GROW(nfa->nodes, nfa->nodes_cap, nfa->n_nodes + 1))
			return -ENOMEM;
		nfa->nodes[nfa->n_nodes++] = (struct rf_nfa_node){parent, token, RF_NFA_NONE, RF_NFA_NONE, t->pattern};
	}
	*ret = number;
	return err;
}

static int add_empty(struct tree *t, uint32_t from, uint32_t to)
{
	if (RF_GROW(t->empties, t->empties_cap, t->n_empties + 1))
		return -ENOMEM;
	t->empties[t->n_empties] = (struct rf_nfa_empty){to, t->nfa->nodes[from].empty};
	t->nfa->nodes[from].empty = (uint32_t)t->n_empties++;
	return 0;
}

static int add_set(struct tree *t, const struct rf_byteset *set, uint32_t *ret)
{
	struct rf_nfa *nfa = t->nfa;
	struct wanted w = {.tree = t, .set = set};
	uint32_t number = (uint32_t)nfa->n_sets;
	int err = rf_index_add(&t->by_set, rf_hash_words((const uint32_t *)set->w, 8), same_set, &w, &number);

	if (err < 0)
		return err;
	if (!err) {
		if (RF_GROW(nfa->sets, nfa->sets_cap, nfa->n_sets + 1))
			return -ENOMEM;
		nfa->sets[nfa->n_sets++] = *set;
	}
	*ret = number;
	return 0;
}

static int add_brace(struct tree *t, const char *text, size_t len, uint32_t *ret)
{
	struct wanted w = {.tree = t, .brace = {text, len}};
	uint64_t hash = len;
	int err;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3ULL;
	*ret = (uint32_t)t->n_braces;
	err = rf_index_add(&t->by_brace, rf_mix(hash), same_brace, &w, ret);
	if (err)
		return err < 0 ? err : 0;
	if (RF_GROW(t->braces, t->braces_cap, t->n_braces + 1))
		return -ENOMEM;
	t->braces[t->n_braces++] = w.brace;
	return 0;
}

/* A position reached by nothing, and its child that reads on inside names: NAMES with IN_NAME, TAIL with BENEATH. */
static int add_loop(struct tree *t, uint32_t from, enum rf_nfa_token kind, uint32_t *ret_outer, uint32_t *ret_inner)
{
	int err = child(t, from, RF_NFA_TOKEN(kind, 0), ret_outer);
	int found = err;

	if (err >= 0)
		err = child(t, *ret_outer, RF_NFA_TOKEN(kind + 1, 0), ret_inner);
	if (err < 0 || found)
		return err < 0 ? err : 0;
	err = add_empty(t, from, *ret_outer);
	if (!err && kind == RF_NFA_NAMES)
		err = add_empty(t, *ret_inner, *ret_outer);
	return err;
}

static int add_row(struct tree *t, size_t from, size_t to, uint32_t node, uint32_t *ret, uint32_t *ret_inner);

/* *i stands on RF_TOKEN_OPEN and is moved to its RF_TOKEN_CLOSE. */
static int add_alternatives(struct tree *t, size_t *i, uint32_t node, uint32_t *ret)
{
	const struct rf_token *v = t->tokens->v;
	size_t close = *i, open = *i;
	uint32_t number, end, inner;
	int err;

	do
		close = v[close].value;
	while (v[close].kind == RF_TOKEN_ALT);
	*i = close;
	err = add_brace(t, t->nfa->patterns[t->pattern].glob + v[open].offset, v[close].offset - v[open].offset,
			&number);
	if (!err)
		err = child(t, node, RF_NFA_TOKEN(RF_NFA_BRACE, number), ret);
	if (err)
		return err < 0 ? err : 0;
	/* A new one. Its alternatives may share positions with other patterns: what these stand for does not change. */
	for (size_t at = open; at != close; at = v[at].value) {
		err = add_row(t, at + 1, v[at].value, node, &end, &inner);
		if (!err)
			err = add_empty(t, end, *ret);
		if (err)
			return err;
	}
	return 0;
}

static int add_row(struct tree *t, size_t from, size_t to, uint32_t node, uint32_t *ret, uint32_t *ret_inner)
{
	*ret_inner = RF_NFA_NONE;
	for (size_t i = from; i < to; i++) {
		const struct rf_token *token = &t->tokens->v[i];
		uint32_t next = 0, value = token->value;
		int err = 0;

		switch (token->kind) {
		case RF_TOKEN_BYTE:
			err = child(t, node, RF_NFA_TOKEN(RF_NFA_BYTE, value), &next);
			break;
		case RF_TOKEN_SET:
			err = add_set(t, &t->tokens->sets[token->value], &value);
			if (!err)
				err = child(t, node, RF_NFA_TOKEN(RF_NFA_SET, value), &next);
			break;
		case RF_TOKEN_STAR:
			err = child(t, node, RF_NFA_TOKEN(RF_NFA_STAR, 0), &next);
			if (!err)
				err = add_empty(t, node, next);
			break;
		case RF_TOKEN_NAMES:
			err = add_loop(t, node, RF_NFA_NAMES, &next, ret_inner);
			break;
		case RF_TOKEN_TAIL:
			err = add_loop(t, node, RF_NFA_TAIL, &next, ret_inner);
			break;
		default:
			err = add_alternatives(t, &i, node, &next);
		}
		if (err < 0)
			return err;
		node = next;
	}
	*ret = node;
	return 0;
}

static int accept_at(struct rf_nfa *nfa, uint32_t node, uint32_t pattern)
{
	if (RF_GROW(nfa->accepts, nfa->accepts_cap, nfa->n_accepts + 1))
		return -ENOMEM;
	nfa->accepts[nfa->n_accepts] = (struct rf_nfa_accept){pattern, nfa->nodes[node].accept};
	nfa->nodes[node].accept = (uint32_t)nfa->n_accepts++;
	return 0;
}

static int add_tokens(struct tree *t)
{
	const struct rf_tokens *tokens = t->tokens;
	uint32_t end, inner;
	int err = add_row(t, 0, tokens->n, 0, &end, &inner);

	if (!err)
		err = accept_at(t->nfa, end, t->pattern);
	/* The directory itself and all beneath: both ends of a TAIL, which is always the last token. */
	if (!err && tokens->n && tokens->v[tokens->n - 1].kind == RF_TOKEN_TAIL)
		err = accept_at(t->nfa, inner, t->pattern);
	return err;
}

static int add_pattern(struct tree *t, const struct rf_pattern *pattern, struct rf_tokens *tokens)
{
	const char *why;
	size_t offset;
	int err, more;

	if (pattern->accesses >> RF_ACCESSES || pattern->rule >= RF_RULES_MAX)
		return -EINVAL;
	if (t->nfa->kind == RF_AUTOMATON_PATH) {
		if (!pattern->glob)
			return -EINVAL;
		err = rf_glob_parse(pattern->glob, pattern->len, tokens, &offset, &why);
		return err ? err : add_tokens(t);
	}
	for (unsigned int row = 0;; row++) {
		more = rf_addr_parse(&pattern->addr, row, tokens);
		if (more <= 0)
			return more;
		err = add_tokens(t);
		if (err)
			return err;
	}
}

int rf_nfa_build(enum rf_automaton_kind kind, const struct rf_pattern *patterns, size_t n, size_t max_nodes,
		 struct rf_nfa *ret, size_t *reterr_pattern)
{
	struct rf_byteset all = {{~0ULL, ~0ULL, ~0ULL, ~0ULL}}, name = all;
	__cleanup(rf_tokens_done) struct rf_tokens tokens = {};
	__cleanup(rf_nfa_done) struct rf_nfa nfa = {.kind = kind, .patterns = patterns, .n_patterns = n};
	__cleanup(tree_done) struct tree t = {.nfa = &nfa, .max_nodes = max_nodes, .tokens = &tokens};
	uint32_t number;
	int err;

	*reterr_pattern = 0;
	name.w[0] &= ~(1ULL << '/');
	/* In this order: RF_NFA_SET_NAME, RF_NFA_SET_ALL. */
	err = add_set(&t, &name, &number);
	if (!err)
		err = add_set(&t, &all, &number);
	if (!err)
		err = child(&t, RF_NFA_NONE, RF_NFA_TOKEN(RF_NFA_ROOT, 0), &number);
	for (size_t i = 0; !err && i < n; i++) {
		*reterr_pattern = i;
		t.pattern = (uint32_t)i;
		err = add_pattern(&t, &patterns[i], &tokens);
	}
	if (!err)
		err = rf_nfa_freeze(&nfa, t.empties, reterr_pattern);
	if (err)
		return err;
	*ret = nfa;
	nfa = (struct rf_nfa){};
	return 0;
}
