/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy text -> checked rules -> image. Pure: files come in as text through callbacks, so the same code serves the
 * daemon, the command line and the fuzzer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "lib/mounts.h"
#include "policy/automaton.h"

#define RF_POLICY_BYTES_MAX (1U << 20) /* of one file */
#define RF_POLICY_LAYERS_MAX 16
#define RF_POLICY_STATES_MAX 400000

/* One error with its place. text is one line: what is wrong and what would have been right. */
struct rf_diag {
	char file[256];
	unsigned int line, column; /* from 1; 0: the file as a whole */
	char text[512];
};
/* "file:line:column: text" */
void rf_diag_print(const struct rf_diag *diag, FILE *out);

struct rf_policy_args {
	const char *name; /* for messages: the file's path or the policy's name */
	const char *text;
	size_t len;
	/*
	 * Text of a policy named in "extends". 0 and *ret_text (malloc'ed; *ret_file: malloc'ed name for messages), or
	 * -ENOENT, or another errno. NULL: extends is an error.
	 */
	int (*find)(void *ctx, const char *name, char **ret_text, size_t *ret_len, char **ret_file);
	/*
	 * What an absolute literal path is in the reference view when all symlinks are followed: 0 and *ret (malloc'ed),
	 * or negative errno: then the path stays as written. NULL: no resolution (a pure check). Asked for the literal
	 * prefix of every pattern: both spellings then work. Kept for rf_policy_explain(): it and ctx must live as long
	 * as the policy then.
	 */
	int (*resolve)(void *ctx, const char *path, char **ret);
	void *ctx;
	/* What the view shows at several places, NULL: nothing. Kept as long as resolve. */
	const struct rf_aliases *aliases;
	const char *floor_name; /* the host's floor, may be NULL; it may only deny, and comes last */
	const char *floor_text;
	size_t floor_len;
	/* Variables: workspace, home, tmp, user, run. NULL: not given; use of it in a pattern is then an error. */
	const char *const *vars; /* "name=value", NULL-terminated; values absolute paths for workspace, home, tmp */
	time_t now; /* for "expires" */
};

struct rf_rule {
	const char *id; /* given, or "files[3]" style: section and place */
	const char *why; /* or NULL */
	const char *layer; /* name of the policy it comes from; "floor" for the floor */
	const char *file;
	unsigned int line;
	const char *text; /* the rule, compact JSON, variables filled in */
	bool allow;
};

struct rf_policy; /* owns everything its accessors return */

/* 0, -EINVAL with *diag filled, or -ENOMEM. Caller frees *ret. */
int rf_policy_compile(const struct rf_policy_args *args, struct rf_policy **ret, struct rf_diag *diag);
void rf_policy_free(struct rf_policy **p);

const char *rf_policy_name(const struct rf_policy *p);
const char *rf_policy_owner(const struct rf_policy *p); /* or NULL */
const char *rf_policy_stage(const struct rf_policy *p); /* "pilot", "production" or NULL */
const char *rf_policy_expires(const struct rf_policy *p); /* "YYYY-MM-DD" or NULL */
bool rf_policy_observes(const struct rf_policy *p);
const char *rf_policy_digest(const struct rf_policy *p); /* 64 hex digits: SHA-256 of the effective policy */
size_t rf_policy_rules(const struct rf_policy *p);
const struct rf_rule *rf_policy_rule(const struct rf_policy *p, uint16_t number); /* NULL beyond the end */
/* Do args.aliases have a part in it? */
bool rf_policy_aliased(const struct rf_policy *p);
/* Does it say of anything at or below a path what it does not say of the same below another one? */
bool rf_policy_tells_apart(const struct rf_policy *p, const char *path, const char *other);
const union rf_cell *rf_policy_image(const struct rf_policy *p, size_t *ret_n);

/* The effective policy: layers merged in order, variables filled in, as policy JSON (show) */
int rf_policy_show(const struct rf_policy *p, FILE *out);

/*
 * What the policy says, with the reason: the evaluator behind `policy explain` and `policy test`.
 * object of a file access: an absolute path (symlinks of literal prefixes resolved as at compile time);
 * of net.connect: ADDRESS:PORT[/tcp|udp], IPv6 in brackets; of net.unix: an absolute path. "anonymous" for
 * file.execute and "unknown-filesystem" for any file access ask for the rules of exec and of unknown-filesystem.
 * 0, or -EINVAL with *diag (unknown access, malformed object).
 */
struct rf_explanation {
	struct rf_decision decision;
	const struct rf_rule *rule; /* NULL: no rule matched */
	char object[4200]; /* as the kernel would see it */
};
int rf_policy_explain(const struct rf_policy *p, const char *access, const char *object, struct rf_explanation *ret,
		      struct rf_diag *diag);

/*
 * The same of a second name: access is "file.rename" or "file.link", old and new are absolute paths, and a '/' at the
 * end of old says that it is a directory. Decided in the kernel's order: file.create of the new name, file.delete of
 * the old one (a rename only), then no widening.
 */
struct rf_second_explanation {
	bool allow, directory;
	enum rf_reason reason; /* of a denial: RULE, NO_RULE, WIDENING or TOO_COMPLEX */
	unsigned int access; /* denied: of the name that a rule or none denies, or one that would be gained */
	bool makes; /* of WIDENING: not gained, but something that may be made under the old name only would come along */
	const struct rf_rule *rule; /* that decided; of WIDENING: that denies `access` under the one name; or NULL */
	const struct rf_rule *allows; /* of WIDENING: the rule that allows it under the other */
	char object[4200], to[4200]; /* the names, as the kernel would see them */
	struct rf_second_name name;
};
int rf_policy_explain_second(const struct rf_policy *p, const char *access, const char *old, const char *new,
			     struct rf_second_explanation *ret, struct rf_diag *diag);
/* Is this what rf_policy_explain_second() answers? */
bool rf_policy_is_second(const char *access);
