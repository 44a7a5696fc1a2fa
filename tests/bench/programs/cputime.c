/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cputime TIMES COMMAND [ARG...]: runs COMMAND that often, its output thrown away, and prints the least microseconds
 * of CPU that it and its children took. In a guest whose clock counts instructions (run.sh -i), thousands of those.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int64_t used(void)
{
	struct rusage r;

	getrusage(RUSAGE_CHILDREN, &r);
	return (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000LL + r.ru_utime.tv_usec + r.ru_stime.tv_usec;
}

static int fail(const char *what)
{
	fprintf(stderr, "cputime: %s: %s\n", what, strerror(errno));
	return 125;
}

/* Exit status; the CPU time goes to *ret_us. */
static int run(char **argv, int64_t *ret_us)
{
	int64_t before = used();
	int status;
	pid_t pid = fork();

	if (pid < 0)
		return fail("fork");
	if (!pid) {
		int null = open("/dev/null", O_WRONLY);

		if (null < 0 || dup2(null, STDOUT_FILENO) < 0)
			_exit(fail("/dev/null"));
		execvp(argv[0], argv);
		_exit(fail(argv[0]));
	}
	if (waitpid(pid, &status, 0) < 0)
		return fail("wait");
	*ret_us = used() - before;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	int64_t best = INT64_MAX, us;
	int times = argc > 1 ? atoi(argv[1]) : 0, err;

	if (argc < 3 || times < 1) {
		fprintf(stderr, "usage: cputime TIMES COMMAND [ARG...]\n");
		return 125;
	}
	for (int i = 0; i < times; i++) {
		err = run(argv + 2, &us);
		if (err) {
			fprintf(stderr, "cputime: %s: exit status %d\n", argv[2], err);
			return err;
		}
		if (us < best)
			best = us;
	}
	printf("%lld\n", (long long)best);
	return 0;
}
