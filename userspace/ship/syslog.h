/* SPDX-License-Identifier: Apache-2.0 */
/* The sink "syslog": RFC 5424 messages over TCP, each behind its length (octet counting, RFC 6587). */
#pragma once

#include "ship/sink.h"

/* port: a number or a service's name. Caller frees *ret. */
int rf_syslog_new(const char *host, const char *port, struct rf_sink **ret);
void rf_syslog_free(struct rf_sink **sink);
/* "HOST:PORT", "[V6]:PORT", "HOST" (port 601): two malloc'ed strings; -EINVAL. */
int rf_syslog_address(const char *text, char **ret_host, char **ret_port);
