// SPDX-License-Identifier: Apache-2.0
/* Where policy images lie in the kernel's table of cells: first fit, equal images shared. */
#include "kern/kern.h"

#include <errno.h>
#include <string.h>

#include "policy/automaton.h"

/* Cell 0 is never an image: struct rf_run.image 0 means none. Images begin on a cache line. */
#define FIRST_BASE 8U
#define ALIGN(n) (((n) + 7U) & ~7U)

static int insert(struct rf_enforcer *e, size_t at, struct rf_placed_image image)
{
	struct rf_placed_image *images = realloc(e->images, (e->n_images + 1) * sizeof(*images));

	if (!images)
		return -ENOMEM;
	e->images = images;
	memmove(&images[at + 1], &images[at], (e->n_images - at) * sizeof(*images));
	images[at] = image;
	e->n_images++;
	return 0;
}

static struct rf_placed_image *find(struct rf_enforcer *e, uint32_t base)
{
	for (size_t i = 0; i < e->n_images; i++)
		if (e->images[i].base == base)
			return &e->images[i];
	return NULL;
}

static struct rf_image *header_at(struct rf_enforcer *e, uint32_t base)
{
	return (struct rf_image *)&e->shared->rf_cells[base];
}

int rf_collect_images(struct rf_enforcer *e)
{
	for (size_t i = 0; i < RF_RUNS_MAX; i++) {
		const struct rf_run *run = &e->shared->rf_runs[i];
		struct rf_placed_image *known, image = {.base = run->image, .users = 1};
		size_t at = 0;

		if (run->state == RF_RUN_FREE || !run->image)
			continue;
		known = find(e, run->image);
		if (known) {
			known->users++;
			continue;
		}
		image.cells = ALIGN(header_at(e, run->image)->cells);
		while (at < e->n_images && e->images[at].base < image.base)
			at++;
		if (insert(e, at, image))
			return -ENOMEM;
	}
	return 0;
}

/* Same policy, same view, same bytes: only the id differs. */
static bool is_equal(struct rf_enforcer *e, const struct rf_placed_image *placed, uint32_t view,
		     const union rf_cell *cells, size_t n)
{
	const struct rf_image *theirs = header_at(e, placed->base), *ours = (const struct rf_image *)cells;
	struct rf_image header;

	if (theirs->cells != n || theirs->view != view)
		return false;
	header = *theirs;
	header.id = ours->id;
	header.view = ours->view;
	return !memcmp(&header, ours, sizeof(header)) &&
	       !memcmp(theirs + 1, ours + 1, n * sizeof(*cells) - sizeof(header));
}

int rf_enforcer_put_image(struct rf_enforcer *e, const union rf_cell *cells, size_t n, uint32_t *ret_base,
			  uint32_t *ret_id)
{
	return rf_enforcer_put_image_in(e, 0, cells, n, ret_base, ret_id);
}

int rf_enforcer_put_image_in(struct rf_enforcer *e, uint32_t view, const union rf_cell *cells, size_t n,
			     uint32_t *ret_base, uint32_t *ret_id)
{
	uint32_t base = FIRST_BASE, size;
	struct rf_image *header;
	size_t at;

	if (n > RF_CELLS_MAX || rf_image_check(cells, n))
		return -EBADMSG;
	for (at = 0; at < e->n_images; at++) {
		if (!is_equal(e, &e->images[at], view, cells, n))
			continue;
		e->images[at].users++;
		*ret_base = e->images[at].base;
		*ret_id = header_at(e, *ret_base)->id;
		return 0;
	}
	size = ALIGN((uint32_t)n);
	for (at = 0; at < e->n_images && e->images[at].base - base < size; at++)
		base = e->images[at].base + e->images[at].cells;
	if (base + size > RF_CELLS_MAX)
		return rf_because(e, -ENOSPC, "no room for a policy of %zu cells beside the %zu policies in force", n,
				  e->n_images);
	if (insert(e, at, (struct rf_placed_image){.base = base, .cells = size, .users = 1}))
		return -ENOMEM;
	memcpy(&e->shared->rf_cells[base], cells, n * sizeof(*cells));
	header = header_at(e, base);
	header->id = ++e->shared->rf_host.image_ids;
	header->view = view;
	*ret_base = base;
	*ret_id = header->id;
	return 0;
}

int rf_enforcer_drop_image(struct rf_enforcer *e, uint32_t base)
{
	struct rf_placed_image *image = find(e, base);
	int err;

	if (!image)
		return -ENOENT;
	if (--image->users)
		return 0;
	err = rf_synchronize(e);
	if (err) {
		/* Keep the room rather than lay another policy under a program that may still read it. */
		image->users = 1;
		return err;
	}
	memmove(image, image + 1, (size_t)(e->images + e->n_images - (image + 1)) * sizeof(*image));
	e->n_images--;
	return 0;
}
