// SPDX-License-Identifier: Apache-2.0
/* struct rf_texts to JSON and back, for the file that an enforcer leaves to the next one. */
#include "control/texts.h"

#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#include "lib/cleanup.h"

static int add_string(struct json_object *object, const char *key, const char *value, size_t len)
{
	struct json_object *string = json_object_new_string_len(value, (int)len);

	if (!string || json_object_object_add(object, key, string)) {
		json_object_put(string);
		return -ENOMEM;
	}
	return 0;
}

static int add_text(struct json_object *list, const struct rf_text *text)
{
	struct json_object *object = json_object_new_object();
	int err = object ? 0 : -ENOMEM;

	if (!err && text->name)
		err = add_string(object, "name", text->name, strlen(text->name));
	if (!err)
		err = add_string(object, "file", text->file, strlen(text->file));
	if (!err)
		err = add_string(object, "text", text->text, text->len);
	if (!err && json_object_array_add(list, object))
		err = -ENOMEM;
	if (err)
		json_object_put(object);
	return err;
}

static int fill_list(const struct rf_texts *t, const char *key, struct json_object *list)
{
	int err = 0;

	if (!strcmp(key, "policy"))
		return add_text(list, &t->policy);
	if (!strcmp(key, "floor"))
		return t->floor.text ? add_text(list, &t->floor) : 0;
	if (!strcmp(key, "layers"))
		for (size_t i = 0; !err && i < t->layer_count; i++)
			err = add_text(list, &t->layers[i]);
	if (!strcmp(key, "vars"))
		for (size_t i = 0; !err && i < t->var_count; i++)
			err = json_object_array_add(list, json_object_new_string(t->vars[i]));
	if (!strcmp(key, "resolved"))
		for (size_t i = 0; !err && i < t->resolved_count; i++) {
			err = json_object_array_add(list, json_object_new_string(t->resolved[i].path));
			if (!err)
				err = json_object_array_add(list, json_object_new_string(t->resolved[i].target));
		}
	return err ? -ENOMEM : 0;
}

int rf_texts_to_json(const struct rf_texts *t, struct json_object **ret)
{
	static const char *const keys[] = {"policy", "layers", "floor", "vars", "resolved"};
	struct json_object *object = json_object_new_object();
	int err = object ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct json_object *list = json_object_new_array();

		err = list ? fill_list(t, keys[i], list) : -ENOMEM;
		if (!err && json_object_object_add(object, keys[i], list))
			err = -ENOMEM;
		if (err)
			json_object_put(list);
	}
	if (!err && json_object_object_add(object, "named", json_object_new_boolean(t->named)))
		err = -ENOMEM;
	if (err)
		json_object_put(object);
	else
		*ret = object;
	return err;
}

static const char *string(struct json_object *object, const char *key)
{
	struct json_object *value;

	if (!json_object_object_get_ex(object, key, &value) || !json_object_is_type(value, json_type_string))
		return NULL;
	return json_object_get_string(value);
}

static int get_text(struct json_object *object, struct rf_text *text)
{
	const char *file = string(object, "file"), *bytes = string(object, "text");
	struct json_object *value;

	if (!file || !bytes || !json_object_object_get_ex(object, "text", &value))
		return -EBADMSG;
	return rf_text_set(text, string(object, "name"), file, bytes, (size_t)json_object_get_string_len(value));
}

static int get_layers(struct rf_texts *t, struct json_object *list)
{
	size_t n = json_object_array_length(list);

	if (n > RF_LAYERS_MAX)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++) {
		int err = get_text(json_object_array_get_idx(list, i), &t->layers[i]);

		if (err)
			return err;
		t->layer_count++;
		if (!t->layers[i].name)
			return -EBADMSG;
	}
	return 0;
}

static int get_vars(struct rf_texts *t, struct json_object *list)
{
	size_t n = json_object_array_length(list);

	if (n > RF_VARS_MAX)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++) {
		t->vars[i] = strdup(json_object_get_string(json_object_array_get_idx(list, i)) ?: "");
		if (!t->vars[i])
			return -ENOMEM;
		t->var_count++;
	}
	return 0;
}

static int get_resolved(struct rf_texts *t, struct json_object *list)
{
	size_t n = json_object_array_length(list);

	if (n % 2 || n > 2 * RF_RULES_MAX)
		return -EBADMSG;
	t->resolved = calloc(n / 2 + 1, sizeof(*t->resolved));
	if (!t->resolved)
		return -ENOMEM;
	for (size_t i = 0; i < n; i += 2) {
		struct rf_resolution *r = &t->resolved[t->resolved_count++];

		r->path = strdup(json_object_get_string(json_object_array_get_idx(list, i)) ?: "");
		r->target = strdup(json_object_get_string(json_object_array_get_idx(list, i + 1)) ?: "");
		if (!r->path || !r->target)
			return -ENOMEM;
	}
	return 0;
}

static struct json_object *list(struct json_object *object, const char *key)
{
	struct json_object *value;

	return json_object_object_get_ex(object, key, &value) && json_object_is_type(value, json_type_array) ? value
													     : NULL;
}

int rf_texts_from_json(struct rf_texts *t, struct json_object *object)
{
	struct json_object *policy = list(object, "policy"), *layers = list(object, "layers"),
			   *floor = list(object, "floor"), *vars = list(object, "vars"),
			   *resolved = list(object, "resolved"), *named;
	int err;

	if (!policy || !layers || !floor || !vars || !resolved || !json_object_object_get_ex(object, "named", &named) ||
	    json_object_array_length(policy) != 1 || json_object_array_length(floor) > 1)
		return -EBADMSG;
	rf_texts_done(t);
	t->named = json_object_get_boolean(named);
	t->frozen = true;
	err = get_text(json_object_array_get_idx(policy, 0), &t->policy);
	if (!err)
		err = get_layers(t, layers);
	if (!err && json_object_array_length(floor))
		err = get_text(json_object_array_get_idx(floor, 0), &t->floor);
	if (!err)
		err = get_vars(t, vars);
	if (!err)
		err = get_resolved(t, resolved);
	if (err)
		rf_texts_done(t);
	return err;
}
