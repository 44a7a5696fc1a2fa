/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A slow, obviously right matcher: reads the pattern's text for each question, tries everything, shares no code with
 * the compiler. What it says is what docs/policy.md means.
 */
#pragma once

#include "policy/automaton.h"

/* path: as in rf_image_path(); "/" and "" are both the root. */
bool oracle_glob(const char *glob, size_t glob_len, const char *path, size_t len);
/* access_index: of the automaton, 0..RF_ACCESSES-1 */
struct rf_decision oracle_path(const struct rf_pattern *patterns, size_t n, unsigned int access_index, const char *path,
			       size_t len);
/* The same for every access at once. */
void oracle_path_all(const struct rf_pattern *patterns, size_t n, const char *path, size_t len,
		     struct rf_verdicts *ret);
/*
 * What is allowed at new + below and not at old + below: bits; with below, create too if it is allowed at the old place
 * only. below: "" or names, each with a '/' before it.
 */
uint64_t oracle_gained(const struct rf_pattern *patterns, size_t n, const char *old, const char *new,
		       const char *below);
/* The address as it is, before rf_addr_key() makes one of mapped and unspecified ones. port: host order. */
struct rf_decision oracle_addr(const struct rf_pattern *patterns, size_t n, unsigned int access_index, uint8_t family,
			       const uint8_t *addr, uint8_t protocol, uint16_t port);
