/* SPDX-License-Identifier: Apache-2.0 */
/* One JSON line under construction in a caller's buffer: no allocation, overflow is remembered and told at the end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rf_host_info;
struct rf_run_info;

#define RF_LINE_CLIPPED_MAX 16

struct rf_line {
	char *buf;
	size_t size;
	size_t len;
	bool full;
	const char *clipped[RF_LINE_CLIPPED_MAX]; /* members that were longer than their bound, for "flags" */
	size_t n_clipped;
};

/*
 * Bounds of the strings that an event borrows from userspace, in bytes. Each byte can cost eight (six for \ufffd and
 * two for hex), so these, RF_PATH_MAX and RF_EXE_MAX together keep the worst line below RF_LINE_MAX; a longer string
 * is clipped and its member named in "flags" ("why-clipped").
 */
#define RF_LINE_HOST_MAX 64
#define RF_LINE_BOOT_MAX 64
#define RF_LINE_RUN_MAX 128
#define RF_LINE_POLICY_MAX 128
#define RF_LINE_DIGEST_MAX 64
#define RF_LINE_LAYER_MAX 128
#define RF_LINE_RULE_MAX 256
#define RF_LINE_WHY_MAX 512
#define RF_LINE_PERSON_MAX 128
#define RF_LINE_AGENT_MAX 128
#define RF_LINE_TASK_MAX 256
#define RF_LINE_CGROUP_MAX 768
#define RF_LINE_FIELD_MAX 4096 /* a value of rf_own_json() */

void rf_line_bytes(struct rf_line *line, const void *bytes, size_t len);
void rf_line_raw(struct rf_line *line, const char *text);
/* ,"key": with the comma where one is needed */
void rf_line_key(struct rf_line *line, const char *key);
void rf_line_number(struct rf_line *line, const char *key, int64_t value);
void rf_line_unsigned(struct rf_line *line, const char *key, uint64_t value);
/*
 * A member of bytes: readable where they are printable UTF-8, escaped elsewhere; "key_hex" follows when the text does
 * not decode to the exact bytes. More than max bytes are clipped and noted under `name` (the key, if NULL).
 */
void rf_line_text(struct rf_line *line, const char *key, const char *name, const char *bytes, size_t len, size_t max);
/* The same for a string; NULL (unknown) writes nothing. */
void rf_line_string(struct rf_line *line, const char *key, const char *text, size_t max);
/* v, kind, time (ns of CLOCK_REALTIME; negative: unknown), host, boot */
void rf_line_head(struct rf_line *line, const char *kind, int64_t realtime_ns, const struct rf_host_info *host);
void rf_line_run(struct rf_line *line, const struct rf_run_info *run);
void rf_line_people(struct rf_line *line, const struct rf_run_info *run);
/* "flags": the kernel's names given (NULL-terminated, may be NULL) and what this writer clipped. */
void rf_line_flags(struct rf_line *line, const char *const *names);
/* Closes the object; the length, or -ENOSPC. */
int rf_line_end(struct rf_line *line);
