// SPDX-License-Identifier: Apache-2.0
/* ringfence policy: check, explain, show, test. All of it works without an enforcer and without privileges. */
#define _GNU_SOURCE 1 /* asprintf */

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/texts.h"
#include "control/packet.h"
#include "lib/cleanup.h"
#include "lib/msg.h"
#include "lib/names.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define ROW(name, kind, member, arg, help)                                        \
	{                                                                         \
		name, 0, kind, offsetof(struct policy_options, member), arg, help \
	}

#define VAR_ROWS                                                                                              \
	ROW("workspace", RF_OPTION_STRING, workspace, "DIR", "${workspace}; default: the current directory"), \
		ROW("home", RF_OPTION_STRING, home, "DIR", "${home}; default: $HOME"),                        \
		ROW("tmp", RF_OPTION_STRING, tmp, "DIR", "${tmp}; default: /tmp"),                            \
		ROW("user", RF_OPTION_STRING, user, "NAME", "${user}; default: the current user"),            \
		ROW("run", RF_OPTION_STRING, run, "NAME", "${run}; default: a placeholder")
#define FIND_ROWS                                    \
	POLICY_DIR_ROW(struct policy_options, dirs), \
		ROW("floor", RF_OPTION_STRING, floor, "FILE", "the host's floor; default: " RF_FLOOR_DEFAULT)

static const struct rf_option_row check_rows[] = {FIND_ROWS};
static const struct rf_option_row explain_rows[] = {VAR_ROWS, FIND_ROWS,
						    ROW("json", RF_OPTION_FLAG, json, NULL, "print one JSON object")};
static const struct rf_option_row show_rows[] = {VAR_ROWS, FIND_ROWS};

static int bad_policy(const struct rf_diag *diag, int err)
{
	if (err != -EINVAL)
		return rf_err(CLI_FAILED, "%s", strerror(-err));
	rf_diag_print(diag, stderr);
	return CLI_BAD_POLICY;
}

/* A check is about the file and not about this host: variables get values that no path of the host has. */
static int add_check_vars(struct rf_texts *t)
{
	static const char *const vars[][2] = {
		{"workspace", "/ringfence-check/workspace"},
		{"home", "/ringfence-check/home"},
		{"tmp", "/ringfence-check/tmp"},
		{"user", "user"},
		{"run", "r-00000000-000000-0000"},
	};

	for (size_t i = 0; i < COUNT(vars); i++)
		if (rf_texts_add_var(t, vars[i][0], vars[i][1]))
			return rf_err(CLI_FAILED, "out of memory");
	return 0;
}

static int check_one(const char *policy, struct rf_option_list dirs, const char *floor)
{
	__cleanup(rf_texts_done) struct rf_texts texts = {};
	__cleanup(rf_policy_free) struct rf_policy *p = NULL;
	struct rf_diag diag = {};
	size_t cells, len = strlen(policy);
	int err;

	/* Tables lie beside their policies, so that a glob over policies names them too. */
	if (len > 11 && !strcmp(policy + len - 11, ".tests.json")) {
		printf("%s: a table of tests, for `ringfence policy test`\n", policy);
		return 0;
	}
	err = cli_load_policy(&texts, &dirs, policy, floor);
	if (!err)
		err = add_check_vars(&texts);
	if (err)
		return err;
	err = rf_texts_check(&texts, &dirs, &p, &diag);
	if (err)
		return bad_policy(&diag, err);
	rf_policy_image(p, &cells);
	printf("%s: ok, policy %s, %zu rules, %zu KiB, digest %.12s\n", policy, rf_policy_name(p), rf_policy_rules(p),
	       cells / 128 + 1, rf_policy_digest(p));
	return 0;
}

