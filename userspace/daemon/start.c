// SPDX-License-Identifier: Apache-2.0
/* How a run begins: policy, image, slot, cgroup, file, tag, record; each step undone when a later one fails. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "control/request.h"
#include "daemon/cgroup.h"
#include "daemon/manager.h"
#include "kern/enforcer.h"
#include "lib/cleanup.h"
#include "lib/msg.h"

__attribute__((format(printf, 4, 5))) static int fail(struct failure *failure, int err, const char *code,
						      const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(failure->text, sizeof(failure->text), format, args);
	va_end(args);
	failure->code = code;
	return err;
}

static int load_texts(struct manager *m, const struct rf_request *r, struct rf_texts *t, struct failure *failure)
{
	int err;

	if (!r->text) {
		err = rf_texts_load_named(t, &m->options->dirs, r->policy);
		if (err == -ENOENT)
			return fail(failure, err, "policy",
				    "there is no policy \"%s\" in the enforcer's directories (%s%s)", r->policy,
				    m->options->dirs.value[0], m->options->dirs.n > 1 ? " ..." : "");
	} else {
		err = rf_text_set(&t->policy, NULL, r->policy, r->text, strlen(r->text));
		for (size_t i = 0; !err && i < r->layer_count; i++)
			err = rf_texts_add_layer(t, r->layers[i].name, r->layers[i].name, r->layers[i].text,
						 r->layers[i].len);
	}
	if (err)
		return fail(failure, err, "policy", "policy \"%s\": %s", r->policy, strerror(-err));
	err = rf_texts_load_floor(t, m->options->floor);
	/* A host whose floor cannot be read starts nothing: a run without it would be looser than promised. */
	return err ? fail(failure, err, "policy", "the host's floor %s: %s",
			  m->options->floor ? m->options->floor : RF_FLOOR_DEFAULT, strerror(-err))
		   : 0;
}

static int add_vars(const struct rf_request *r, struct run *run)
{
	const char *const vars[][2] = {
		{"workspace", r->workspace}, {"home", r->home},	 {"tmp", r->tmp ? r->tmp : "/tmp"},
		{"user", r->user},	     {"run", run->name},
	};
	char *found[2] = {};
	int err = 0;

	/* A tagged cgroup's directories are named as its processes know them. */
	for (size_t i = 0; r->op == RF_OP_TAG && !err && i < 2; i++)
		err = vars[i][1] ? views_look_up(run, vars[i][1], &found[i]) : 0;
	for (size_t i = 0; !err && i < sizeof(vars) / sizeof(vars[0]); i++)
		err = rf_texts_add_var(&run->texts, vars[i][0], i < 2 && found[i] ? found[i] : vars[i][1]);
	free(found[0]);
	free(found[1]);
	return err;
}

static int compile(struct manager *m, const struct rf_request *r, struct run *run, struct failure *failure)
{
	__cleanup(rf_policy_free) struct rf_policy *policy = NULL;
	const char *fields[] = {"policy", r->policy, "error", failure->text, NULL};
	struct rf_diag diag = {};
	uint32_t base, id;
	int err = load_texts(m, r, &run->texts, failure);

	if (!err) {
		err = add_vars(r, run);
		if (err)
			fail(failure, err, "variables", "workspace or home, as the processes see it: %s",
			     strerror(-err));
	}
	if (!err) {
		run->texts.aliases = views_aliases(m, run);
		err = rf_texts_compile(&run->texts, &m->options->dirs, &policy, &diag);
		if (err)
			fail(failure, err, "policy", "%s:%u:%u: %s", diag.file, diag.line, diag.column,
			     err == -EINVAL ? diag.text : strerror(-err));
	}
	if (err) {
		journal_own(&m->journal, "policy.reject", NULL, fields);
		return err;
	}
	err = manager_put_policy(m, run, policy, &base, &id);
	if (err)
		return fail(failure, err, "kernel", "the policy cannot be laid into the kernel: %s: %s", strerror(-err),
			    rf_enforcer_why(m->enforcer));
	err = run_add_image(run, id, base, policy);
	if (err) {
		rf_enforcer_drop_image(m->enforcer, base);
		return fail(failure, err, "memory", "out of memory");
	}
	TAKE_PTR(policy);
	return 0;
}

