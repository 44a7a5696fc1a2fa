/* SPDX-License-Identifier: Apache-2.0 */
/* floor OBJECT COMMAND [ARG...]: runs COMMAND while the BPF programs of OBJECT (floor.bpf.o) are attached. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int fail(const char *what)
{
	fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
	return 125;
}

int main(int argc, char **argv)
{
	struct bpf_program *prog;
	struct bpf_object *obj;
	int status;
	pid_t pid;

	if (argc < 3) {
		fprintf(stderr, "usage: floor OBJECT COMMAND [ARG...]\n");
		return 125;
	}
	obj = bpf_object__open(argv[1]);
	if (!obj || bpf_object__load(obj))
		return fail(argv[1]);
	bpf_object__for_each_program(prog, obj)
	{
		if (!bpf_program__attach(prog))
			return fail(bpf_program__name(prog));
	}
	pid = fork();
	if (pid < 0)
		return fail("fork");
	if (!pid) {
		execvp(argv[2], argv + 2);
		_exit(fail(argv[2]));
	}
	if (waitpid(pid, &status, 0) < 0)
		return fail("wait");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
