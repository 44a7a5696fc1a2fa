/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events in userspace: a ring record (bytes of bounded length) -> struct rf_record -> one JSON line -> the log file,
 * from which ringfence-ship reads and delivers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/event.h"

/* A validated view of a ring record; name and exe point into the bytes given. */
struct rf_record {
	const struct rf_event *event;
	const char *object; /* path bytes, not terminated */
	size_t object_len;
	const char *exe;
	size_t exe_len;
};

/* 0, or -EBADMSG: too short, sizes that contradict each other, unknown kind or version, enum out of range. */
int rf_event_decode(const void *bytes, size_t len, struct rf_record *ret);

/* How strong the knowledge of one statement about a run is. */
enum rf_strength { RF_KERNEL, RF_VERIFIED, RF_DECLARED };

/* What the enforcer knows of a run; all strings may be NULL (unknown) and are borrowed. */
struct rf_run_info {
	const char *run; /* its name, "r-20261130-000142" style */
	const char *policy; /* name */
	const char *digest; /* 64 hex digits */
	const char *person, *agent, *task;
	enum rf_strength person_strength, agent_strength, task_strength;
};
struct rf_rule_info {
	const char *id, *why, *layer;
};
struct rf_host_info {
	const char *host; /* name */
	const char *boot_id; /* /proc/sys/kernel/random/boot_id */
	int64_t boot_offset_ns; /* CLOCK_REALTIME - CLOCK_BOOTTIME */
};

#define RF_LINE_MAX (64 * 1024) /* of one JSON line with its newline: every byte escaped still fits */

/*
 * Writes one JSON object and '\n' into buf; returns the length, or -ENOSPC (never for RF_LINE_MAX). No allocation.
 * Bytes that are not printable UTF-8 are escaped so that the line stays valid JSON and they can be got back:
 * a field "object" that had to be changed is accompanied by "object_hex" with its exact bytes.
 */
int rf_event_json(const struct rf_record *record, const struct rf_host_info *host, const struct rf_run_info *run,
		  const struct rf_rule_info *rule, const char *cgroup_path, char *buf, size_t size);

/*
 * The enforcer's own records: run.start, run.end, policy.load, policy.reject, lost, daemon.start, daemon.stop, adopt.
 * fields: further members as "key", "value" pairs of strings (values escaped here) ended by NULL; numbers may be given
 * with a key that ends in '#': "count#", "12" becomes "count":12.
 */
int rf_own_json(const char *kind, uint64_t seq, const struct rf_host_info *host, const struct rf_run_info *run,
		const char *const *fields, char *buf, size_t size);

/* Append-only log with rotation by size: FILE, FILE.1 ... FILE.keep. */
struct rf_log;
int rf_log_open(const char *path, uint64_t max_bytes, unsigned int keep, struct rf_log **ret);
void rf_log_close(struct rf_log **log);
/* One line, one write(2), so that SIGKILL never tears it; -errno: nothing of it was written (a torn tail is cut). */
int rf_log_append(struct rf_log *log, const char *line, size_t len);
/* What was appended is on the disk: 0 or -errno. */
int rf_log_sync(struct rf_log *log);
/*
 * For a daemon that starts again: calls seen(ctx, cpu, seq) for every kernel event in the last `bytes` of the log
 * (FILE, then FILE.1 ...), so that an event that was written but not yet taken from the ring is not written twice.
 * Only events of this boot_id (NULL: any) that stand behind the last "daemon.start": a new boot, or programs loaded
 * afresh, count from 1 again, and their events must not be taken for old ones. So "daemon.start" is for an enforcer
 * that loads its programs, "adopt" for one that takes over pins. A torn last line is cut off. No log yet: 0.
 */
int rf_log_tail(const char *path, size_t bytes, const char *boot_id,
		void (*seen)(void *ctx, uint32_t cpu, uint64_t seq), void *ctx);
