// SPDX-License-Identifier: Apache-2.0
/* ringfence tag and untag: a fence around something that runs already. */
#include <errno.h>
#include <json-c/json.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/texts.h"
#include "control/packet.h"
#include "lib/cleanup.h"
#include "lib/msg.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

struct tag_options {
	const char *policy, *workspace, *home, *tmp, *task, *agent, *person, *runtime;
	uint64_t pid;
};

#define ROW(name, letter, kind, member, arg, help)                                  \
	{                                                                           \
		name, letter, kind, offsetof(struct tag_options, member), arg, help \
	}

static const struct rf_option_row rows[] = {
	ROW("policy", 'p', RF_OPTION_STRING, policy, "NAME", "of the enforcer's policy directories (required)"),
	ROW("pid", 0, RF_OPTION_NUMBER, pid, "PID", "the cgroup that this process is in"),
	ROW("workspace", 'w', RF_OPTION_STRING, workspace, "DIR",
	    "${workspace}, as the processes know it; default: none"),
	ROW("home", 0, RF_OPTION_STRING, home, "DIR", "${home}; default: none"),
	ROW("tmp", 0, RF_OPTION_STRING, tmp, "DIR", "${tmp}; default: /tmp"),
	ROW("task", 't', RF_OPTION_STRING, task, "TEXT", "what it is for, recorded as declared"),
	ROW("agent", 'a', RF_OPTION_STRING, agent, "NAME", "recorded as declared"),
	ROW("person", 0, RF_OPTION_STRING, person, "NAME", "default: the login user"),
	ROW("runtime", 0, RF_OPTION_STRING, runtime, "DIR", "default: " RF_RUNTIME_DIR),
};

static const struct rf_command tag_command = {
	.name = "ringfence tag",
	.usage = "[OPTIONS] --policy NAME CGROUP | --pid PID",
	.about = "Fences a cgroup, what runs in it and what will. CGROUP is a path below the cgroup root. Of what the\n"
		 "processes have open already, all but 0 to 2 is decided at each use, as if it were opened.",
	.rows = rows,
	.n = COUNT(rows),
	.examples = "  ringfence tag --policy coding-agent --workspace /srv/agent system.slice/agent.service\n"
		    "  ringfence tag --policy coding-agent --workspace /srv/agent --pid 4711\n",
};

/* As the fenced processes know it: that is not for this process to look up, unless it begins where we are. */
static int add_directory(struct json_object *request, const char *option, const char *path)
{
	__cleanup(freep) char *real = NULL;
	int err = path && path[0] != '/' ? cli_directory(option, path, &real) : 0;

	rf_member_add(request, option, real ? real : path);
	return err;
}

/* People paste what /proc/PID/cgroup and systemctl show: both forms of the path work. */
static const char *below_root(const char *cgroup)
{
	static const char *const roots[] = {"/sys/fs/cgroup/unified/", "/sys/fs/cgroup/"};

	for (size_t i = 0; i < COUNT(roots); i++)
		if (!strncmp(cgroup, roots[i], strlen(roots[i])))
			cgroup += strlen(roots[i]);
	return cgroup + strspn(cgroup, "/");
}

static int fill(struct json_object *request, const struct tag_options *options, const char *cgroup)
{
	int err = add_directory(request, "workspace", options->workspace);

	if (!err)
		err = add_directory(request, "home", options->home);
	if (!err)
		err = add_directory(request, "tmp", options->tmp ? options->tmp : "/tmp");
	if (err)
		return err;
	rf_member_add(request, "op", "tag");
	rf_member_add(request, "policy", options->policy);
	rf_member_add(request, "agent", options->agent);
	rf_member_add(request, "task", options->task);
	rf_member_add(request, "person", options->person);
	rf_member_add(request, "sudo_user", getenv("SUDO_USER"));
	if (options->pid)
		json_object_object_add(request, "pid", json_object_new_int64((int64_t)options->pid));
	else
		rf_member_add(request, "cgroup", below_root(cgroup));
	return 0;
}

int verb_tag(int argc, char **argv)
{
	struct tag_options options = {};
	struct json_object *request, *reply;
	int n, status = cli_parse(&tag_command, argc, argv, &options, 0, 1, &n);

	if (status >= 0)
		return status;
	if (!options.policy || !n == !options.pid)
		return rf_err(CLI_USAGE, "usage: %s %s", tag_command.name, tag_command.usage);
	if (cli_is_file(options.policy))
		return rf_err(CLI_USAGE,
			      "--policy %s: tag takes the name of a policy in the enforcer's directories: put the "
			      "file into /etc/ringfence/policies",
			      options.policy);
	request = json_object_new_object();
	status = fill(request, &options, n ? argv[0] : NULL);
	if (status) {
		json_object_put(request);
		return status;
	}
	status = cli_call(options.runtime, request, &reply);
	if (status)
		return status;
	printf("%s\n", rf_member_string(reply, "run"));
	json_object_put(reply);
	return CLI_OK;
}

int verb_untag(int argc, char **argv)
{
	static const struct rf_command command = {
		.name = "ringfence untag",
		.usage = "[OPTIONS] RUN",
		.about = "Lets go of what `ringfence tag` fenced: its processes go on without a fence.",
		.rows = &rows[COUNT(rows) - 1],
		.n = 1,
		.examples = "  ringfence untag r-20261130-142501-9f3a\n",
	};
	struct tag_options options = {};
	struct json_object *request, *reply;
	int n, status = cli_parse(&command, argc, argv, &options, 1, 1, &n);

	if (status >= 0)
		return status;
	request = json_object_new_object();
	rf_member_add(request, "op", "untag");
	rf_member_add(request, "run", argv[0]);
	status = cli_call(options.runtime, request, &reply);
	if (!status)
		json_object_put(reply);
	return status;
}