static void make_name(struct run *run)
{
	unsigned short random = 0;
	struct tm tm;
	size_t n;

	gmtime_r(&run->started, &tm);
	n = strftime(run->name, sizeof(run->name), "r-%Y%m%d-%H%M%S", &tm);
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		random = (unsigned short)getpid();
	snprintf(run->name + n, sizeof(run->name) - n, "-%04x", random);
}

/* The cgroup of an existing process or path: not the root, not ours, and not mixed with another run's. */
static int existing_cgroup(struct manager *m, const struct rf_request *r, struct run *run, struct failure *failure)
{
	__cleanup(freep) char *path = r->cgroup ? strdup(r->cgroup) : NULL, *own = NULL;
	int err = r->cgroup ? 0 : cgroup_of_pid((pid_t)r->pid, &path);
	size_t len;

	if (err || !path)
		return fail(failure, err ? err : -ENOMEM, "cgroup", "process %lld: %s", (long long)r->pid,
			    strerror(err ? -err : ENOMEM));
	for (len = strlen(path); len && path[len - 1] == '/'; len--)
		path[len - 1] = '\0';
	if (!len || !strcmp(path, "."))
		return fail(failure, -EINVAL, "cgroup", "the root cgroup is the whole host: name one of its own");
	if (cgroup_of_pid(getpid(), &own) || cgroup_holds(path, own))
		return fail(failure, -EINVAL, "cgroup", "the enforcer itself is in /%s: it cannot be fenced", path);
	for (size_t i = 0; i < RF_RUNS_MAX; i++) {
		const struct run *other = m->runs.live[i];

		if (other && (cgroup_holds(other->cgroup + 1, path) || cgroup_holds(path, other->cgroup + 1)))
			return fail(failure, -EBUSY, "cgroup", "/%s: run %s is there already", path, other->name);
	}
	err = cgroup_open(m->root_fd, path, &run->cgroup_fd);
	if (err)
		return fail(failure, err, "cgroup", "/%s: %s", path, strerror(-err));
	run->cgroup = malloc(len + 2);
	if (!run->cgroup)
		return fail(failure, -ENOMEM, "memory", "out of memory");
	sprintf(run->cgroup, "/%s", path);
	return 0;
}

static int new_cgroup(struct manager *m, struct run *run, struct failure *failure)
{
	int err = cgroup_make(m->root_fd, run->name, &run->cgroup_fd);

	if (err)
		return fail(failure, err, "cgroup", "%s/" RF_CGROUP_PARENT "/%s: %s", m->root_path, run->name,
			    strerror(-err));
	run->ours = true;
	run->cgroup = malloc(sizeof("/" RF_CGROUP_PARENT "/") + strlen(run->name));
	if (!run->cgroup)
		return fail(failure, -ENOMEM, "memory", "out of memory");
	sprintf(run->cgroup, "/" RF_CGROUP_PARENT "/%s", run->name);
	return 0;
}

/* File, then watch, then tag: whatever enforcer comes later finds the file of every tag. */
static int bring_up(struct manager *m, struct run *run, struct failure *failure)
{
	struct stat st;
	int err = rf_enforcer_start_run(m->enforcer, run->images->base, run->ours ? 0 : RF_RUN_CARRIES, &run->slot,
					&run->id);

	if (err)
		return fail(failure, err, "kernel", "%s", rf_enforcer_why(m->enforcer));
	if (fstat(run->cgroup_fd, &st))
		return fail(failure, -errno, "cgroup", "%s: %s", run->cgroup, strerror(errno));
	run->cgroup_id = st.st_ino;
	err = store_save(m, run);
	if (err)
		return fail(failure, err, "store", "%s/runs: %s", m->options->runtime, strerror(-err));
	err = lifecycle_watch(m, run);
	if (err)
		return fail(failure, err, "cgroup", "%s/cgroup.events: %s", run->cgroup, strerror(-err));
	err = rf_enforcer_tag(m->enforcer, run->slot, run->cgroup_fd, &run->cgroup_id);
	if (err)
		return fail(failure, err, "kernel", "%s cannot be tagged: %s: %s", run->cgroup, strerror(-err),
			    rf_enforcer_why(m->enforcer));
	run->was_populated = cgroup_populated(run->events.fd) > 0;
	return 0;
}

