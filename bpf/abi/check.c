/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sizes and offsets of the shared contract, asserted by both compilers. Linked into nothing. */
#ifdef __bpf__
#include "vmlinux.h"
#else
#include <stddef.h>
#endif
#include "event.h"
#include "image.h"
#include "inclusion.h"
#include "match.h"
#include "state.h"

#define SAME(expr, value) _Static_assert((expr) == (value), #expr " changed: raise RF_ABI_VERSION")

SAME(sizeof(union rf_cell), 8);
SAME(sizeof(struct rf_automaton_header), 20);
SAME(sizeof(struct rf_verdicts), 40);
SAME(sizeof(struct rf_image), 120);
SAME(sizeof(struct rf_pair), 8);
SAME(sizeof(struct rf_run), 64);
SAME(sizeof(struct rf_task), 56);
SAME(sizeof(struct rf_cgroup), 16);
SAME(sizeof(struct rf_anchor_key), 16);
SAME(sizeof(struct rf_anchor), 296);
SAME(sizeof(struct rf_cpu), 192);
SAME(sizeof(struct rf_taking), 24);
SAME(sizeof(struct rf_host), 112);
SAME(sizeof(struct rf_event_head), 32);
SAME(sizeof(struct rf_event), 136);
_Static_assert((RF_CELLS_MAX & RF_CELLS_MASK) == 0, "RF_CELLS_MAX is a power of two");
_Static_assert(sizeof(struct rf_image) <= RF_CELLS_PAD * 8, "a header fits behind the last cell");
_Static_assert(RF_REASON_MAX <= 16, "struct rf_cpu has a counter for each reason");
_Static_assert(RF_RULES_MAX < RF_RULE_NONE, "rule numbers fit their field");
