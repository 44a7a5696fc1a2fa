// SPDX-License-Identifier: Apache-2.0
/*
 * One system call, or the fewest that lead to it, for each line read: VERB and its arguments behind tabs, with %XX for any
 * byte. The answer is one line: ok, the errno's name, or what the verb's comment says. Inside a run it is driven
 * through pipes, so that no program start disturbs what is asked. `probe VERB ARG...` asks once: exit 0, or 1.
 */
#include <arpa/inet.h>
#include "probe.h"

#include <stdio.h>
#include <string.h>

#define ARGS_MAX 32

static const struct verb *const tables[] = {file_verbs, attribute_verbs, descriptor_verbs, map_verbs,
					    copy_verbs, special_verbs,	 uring_verbs,	   mount_verbs,
					    tree_verbs, net_verbs,	 exec_verbs,	   task_verbs};

static void decode(char *s)
{
	char *to = s;

	for (; *s; s++) {
		unsigned int byte;

		if (*s == '%' && sscanf(s + 1, "%2x", &byte) == 1) {
			*to++ = (char)byte;
			s += 2;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

static int ask(char **words, int n)
{
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (const struct verb *verb = tables[i]; verb->name; verb++)
			if (!strcmp(verb->name, words[0]))
				return n - 1 < verb->args ? -E2BIG : verb->run(words + 1);
	return -ENOSYS;
}

static void say(int result)
{
	if (!result)
		puts("ok");
	else if (result < 0)
		puts(strerrorname_np(-result));
	else
		printf("%d\n", result);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char *line = NULL, *words[ARGS_MAX + 1];
	size_t size = 0;

	if (argc > 1) {
		int result = ask(argv + 1, argc - 1);

		say(result);
		return result ? 1 : 0;
	}
	while (getline(&line, &size, stdin) > 0) {
		int n = 0;

		line[strcspn(line, "\n")] = '\0';
		for (char *rest = line; n < ARGS_MAX && (words[n] = strsep(&rest, "\t")); n++)
			;
		words[n] = NULL;
		for (int i = 0; i < n; i++)
			decode(words[i]);
		say(ask(words, n));
	}
	return 0;
}
