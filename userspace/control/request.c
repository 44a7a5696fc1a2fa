// SPDX-License-Identifier: Apache-2.0
/* Control requests: one table says which key belongs to which operation and what its value may be. */
#include "control/request.h"

#include <errno.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const char *const op_names[] = {
	[RF_OP_RUN_START] = "run.start", [RF_OP_RUN_END] = "run.end", [RF_OP_TAG] = "tag",
	[RF_OP_UNTAG] = "untag",	 [RF_OP_PS] = "ps",	      [RF_OP_STATUS] = "status",
	[RF_OP_RELOAD] = "reload",
};
_Static_assert(COUNT(op_names) == RF_OP_MAX, "an operation has no name");

#define OP(op) (1U << (op))
#define STARTS (OP(RF_OP_RUN_START) | OP(RF_OP_TAG))

enum form {
	FORM_TEXT, /* policy text: any bytes that JSON can carry */
	FORM_WORD, /* one line for people */
	FORM_NAME, /* rf_bare_name() */
	FORM_PATH, /* absolute path */
	FORM_BELOW, /* relative path without "..", for openat2(RESOLVE_BENEATH) */
};

struct field {
	const char *key;
	enum form form;
	size_t offset, max;
	unsigned int ops, required;
};

#define FIELD(key, form, max, ops, required)                                     \
	{                                                                        \
#key, form, offsetof(struct rf_request, key), max, ops, required \
	}

static const struct field fields[] = {
	FIELD(policy, FORM_WORD, 255, STARTS, STARTS),
	FIELD(text, FORM_TEXT, RF_CONTROL_TEXT_MAX, STARTS, 0),
	FIELD(workspace, FORM_PATH, PATH_MAX - 1, STARTS, 0),
	FIELD(home, FORM_PATH, PATH_MAX - 1, STARTS, 0),
	FIELD(tmp, FORM_PATH, PATH_MAX - 1, STARTS, 0),
	FIELD(user, FORM_WORD, 64, STARTS, 0),
	FIELD(person, FORM_WORD, 255, STARTS, 0),
	FIELD(sudo_user, FORM_WORD, 255, STARTS, 0),
	FIELD(agent, FORM_WORD, 255, STARTS, 0),
	FIELD(task, FORM_WORD, 255, STARTS, 0),
	FIELD(cgroup, FORM_BELOW, PATH_MAX - 1, OP(RF_OP_TAG), 0),
	FIELD(run, FORM_NAME, 64, OP(RF_OP_RUN_END) | OP(RF_OP_UNTAG), OP(RF_OP_RUN_END) | OP(RF_OP_UNTAG)),
	FIELD(after, FORM_NAME, 64, OP(RF_OP_PS), 0),
};

struct number_field {
	const char *key;
	size_t offset;
	int64_t min, max;
	unsigned int ops;
};

static const struct number_field number_fields[] = {
	{"pid", offsetof(struct rf_request, pid), 1, INT_MAX, OP(RF_OP_TAG)},
	{"status", offsetof(struct rf_request, status), 0, 255, OP(RF_OP_RUN_END)},
};

const char *rf_op_name(enum rf_op op)
{
	return op < RF_OP_MAX ? op_names[op] : "?";
}

bool rf_bare_name(const char *name)
{
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-");

	return len && len <= 64 && !name[len] && name[0] != '.';
}

__attribute__((format(printf, 3, 4))) static int wrong(char *reterr, size_t size, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(reterr, size, format, args);
	va_end(args);
	return -EINVAL;
}

static bool one_line(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return false;
	return true;
}

static bool climbs(const char *path)
{
	for (const char *part = path; part; part = strchr(part, '/')) {
		part += *part == '/';
		if (!strncmp(part, "..", 2) && (!part[2] || part[2] == '/'))
			return true;
	}
	return false;
}

/* What is wrong with a string of this form, or NULL. */
static const char *form_error(enum form form, const char *s)
{
	switch (form) {
	case FORM_TEXT:
		return NULL;
	case FORM_WORD:
		return *s && one_line(s) ? NULL : "one line of text, not empty";
	case FORM_NAME:
		return rf_bare_name(s) ? NULL : "a name of a-z 0-9 . _ -";
	case FORM_PATH:
		return *s == '/' && !climbs(s) ? NULL : "an absolute path without ..";
	case FORM_BELOW:
		return *s && *s != '/' && !climbs(s) ? NULL : "a path relative to the cgroup root without ..";
	}
	return "unknown";
}

static int get_string(struct json_object *value, const char *key, size_t max, const char **ret, char *reterr,
		      size_t size)
{
	size_t len;

	if (!json_object_is_type(value, json_type_string))
		return wrong(reterr, size, "\"%s\" must be a string", key);
	len = (size_t)json_object_get_string_len(value);
	*ret = json_object_get_string(value);
	if (strlen(*ret) != len)
		return wrong(reterr, size, "\"%s\" holds a NUL byte", key);
	if (len > max)
		return wrong(reterr, size,
			     "\"%s\" has %zu bytes, at most %zu fit; put a long policy into a policy directory", key,
			     len, max);
	return 0;
}

static int set_string(struct rf_request *r, const struct field *field, struct json_object *value, char *reterr,
		      size_t size)
{
	const char *s = "", *expected;
	int err = get_string(value, field->key, field->max, &s, reterr, size);

	if (err)
		return err;
	expected = form_error(field->form, s);
	if (expected)
		return wrong(reterr, size, "\"%s\" must be %s", field->key, expected);
	*(const char **)((char *)r + field->offset) = s;
	return 0;
}