static int check(int argc, char **argv)
{
	static const struct rf_command command = {
		.name = "ringfence policy check",
		.usage = "[OPTIONS] POLICY...",
		.about = "Compiles each POLICY (a file, or a name) and says where it is wrong. Exit status 4: one is.",
		.rows = check_rows,
		.n = COUNT(check_rows),
		.examples = "  ringfence policy check policies/*.json\n  ringfence policy check coding-agent\n",
	};
	struct policy_options options = {};
	int n, worst = 0, status = cli_parse(&command, argc, argv, &options, 1, -1, &n);

	if (status >= 0)
		return status;
	cli_policy_dirs(&options.dirs);
	for (int i = 0; i < n; i++) {
		status = check_one(argv[i], options.dirs, options.floor);
		worst = status > worst ? status : worst;
	}
	return worst;
}

static void explain_text(const struct rf_explanation *e, const char *access)
{
	struct cli_colours c = cli_colours(stdout);
	bool allow = e->decision.allow;

	printf("%s%s%s  %s  ", allow ? c.good : c.bad, allow ? "allow" : "deny", c.off, access);
	cli_print(stdout, e->object, 0);
	putchar('\n');
	if (!e->rule) {
		printf("  no rule matched: what no rule allows is denied\n");
		return;
	}
	printf("  rule   %s (layer %s)\n", e->rule->id, e->rule->layer);
	if (e->rule->why)
		printf("  why    %s\n", e->rule->why);
	printf("  where  %s:%u\n  text   %s\n", e->rule->file, e->rule->line, e->rule->text);
}

static void add_rule(struct json_object *out, const struct rf_rule *rule)
{
	rf_member_add(out, "rule", rule->id);
	rf_member_add(out, "layer", rule->layer);
	rf_member_add(out, "why", rule->why);
	rf_member_add(out, "file", rule->file);
	json_object_object_add(out, "line", json_object_new_int((int)rule->line));
	rf_member_add(out, "text", rule->text);
}

static void explain_json(const struct rf_explanation *e, const char *access)
{
	struct json_object *out = json_object_new_object();

	rf_member_add(out, "verdict", e->decision.allow ? "allow" : "deny");
	rf_member_add(out, "access", access);
	rf_member_add(out, "object", e->object);
	rf_member_add(out, "reason", rf_reason_name(e->rule ? RF_REASON_RULE : RF_REASON_NO_RULE));
	if (e->rule)
		add_rule(out, e->rule);
	cli_print_json(out);
}

/* The rule behind a line, as "by ID (layer LAYER), FILE:LINE". */
static void say_rule(const char *what, const struct rf_rule *rule)
{
	if (rule)
		printf("  %-8s by %s (layer %s), %s:%u\n", what, rule->id, rule->layer, rule->file, rule->line);
	else
		printf("  %-8s by no rule\n", what);
}

static void second_text(const struct rf_second_explanation *e, const char *access)
{
	struct cli_colours c = cli_colours(stdout);
	const char *below = e->name.below;

	printf("%s%s%s  %s  ", e->allow ? c.good : c.bad, e->allow ? "allow" : "deny", c.off, access);
	cli_print(stdout, e->object, 0);
	printf(" -> ");
	cli_print(stdout, e->to, 0);
	putchar('\n');
	if (e->allow) {
		printf("  of %s, the new name allows nothing that the old one denies\n",
		       e->directory ? "the directory and all below it" : "this file");
	} else if (e->reason == RF_REASON_WIDENING) {
		printf(e->makes ? "  it would bring along what may not be made there: %s of "
				: "  it would widen: %s of ",
		       rf_access_name(e->access));
		cli_print(stdout, e->to, 0);
		cli_print(stdout, below, 0);
		printf(e->makes ? " is denied, of " : " would be allowed, of ");
		cli_print(stdout, e->object, 0);
		cli_print(stdout, below, 0);
		printf(e->makes ? " it is allowed\n" : " it is denied\n");
		say_rule("allowed", e->allows);
		say_rule("denied", e->rule);
	} else if (e->reason == RF_REASON_TOO_COMPLEX) {
		printf("  whether it would widen takes more than %d comparisons\n", RF_PAIRS_MAX);
	} else {
		printf("  %s of the %s name is denied\n", rf_access_name(e->access),
		       e->access == RF_FILE_CREATE ? "new" : "old");
		say_rule("denied", e->rule);
	}
}

