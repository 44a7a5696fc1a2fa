/* SPDX-License-Identifier: Apache-2.0 */
/* control/texts.c: policies by name from directories, the way to JSON and back, and symlinks that stay what they were. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "control/texts.h"
#include "lib/cleanup.h"
#include "lib/fdio.h"

#define BASE "{\"ringfence\": 1, \"name\": \"base\", \"files\": [{\"allow\": [\"read\"], \"paths\": [\"/usr/**\"]}]}"
#define POLICY                                                            \
	"{\"ringfence\": 1, \"name\": \"mine\", \"extends\": [\"base\"]," \
	" \"files\": [{\"allow\": [\"*\"], \"paths\": [\"${workspace}/out/**\"]}]}"
#define FLOOR                                                                                    \
	"{\"ringfence\": 1, \"name\": \"floor\", \"files\": [{\"deny\": [\"read\"], \"paths\": " \
	"[\"/usr/secret/**\"]}]}"

struct fixture {
	char root[64], first[80], second[80], work[80], floor[128];
	struct rf_option_list dirs;
};

static void put(const char *dir, const char *name, const char *text)
{
	__cleanup(closep) int fd = open(dir, O_RDONLY | O_DIRECTORY);

	assert_int_equal(rf_replace_file(fd, name, 0644, text, strlen(text)), 0);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	strcpy(f->root, "/tmp/rf-test-XXXXXX");
	if (!mkdtemp(f->root))
		return -1;
	snprintf(f->first, sizeof(f->first), "%s/first", f->root);
	snprintf(f->second, sizeof(f->second), "%s/second", f->root);
	snprintf(f->work, sizeof(f->work), "%s/work", f->root);
	snprintf(f->floor, sizeof(f->floor), "%s/floor.json", f->root);
	if (mkdir(f->first, 0755) || mkdir(f->second, 0755) || mkdir(f->work, 0755))
		return -1;
	put(f->second, "base.json", BASE);
	put(f->second, "mine.json", POLICY);
	put(f->root, "floor.json", FLOOR);
	f->dirs = (struct rf_option_list){{f->first, f->second}, 2};
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", f->root);
	free(f);
	return system(command);
}

static void find(void **state)
{
	struct fixture *f = *state;
	char *text = NULL, *file = NULL;
	size_t len = 0;

	assert_int_equal(rf_texts_find(&f->dirs, "base", &text, &len, &file), 0);
	assert_string_equal(text, BASE);
	assert_int_equal(len, strlen(BASE));
	assert_int_equal(strncmp(file, f->second, strlen(f->second)), 0);
	free(text);
	free(file);
	assert_int_equal(rf_texts_find(&f->dirs, "none", &text, &len, &file), -ENOENT);
	/* A file of that path exists, and a name must not reach it. */
	assert_int_equal(rf_texts_find(&f->dirs, "../second/base", &text, &len, &file), -ENOENT);
	/* The first directory wins. */
	put(f->first, "base.json", "{}");
	assert_int_equal(rf_texts_find(&f->dirs, "base", &text, &len, &file), 0);
	assert_string_equal(text, "{}");
	free(text);
	free(file);
	/* Something else in its place is an error and not a reason to take the next one. */
	snprintf(f->floor, sizeof(f->floor), "%s/mine.json", f->first);
	assert_int_equal(mkdir(f->floor, 0755), 0);
	assert_int_equal(rf_texts_find(&f->dirs, "mine", &text, &len, &file), -EISDIR);
}

static void load(struct fixture *f, struct rf_texts *t)
{
	assert_int_equal(rf_texts_load_named(t, &f->dirs, "mine"), 0);
	assert_int_equal(rf_texts_load_floor(t, f->floor), 0);
	assert_int_equal(rf_texts_add_var(t, "workspace", f->work), 0);
	assert_int_equal(rf_texts_add_var(t, "home", NULL), 0);
	assert_int_equal(t->var_count, 1);
}

static bool allows(const struct rf_policy *p, const char *access, const char *format, const char *arg)
{
	char object[256];
	size_t n;
	const union rf_cell *cells = rf_policy_image(p, &n);

	snprintf(object, sizeof(object), format, arg);
	/* The image and not explain: no symlink may be resolved here. */
	return rf_image_path(cells, n, !strcmp(access, "read") ? RF_FILE_READ : RF_FILE_WRITE, object, strlen(object))
		.allow;
}

static void floor_counts(void **state)
{
	__cleanup(rf_texts_done) struct rf_texts t = {};
	__cleanup(rf_policy_free) struct rf_policy *p = NULL;
	struct fixture *f = *state;
	struct rf_diag diag = {};

	load(f, &t);
	assert_int_equal(rf_texts_compile(&t, &f->dirs, &p, &diag), 0);
	assert_true(t.named);
	assert_int_equal(t.layer_count, 1);
	assert_true(allows(p, "read", "/usr/share/x", NULL));
	assert_false(allows(p, "read", "/usr/secret/x", NULL));
	assert_true(allows(p, "write", "%s/out/x", f->work));
	assert_false(allows(p, "write", "%s/in/x", f->work));
	assert_int_equal(rf_texts_load_floor(&t, "/nonexistent/floor.json"), -ENOENT);
}

