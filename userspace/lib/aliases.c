// SPDX-License-Identifier: Apache-2.0
/* Directories that a mount table shows at several places. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "lib/mounts.h"

const char *rf_path_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return !strncmp(path, dir, len) && (!path[len] || path[len] == '/') ? path + len : NULL;
}

/* "/" is written without its '/' wherever names are put together. */
static const char *bare(const char *path)
{
	return strcmp(path, "/") ? path : "";
}

bool rf_mount_precedes(const struct rf_mount *a, const struct rf_mount *b)
{
	size_t m = strlen(a->point), n = strlen(b->point);

	return m != n ? m < n : strcmp(a->point, b->point) < 0;
}

/* What a run mounted over a name does not hide it here: it was there before. */
static bool counts(const struct rf_mount *mount)
{
	return !mount->strange && !mount->hidden;
}

static bool same_filesystem(const struct rf_mount *a, const struct rf_mount *b)
{
	return a->major == b->major && a->minor == b->minor;
}

/* The mount that a path leads to: the deepest on the way. */
static const struct rf_mount *mount_at(const struct rf_mounts *mounts, const char *path)
{
	const struct rf_mount *found = NULL;

	for (size_t i = 0; i < mounts->n; i++) {
		const struct rf_mount *mount = &mounts->v[i];

		if (counts(mount) && rf_path_below(path, bare(mount->point)) &&
		    (!found || strlen(mount->point) >= strlen(found->point)))
			found = mount;
	}
	return found;
}

bool rf_mount_is_second(const struct rf_mounts *mounts, const struct rf_mount *mount)
{
	for (size_t i = 0; i < mounts->n; i++) {
		const struct rf_mount *other = &mounts->v[i];

		if (other != mount && counts(other) && same_filesystem(other, mount) &&
		    !strcmp(other->root, mount->root) && rf_mount_precedes(other, mount))
			return true;
	}
	return false;
}

static int add(struct rf_aliases *aliases, size_t max, const char *from, const char *rest, const char *to)
{
	struct rf_alias *more;

	if (aliases->n == max)
		return -E2BIG;
	more = realloc(aliases->v, (aliases->n + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	aliases->v = more;
	more[aliases->n] = (struct rf_alias){malloc(strlen(from) + strlen(rest) + 1), strdup(to)};
	if (!more[aliases->n].from || !more[aliases->n].to) {
		free(more[aliases->n].from);
		free(more[aliases->n].to);
		return -ENOMEM;
	}
	strcpy(stpcpy(more[aliases->n].from, from), rest);
	aliases->n++;
	return 0;
}

/* Where else the view shows what is mounted here. */
static int add_places(const struct rf_mounts *mounts, const struct rf_mount *mount, size_t max,
		      struct rf_aliases *aliases)
{
	int err = 0;

	for (size_t i = 0; i < mounts->n && !err; i++) {
		const struct rf_mount *other = &mounts->v[i];
		const char *rest;
		char *path;

		if (other == mount || !counts(other) || !same_filesystem(other, mount))
			continue;
		rest = rf_path_below(bare(mount->root), bare(other->root));
		if (!rest || !strcmp(other->point, mount->point))
			continue;
		err = add(aliases, max, bare(other->point), rest, bare(mount->point));
		if (err)
			return err;
		/* Another mount can lie over that place, this one for instance. */
		path = aliases->v[aliases->n - 1].from;
		if (mount_at(mounts, *path ? path : "/") != other) {
			aliases->n--;
			free(aliases->v[aliases->n].from);
			free(aliases->v[aliases->n].to);
		}
	}
	return err;
}

static int by_names(const void *a, const void *b)
{
	const struct rf_alias *x = a, *y = b;
	int order = strcmp(x->to, y->to);

	return order ? order : strcmp(x->from, y->from);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int rf_mounts_aliases(const struct rf_mounts *mounts, size_t max, struct rf_aliases *ret)
{
	__cleanup(rf_aliases_done) struct rf_aliases aliases = {};

	aliases.points = calloc(mounts->n + 1, sizeof(*aliases.points));
	if (!aliases.points)
		return -ENOMEM;
	for (size_t i = 0; i < mounts->n; i++) {
		int err;

		if (!counts(&mounts->v[i]))
			continue;
		aliases.points[aliases.n_points] = strdup(mounts->v[i].point);
		if (!aliases.points[aliases.n_points++])
			return -ENOMEM;
		if (rf_mount_is_second(mounts, &mounts->v[i]))
			continue;
		err = add_places(mounts, &mounts->v[i], max, &aliases);
		if (err)
			return err;
	}
	if (aliases.n)
		qsort(aliases.v, aliases.n, sizeof(*aliases.v), by_names);
	qsort(aliases.points, aliases.n_points, sizeof(*aliases.points), by_text);
	*ret = aliases;
	aliases = (struct rf_aliases){};
	return 0;
}

/* Mount points matter only where there is an alias. */
bool rf_aliases_equal(const struct rf_aliases *a, const struct rf_aliases *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->v[i].from, b->v[i].from) || strcmp(a->v[i].to, b->v[i].to))
			return false;
	if (a->n && a->n_points != b->n_points)
		return false;
	for (size_t i = 0; a->n && i < a->n_points; i++)
		if (strcmp(a->points[i], b->points[i]))
			return false;
	return true;
}

void rf_aliases_done(struct rf_aliases *aliases)
{
	for (size_t i = 0; i < aliases->n; i++) {
		free(aliases->v[i].from);
		free(aliases->v[i].to);
	}
	for (size_t i = 0; i < aliases->n_points; i++)
		free(aliases->points[i]);
	free(aliases->v);
	free(aliases->points);
	*aliases = (struct rf_aliases){};
}