static void second_json(const struct rf_second_explanation *e, const char *access)
{
	struct json_object *out = json_object_new_object(), *allowed;

	rf_member_add(out, "verdict", e->allow ? "allow" : "deny");
	rf_member_add(out, "access", access);
	rf_member_add(out, "object", e->object);
	rf_member_add(out, "to", e->to);
	rf_member_add(out, "kind", e->directory ? "directory" : "file");
	if (!e->allow)
		rf_member_add(out, "reason", rf_reason_name(e->reason));
	if (!e->allow && e->reason != RF_REASON_TOO_COMPLEX)
		rf_member_add(out, "denied", rf_access_name(e->access));
	if (!e->allow && e->reason == RF_REASON_WIDENING)
		rf_member_add(out, "below", e->name.below);
	if (e->rule)
		add_rule(out, e->rule);
	if (e->allows) {
		allowed = json_object_new_object();
		add_rule(allowed, e->allows);
		json_object_object_add(out, "allowed_by", allowed);
	}
	cli_print_json(out);
}

/* A directory's name may end in '/'; where it is one on this host, it need not. 0, or an exit status. */
static int explain_second(const struct rf_policy *p, bool json, char **argv)
{
	__cleanup(freep) char *directory = NULL;
	struct rf_second_explanation explanation;
	struct rf_diag diag = {};
	struct stat st;
	int err;

	if (!lstat(argv[1], &st) && S_ISDIR(st.st_mode) && asprintf(&directory, "%s/", argv[1]) < 0)
		directory = NULL;
	err = rf_policy_explain_second(p, argv[0], directory ? directory : argv[1], argv[2], &explanation, &diag);
	if (err == -EINVAL)
		return rf_err(CLI_USAGE, "%s", diag.text);
	if (err)
		return rf_err(CLI_FAILED, "%s", strerror(-err));
	(json ? second_json : second_text)(&explanation, argv[0]);
	return CLI_OK;
}

/* Compiles argv's policy as `ringfence run` would: 0, or an exit status. */
static int compile(struct rf_texts *texts, struct policy_options *options, const char *policy, struct rf_policy **ret)
{
	struct rf_diag diag = {};
	int err;

	cli_policy_dirs(&options->dirs);
	err = cli_load_policy(texts, &options->dirs, policy, options->floor);
	if (!err)
		err = cli_add_vars(texts, options);
	if (err)
		return err;
	err = rf_texts_compile(texts, &options->dirs, ret, &diag);
	return err ? bad_policy(&diag, err) : 0;
}

/* What this host's mounts show at several places. A table that cannot be read says nothing. */
static void read_aliases(struct rf_aliases *ret)
{
	__cleanup(closep) int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	__cleanup(rf_mounts_done) struct rf_mounts mounts = {};

	if (fd < 0 || rf_mounts_read(fd, &mounts))
		return;
	/* The later one at a place hides the others. */
	for (size_t i = 0; i < mounts.n; i++)
		for (size_t k = i + 1; k < mounts.n; k++)
			if (!strcmp(mounts.v[i].point, mounts.v[k].point))
				mounts.v[i].hidden = true;
	rf_mounts_aliases(&mounts, RF_ALIASES_MAX, ret);
}

