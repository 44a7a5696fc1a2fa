// SPDX-License-Identifier: Apache-2.0
/*
 * SIGHUP: the policies that live runs have by name are read again. All of them are compiled before the first one is
 * replaced: with an error in any file every run keeps the policy it has.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/manager.h"
#include "kern/enforcer.h"
#include "lib/cleanup.h"
#include "lib/msg.h"

struct change {
	struct run *run;
	struct rf_texts texts;
	struct rf_policy *policy;
	uint32_t id, base;
	bool placed;
};

static void changes_done(struct manager *m, struct change *changes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct change *c = &changes[i];

		if (c->placed)
			rf_enforcer_drop_image(m->enforcer, c->base);
		rf_policy_free(&c->policy);
		rf_texts_done(&c->texts);
	}
	free(changes);
}

/* Variables and what symlinks led to stay those of the run's start; see resolve() in control/texts.c. */
static int inherit(struct rf_texts *to, const struct rf_texts *from)
{
	to->resolved = calloc(from->resolved_count + 1, sizeof(*to->resolved));
	if (!to->resolved)
		return -ENOMEM;
	for (size_t i = 0; i < from->resolved_count; i++) {
		struct rf_resolution *r = &to->resolved[to->resolved_count++];

		r->path = strdup(from->resolved[i].path);
		r->target = strdup(from->resolved[i].target);
		if (!r->path || !r->target)
			return -ENOMEM;
	}
	for (size_t i = 0; i < from->var_count; i++) {
		to->vars[i] = strdup(from->vars[i]);
		if (!to->vars[i])
			return -ENOMEM;
		to->var_count++;
	}
	return 0;
}

static int prepare(struct manager *m, struct change *c, struct failure *failure)
{
	const char *name = c->run->texts.policy.name;
	struct rf_diag diag = {};
	int err = inherit(&c->texts, &c->run->texts);

	c->texts.look = c->run->texts.look;
	c->texts.look_ctx = c->run->texts.look_ctx;
	c->texts.aliases = views_aliases(m, c->run);
	if (!err)
		err = rf_texts_load_named(&c->texts, &m->options->dirs, name);
	if (!err)
		err = rf_texts_load_floor(&c->texts, m->options->floor);
	if (err) {
		snprintf(failure->text, sizeof(failure->text), "policy \"%s\": %s", name, strerror(-err));
		return err;
	}
	err = rf_texts_compile(&c->texts, &m->options->dirs, &c->policy, &diag);
	if (err) {
		snprintf(failure->text, sizeof(failure->text), "%s:%u:%u: %s", diag.file, diag.line, diag.column,
			 err == -EINVAL ? diag.text : strerror(-err));
		return err;
	}
	if (run_digest(c->run) && !strcmp(rf_policy_digest(c->policy), run_digest(c->run)))
		return 0;
	err = manager_put_policy(m, c->run, c->policy, &c->base, &c->id);
	c->placed = !err;
	if (err)
		snprintf(failure->text, sizeof(failure->text), "policy \"%s\": %s: %s", name, strerror(-err),
			 rf_enforcer_why(m->enforcer));
	return err;
}

/* File first: a crash in between leaves a run that a later enforcer gives the new policy. */
static int replace(struct manager *m, struct change *c, struct failure *failure)
{
	struct run *run = c->run;
	char old_digest[65];
	const char *fields[] = {"old_digest", old_digest, "new_digest", rf_policy_digest(c->policy), NULL};
	struct image *old = run->images;
	struct rf_texts old_texts = run->texts;
	int err;

	snprintf(old_digest, sizeof(old_digest), "%s", run_digest(run) ? run_digest(run) : "");
	err = run_add_image(run, c->id, c->base, c->policy);
	if (err)
		return err;
	run->texts = c->texts;
	err = store_save(m, run);
	if (err) {
		struct image *failed = run->images;

		run->texts = old_texts;
		run->images = old;
		free(failed);
		snprintf(failure->text, sizeof(failure->text), "%s/runs: %s", m->options->runtime, strerror(-err));
		return err;
	}
	c->texts = old_texts; /* freed with the change */
	c->policy = NULL;
	c->placed = false;
	/* What was denied under the old policy is told before the record that says it changed. */
	journal_drain(&m->journal, false);
	rf_enforcer_replace_image(m->enforcer, run->slot, c->base);
	if (old->placed && !rf_enforcer_drop_image(m->enforcer, old->base))
		old->placed = false;
	journal_own(&m->journal, "policy.load", run, fields);
	return 0;
}

static int all(struct manager *m, struct change **changes, size_t *n, unsigned int *replaced, struct failure *failure)
{
	int err = 0;

	*changes = calloc(m->runs.count + 1, sizeof(**changes));
	if (!*changes)
		return -ENOMEM;
	for (size_t slot = 0; !err && slot < RF_RUNS_MAX; slot++) {
		struct run *run = m->runs.live[slot];

		if (!run || run->state != RUN_LIVE || !run->texts.named)
			continue;
		(*changes)[*n].run = run;
		err = prepare(m, &(*changes)[(*n)++], failure);
	}
	for (size_t i = 0; !err && i < *n; i++) {
		if (!(*changes)[i].placed)
			continue; /* the same as before */
		err = replace(m, &(*changes)[i], failure);
		*replaced += !err;
	}
	return err;
}

int reload_policies(struct manager *m, unsigned int *ret_replaced, struct failure *failure)
{
	const char *fields[] = {"error", failure->text, NULL};
	struct change *changes = NULL;
	unsigned int replaced = 0;
	size_t n = 0;
	int err = all(m, &changes, &n, &replaced, failure);

	changes_done(m, changes, n);
	if (!err) {
		rf_say("policies were read again: %u of %zu runs got another one", replaced, n);
		*ret_replaced = replaced;
		return 0;
	}
	failure->code = "policy";
	if (!failure->text[0])
		snprintf(failure->text, sizeof(failure->text), "%s", strerror(-err));
	rf_say("policies stay as they are: %s", failure->text);
	journal_own(&m->journal, "policy.reject", NULL, fields);
	return err;
}
