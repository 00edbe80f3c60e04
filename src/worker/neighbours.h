/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What becomes of entries that fail here on other nodes (worker/suspicion.h says what follows).  Only the ledger thread
 * calls this.
 */
#pragma once

#include "worker/ledger_state.h"

/* Whether entries fail here in a row, and the stack was not looked at since. */
int neighbours_unknown(struct ledger *l);

/* Changes failures among the N results of the next step into interruptions, if other nodes may do these entries.
 * Updates OUTCOMES accordingly. */
void neighbours_judge(struct ledger *l, struct result *results, struct jobstack_outcome *outcomes, size_t n);

/* The worker leaves, because its node is bad: records WHY. */
void neighbours_leave(struct ledger *l, const char *why);

/* After a look at the stack: if entries fail here in a row, looks whether others do them.  The worker may leave then
 * because its node is bad, or because nobody has success. */
void neighbours_look(struct ledger *l);
