/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The way of entries through the slots: starting them, posting their outcomes; and the lease, within which commands may
 * run.
 */
#pragma once

#include "worker/state.h"

/* To be called around each call that may hang (worker/loop.h).  entries_end_call does not return if the worker no
 * longer waits for the call. */
void entries_begin_call(struct supervisor *s, struct slot *slot, enum call call);
void entries_end_call(struct supervisor *s, struct slot *slot);

/* Starts entries in SLOT while it is free (usually one).  0: no entry may be started now. */
int entries_fill(struct supervisor *s, struct slot *slot);

/* Makes and posts the outcome of the entry in SLOT.  entries_finish does so when its process has ended, after it has
 * looked for other causes of that end than the command. */
void entries_conclude(struct supervisor *s, struct slot *slot, const struct js_reaped *reaped);
void entries_finish(struct supervisor *s, struct slot *slot, const struct js_reaped *reaped);

/* Posts this outcome of the entry in SLOT, which no longer runs. */
void entries_post(struct supervisor *s, struct slot *slot, const struct jobstack_outcome *outcome);

/* Returns how long commands continue after the lease was last renewed: the lease less the time that ending them takes.
 */
int64_t entries_outage_us(const struct config *config);

/* Reads until when commands may run (s->leave.lease_end_us).  Returns when running commands get TERM, and why in *WHY.
 */
int64_t entries_keep_lease(struct supervisor *s, int64_t now, enum ending *why);

/* Reads the clocks, and returns the moment.  If the wall clock leapt against the monotonic one, this machine may have
 * stood still, as a paused virtual machine does, and the lease may be over: nothing starts until a step has succeeded.
 */
int64_t entries_read_clocks(struct supervisor *s);

/* Reads signals that have come; those that ask the worker to end make it drain. */
void entries_read_signals(struct supervisor *s);

/* Makes the worker drain.  After Slurm's TERM its KILL follows: by then the ledger must know the outcomes. */
void entries_drain(struct supervisor *s, int by_term, int64_t now);
