/* SPDX-License-Identifier: Apache-2.0 */
/* Dotted names of the enums in bpf/abi/access.h: the same in policies, events, metrics and man pages. */
#pragma once

const char *rf_access_name(unsigned int access); /* "file.read"; NULL: no such access */
int rf_access_number(const char *text); /* of an access that a rule can name; -1: there is none */
const char *rf_verdict_name(unsigned int verdict); /* "allow", "deny", "observe"; "?" for others, as below */
const char *rf_reason_name(unsigned int reason); /* "rule", "no-rule", "unknown-filesystem" ... */
const char *rf_hook_name(unsigned int hook); /* "file_open" ... */
