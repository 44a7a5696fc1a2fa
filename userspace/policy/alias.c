// SPDX-License-Identifier: Apache-2.0
/*
 * A directory that the view shows at several places has one name for the kernel and several for people. Every rule
 * about another of its names is written once more for that one: what is left of the pattern behind the other name,
 * behind this name. rf_pattern.name keeps the names apart; what they say together is rf_nfa_verdicts()' answer.
 */
#include <errno.h>
#include <string.h>

#include "policy/ast.h"

struct derive {
	struct rf_compile *c;
	const struct rf_alias *alias;
	const struct rf_pattern *pattern;
	struct rf_place place;
	uint32_t name;
	const char *to; /* as a glob */
	size_t found;
};

/* One byte of a class, escaped or not; the place behind it. */
static const char *class_byte(const char *g, unsigned char *ret)
{
	if (*g == '\\')
		g++;
	*ret = (unsigned char)*g;
	return g + 1;
}

/* g stands behind '['; *ret: is byte in the class? The place behind ']'. */
static const char *in_class(const char *g, unsigned char byte, bool *ret)
{
	bool negated = *g == '!', found = false;

	g += negated;
	while (*g != ']') {
		unsigned char lo, hi;

		g = class_byte(g, &lo);
		hi = lo;
		if (*g == '-' && g[1] != ']')
			g = class_byte(g + 1, &hi);
		found |= byte >= lo && byte <= hi;
	}
	*ret = found != negated;
	return g + 1;
}

/* The end of one alternative of a brace: ',' or '}' of the same level. */
static const char *alternative_end(const char *g)
{
	for (unsigned int depth = 0; depth || (*g != ',' && *g != '}'); g++) {
		if (*g == '\\')
			g++;
		else if (*g == '[')
			while (*++g != ']')
				g += *g == '\\';
		else if (*g == '{')
			depth++;
		else if (*g == '}')
			depth--;
	}
	return g;
}

/* What follows in a name after the text that is looked at: alternatives go on behind their brace. */
struct rest {
	const char *at, *end;
	const struct rest *next;
};

static bool match(const char *g, const char *end, const struct rest *rest, const char *name, const char *name_end);

static bool match_brace(const char *g, const char *end, const struct rest *rest, const char *name, const char *name_end)
{
	const char *close = g;
	bool found = false;

	while (*close != '}')
		close = alternative_end(close + (*close == ','));
	for (const char *from = g; !found;) {
		const char *to = alternative_end(from);
		const struct rest behind = {close + 1, end, rest};

		found = match(from, to, &behind, name, name_end);
		if (*to == '}')
			break;
		from = to + 1;
	}
	return found;
}

/* Does a checked glob of one name match a name? */
static bool match(const char *g, const char *end, const struct rest *rest, const char *name, const char *name_end)
{
	for (; g < end; name++) {
		bool in = false;

		if (*g == '{')
			return match_brace(g + 1, end, rest, name, name_end);
		if (*g == '*') {
			for (const char *at = name; at <= name_end; at++)
				if (match(g + 1, end, rest, at, name_end))
					return true;
			return false;
		}
		if (name == name_end)
			return false;
		if (*g == '[') {
			g = in_class(g + 1, (unsigned char)*name, &in);
			if (!in)
				return false;
		} else if (*g == '?') {
			g++;
		} else {
			g += *g == '\\';
			if (*g++ != *name)
				return false;
		}
	}
	return rest ? match(rest->at, rest->end, rest->next, name, name_end) : name == name_end;
}

static int emit(struct derive *d, const char *rest)
{
	struct rf_pattern pattern = *d->pattern;
	const char *why, *glob = rf_mem_printf(d->c->mem, "%s%s%s", d->to, *rest ? "/" : "", rest);
	size_t offset;

	if (!glob)
		return -ENOMEM;
	pattern.glob = *glob ? glob : "/";
	pattern.len = strlen(pattern.glob);
	pattern.name = d->name;
	d->found++;
	if (rf_glob_check(pattern.glob, pattern.len, &offset, &why))
		return rf_diag_at(d->c->diag, d->place, "the mount table makes \"%.200s\" of the pattern: %s",
				  pattern.glob, why);
	return rf_rules_add_pattern(d->c, RF_AUTOMATON_PATH, &pattern, d->place);
}

