// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The slow half of a decision: what is denied or recorded, by which rule, enforced or observed. */
#include "rf.bpf.h"

/*
 * The first of the bits. By way of memory, where the verifier forgets which one: it would look at all that follows
 * once for each.
 */
static __always_inline __u16 lowest(struct rf_request *req, __u64 bits)
{
	req->access = 0;
	for (__u16 i = 0; i < RF_ACCESS_MAX; i++) {
		if (bits & (1ULL << i)) {
			req->access = i;
			break;
		}
	}
	return *(volatile __u16 *)&req->access;
}

/* Does the policy observe? Not when it can't be asked, not for a task whose run is over, and never the host's floor. */
static __always_inline bool observes(const struct rf_request *req)
{
	const struct rf_image *image = rf_image(req->image);

	return !req->refusal && req->image && image->flags & RF_IMAGE_OBSERVE &&
	       (req->rule == RF_RULE_NONE || req->rule < image->floor);
}

/* Denied unless the policy observes; counted and reported either way. */
static __noinline bool deny(struct rf_request *req)
{
	struct rf_run *run = &rf_runs[req->slot & (RF_RUNS_MAX - 1)];
	__u32 cpu = bpf_get_smp_processor_id() & (RF_CPUS_MAX - 1);
	bool observed = observes(req);

	req->verdict = observed ? RF_OBSERVE : RF_DENY;
	__sync_fetch_and_add(&rf_cpus[cpu].reason[req->reason & 15], 1);
	__sync_fetch_and_add(observed ? &run->observed : &run->denied, 1);
	rf_report(req);
	return !observed;
}

bool rf_denies_for(struct rf_request *req, __u32 reason)
{
	const struct rf_image *image;
	int special = reason == RF_REASON_UNKNOWN_FS  ? RF_SPECIAL_UNKNOWN_FS
		      : reason == RF_REASON_ANONYMOUS ? RF_SPECIAL_ANONYMOUS_EXEC
						      : -1;

	if (!req)
		return true;
	image = rf_image(req->image);
	req->reason = reason;
	lowest(req, req->wanted);
	req->rule = RF_RULE_NONE;
	if (!req->refusal && special >= 0) {
		req->rule = image->special_rule[special & 1];
		if (image->special_allow & (1 << special)) {
			req->verdict = RF_ALLOW;
			if (image->record & req->wanted)
				rf_report(req);
			return false;
		}
	}
	return deny(req);
}

bool rf_denies(struct rf_request *req, __u32 state)
{
	const struct rf_verdicts *verdicts;
	__u64 allow, denied, record;

	if (!req)
		return true;
	verdicts = rf_state_verdicts(rf_cells, RF_CELLS_MASK, req->image, state);
	allow = verdicts->allow;
	record = rf_image(req->image)->record;
	/* Records hold the bits of their own automaton. */
	if (req->wanted & ~0xffffULL)
		allow <<= RF_ACCESSES;
	denied = req->wanted & ~allow;
	req->rule = verdicts->rule[lowest(req, denied ? denied : req->wanted & record) & (RF_ACCESSES - 1)];
	req->reason = req->rule == RF_RULE_NONE ? RF_REASON_NO_RULE : RF_REASON_RULE;
	if (denied)
		return deny(req);
	if (req->wanted & record) {
		req->verdict = RF_ALLOW;
		rf_report(req);
	}
	return false;
}
