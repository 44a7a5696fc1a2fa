/* SPDX-License-Identifier: Apache-2.0 */
/* The shipper: log -> sink, at least once. One thread; ends by a signal or, with `once`, when all is delivered. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct rf_sink;

struct rf_ship_config {
	const char *log;
	const char *cursor;
	const char *status; /* or NULL */
	const char *to; /* the sink's name for messages */
	unsigned int facility;
	int64_t settle_ms;
	int64_t timeout_ms; /* of `once`: without any progress */
	bool once;
};

/*
 * signal_fd: a signalfd of SIGTERM and SIGINT, or -1. 0: ended in order (with once: everything was acknowledged);
 * -ETIMEDOUT: once, and it was not; another -errno: could not begin, or could not keep the cursor. Logs.
 */
int rf_ship_run(const struct rf_ship_config *config, struct rf_sink *sink, int signal_fd);
