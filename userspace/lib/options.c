// SPDX-License-Identifier: Apache-2.0
/* Command lines as tables. */
#include "lib/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MAX 32

/* Levenshtein distance of two short words; long ones are never near. */
static size_t distance(const char *a, const char *b)
{
	size_t row[WORD_MAX + 1], la = strlen(a), lb = strlen(b);

	if (la > WORD_MAX || lb > WORD_MAX)
		return WORD_MAX;
	for (size_t j = 0; j <= lb; j++)
		row[j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[lb];
}

const char *rf_nearest(const char *text, const char *const *candidates, size_t n)
{
	const char *nearest = NULL;
	size_t best = 3; /* more than two slips are another word */

	for (size_t i = 0; i < n; i++) {
		size_t d = distance(text, candidates[i]);

		if (d < best && d < strlen(candidates[i])) {
			best = d;
			nearest = candidates[i];
		}
	}
	return nearest;
}

static int unknown(const struct rf_command *c, const char *name, size_t len, char *reterr, size_t size)
{
	const char *names[64], *nearest;
	char word[WORD_MAX + 1];
	size_t n = 0;

	snprintf(word, sizeof(word), "%.*s", (int)(len > WORD_MAX ? WORD_MAX : len), name);
	for (size_t i = 0; i < c->n && n < 64; i++)
		names[n++] = c->rows[i].name;
	nearest = rf_nearest(word, names, n);
	snprintf(reterr, size, "unknown option --%s%s%s%s; see `%s --help`", word, nearest ? ": did you mean --" : "",
		 nearest ? nearest : "", nearest ? "?" : "", c->name);
	return -EINVAL;
}

static int number(const char *text, uint64_t *ret)
{
	unsigned long long n;
	unsigned int shift = 0;
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno)
		return -ERANGE;
	if (*end && strchr("KMG", *end))
		shift = *end == 'K' ? 10 : *end == 'M' ? 20 : 30, end++;
	if (*end || n > UINT64_MAX >> shift)
		return -EINVAL;
	*ret = (uint64_t)n << shift;
	return 0;
}

static int store(const struct rf_option_row *row, const char *value, void *values, char *reterr, size_t size)
{
	void *place = (char *)values + row->offset;
	struct rf_option_list *list = place;

	switch (row->kind) {
	case RF_OPTION_FLAG:
		*(bool *)place = true;
		return 0;
	case RF_OPTION_STRING:
		*(const char **)place = value;
		return 0;
	case RF_OPTION_NUMBER:
		if (!number(value, place))
			return 0;
		snprintf(reterr, size, "--%s: \"%s\" is no number; write 1048576, 1024K or 1M", row->name, value);
		return -EINVAL;
	case RF_OPTION_LIST:
		if (list->n < RF_OPTION_LIST_MAX) {
			list->value[list->n++] = value;
			return 0;
		}
		snprintf(reterr, size, "--%s is given more than %d times", row->name, RF_OPTION_LIST_MAX);
		return -EINVAL;
	}
	return -EINVAL;
}

static const struct rf_option_row *find(const struct rf_command *c, const char *arg, size_t len)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct rf_option_row *row = &c->rows[i];

		if (arg[1] != '-' ? len == 2 && row->letter == arg[1]
				  : strlen(row->name) == len - 2 && !strncmp(row->name, arg + 2, len - 2))
			return row;
	}
	return NULL;
}

/* One option at argv[*at], which moves on past its value. */
static int take(const struct rf_command *c, int argc, char **argv, int *at, void *values, char *reterr, size_t size)
{
	const char *arg = argv[*at], *value = NULL, *equals = arg[1] == '-' ? strchr(arg, '=') : NULL;
	size_t len = equals ? (size_t)(equals - arg) : strlen(arg);
	const struct rf_option_row *row = find(c, arg, len);

	if (!row && (!strcmp(arg, "--help") || !strcmp(arg, "-h")))
		return 1;
	if (!row && arg[1] == '-')
		return unknown(c, arg + 2, len - 2, reterr, size);
	if (!row) {
		snprintf(reterr, size, "unknown option %.32s; see `%s --help`", arg, c->name);
		return -EINVAL;
	}
	if (row->kind == RF_OPTION_FLAG && equals) {
		snprintf(reterr, size, "--%s takes no value", row->name);
		return -EINVAL;
	}
	if (row->kind != RF_OPTION_FLAG) {
		value = equals ? equals + 1 : *at + 1 < argc ? argv[++*at] : NULL;
		if (!value || !*value) {
			snprintf(reterr, size, "--%s needs a value: --%s %s", row->name, row->name, row->arg);
			return -EINVAL;
		}
	}
	return store(row, value, values, reterr, size);
}

int rf_options_parse(const struct rf_command *c, int argc, char **argv, void *values, int *ret_n, char *reterr,
		     size_t size)
{
	int n = 0, i = 0;

	for (; i < argc; i++) {
		int err;

		if (!strcmp(argv[i], "--")) {
			i++;
			break;
		}
		if (argv[i][0] != '-' || !argv[i][1]) {
			if (c->command_follows)
				break;
			argv[n++] = argv[i];
			continue;
		}
		err = take(c, argc, argv, &i, values, reterr, size);
		if (err)
			return err;
	}
	for (; i < argc; i++)
		argv[n++] = argv[i];
	*ret_n = n;
	return 0;
}

static void help_row(const struct rf_option_row *row, FILE *out)
{
	char left[64];

	snprintf(left, sizeof(left), "%s%c%s--%s%s%s", row->letter ? "-" : " ", row->letter ? row->letter : ' ',
		 row->letter ? ", " : "  ", row->name, row->arg ? " " : "", row->arg ? row->arg : "");
	fprintf(out, "  %-26s %s\n", left, row->help);
}

void rf_options_help(const struct rf_command *c, FILE *out)
{
	static const struct rf_option_row help = {"help", 'h', RF_OPTION_FLAG, 0, NULL, "this text"};

	fprintf(out, "usage: %s %s\n\n%s\n\n", c->name, c->usage, c->about);
	for (size_t i = 0; i < c->n; i++)
		help_row(&c->rows[i], out);
	help_row(&help, out);
	if (c->examples)
		fprintf(out, "\nexamples:\n%s", c->examples);
}
