// SPDX-License-Identifier: Apache-2.0
/* A mount shows a directory at another place: rules about either name come to mean the other one as well. */
#include <errno.h>
#include <string.h>

#include "daemon/manager.h"
#include "kern/enforcer.h"
#include "lib/cleanup.h"
#include "lib/mounts.h"
#include "lib/msg.h"

const struct rf_aliases *views_aliases(struct manager *m, const struct run *run)
{
	return rf_view_aliases(m->enforcer, run->view ? run->view->kernel : NULL);
}

static bool matters(const struct run *run, const struct rf_aliases *aliases)
{
	const struct rf_policy *policy = run->images->policy;

	/* Unknown: it could not be compiled after adoption, and what it says is what it said. */
	if (!policy)
		return false;
	if (rf_policy_aliased(policy))
		return true;
	for (size_t i = 0; i < aliases->n; i++)
		if (rf_policy_tells_apart(policy, aliases->v[i].from, aliases->v[i].to))
			return true;
	return false;
}

static int compile(struct run *run, const struct rf_aliases *aliases, struct rf_policy **ret)
{
	bool frozen = run->texts.frozen;
	struct rf_diag diag = {};
	int err;

	/* The policy of the start: neither its files nor its symlinks are looked at again. */
	run->texts.frozen = true;
	run->texts.aliases = aliases;
	err = rf_texts_compile(&run->texts, NULL, ret, &diag);
	run->texts.frozen = frozen;
	run->texts.aliases = NULL;
	if (err)
		rf_say("run %s: its policy cannot be compiled for another name of a directory: %s", run->name,
		       diag.text[0] ? diag.text : strerror(-err));
	return err;
}

static int replace(struct manager *m, struct run *run, struct rf_policy **policy)
{
	struct image *old = run->images;
	uint32_t base, id;
	int err = manager_put_policy(m, run, *policy, &base, &id);

	if (err)
		return err;
	if (id == old->id) {
		rf_enforcer_drop_image(m->enforcer, base);
		return 0;
	}
	err = run_add_image(run, id, base, *policy);
	if (err) {
		rf_enforcer_drop_image(m->enforcer, base);
		return err;
	}
	*policy = NULL;
	/* By the image's number the next enforcer knows which rules waiting events name. */
	err = store_save(m, run);
	if (err)
		rf_say("run %s: %s/runs: %s, ignoring", run->name, m->options->runtime, strerror(-err));
	rf_enforcer_replace_image(m->enforcer, run->slot, base);
	if (old->placed && !rf_enforcer_drop_image(m->enforcer, old->base))
		old->placed = false;
	return 0;
}

int views_renamed(void *ctx, const struct rf_view *kernel, const struct rf_aliases *aliases)
{
	struct manager *m = ctx;
	int err = 0;

	for (size_t i = 0; i < RF_RUNS_MAX && !err; i++) {
		__cleanup(rf_policy_free) struct rf_policy *policy = NULL;
		struct run *run = m->runs.live[i];

		if (!run || rf_view_id(run->view ? run->view->kernel : NULL) != rf_view_id(kernel) ||
		    !matters(run, aliases))
			continue;
		err = compile(run, aliases, &policy);
		if (!err)
			err = replace(m, run, &policy);
	}
	return err;
}
