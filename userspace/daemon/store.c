// SPDX-License-Identifier: Apache-2.0
/* runs/NAME.json: what a later enforcer needs to take a run over. Written before the run can deny anything. */
#define _GNU_SOURCE 1 /* asprintf */

#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "control/packet.h"
#include "daemon/manager.h"
#include "lib/cleanup.h"
#include "lib/fdio.h"

#define STORE_VERSION 1
#define STORE_BYTES_MAX (64U << 20)
#define STORE_MODE 0600 /* policies of other users' runs */

static void file_name(const char *run, char buf[NAME_MAX + 1])
{
	snprintf(buf, NAME_MAX + 1, "%s.json", run);
}

static void add_number(struct json_object *object, const char *key, uint64_t n)
{
	json_object_object_add(object, key, json_object_new_int64((int64_t)n));
}

static void add_statement(struct json_object *object, const char *key, const struct statement *s)
{
	struct json_object *value;

	if (!s->name)
		return;
	value = json_object_new_object();
	rf_member_add(value, "name", s->name);
	add_number(value, "strength", s->strength);
	json_object_object_add(object, key, value);
}

static void add_view(struct json_object *object, const struct rf_view *view)
{
	const struct rf_view_place *place = rf_view_place(view);
	struct json_object *value = json_object_new_object();

	add_number(value, "id", rf_view_id(view));
	add_number(value, "ns_dev", place->ns_dev);
	add_number(value, "ns_ino", place->ns_ino);
	add_number(value, "root_dev", place->root_dev);
	add_number(value, "root_ino", place->root_ino);
	json_object_object_add(object, "view", value);
}

int store_save(struct manager *m, const struct run *run)
{
	struct json_object *object = json_object_new_object(), *texts;
	char name[NAME_MAX + 1];
	const char *text;
	size_t len;
	int err = rf_texts_to_json(&run->texts, &texts);

	if (err) {
		json_object_put(object);
		return err;
	}
	add_number(object, "v", STORE_VERSION);
	rf_member_add(object, "name", run->name);
	add_number(object, "slot", run->slot);
	add_number(object, "id", run->id);
	rf_member_add(object, "cgroup", run->cgroup);
	add_number(object, "cgroup_id", run->cgroup_id);
	json_object_object_add(object, "ours", json_object_new_boolean(run->ours));
	add_number(object, "started", (uint64_t)run->started);
	add_number(object, "uid", run->uid);
	add_number(object, "image", run->images->id);
	if (run->view)
		add_view(object, run->view->kernel);
	rf_member_add(object, "digest", run_digest(run));
	add_statement(object, "person", &run->person);
	add_statement(object, "agent", &run->agent);
	add_statement(object, "task", &run->task);
	json_object_object_add(object, "texts", texts);
	text = json_object_to_json_string_length(object, JSON_C_TO_STRING_PLAIN, &len);
	file_name(run->name, name);
	err = text ? rf_replace_file(m->runs_fd, name, STORE_MODE, text, len) : -ENOMEM;
	json_object_put(object);
	return err;
}

void store_remove(struct manager *m, const char *run)
{
	char name[NAME_MAX + 1];

	file_name(run, name);
	unlinkat(m->runs_fd, name, 0);
}

static int get_statement(struct json_object *object, const char *key, struct statement *ret)
{
	struct json_object *value;

	if (!json_object_object_get_ex(object, key, &value))
		return 0;
	ret->name = strdup(rf_member_string(value, "name"));
	ret->strength = (enum rf_strength)rf_member_number(value, "strength");
	return ret->name ? 0 : -ENOMEM;
}

static int fill(struct run *run, struct json_object *object)
{
	const char *name = rf_member_string(object, "name");
	struct json_object *value;
	int err;

	if (rf_member_number(object, "v") != STORE_VERSION || !rf_bare_name(name) ||
	    strlen(name) >= sizeof(run->name) || *rf_member_string(object, "cgroup") != '/')
		return -EBADMSG;
	snprintf(run->name, sizeof(run->name), "%s", name);
	run->slot = (uint32_t)rf_member_number(object, "slot");
	run->id = (uint64_t)rf_member_number(object, "id");
	run->cgroup = strdup(rf_member_string(object, "cgroup"));
	run->cgroup_id = (uint64_t)rf_member_number(object, "cgroup_id");
	run->ours = json_object_object_get_ex(object, "ours", &value) && json_object_get_boolean(value);
	run->started = (time_t)rf_member_number(object, "started");
	run->uid = (uid_t)rf_member_number(object, "uid");
	if (run->slot >= RF_RUNS_MAX || !run->id || !json_object_object_get_ex(object, "texts", &value))
		return -EBADMSG;
	err = run->cgroup ? rf_texts_from_json(&run->texts, value) : -ENOMEM;
	run->texts.now = run->started;
	if (!err)
		err = get_statement(object, "person", &run->person);
	if (!err)
		err = get_statement(object, "agent", &run->agent);
	if (!err)
		err = get_statement(object, "task", &run->task);
	return err;
}

static void get_stored(struct json_object *object, struct stored *ret)
{
	struct json_object *view;

	*ret = (struct stored){.image = (uint32_t)rf_member_number(object, "image")};
	snprintf(ret->digest, sizeof(ret->digest), "%s", rf_member_string(object, "digest"));
	if (!json_object_object_get_ex(object, "view", &view))
		return;
	ret->view = (uint32_t)rf_member_number(view, "id");
	ret->place = (struct rf_view_place){
		(uint64_t)rf_member_number(view, "ns_dev"),
		(uint64_t)rf_member_number(view, "ns_ino"),
		(uint64_t)rf_member_number(view, "root_dev"),
		(uint64_t)rf_member_number(view, "root_ino"),
	};
}

int store_load(struct manager *m, const char *file, struct run **ret, struct stored *ret_stored)
{
	__cleanup(freep) char *text = NULL;
	__cleanup(run_free) struct run *run = run_new();
	struct json_object *object;
	size_t len;
	int err = run ? rf_read_file(m->runs_fd, file, STORE_BYTES_MAX, &text, &len) : -ENOMEM;

	if (err)
		return err;
	object = json_tokener_parse(text);
	err = json_object_is_type(object, json_type_object) ? fill(run, object) : -EBADMSG;
	if (!err) {
		get_stored(object, ret_stored);
		run->manager = m;
		*ret = TAKE_PTR(run);
	}
	json_object_put(object);
	return err;
}
