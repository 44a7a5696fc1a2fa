/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* (who, accesses, object) -> errno. The quick half: all wanted is allowed and nothing of it is to be recorded. */
#pragma once

#include "path.bpf.h"

/* req->wanted: accesses of the path automaton, on a dentry. err: what a denial returns. */
static __always_inline int rf_decide_path(struct rf_task *tag, struct rf_request *req, struct dentry *dentry, int err)
{
	const struct rf_verdicts *verdicts;
	__u64 state;

	req->object = rf_address(tag, dentry);
	if (req->refusal)
		return rf_refuse(req, req->refusal, err);
	state = rf_object_state(tag, req->image, dentry);
	if (!(__u32)state)
		return rf_refuse(req, state >> 32, err);
	verdicts = rf_state_verdicts(rf_cells, RF_CELLS_MASK, req->image, state);
	if (!(req->wanted & ~verdicts->allow) && !(req->wanted & rf_image(req->image)->record))
		return 0;
	return rf_decide(req, state, err);
}