/* glob: names left of the pattern; from: names left of the alias, beginning with '/' or empty. */
static int derive(struct derive *d, const char *glob, const char *from)
{
	const char *end = glob + strcspn(glob, "/"), *next = *end ? end + 1 : end, *from_end;
	int err;

	if (!*from)
		return emit(d, glob);
	if (!*glob)
		return 0;
	from++;
	from_end = from + strcspn(from, "/");
	if (!strncmp(glob, "**", (size_t)(end - glob)) && end - glob == 2) {
		if (!*end)
			return emit(d, glob);
		err = derive(d, next, from - 1);
		return err ? err : derive(d, glob, from_end);
	}
	return match(glob, end, NULL, from, from_end) ? derive(d, next, from_end) : 0;
}

/* What lies on another mount has names of its own. */
static int add_hole(struct derive *d, const char *base, const char *rest)
{
	struct rf_pattern pattern = {.name = d->name, .hole = true, .accesses = (1ULL << RF_ACCESSES) - 1};
	const char *quoted = *rest ? rf_glob_quote(d->c->mem, rest) : NULL;

	if (!*rest)
		return 0;
	if (quoted)
		pattern.glob = rf_mem_printf(d->c->mem, "%s%s/**", base, quoted);
	if (!pattern.glob)
		return -ENOMEM;
	pattern.len = strlen(pattern.glob);
	/* Too long to be a pattern: then no pattern was made for what lies there either. */
	if (pattern.len > RF_PATH_MAX)
		return 0;
	return rf_rules_add_pattern(d->c, RF_AUTOMATON_PATH, &pattern, d->place);
}

static int add_holes(struct derive *d, const struct rf_aliases *aliases)
{
	int err = 0;

	for (size_t i = 0; i < aliases->n_points && !err; i++) {
		const char *point = aliases->points[i], *rest = rf_path_below(point, d->alias->to);

		if (rest && strcmp(point, "/"))
			err = add_hole(d, d->to, rest);
		rest = err ? NULL : rf_path_below(point, d->alias->from);
		if (rest && strcmp(point, "/"))
			err = add_hole(d, d->to, rest);
	}
	return err;
}

int rf_aliases_add(struct rf_compile *c)
{
	const struct rf_aliases *aliases = c->args->aliases;
	size_t n = c->lists[RF_AUTOMATON_PATH].n;
	uint32_t name = 0;
	int err = 0;

	for (size_t k = 0; aliases && k < aliases->n && !err; k++) {
		struct derive d = {.c = c, .alias = &aliases->v[k], .name = name + 1};

		d.to = rf_glob_quote(c->mem, d.alias->to);
		if (!d.to)
			return -ENOMEM;
		for (size_t i = 0; i < n && !err; i++) {
			/* The list moves when it grows. */
			const struct rf_pattern pattern = c->lists[RF_AUTOMATON_PATH].patterns[i];

			d.pattern = &pattern;
			d.place = c->lists[RF_AUTOMATON_PATH].places[i];
			err = derive(&d, pattern.glob + (pattern.glob[0] == '/'), d.alias->from);
		}
		if (!err && d.found)
			err = add_holes(&d, aliases);
		name += d.found > 0;
	}
	c->aliased = name > 0;
	return err;
}

const char *rf_aliases_name(const struct rf_aliases *aliases, struct rf_mem *mem, const char *path)
{
	const struct rf_alias *best = NULL;

	for (size_t i = 0; aliases && i < aliases->n; i++) {
		const struct rf_alias *alias = &aliases->v[i];

		if (rf_path_below(path, alias->from) && (!best || strlen(alias->from) > strlen(best->from)))
			best = alias;
	}
	/* A mount point between the two means another file. */
	for (size_t i = 0; best && i < aliases->n_points; i++)
		if (rf_path_below(path, aliases->points[i]) && strlen(aliases->points[i]) > strlen(best->from) &&
		    rf_path_below(aliases->points[i], best->from))
			best = NULL;
	if (!best)
		return path;
	return rf_mem_printf(mem, "%s%s%s", best->to, rf_path_below(path, best->from),
			     *best->to || *rf_path_below(path, best->from) ? "" : "/");
}
