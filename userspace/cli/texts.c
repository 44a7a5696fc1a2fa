// SPDX-License-Identifier: Apache-2.0
/* Policies as the command line finds them. */
#define _GNU_SOURCE 1 /* asprintf */

#include "cli/texts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "lib/cleanup.h"
#include "lib/fdio.h"
#include "lib/msg.h"

int cli_program_dir(char *buf, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", buf, size - 1);
	char *slash;

	if (n < 0)
		return -errno;
	buf[n] = '\0';
	slash = strrchr(buf, '/');
	if (!slash || (size_t)n == size - 1)
		return -ENAMETOOLONG;
	*slash = '\0';
	return 0;
}

/* realpath(DIR/../policies) when this program runs from a build tree, or NULL. The string lives as long as we do. */
static const char *tree_policies(void)
{
	static char dir[PATH_MAX]; /* one answer per process */
	char program[PATH_MAX], path[PATH_MAX + 32];

	if (cli_program_dir(program, sizeof(program)))
		return NULL;
	/* /usr/bin has no neighbour "policies"; a directory that others could make there would not be ours. */
	if (!strncmp(program, "/usr/", 5) || !strcmp(program, "/bin") || !strcmp(program, "/sbin"))
		return NULL;
	snprintf(path, sizeof(path), "%s/../policies", program);
	return realpath(path, dir);
}

void cli_policy_dirs(struct rf_option_list *dirs)
{
	static const struct rf_option_list installed = RF_POLICY_DIRS_DEFAULT;
	const char *tree = tree_policies();

	if (dirs->n)
		return;
	*dirs = installed;
	if (tree) {
		memmove(&dirs->value[1], &dirs->value[0], dirs->n * sizeof(dirs->value[0]));
		dirs->value[0] = tree;
		dirs->n++;
	}
}

bool cli_is_file(const char *policy)
{
	size_t len = strlen(policy);

	return strchr(policy, '/') || (len > 5 && !strcmp(policy + len - 5, ".json"));
}

static int load_file(struct rf_texts *t, struct rf_option_list *dirs, const char *path)
{
	__cleanup(freep) char *text = NULL;
	const char *slash;
	size_t len;
	int err = rf_read_file(AT_FDCWD, path, RF_POLICY_BYTES_MAX, &text, &len);

	if (!err)
		err = rf_text_set(&t->policy, NULL, path, text, len);
	if (err)
		return rf_err(CLI_BAD_POLICY, "%s: %s", path,
			      err == -EFBIG ? "longer than 1 MiB: is this a policy?" : strerror(-err));
	if (dirs->n == RF_OPTION_LIST_MAX)
		return 0;
	slash = strrchr(path, '/');
	t->dir = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
	if (!t->dir)
		return rf_err(CLI_FAILED, "out of memory");
	memmove(&dirs->value[1], &dirs->value[0], dirs->n * sizeof(dirs->value[0]));
	dirs->value[0] = t->dir;
	dirs->n++;
	return 0;
}

static int load_name(struct rf_texts *t, const struct rf_option_list *dirs, const char *name)
{
	int err = rf_texts_load_named(t, dirs, name);
	char where[1024] = "";
	size_t used = 0;

	if (!err)
		return 0;
	if (err != -ENOENT)
		return rf_err(CLI_BAD_POLICY, "policy \"%s\": %s", name, strerror(-err));
	for (size_t i = 0; i < dirs->n && used < sizeof(where); i++)
		used += (size_t)snprintf(where + used, sizeof(where) - used, "%s%s", i ? ", " : "", dirs->value[i]);
	return rf_err(CLI_BAD_POLICY, "there is no policy \"%s\" in %s; a file is named by its path, as in ./%s.json",
		      name, where, name);
}

int cli_load_policy(struct rf_texts *t, struct rf_option_list *dirs, const char *policy, const char *floor)
{
	int err = cli_is_file(policy) ? load_file(t, dirs, policy) : load_name(t, dirs, policy);

	if (err)
		return err;
	err = rf_texts_load_floor(t, floor);
	return err ? rf_err(CLI_BAD_POLICY, "%s: %s", floor ? floor : RF_FLOOR_DEFAULT, strerror(-err)) : 0;
}

int cli_directory(const char *option, const char *path, char **ret)
{
	__cleanup(freep) char *real = realpath(path, NULL);
	struct stat st;

	if (!real || stat(real, &st))
		return rf_err(CLI_FAILED, "--%s %s: %s", option, path, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return rf_err(CLI_FAILED, "--%s %s is no directory", option, path);
	*ret = TAKE_PTR(real);
	return 0;
}

/* realpath when it exists: `policy explain` may be asked about a host that is not this one. */
static int add_dir(struct rf_texts *t, const char *name, const char *path)
{
	__cleanup(freep) char *real = path ? realpath(path, NULL) : NULL;

	return rf_texts_add_var(t, name, real ? real : path);
}

int cli_add_vars(struct rf_texts *t, const struct policy_options *options)
{
	struct passwd *pw = getpwuid(getuid());
	const char *home = options->home ? options->home : getenv("HOME");
	int err = add_dir(t, "workspace", options->workspace ? options->workspace : ".");

	if (!err)
		err = add_dir(t, "home", home ? home : pw ? pw->pw_dir : "/root");
	if (!err)
		err = add_dir(t, "tmp", options->tmp ? options->tmp : "/tmp");
	if (!err)
		err = rf_texts_add_var(t, "user", options->user ? options->user : pw ? pw->pw_name : "nobody");
	if (!err)
		err = rf_texts_add_var(t, "run", options->run ? options->run : "r-00000000-000000-0000");
	return err ? rf_err(CLI_FAILED, "%s", strerror(-err)) : 0;
}
