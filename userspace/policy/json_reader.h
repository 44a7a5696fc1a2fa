/* SPDX-License-Identifier: Apache-2.0 */
/* Private to json.c and json_string.c: where the reader stands. */
#pragma once

#include "policy/json.h"

struct rf_json_reader {
	struct rf_mem *mem;
	struct rf_diag *diag;
	const char *p, *end;
	struct rf_place at; /* of p */
	unsigned int depth;
};

/* Over n bytes of checked UTF-8. */
void rf_json_advance(struct rf_json_reader *r, size_t n);
/* What stands here, for messages. */
const char *rf_json_here(const struct rf_json_reader *r, char word[8]);
int rf_json_unexpected(struct rf_json_reader *r, const char *wanted);
/* At the opening quote; 0 and the decoded text, -EINVAL with the diagnostic, -ENOMEM. */
int rf_json_string(struct rf_json_reader *r, const char **ret);
