/* SPDX-License-Identifier: Apache-2.0 */
/*
 * landlock PATH... [-w PATH...] -- COMMAND [ARG...]: runs COMMAND under Landlock, all that this kernel's version of it
 * can handle refused but reading and executing beneath each PATH, and everything beneath those behind -w. What landrun
 * and sandboxer do, without anything else.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define READ_EXECUTE (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_EXECUTE)

/* What a rule for a file may hold; headers of 6.1 have no LANDLOCK_ACCESS_FS_TRUNCATE. */
#define OF_FILES \
	(LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | 1ULL << 14)

static int fail(const char *what)
{
	fprintf(stderr, "landlock: %s: %s\n", what, strerror(errno));
	return 125;
}

static int add_rule(int ruleset, const char *path, uint64_t allowed)
{
	struct landlock_path_beneath_attr rule = {.allowed_access = allowed};
	struct stat st;
	int err;

	rule.parent_fd = open(path, O_PATH | O_CLOEXEC);
	if (rule.parent_fd < 0 || fstat(rule.parent_fd, &st))
		return -1;
	if (!S_ISDIR(st.st_mode))
		rule.allowed_access &= OF_FILES;
	err = (int)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
	close(rule.parent_fd);
	return err;
}

int main(int argc, char **argv)
{
	/* File accesses by ABI: 13 at first, then refer, truncate (3) and ioctl on devices (5). */
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	int accesses = 13 + (abi >= 2) + (abi >= 3) + (abi >= 5), i, ruleset;
	struct landlock_ruleset_attr attr = {.handled_access_fs = (1ULL << accesses) - 1};
	uint64_t allowed = READ_EXECUTE;

	if (abi < 1)
		return fail("this kernel has no Landlock");
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	if (ruleset < 0)
		return fail("ruleset");
	for (i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "-w"))
			allowed = attr.handled_access_fs;
		else if (add_rule(ruleset, argv[i], allowed))
			return fail(argv[i]);
	}
	if (i + 1 >= argc) {
		fprintf(stderr, "usage: landlock PATH... [-w PATH...] -- COMMAND [ARG...]\n");
		return 125;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_landlock_restrict_self, ruleset, 0))
		return fail("restrict_self");
	close(ruleset);
	execvp(argv[i + 1], argv + i + 1);
	return fail(argv[i + 1]);
}
