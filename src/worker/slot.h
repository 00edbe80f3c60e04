/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One slot: runs one command at a time, and makes an outcome of its end.
 */
#pragma once

#include "worker/commands.h"

int slot_begin(struct slot *slot, uint32_t number, const char *dir, const struct config *config,
	       struct jobstack_error *error);
void slot_end(struct slot *slot);

/* Whether an entry can be started in it: no entry runs, no process has still to end, and no call is under way. */
int slot_is_free(const struct slot *slot);

/* Its process, whether an entry runs or not; 0: there is none.  Not to be asked during CALL_START. */
pid_t slot_process(const struct slot *slot);

/* Starts the command on slot->entry.  SLOT_RUNS: it runs.  SLOT_OUTCOME: there is an outcome already.  SLOT_LATER: the
 * machine is short of something (ERROR says of what), try again.  SLOT_BROKEN: the command, or the place for its
 * output, can't be used (ERROR says why), and the entry has not run.  SLOT_FULL: the same, but the disk is full.
 * SLOT_GONE: return the entry, and read the clocks
 * again: the lease may have ended, or the persistent command has just ended without seeing the entry.  Touches files,
 * and executes one, so it may hang. */
enum slot_start slot_start(struct commands *c, struct slot *slot, struct jobstack_outcome *outcome,
			   struct jobstack_error *error);

/* Begins an outcome of SLOT's entry. */
void slot_begin_outcome(const struct slot *slot, struct jobstack_outcome *outcome);

/* Makes the outcome of a command that was collected, or of a persistent one that has answered
 * (slot->persistent->answer).  It touches no file except in /proc and /sys. */
void slot_judge(struct commands *c, struct slot *slot, const struct js_reaped *reaped, struct jobstack_outcome *outcome,
		char reason[REASON_MAX]);

/* Keeps its output, and says in OUTCOME where.  The texts are valid until the next start.  Negative: it could not be
 * kept.  1: it failed because the disk of the results is full.  For both ERROR says more, and the outcome is
 * JOBSTACK_INTERRUPTED.  Touches files, so it may hang. */
int slot_keep(struct commands *c, struct slot *slot, const struct js_reaped *reaped, struct jobstack_outcome *outcome,
	      char reason[REASON_MAX], struct jobstack_error *error);
