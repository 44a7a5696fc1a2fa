/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A strict reader of JSON with comments that remembers where everything stood. json-c keeps no places, takes the last
 * of two equal keys, and accepts more than JSON: none of that is good enough for a policy.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "policy/diag.h"
#include "policy/mem.h"

#define RF_JSON_DEPTH_MAX 16 /* a policy needs 5 */
#define RF_JSON_MEMBERS_MAX 64 /* of one object; no object of ours has that many keys */

enum rf_json_type { RF_JSON_NULL, RF_JSON_BOOL, RF_JSON_NUMBER, RF_JSON_STRING, RF_JSON_LIST, RF_JSON_OBJECT };

struct rf_json {
	enum rf_json_type type;
	struct rf_place place; /* of its first byte */
	const char *key; /* of an object's member, or NULL */
	struct rf_place key_place;
	const char *text; /* string: valid UTF-8 without NUL; number: as written */
	bool truth;
	struct rf_json *first, *next; /* elements or members, in the order of the file */
	size_t n;
};

/* 0, -EINVAL with *diag, -ENOMEM. The tree lives in mem. Columns count characters, not bytes. */
int rf_json_read(struct rf_mem *mem, const char *file, const char *text, size_t len, struct rf_json **ret,
		 struct rf_diag *diag);
const char *rf_json_what(enum rf_json_type type); /* "a string" */

/* Writes a JSON string with its quotes; text is valid UTF-8; what could move a cursor is escaped. */
void rf_json_write(FILE *out, const char *text);