static int set_number(struct rf_request *r, const struct number_field *field, struct json_object *value, char *reterr,
		      size_t size)
{
	int64_t n = json_object_get_int64(value);

	if (!json_object_is_type(value, json_type_int) || n < field->min || n > field->max)
		return wrong(reterr, size, "\"%s\" must be a number from %lld to %lld", field->key,
			     (long long)field->min, (long long)field->max);
	*(int64_t *)((char *)r + field->offset) = n;
	return 0;
}

/* "layers": {"linux-base": "text", ...}, the policies that text extends. */
static int set_layers(struct rf_request *r, struct json_object *value, char *reterr, size_t size)
{
	if (!json_object_is_type(value, json_type_object))
		return wrong(reterr, size, "\"layers\" must be an object of name and policy text");
	json_object_object_foreach (value, name, text) {
		struct rf_layer_text *layer = &r->layers[r->layer_count];
		const char *bytes = "";
		int err;

		if (r->layer_count == RF_LAYERS_MAX)
			return wrong(reterr, size, "\"layers\" has more than %d members", RF_LAYERS_MAX);
		if (!rf_bare_name(name))
			return wrong(reterr, size, "\"layers\": a key must be a name of a-z 0-9 . _ -");
		err = get_string(text, "layers", RF_CONTROL_TEXT_MAX, &bytes, reterr, size);
		if (err)
			return err;
		layer->name = name;
		layer->text = bytes;
		layer->len = strlen(bytes);
		r->layer_count++;
	}
	return 0;
}

static int set_member(struct rf_request *r, const char *key, struct json_object *value, char *reterr, size_t size)
{
	unsigned int op = OP(r->op);

	if (!strcmp(key, "op"))
		return 0;
	if (!strcmp(key, "layers") && (op & STARTS))
		return set_layers(r, value, reterr, size);
	for (size_t i = 0; i < COUNT(fields); i++)
		if (!strcmp(key, fields[i].key) && (fields[i].ops & op))
			return set_string(r, &fields[i], value, reterr, size);
	for (size_t i = 0; i < COUNT(number_fields); i++)
		if (!strcmp(key, number_fields[i].key) && (number_fields[i].ops & op))
			return set_number(r, &number_fields[i], value, reterr, size);
	return wrong(reterr, size, "\"%.64s\" is no member of a \"%s\" request", key, op_names[r->op]);
}

static int set_op(struct rf_request *r, char *reterr, size_t size)
{
	struct json_object *value;
	const char *name = "";
	int err;

	if (!json_object_object_get_ex(r->json, "op", &value))
		return wrong(reterr, size, "\"op\" is missing");
	err = get_string(value, "op", 32, &name, reterr, size);
	if (err)
		return err;
	for (unsigned int i = 0; i < RF_OP_MAX; i++)
		if (!strcmp(name, op_names[i])) {
			r->op = i;
			return 0;
		}
	return wrong(reterr, size, "there is no operation \"%.32s\"", name);
}

static int check_whole(const struct rf_request *r, char *reterr, size_t size)
{
	for (size_t i = 0; i < COUNT(fields); i++)
		if ((fields[i].required & OP(r->op)) && !*(const char *const *)((const char *)r + fields[i].offset))
			return wrong(reterr, size, "\"%s\" is missing", fields[i].key);
	if (r->policy && !r->text && !rf_bare_name(r->policy))
		return wrong(reterr, size, "\"policy\" must be a name of a-z 0-9 . _ -, or come with its \"text\"");
	if (r->layer_count && !r->text)
		return wrong(reterr, size, "\"layers\" need a \"text\" that extends them");
	if (r->op == RF_OP_TAG && !r->cgroup == !r->pid)
		return wrong(reterr, size, "a \"tag\" request needs one of \"cgroup\" and \"pid\"");
	return 0;
}

static int parse_json(const void *bytes, size_t len, struct json_object **ret, char *reterr, size_t size)
{
	struct json_tokener *tokener = json_tokener_new_ex(RF_CONTROL_DEPTH);
	enum json_tokener_error error;
	size_t end;

	if (!tokener)
		return -ENOMEM;
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	*ret = json_tokener_parse_ex(tokener, bytes, (int)len);
	error = json_tokener_get_error(tokener);
	end = json_tokener_get_parse_end(tokener);
	json_tokener_free(tokener);
	if (error != json_tokener_success || end != len || !json_object_is_type(*ret, json_type_object)) {
		json_object_put(*ret);
		*ret = NULL;
		return wrong(reterr, size, "a request is one JSON object: %s at byte %zu",
			     error == json_tokener_success ? "unexpected data" : json_tokener_error_desc(error), end);
	}
	return 0;
}

int rf_request_parse(const void *bytes, size_t len, struct rf_request *ret, char *reterr, size_t size)
{
	struct rf_request r = {.status = -1};
	int err;

	if (!len || len > RF_CONTROL_BYTES_MAX)
		return wrong(reterr, size, "a request has 1 to %d bytes", RF_CONTROL_BYTES_MAX);
	err = parse_json(bytes, len, &r.json, reterr, size);
	if (!err)
		err = set_op(&r, reterr, size);
	if (!err) {
		json_object_object_foreach (r.json, key, value) {
			err = set_member(&r, key, value, reterr, size);
			if (err)
				break;
		}
	}
	if (!err)
		err = check_whole(&r, reterr, size);
	if (err) {
		rf_request_done(&r);
		return err;
	}
	*ret = r;
	return 0;
}

void rf_request_done(struct rf_request *request)
{
	json_object_put(request->json);
	*request = (struct rf_request){.status = -1};
}
