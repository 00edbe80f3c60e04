/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One slot: runs one command at a time.  What became of the command is in worker/outcome.h.
 */
#pragma once

#include "worker/commands.h"

/* Makes the slot NUMBER (from 1), which captures output in files in DIR.  Returns 0, or a negative code with ERROR.
 * Free with slot_end, also after an error. */
int slot_begin(struct slot *slot, uint32_t number, const char *dir, const struct config *config,
	       struct jobstack_error *error);
void slot_end(struct slot *slot);

/* Returns whether an entry can be started in it: no entry runs, no process has still to end, no call is under way. */
int slot_is_free(const struct slot *slot);

/* Returns its process, whether an entry runs or not; 0: it has none.  Must not be called during CALL_START. */
pid_t slot_process(const struct slot *slot);

/* Starts the command on slot->entry.  SLOT_RUNS: it runs.  SLOT_OUTCOME: there is an outcome already.  SLOT_LATER: the
 * machine is short of something (ERROR says of what), try again.  SLOT_BROKEN: the command, or the place for its
 * output, can't be used (ERROR says why), and the entry has not run.  SLOT_FULL: the same, but the disk is full.
 * SLOT_GONE: return the entry, and read the clocks again: the lease may have ended, or the persistent command has just
 * ended without seeing the entry.  Touches files, and executes one, so it may hang. */
enum slot_start slot_start(struct commands *c, struct slot *slot, struct jobstack_outcome *outcome,
			   struct jobstack_error *error);

/* Begins an outcome of SLOT's entry. */
void slot_begin_outcome(const struct slot *slot, struct jobstack_outcome *outcome);

/* Returns what the templates are filled in with for SLOT's entry. */
struct js_template_values slot_values(const struct commands *c, const struct slot *slot);
