/* SPDX-License-Identifier: Apache-2.0 */
/* Policies as the command line finds them: by path, or by name in the policy directories. */
#pragma once

#include "control/texts.h"

struct policy_options {
	struct rf_option_list dirs;
	const char *floor, *workspace, *home, *tmp, *user, *run;
	bool json;
};

#define POLICY_DIR_ROW(type, member)                                          \
	{                                                                     \
		"policies", 0, RF_OPTION_LIST, offsetof(type, member), "DIR", \
			"look for policies by name here (repeatable)"         \
	}

/* Directories for names: those given, else ../policies of a build tree and the installed ones. */
void cli_policy_dirs(struct rf_option_list *dirs);
/* Absolute real path of the directory that holds this program, or -errno. */
int cli_program_dir(char *buf, size_t size);

/*
 * Fills t with the policy, which is a file when its name holds '/' or ends in ".json", and with the floor. A file may
 * extend its neighbours: its own directory, which t owns, is added to dirs in front. 0, or an exit status after a message.
 */
int cli_load_policy(struct rf_texts *t, struct rf_option_list *dirs, const char *policy, const char *floor);
bool cli_is_file(const char *policy);
/* Adds the variables; workspace and others that are NULL get what `ringfence run` would give them. */
int cli_add_vars(struct rf_texts *t, const struct policy_options *options);
/* realpath of a directory that an option names, with a message: 0, or an exit status. *ret is malloc'ed. */
int cli_directory(const char *option, const char *path, char **ret);
