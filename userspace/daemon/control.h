/* SPDX-License-Identifier: Apache-2.0 */
/* Replies that come later than their requests. */
#pragma once

struct rf_client;
struct run;

/* The totals of a run that is over, to the client that ended it. */
void control_tell_end(struct rf_client *client, const struct run *run);
