/* SPDX-License-Identifier: Apache-2.0 */
/* Policies, hosts and questions for the tests of the policy compiler. Include behind <cmocka.h>. */
#pragma once

#include "lib/names.h"
#include "policy/policy.h"
#include "policy_files.h"

#define HEAD "{\"ringfence\": 1, \"name\": \"x\""
#define FILES(rules) HEAD ", \"files\": [" rules "]}"

/* Texts for "extends", and symlinks: path, target ... NULL */
struct host {
	const char *const *texts;
	const char *const *links;
	size_t asked;
};

static inline int find(void *ctx, const char *name, char **ret_text, size_t *ret_len, char **ret_file)
{
	const struct host *host = ctx;

	for (const char *const *t = host->texts; t && *t; t += 2)
		if (!strcmp(t[0], name)) {
			*ret_text = strdup(t[1]);
			*ret_len = strlen(t[1]);
			*ret_file = strdup(name);
			return 0;
		}
	return -ENOENT;
}

/* As realpath(3) on a host where exactly the paths of links exist. */
static inline int resolve(void *ctx, const char *path, char **ret)
{
	struct host *host = ctx;

	host->asked++;
	for (const char *const *l = host->links; l && *l; l += 2)
		if (!strcmp(l[0], path)) {
			*ret = strdup(l[1]);
			return 0;
		}
	return -ENOENT;
}

static const char *const default_vars[] = {"workspace=/w", "home=/home/u", "tmp=/t", "user=u", NULL};

static inline struct rf_policy *compile_args(struct rf_policy_args args)
{
	struct rf_policy *p = NULL;
	struct rf_diag diag = {};

	args.name = args.name ? args.name : "x.json";
	args.len = strlen(args.text);
	args.floor_len = args.floor_text ? strlen(args.floor_text) : 0;
	args.vars = args.vars ? args.vars : default_vars;
	args.now = args.now ? args.now : NOW;
	if (rf_policy_compile(&args, &p, &diag)) {
		rf_diag_print(&diag, stderr);
		fail();
	}
	return p;
}

static inline struct rf_policy *compile(const char *text)
{
	return compile_args((struct rf_policy_args){.text = text});
}

static inline void refused(struct rf_policy_args args, const char *expected)
{
	struct rf_policy *p = NULL;
	struct rf_diag diag = {};
	char line[1024] = "";
	FILE *out = fmemopen(line, sizeof(line), "w");

	args.name = "x.json";
	args.len = strlen(args.text);
	args.floor_len = args.floor_text ? strlen(args.floor_text) : 0;
	args.vars = args.vars ? args.vars : default_vars;
	args.now = args.now ? args.now : NOW;
	assert_non_null(out);
	assert_int_equal(rf_policy_compile(&args, &p, &diag), -EINVAL);
	assert_null(p);
	rf_diag_print(&diag, out);
	fclose(out);
	assert_string_equal(line, expected);
}

/* expected: "allow layer:id" or "deny layer:id", "deny none" */
static inline void says(const struct rf_policy *p, const char *access, const char *object, const char *expected)
{
	struct rf_explanation e;
	struct rf_diag diag = {};
	char answer[300];

	if (rf_policy_explain(p, access, object, &e, &diag)) {
		rf_diag_print(&diag, stderr);
		fail();
	}
	snprintf(answer, sizeof(answer), "%s %s%s%s", e.decision.allow ? "allow" : "deny", e.rule ? e.rule->layer : "",
		 e.rule ? ":" : "none", e.rule ? e.rule->id : "");
	if (strcmp(answer, expected))
		fail_msg("%s %s: %s instead of %s", access, object, answer, expected);
}

/* expected: "allow", "deny layer:id", "deny none", or "widening ACCESS BELOW DENYING ALLOWING" with rules by layer:id */
static inline void says_second(const struct rf_policy *p, const char *access, const char *old, const char *new,
			       const char *expected)
{
	const struct rf_rule none = {.layer = "", .id = "none"}, *denies, *allows;
	struct rf_second_explanation e;
	struct rf_diag diag = {};
	char answer[2000];

	if (rf_policy_explain_second(p, access, old, new, &e, &diag)) {
		rf_diag_print(&diag, stderr);
		fail();
	}
	denies = e.rule ? e.rule : &none;
	allows = e.allows ? e.allows : &none;
	if (e.allow)
		snprintf(answer, sizeof(answer), "allow");
	else if (e.reason == RF_REASON_WIDENING)
		snprintf(answer, sizeof(answer), "widening %s %s %s:%s %s:%s", rf_access_name(e.access), e.name.below,
			 denies->layer, denies->id, allows->layer, allows->id);
	else
		snprintf(answer, sizeof(answer), "deny %s %s:%s", rf_access_name(e.access), denies->layer, denies->id);
	if (strcmp(answer, expected))
		fail_msg("%s %s %s: %s instead of %s", access, old, new, answer, expected);
}
