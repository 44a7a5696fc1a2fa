// SPDX-License-Identifier: Apache-2.0
/* ringfence run: ask the enforcer for a run, put the command into its cgroup, wait, say what was denied. */
#include <errno.h>
#include <json-c/json.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/run.h"
#include "cli/texts.h"
#include "control/packet.h"
#include "lib/cleanup.h"
#include "lib/msg.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define START_MS 60000 /* the largest policies take seconds to compile */
#define END_MS 30000
#define ROW(name, letter, kind, member, arg, help)                                  \
	{                                                                           \
		name, letter, kind, offsetof(struct run_options, member), arg, help \
	}

static const struct rf_option_row rows[] = {
	ROW("policy", 'p', RF_OPTION_STRING, policy, "NAME|FILE", "default: coding-agent"),
	ROW("workspace", 'w', RF_OPTION_STRING, workspace, "DIR",
	    "${workspace}, and where COMMAND starts; default: here"),
	ROW("home", 0, RF_OPTION_STRING, home, "DIR", "${home}; default: $HOME"),
	ROW("tmp", 0, RF_OPTION_STRING, tmp, "DIR", "${tmp}; default: /tmp"),
	ROW("task", 't', RF_OPTION_STRING, task, "TEXT", "what the run is for (a ticket), recorded as declared"),
	ROW("agent", 'a', RF_OPTION_STRING, agent, "NAME", "default: the command's name"),
	ROW("person", 0, RF_OPTION_STRING, person, "NAME", "who asked for it; default: the login user"),
	ROW("quiet", 'q', RF_OPTION_FLAG, quiet, NULL, "no summary of denials at the end"),
	POLICY_DIR_ROW(struct run_options, dirs),
	ROW("floor", 0, RF_OPTION_STRING, floor, "FILE",
	    "for an enforcer that is started here; default: " RF_FLOOR_DEFAULT),
	ROW("log", 0, RF_OPTION_STRING, log, "FILE", "for an enforcer that is started here"),
	ROW("runtime", 0, RF_OPTION_STRING, runtime, "DIR", "default: " RF_RUNTIME_DIR),
};

static const struct rf_command command = {
	.name = "ringfence run",
	.usage = "[OPTIONS] -- COMMAND [ARG...]",
	.about = "Runs COMMAND, and all that it starts, inside the fence of a policy. Exits as COMMAND does; 125: "
		 "ringfence\n"
		 "failed, 126: COMMAND cannot be executed, 127: it was not found, 128+N: signal N ended it.",
	.rows = rows,
	.n = COUNT(rows),
	.command_follows = true,
	.examples = "  ringfence run -- claude\n"
		    "  ringfence run --policy ./strict.json --workspace /srv/build --task OPS-311 -- make test\n",
};

/* A file's texts travel in the request, with everything it extends; errors in it are found before anything starts. */
static int add_file(struct json_object *request, const struct run_options *options)
{
	__cleanup(rf_texts_done) struct rf_texts t = {};
	__cleanup(rf_policy_free) struct rf_policy *p = NULL;
	struct policy_options vars = {.workspace = options->workspace, .home = options->home, .tmp = options->tmp};
	struct rf_option_list dirs = options->dirs;
	struct json_object *layers;
	struct rf_diag diag = {};
	int err;

	cli_policy_dirs(&dirs);
	err = cli_load_policy(&t, &dirs, options->policy, options->floor);
	if (!err)
		err = cli_add_vars(&t, &vars);
	if (err)
		return CLI_RUN_FAILED;
	err = rf_texts_compile(&t, &dirs, &p, &diag);
	if (err == -EINVAL)
		rf_diag_print(&diag, stderr);
	if (err)
		return rf_err(CLI_RUN_FAILED, "%s: the policy cannot be used: nothing was started", options->policy);
	rf_member_add(request, "text", t.policy.text);
	layers = json_object_new_object();
	for (size_t i = 0; i < t.layer_count; i++)
		rf_member_add(layers, t.layers[i].name, t.layers[i].text);
	json_object_object_add(request, "layers", layers);
	return 0;
}

