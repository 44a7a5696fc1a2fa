// SPDX-License-Identifier: Apache-2.0
/*
 * Arbitrary bytes as a policy: compiled, shown, compiled again, asked. The input is one to three texts with a NUL byte
 * between them: the policy, what it extends, the floor.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cleanup.h"
#include "policy/policy.h"
#include "policy/table.h"

struct input {
	const char *texts[3];
	size_t lens[3];
};

static int find(void *ctx, const char *name, char **ret_text, size_t *ret_len, char **ret_file)
{
	const struct input *in = ctx;

	if (!in->texts[1])
		return -ENOENT;
	*ret_text = malloc(in->lens[1] + 1);
	*ret_file = strdup(name);
	if (!*ret_text || !*ret_file)
		return -ENOMEM;
	memcpy(*ret_text, in->texts[1], in->lens[1]);
	*ret_len = in->lens[1];
	return 0;
}

/* Every second directory is a symlink. */
static int resolve(void *ctx, const char *path, char **ret)
{
	size_t len = strlen(path);

	(void)ctx;
	if (len % 3 == 0)
		return -ENOENT;
	*ret = malloc(len + 4);
	if (!*ret)
		return -ENOMEM;
	snprintf(*ret, len + 4, len % 2 ? "%s" : "/*[%s", path);
	return 0;
}

/* What is refused has one safe line; what is not decides like what it shows. */
static void check(const struct rf_policy_args *args)
{
	static const char *const questions[][2] = {
		{"file.read", "/usr/bin/ls"},	      {"file.delete", "/w/.env"},      {"file.execute", "anonymous"},
		{"file.write", "unknown-filesystem"}, {"net.connect", "10.0.0.1:443"}, {"net.connect", "[::1]:53/udp"},
		{"net.unix", "/run/docker.sock"},
	};
	__cleanup(rf_policy_free) struct rf_policy *p = NULL, *q = NULL;
	__cleanup(freep) char *shown = NULL;
	struct rf_policy_args again = {.name = "shown", .now = args->now};
	struct rf_diag diag = {};
	size_t n;
	FILE *out;
	int err = rf_policy_compile(args, &p, &diag);

	if (err == -EINVAL && (!*diag.text || strpbrk(diag.text, "\n\x1b")))
		abort();
	if (err)
		return;
	if (rf_image_check(rf_policy_image(p, &n), n))
		abort();
	out = open_memstream(&shown, &again.len);
	if (!out || rf_policy_show(p, out) || fclose(out))
		abort();
	again.text = shown;
	/* the layers of one policy can be larger together than one file may be, and a floor's rules can share an id */
	if (args->resolve || again.len > RF_POLICY_BYTES_MAX || rf_policy_compile(&again, &q, &diag))
		return;
	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		struct rf_explanation a, b;

		if (rf_policy_explain(p, questions[i][0], questions[i][1], &a, &diag) ||
		    rf_policy_explain(q, questions[i][0], questions[i][1], &b, &diag) ||
		    a.decision.allow != b.decision.allow || !a.rule != !b.rule)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const vars[] = {"workspace=/w/a*b", "home=/home/u", "tmp=/t", "user=u", NULL};
	struct input in = {};
	struct rf_policy_args args = {.name = "fuzz", .find = find, .ctx = &in, .vars = vars, .now = 1796040000};
	struct rf_table *table = NULL;
	struct rf_diag diag;
	const char *p = (const char *)data;

	for (int i = 0; i < 3 && size; i++) {
		const char *nul = memchr(p, 0, size);
		size_t len = nul && i < 2 ? (size_t)(nul - p) : size;

		in.texts[i] = p;
		in.lens[i] = len;
		p += len + !!nul;
		size -= len < size ? len + 1 : size;
	}
	args.text = in.texts[0] ? in.texts[0] : "";
	args.len = in.lens[0];
	args.floor_name = "floor";
	args.floor_text = in.texts[2];
	args.floor_len = in.lens[2];
	check(&args);
	args.resolve = resolve;
	check(&args);
	if (in.texts[1] && !rf_policy_table_run(&args, "table", in.texts[1], in.lens[1], &table, &diag))
		rf_policy_table_free(&table);
	return 0;
}
