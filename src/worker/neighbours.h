/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What becomes of entries that fail here on other nodes (worker/suspicion.h says what follows).  Only the ledger thread
 * calls this.
 */
#pragma once

#include "worker/database.h"

struct neighbours {
	/* given */
	struct database *db;
	const char *node; /* this one: Slurm's name of it, or the host's */
	/* its own */
	char failure[200]; /* how the last command failed, in words */
};

/* Returns whether entries fail here in a row, and the stack was not looked at since.  With the mailbox's lock held. */
int neighbours_are_unknown(const struct neighbours *n);

/* Changes failures among the COUNT results of the next step into interruptions, if other nodes may do these entries.
 * Updates OUTCOMES accordingly. */
void neighbours_judge(struct neighbours *n, struct result *results, struct jobstack_outcome *outcomes, size_t count);

/* Has the worker leave because its node is bad, and records WHY. */
void neighbours_leave(const struct neighbours *n, const char *why);

/* After a look at the stack, which saw IDLE: if entries fail here in a row, looks whether others do them.  The worker
 * may leave then because its node is bad, or because nobody has success. */
void neighbours_look(struct neighbours *n, const struct jobstack_idle *idle);