static int add_directory(struct json_object *request, const char *option, const char *path)
{
	__cleanup(freep) char *real = NULL;
	int err = cli_directory(option, path, &real);

	if (err)
		return CLI_RUN_FAILED;
	rf_member_add(request, option, real);
	return 0;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int make_request(const struct run_options *options, const char *program, struct json_object *request)
{
	struct passwd *pw = getpwuid(getuid());
	const char *home = options->home ? options->home : getenv("HOME");
	int err = add_directory(request, "workspace", options->workspace ? options->workspace : ".");

	if (!err)
		err = add_directory(request, "home", home && *home ? home : pw ? pw->pw_dir : "/root");
	if (!err)
		err = add_directory(request, "tmp", options->tmp ? options->tmp : "/tmp");
	if (err)
		return err;
	rf_member_add(request, "op", "run.start");
	rf_member_add(request, "policy", options->policy);
	rf_member_add(request, "user", pw ? pw->pw_name : NULL);
	rf_member_add(request, "agent", options->agent ? options->agent : base_name(program));
	rf_member_add(request, "task", options->task);
	rf_member_add(request, "person", options->person);
	rf_member_add(request, "sudo_user", getenv("SUDO_USER"));
	return cli_is_file(options->policy) ? add_file(request, options) : 0;
}

static int connect_enforcer(const struct run_options *options, int *ret_fd)
{
	int err = rf_client_connect(options->runtime, ret_fd);

	if (!err)
		return 0;
	if (err == -ENOENT || err == -ECONNREFUSED || err == -ENOTDIR)
		return cli_start_enforcer(options, ret_fd);
	return rf_err(CLI_RUN_FAILED, "the enforcer's socket in %s: %s%s", options->runtime, strerror(-err),
		      err == -EACCES ? "; use sudo" : "");
}

/* The enforcer may have been replaced meanwhile; the run went on, and the new one knows it. One try. */
static struct json_object *end_run(int fd, const struct run_options *options, const char *run, int status)
{
	struct json_object *request = json_object_new_object(), *reply = NULL;
	__cleanup(closep) int again = -1;
	char why[1024];
	int err;

	rf_member_add(request, "op", "run.end");
	rf_member_add(request, "run", run);
	json_object_object_add(request, "status", json_object_new_int(status));
	err = rf_client_call(fd, request, END_MS, &reply, why, sizeof(why));
	if (err && err != -EREMOTEIO && !rf_client_connect(options->runtime, &again))
		err = rf_client_call(again, request, END_MS, &reply, why, sizeof(why));
	json_object_put(request);
	if (err)
		rf_say("run %s: its end could not be told to the enforcer: %s; what is left of it stays fenced", run,
		       why);
	return reply;
}

static void summary(struct json_object *reply, const char *run)
{
	struct cli_colours c = cli_colours(stderr);
	long long denied = rf_member_number(reply, "denied"), observed = rf_member_number(reply, "observed");
	struct json_object *list;

	if (!denied && !observed)
		return;
	fprintf(stderr, "ringfence: %s%lld denied%s", c.bad, denied, c.off);
	if (observed)
		fprintf(stderr, ", %s%lld would have been denied%s", c.warn, observed, c.off);
	fprintf(stderr, " in run %s\n", run);
	if (json_object_object_get_ex(reply, "denials", &list) && json_object_is_type(list, json_type_array))
		for (size_t i = 0; i < json_object_array_length(list); i++) {
			struct json_object *d = json_object_array_get_idx(list, i);

			fprintf(stderr, "  %-16s ", rf_member_string(d, "access"));
			cli_print(stderr, rf_member_string(d, "object"), 0);
			fprintf(stderr, "  %s(%s)%s\n", c.faint, rf_member_string(d, "rule"), c.off);
		}
	fprintf(stderr, "  all of them: ringfence events --run %s\n", run);
}

static int run_command(int fd, const struct run_options *options, struct json_object *start, const char *program,
		       char **argv)
{
	const char *run = rf_member_string(start, "run");
	struct child child = {
		.cgroup = rf_member_string(start, "cgroup"),
		.directory = options->workspace,
		.path = program,
		.argv = argv,
		.policy = options->policy,
	};
	int status = cli_run_child(&child);
	struct json_object *end = end_run(fd, options, run, status);

	if (!options->quiet && end)
		summary(end, run);
	json_object_put(end);
	return status;
}

/* An embedded enforcer may be leaving just as we call it: once it hangs up, another one is started. */
static int start_run(const struct run_options *options, struct json_object *request, int *ret_fd,
		     struct json_object **ret_reply)
{
	char why[1024];
	int err = -ECONNRESET;

	for (int tries = 0; tries < 2 && (err == -ECONNRESET || err == -EPIPE); tries++) {
		int status;

		closep(ret_fd);
		*ret_fd = -1;
		status = connect_enforcer(options, ret_fd);
		if (status)
			return status;
		err = rf_client_call(*ret_fd, request, START_MS, ret_reply, why, sizeof(why));
	}
	return err ? rf_err(CLI_RUN_FAILED, "the run was not started: %s", why) : 0;
}

static int run(const struct run_options *options, char **argv)
{
	__cleanup(freep) char *program = NULL;
	__cleanup(closep) int fd = -1;
	struct json_object *request, *reply = NULL;
	int status = cli_find_program(argv[0], &program);

	if (status)
		return status;
	request = json_object_new_object();
	status = make_request(options, argv[0], request);
	if (!status)
		status = start_run(options, request, &fd, &reply);
	json_object_put(request);
	if (status)
		return status;
	status = run_command(fd, options, reply, program, argv);
	json_object_put(reply);
	return status;
}

int verb_run(int argc, char **argv)
{
	struct run_options options = {.policy = "coding-agent", .runtime = RF_RUNTIME_DIR};
	int n, status = cli_parse(&command, argc, argv, &options, 1, -1, &n);

	if (status >= 0)
		return status;
	argv[n] = NULL;
	/* The enforcer that is started here finds what `ringfence policy` finds. */
	if (!options.dirs.n)
		cli_policy_dirs(&options.dirs);
	return run(&options, argv);
}
