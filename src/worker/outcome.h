/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The outcome of a command that has ended: judged from how it ended, then from what it left behind.
 */
#pragma once

#include "worker/commands.h"

/* Makes the outcome of a command that was collected, or of a persistent one that has answered
 * (slot->persistent->answer).  It touches no file except in /proc and /sys. */
void outcome_judge(struct commands *c, struct slot *slot, const struct js_reaped *reaped,
		   struct jobstack_outcome *outcome, char reason[REASON_MAX]);

/* Keeps the command's output, and says in OUTCOME where.  What the output and the results show may change the outcome.
 * Its texts are valid until the next start in SLOT.  Returns 0.  Negative: the output could not be kept, or its disk is
 * full.  1: the command failed because the disk of its results is full.  If it is not 0, ERROR says more, and the
 * outcome is JOBSTACK_INTERRUPTED.  Touches files, so it may hang. */
int outcome_keep(struct commands *c, struct slot *slot, const struct js_reaped *reaped,
		 struct jobstack_outcome *outcome, char reason[REASON_MAX], struct jobstack_error *error);