/* What is stored rebuilds the same policy although every file is gone and a directory has become a symlink. */
static void rebuilt(void **state)
{
	__cleanup(rf_texts_done) struct rf_texts t = {}, again = {};
	__cleanup(rf_policy_free) struct rf_policy *p = NULL, *q = NULL;
	struct fixture *f = *state;
	struct json_object *json;
	struct rf_diag diag = {};
	char path[128];

	load(f, &t);
	assert_int_equal(rf_texts_compile(&t, &f->dirs, &p, &diag), 0);
	assert_int_equal(rf_texts_to_json(&t, &json), 0);
	snprintf(path, sizeof(path), "%s/out", f->work);
	assert_int_equal(symlink("/etc", path), 0);
	unlink(f->floor);
	assert_int_equal(rf_texts_from_json(&again, json), 0);
	json_object_put(json);
	assert_true(again.named);
	assert_int_equal(rf_texts_compile(&again, NULL, &q, &diag), 0);
	assert_string_equal(rf_policy_digest(p), rf_policy_digest(q));
	assert_true(allows(q, "write", "%s/out/x", f->work));
	assert_false(allows(q, "write", "/etc/passwd", NULL));
}

/* The twin: a symlink that was there from the start is followed, and still is after it was turned. */
static void followed(void **state)
{
	__cleanup(rf_texts_done) struct rf_texts t = {}, again = {};
	__cleanup(rf_policy_free) struct rf_policy *p = NULL, *q = NULL;
	struct fixture *f = *state;
	struct json_object *json;
	struct rf_diag diag = {};
	char path[128], target[128];

	snprintf(path, sizeof(path), "%s/out", f->work);
	snprintf(target, sizeof(target), "%s/target", f->work);
	assert_int_equal(mkdir(target, 0755), 0);
	assert_int_equal(symlink(target, path), 0);
	load(f, &t);
	assert_int_equal(rf_texts_compile(&t, &f->dirs, &p, &diag), 0);
	assert_true(t.resolved_count >= 1);
	assert_true(allows(p, "write", "%s/x", target));
	assert_int_equal(rf_texts_to_json(&t, &json), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/etc", path), 0);
	assert_int_equal(rf_texts_from_json(&again, json), 0);
	json_object_put(json);
	assert_int_equal(rf_texts_compile(&again, NULL, &q, &diag), 0);
	assert_string_equal(rf_policy_digest(p), rf_policy_digest(q));
	assert_false(allows(q, "write", "/etc/passwd", NULL));
}

static void damaged(void **state)
{
	static const char *const texts[] = {
		"{}",
		"{\"policy\":[],\"layers\":[],\"floor\":[],\"vars\":[],\"resolved\":[],\"named\":true}",
		"{\"policy\":[{\"file\":\"f\"}],\"layers\":[],\"floor\":[],\"vars\":[],\"resolved\":[],\"named\":true}",
		"{\"policy\":[1],\"layers\":[],\"floor\":[],\"vars\":[],\"resolved\":[],\"named\":true}",
		"{\"policy\":[{\"file\":\"f\",\"text\":\"\"}],\"layers\":[{\"file\":\"f\",\"text\":\"\"}],\"floor\":[],"
		"\"vars\":[],\"resolved\":[],\"named\":true}",
		"{\"policy\":[{\"file\":\"f\",\"text\":\"\"}],\"layers\":[],\"floor\":[],\"vars\":[],\"resolved\":[\"/"
		"a\"],"
		"\"named\":true}",
		"{\"policy\":[{\"file\":\"f\",\"text\":\"\"}],\"layers\":[],\"floor\":[],"
		"\"vars\":[\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\"],\"resolved\":[],\"named\":true}",
	};
	static const char whole[] =
		"{\"policy\":[{\"file\":\"f\",\"text\":\"\"}],\"layers\":[],\"floor\":[],\"vars\":[],"
		"\"resolved\":[],\"named\":true}";
	__cleanup(rf_texts_done) struct rf_texts t = {};
	struct json_object *json = json_tokener_parse(whole);

	(void)state;
	assert_int_equal(rf_texts_from_json(&t, json), 0);
	json_object_put(json);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		json = json_tokener_parse(texts[i]);
		assert_non_null(json);
		assert_int_equal(rf_texts_from_json(&t, json), -EBADMSG);
		json_object_put(json);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		TEST(find), TEST(floor_counts), TEST(rebuilt), TEST(followed), cmocka_unit_test(damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
