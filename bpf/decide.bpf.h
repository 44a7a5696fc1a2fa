/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* (who, accesses, object) -> refused or not. The quick half: all wanted is allowed and nothing of it is to be recorded. */
#pragma once

#include "path.bpf.h"

/* Are req->wanted, accesses of the path automaton, refused on a dentry? */
static __always_inline bool rf_denies_path(struct rf_task *tag, struct rf_request *req, struct dentry *dentry)
{
	const struct rf_verdicts *verdicts;
	__u64 state;

	req->object = rf_address(tag, dentry);
	if (req->refusal)
		return rf_denies_for(req, req->refusal);
	state = rf_object_state(tag, req->image, dentry);
	if (!(__u32)state)
		return rf_denies_for(req, state >> 32);
	verdicts = rf_state_verdicts(rf_cells, RF_CELLS_MASK, req->image, state);
	if (!(req->wanted & ~verdicts->allow) && !(req->wanted & rf_image(req->image)->record))
		return false;
	return rf_denies(req, state);
}
