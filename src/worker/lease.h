/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The supervisor's side of the lease: until when commands run, and may be started.
 */
#pragma once

#include "worker/supervisor.h"

/* For how long, from the last word of the database on, commands go on without it: the lease less what is needed to end
 * them. */
int64_t lease_outage_us(const struct config *config);

/* The lease: until when commands may run (lease_end_us), and when those that run are asked to end, for what reason. */
int64_t lease_keep(struct supervisor *s, int64_t now, enum ending *why);

/* Reads the clocks and gives the moment.  A leap of the wall clock against the monotonic one may mean that this machine
 * stood still, as a paused virtual machine does, and the lease is over: nothing starts until a step has told. */
int64_t lease_watch_clocks(struct supervisor *s);

/* Whether a command may be started now: also after a sleep of ours that nobody told us of, the lease must be ours. */
int lease_is_ours(struct supervisor *s, int64_t now);