static int explain(int argc, char **argv)
{
	static const struct rf_command command = {
		.name = "ringfence policy explain",
		.usage = "[OPTIONS] POLICY ACCESS OBJECT [NEW]",
		.about = "What POLICY says of ACCESS to OBJECT, and which rule says so. ACCESS is file.read, "
			 "file.write,\n"
			 "file.create, file.delete, file.execute, file.attributes, net.connect or net.unix; OBJECT is "
			 "an\n"
			 "absolute path, or ADDRESS:PORT[/udp] for net.connect. file.rename and file.link take two "
			 "paths, OLD\n"
			 "and NEW; OLD is a directory if it is one on this host or ends in '/'.",
		.rows = explain_rows,
		.n = COUNT(explain_rows),
		.examples = "  ringfence policy explain coding-agent file.read ~/.ssh/id_ed25519\n"
			    "  ringfence policy explain coding-agent net.connect 10.20.0.7:8080 --json\n"
			    "  ringfence policy explain coding-agent file.rename ~/project/dist/ ~/project/old\n",
	};
	__cleanup(rf_aliases_done) struct rf_aliases aliases = {};
	__cleanup(rf_texts_done) struct rf_texts texts = {};
	__cleanup(rf_policy_free) struct rf_policy *p = NULL;
	struct policy_options options = {};
	struct rf_explanation explanation;
	struct rf_diag diag = {};
	int n, status = cli_parse(&command, argc, argv, &options, 3, 4, &n);

	if (status >= 0)
		return status;
	read_aliases(&aliases);
	texts.aliases = &aliases;
	status = compile(&texts, &options, argv[0], &p);
	if (status)
		return status;
	if (n == 4)
		return explain_second(p, options.json, argv + 1);
	status = rf_policy_explain(p, argv[1], argv[2], &explanation, &diag);
	if (status == -EINVAL)
		return rf_err(CLI_USAGE, "%s", diag.text);
	if (status)
		return rf_err(CLI_FAILED, "%s", strerror(-status));
	(options.json ? explain_json : explain_text)(&explanation, argv[1]);
	return CLI_OK;
}

static int show(int argc, char **argv)
{
	static const struct rf_command command = {
		.name = "ringfence policy show",
		.usage = "[OPTIONS] POLICY",
		.about = "Prints the policy that a run would get: all layers in their order, variables filled in.",
		.rows = show_rows,
		.n = COUNT(show_rows),
		.examples = "  ringfence policy show coding-agent --workspace /srv/build\n",
	};
	__cleanup(rf_texts_done) struct rf_texts texts = {};
	__cleanup(rf_policy_free) struct rf_policy *p = NULL;
	struct policy_options options = {};
	int n, err, status = cli_parse(&command, argc, argv, &options, 1, 1, &n);

	if (status >= 0)
		return status;
	status = compile(&texts, &options, argv[0], &p);
	if (status)
		return status;
	err = rf_policy_show(p, stdout);
	return err ? rf_err(CLI_FAILED, "%s", strerror(-err)) : CLI_OK;
}

int verb_policy(int argc, char **argv)
{
	static const struct cli_verb verbs[] = {
		{"check", check, "compile policies and say where they are wrong"},
		{"explain", explain, "what a policy says of one access, and why"},
		{"show", show, "print the policy a run would get"},
		{"test", cli_policy_test, "ask a policy the questions of its table"},
	};
	const struct cli_verb *verb;

	if (!argc || !strcmp(argv[0], "--help") || !strcmp(argv[0], "-h")) {
		FILE *out = argc ? stdout : stderr;

		fprintf(out, "usage: ringfence policy VERB [OPTIONS] ...\n\n");
		for (size_t i = 0; i < COUNT(verbs); i++)
			fprintf(out, "  %-8s %s\n", verbs[i].name, verbs[i].about);
		fprintf(out, "\nexamples:\n  ringfence policy explain coding-agent file.read ~/.ssh/id_ed25519\n");
		return argc ? CLI_OK : CLI_USAGE;
	}
	verb = cli_find(verbs, COUNT(verbs), argv[0]);
	return verb ? verb->run(argc - 1, argv + 1) : cli_unknown("ringfence policy", verbs, COUNT(verbs), argv[0]);
}
