// SPDX-License-Identifier: Apache-2.0
/* Runs in the enforcer's memory. */
#include "daemon/run.h"

#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#include "control/packet.h"
#include "daemon/manager.h"
#include "kern/enforcer.h"
#include "lib/cleanup.h"

struct run *run_new(void)
{
	struct run *run = calloc(1, sizeof(*run));

	if (!run)
		return NULL;
	run->cgroup_fd = run->events.fd = -1;
	run->status = -1;
	return run;
}

static void images_free(struct image *image)
{
	while (image) {
		struct image *next = image->next;

		if (!image->shared)
			rf_policy_free(&image->policy);
		free(image);
		image = next;
	}
}

void run_free(struct run **ret)
{
	struct run *run = *ret;

	if (!run)
		return;
	images_free(run->images);
	rf_texts_done(&run->texts);
	free(run->cgroup);
	free(run->person.name);
	free(run->agent.name);
	free(run->task.name);
	for (unsigned int i = 0; i < run->denial_count; i++) {
		free(run->denials[i].access);
		free(run->denials[i].object);
		free(run->denials[i].rule);
	}
	closep(&run->cgroup_fd);
	closep(&run->events.fd);
	free(run);
	*ret = NULL;
}

int run_add_image(struct run *run, uint32_t id, uint32_t base, struct rf_policy *policy)
{
	struct image *image = calloc(1, sizeof(*image));

	if (!image)
		return -ENOMEM;
	*image = (struct image){.next = run->images, .id = id, .base = base, .placed = true, .policy = policy};
	run->images = image;
	return 0;
}

int run_add_alias(struct run *run, uint32_t id)
{
	struct image *current = run->images, *alias;

	if (current->id == id)
		return 0;
	alias = calloc(1, sizeof(*alias));
	if (!alias)
		return -ENOMEM;
	*alias = (struct image){.next = current->next, .id = id, .policy = current->policy, .shared = true};
	current->next = alias;
	return 0;
}

const struct image *run_image(const struct run *run, uint32_t id)
{
	for (const struct image *image = run->images; image; image = image->next)
		if (image->id == id)
			return image;
	return NULL;
}

const struct rf_rule *run_rule(const struct run *run, uint32_t id, uint16_t rule)
{
	const struct image *image = run_image(run, id);

	return image && image->policy ? rf_policy_rule(image->policy, rule) : NULL;
}

const char *run_policy_name(const struct run *run)
{
	return run->images && run->images->policy ? rf_policy_name(run->images->policy) : NULL;
}

const char *run_digest(const struct run *run)
{
	return run->images && run->images->policy ? rf_policy_digest(run->images->policy) : NULL;
}

void run_info(const struct run *run, const struct image *image, struct rf_run_info *ret)
{
	const struct rf_policy *p = image ? image->policy : run->images ? run->images->policy : NULL;

	*ret = (struct rf_run_info){
		.run = run->name,
		.policy = p ? rf_policy_name(p) : NULL,
		.digest = p ? rf_policy_digest(p) : NULL,
		.person = run->person.name,
		.agent = run->agent.name,
		.task = run->task.name,
		.person_strength = run->person.strength,
		.agent_strength = run->agent.strength,
		.task_strength = run->task.strength,
	};
}

static bool is_known(const struct run *run, const char *access, const char *object)
{
	for (unsigned int i = 0; i < run->denial_count; i++)
		if (!strcmp(run->denials[i].access, access) && !strcmp(run->denials[i].object, object))
			return true;
	return false;
}

void run_note_denial(struct run *run, const char *line)
{
	struct denial *d = &run->denials[run->denial_count];
	struct json_object *event;
	const char *access, *object, *rule;

	if (run->denial_count == RUN_DENIALS || run->noted == RUN_NOTED_MAX)
		return;
	run->noted++;
	event = json_tokener_parse(line);
	access = rf_member_string(event, "access");
	object = rf_member_string(event, "object");
	rule = rf_member_string(event, "rule");
	if (!is_known(run, access, object)) {
		*d = (struct denial){strdup(access), strdup(*object ? object : "?"),
				     strdup(*rule ? rule : rf_member_string(event, "reason"))};
		if (d->access && d->object && d->rule) {
			run->denial_count++;
		} else {
			free(d->access);
			free(d->object);
			free(d->rule);
		}
	}
	json_object_put(event);
}

void runs_add(struct runs *runs, struct run *run)
{
	runs->live[run->slot] = run;
	runs->count++;
}

void runs_retire(struct runs *runs, struct run *run)
{
	struct run **place = &runs->ended[runs->ended_count++ % RUNS_ENDED_MAX];

	runs->live[run->slot] = NULL;
	runs->count--;
	run_free(place);
	*place = run;
}

struct run *runs_of_event(const struct runs *runs, uint32_t slot, uint64_t id)
{
	if (slot < RF_RUNS_MAX && runs->live[slot] && runs->live[slot]->id == id)
		return runs->live[slot];
	for (size_t i = 0; i < RUNS_ENDED_MAX; i++)
		if (runs->ended[i] && runs->ended[i]->id == id)
			return runs->ended[i];
	return NULL;
}

struct run *runs_find(const struct runs *runs, const char *name)
{
	for (size_t i = 0; i < RF_RUNS_MAX; i++)
		if (runs->live[i] && !strcmp(runs->live[i]->name, name))
			return runs->live[i];
	return NULL;
}

void runs_done(struct runs *runs)
{
	for (size_t i = 0; i < RF_RUNS_MAX; i++)
		run_free(&runs->live[i]);
	for (size_t i = 0; i < RUNS_ENDED_MAX; i++)
		run_free(&runs->ended[i]);
}

int manager_put_policy(struct manager *m, const struct run *run, const struct rf_policy *policy, uint32_t *ret_base,
		       uint32_t *ret_id)
{
	size_t n;
	/* In a statement of its own: the order of a call's arguments is the compiler's. */
	const union rf_cell *cells = rf_policy_image(policy, &n);

	return rf_enforcer_put_image_in(m->enforcer, run->view ? rf_view_id(run->view->kernel) : 0, cells, n, ret_base,
					ret_id);
}
