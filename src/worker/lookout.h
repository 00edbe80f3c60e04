/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The ledger's view of the rest of its stack.  Only the ledger thread calls this.
 */
#pragma once

#include "worker/ledger_state.h"

/* Notes that a claim brought entries or (DRY) nothing: then the next one waits, longer each time, with a random part.
 */
void lookout_note_claim(struct ledger *l, int dry);

/* Has the worker leave, for the reason WHY, which must stay. */
void lookout_leave(struct ledger *l, enum leaving leaving, const char *why);

/* When to look at the stack although no step is due: the display does not know how many names still come, nor what of
 * that which failed still waits.  INT64_MAX: no need.  With the mailbox's lock held. */
int64_t lookout_next(const struct ledger *l);

/* Reads the state of the whole stack, for the size of claims and the decision to stay.  0, also if the database is
 * away, or an error in l->error. */
int lookout_look(struct ledger *l);

/* After a step that began at NOW (DUE: entries wait whose retry is due): looks, now and then or with nothing to do, at
 * the stack and at other workers, and decides whether to leave.  As lookout_look. */
int lookout_after_step(struct ledger *l, int64_t now, int due);
