/* SPDX-License-Identifier: Apache-2.0 */
/* One JSON line of the log -> one RFC 5424 message. */
#pragma once

#include <stddef.h>

/* Of one message, header included: what rsyslog and most receivers take by default. */
#define RF_SYSLOG_MAX 8192

#define RF_SYSLOG_LOCAL0 16

/*
 * line: bytes of bounded length without the newline. The length, at most RF_SYSLOG_MAX; -EBADMSG: no event (not JSON,
 * no "kind"). The message is UTF-8 without control characters; long names are clipped with a mark.
 */
int rf_syslog_format(const char *line, size_t len, unsigned int facility, char ret[RF_SYSLOG_MAX]);

/* "local0", "daemon" ... -> number; -EINVAL: no such facility. */
int rf_syslog_facility(const char *name);