/* Of the process that the command will come from, that was named, or the oldest one there is. */
static int take_view(struct manager *m, const struct rf_request *r, const struct rf_peer *peer, struct run *run,
		     struct failure *failure)
{
	bool tag = r->op == RF_OP_TAG;
	pid_t pid = tag ? (pid_t)r->pid : peer->pid;
	int err = 0;

	if (tag && !pid)
		pid = views_first_process(run->cgroup_fd);

	/* Nobody is there yet: a service that will be started by the host. */
	if (!tag || pid)
		err = views_take(m, run, pid, tag ? -1 : peer->pidfd, failure->text, sizeof(failure->text));
	if (err)
		failure->code = "view";
	return err;
}

static int no_log(struct failure *failure, int err)
{
	return fail(failure, err, "log", "the event log cannot be written (%s): a run without evidence is not started",
		    strerror(-err));
}

static int write_start(struct manager *m, const struct run *run, struct failure *failure)
{
	static const char *const not_started[] = {"how", "not started", NULL};
	char id[24], uid[16];
	const char *fields[] = {
		"run_id#",     id,
		"uid#",	       uid,
		"cgroup",      run->cgroup,
		"policy_file", run->texts.policy.file,
		"mode",	       rf_policy_observes(run->images->policy) ? "observe" : "enforce",
		NULL,
	};
	int err;

	snprintf(id, sizeof(id), "%" PRIu64, run->id);
	snprintf(uid, sizeof(uid), "%u", run->uid);
	err = journal_own(&m->journal, "run.start", run, fields);
	if (!err)
		return 0;
	/* The record waits and will be written: its end belongs to it. */
	journal_own(&m->journal, "run.end", run, not_started);
	return no_log(failure, err);
}

static void undo(struct manager *m, struct run *run)
{
	if (run->id) {
		/* Not "release": a tagged service that we cannot fence is let go, but a new cgroup must not be used. */
		if (run->ours)
			rf_enforcer_end_run(m->enforcer, run->slot);
		else
			rf_enforcer_release_run(m->enforcer, run->slot);
		rf_enforcer_free_run(m->enforcer, run->slot);
		store_remove(m, run->name);
	}
	rf_loop_remove(m->epoll_fd, &run->events);
	if (run->images)
		rf_enforcer_drop_image(m->enforcer, run->images->base);
	views_drop(m, run);
	closep(&run->cgroup_fd);
	run->cgroup_fd = -1;
	if (run->ours && run->cgroup)
		cgroup_remove(m->root_fd, run->cgroup + 1);
}

int lifecycle_start(struct manager *m, const struct rf_request *r, struct rf_client *client, struct run **ret,
		    struct failure *failure)
{
	__cleanup(run_free) struct run *run = run_new();
	int err;

	if (!run)
		return fail(failure, -ENOMEM, "memory", "out of memory");
	err = journal_flush(&m->journal);
	if (err)
		return no_log(failure, err);
	run->manager = m;
	run->texts.look = views_look_up;
	run->texts.look_ctx = run;
	run->started = time(NULL);
	make_name(run);
	err = who_asked(run, r, rf_client_peer(client));
	if (err)
		return fail(failure, err, "memory", "out of memory");
	/* Where its files are named comes before what its policy says of the names. */
	if (r->op == RF_OP_TAG)
		err = existing_cgroup(m, r, run, failure);
	if (!err)
		err = take_view(m, r, rf_client_peer(client), run, failure);
	if (!err)
		err = compile(m, r, run, failure);
	if (!err && r->op != RF_OP_TAG)
		err = new_cgroup(m, run, failure);
	if (!err)
		err = bring_up(m, run, failure);
	if (!err)
		err = write_start(m, run, failure);
	if (err) {
		undo(m, run);
		return err;
	}
	runs_add(&m->runs, run);
	*ret = TAKE_PTR(run);
	return 0;
}
