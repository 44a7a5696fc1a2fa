// SPDX-License-Identifier: Apache-2.0
/* A new enforcer takes over what a former one left: runs/NAME.json on one side, the kernel's slots on the other. */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "daemon/cgroup.h"
#include "daemon/manager.h"
#include "kern/enforcer.h"
#include "lib/cleanup.h"
#include "lib/msg.h"

/* The kernel knows nothing of it: its fence is gone, which is worth a record when processes are left. */
static void discard(struct manager *m, const struct run *run, const char *why)
{
	const char *fields[] = {"how", "discarded", "why", why, "cgroup", run->cgroup, NULL};

	rf_say("run %s: %s: forgotten", run->name, why);
	journal_own(&m->journal, "run.end", run, fields);
	store_remove(m, run->name);
	if (run->ours)
		cgroup_remove(m->root_fd, run->cgroup + 1);
}

static void compare_digest(struct manager *m, const struct run *run, const char *digest)
{
	const char *fields[] = {"old_digest", digest, "new_digest", run_digest(run), "how", "adopted", NULL};

	if (!strcmp(digest, run_digest(run)))
		return;
	rf_say("run %s: its policy means something else to this version: digest %.12s was %.12s", run->name,
	       run_digest(run), digest);
	journal_own(&m->journal, "policy.load", run, fields);
}

/* From the stored texts, not from the files of today: the same image as before, whatever became of them. */
static int recompile(struct manager *m, struct run *run, uint32_t *ret_id, uint32_t *ret_base)
{
	__cleanup(rf_policy_free) struct rf_policy *policy = NULL;
	struct rf_diag diag = {};
	int err;

	run->texts.aliases = views_aliases(m, run);
	err = rf_texts_compile(&run->texts, NULL, &policy, &diag);
	if (!err)
		err = manager_put_policy(m, run, policy, ret_base, ret_id);
	if (err)
		return rf_err(
			err,
			"run %s: its policy cannot be compiled again (%s): the one in force stays, events name no "
			"rules",
			run->name, diag.text[0] ? diag.text : strerror(-err));
	err = run_add_image(run, *ret_id, *ret_base, policy);
	if (err)
		rf_enforcer_drop_image(m->enforcer, *ret_base);
	else
		TAKE_PTR(policy);
	return err;
}

static int take_over_image(struct manager *m, struct run *run, const struct rf_run *state, uint32_t old_id,
			   const char *digest)
{
	uint32_t id = 0, base = 0;

	if (recompile(m, run, &id, &base))
		return run_add_image(run, old_id, state->image, NULL);
	rf_enforcer_replace_image(m->enforcer, run->slot, base);
	rf_enforcer_drop_image(m->enforcer, state->image);
	/* Events that wait in the ring name the old image; with the same digest its rules are these rules. */
	if (!strcmp(digest, run_digest(run)))
		run_add_alias(run, old_id);
	compare_digest(m, run, digest);
	return 0;
}

static void take_over(struct manager *m, const char *file)
{
	__cleanup(run_free) struct run *loaded = NULL;
	struct rf_run state = {};
	struct stored stored;
	struct run *run;
	int err = store_load(m, file, &loaded, &stored);

	if (err) {
		rf_say("%s/runs/%s: %s: forgotten", m->options->runtime, file, strerror(-err));
		unlinkat(m->runs_fd, file, 0);
		return;
	}
	loaded->texts.look = views_look_up;
	loaded->texts.look_ctx = loaded;
	rf_enforcer_run(m->enforcer, loaded->slot, &state);
	if (state.id != loaded->id || state.state == RF_RUN_FREE || m->runs.live[loaded->slot]) {
		discard(m, loaded, "the kernel does not know it");
		return;
	}
	if (stored.view && views_adopt(m, loaded, stored.view, &stored.place)) {
		rf_say("run %s: out of memory: left as it is", loaded->name);
		return;
	}
	if (take_over_image(m, loaded, &state, stored.image, stored.digest)) {
		views_drop(m, loaded);
		rf_say("run %s: out of memory: left as it is", loaded->name);
		return;
	}
	run = TAKE_PTR(loaded);
	runs_add(&m->runs, run);
	run->was_populated = true;
	run->adopted = run->ours;
	err = cgroup_open(m->root_fd, run->cgroup + 1, &run->cgroup_fd);
	if (!err)
		err = lifecycle_watch(m, run);
	if (err || state.state != RF_RUN_LIVE || (run->ours && cgroup_populated(run->events.fd) <= 0))
		lifecycle_finish(m, run, state.state == RF_RUN_RELEASED);
}

/*
 * A slot without a file: its enforcer died before it could tag anything (the file is written first), or somebody
 * removed the file. Whatever still carries its tag is denied everything.
 */
static void end_orphans(struct manager *m)
{
	for (uint32_t slot = 0; slot < RF_RUNS_MAX; slot++) {
		struct rf_run state;

		if (m->runs.live[slot] || rf_enforcer_run(m->enforcer, slot, &state) || state.state == RF_RUN_FREE)
			continue;
		rf_say("run number %llu: nothing is known of it: ended", (unsigned long long)state.id);
		rf_enforcer_end_run(m->enforcer, slot);
		if (state.image)
			rf_enforcer_drop_image(m->enforcer, state.image);
		rf_enforcer_free_run(m->enforcer, slot);
	}
}

void adopt_runs(struct manager *m)
{
	__cleanup(closep) int copy = dup(m->runs_fd);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;

	if (!dir) {
		rf_say("%s/runs: %s: runs are left as they are", m->options->runtime, strerror(errno));
		return;
	}
	TAKE_FD(copy);
	rewinddir(dir);
	while ((entry = readdir(dir))) {
		size_t len = strlen(entry->d_name);

		/* ".NAME.json.new": an enforcer died while it wrote it. */
		if (entry->d_name[0] == '.' && len > 4 && !strcmp(entry->d_name + len - 4, ".new"))
			unlinkat(m->runs_fd, entry->d_name, 0);
		else if (len > 5 && !strcmp(entry->d_name + len - 5, ".json") && entry->d_name[0] != '.')
			take_over(m, entry->d_name);
	}
	closedir(dir);
	end_orphans(m);
}
