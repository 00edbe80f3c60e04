/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What becomes of a worker's connection between two steps.  A server has few connections for many workers, so an idle
 * one is closed: at once if the server's are nearly all in use, otherwise after a while.  In a Slurm job it stays, if
 * the server has enough of them: its end tells others at once that this worker is gone (DESIGN.md, "Who is missed").
 */
#pragma once

#include "worker/database.h"

struct connection {
	/* given */
	struct database *db;
	int may_stay; /* the worker runs in a Slurm job */
	/* its own */
	int closed; /* it was closed since the last step */
	int looked; /* since the last step it was checked whether others need connections */
	int stays;  /* it stays open, and is checked at this moment: */
	int64_t check_us;
	unsigned checks;
	int64_t stays_since_us;
	unsigned cuts;	       /* connections in a row that were to stay, and were ended soon */
	int64_t stay_again_us; /* none is to stay before this moment */
};

/* Must be called after each step, which has used the connection. */
void connection_used(struct connection *c);

/* With the mailbox's lock held: returns the moment at which to call connection_check, if no step comes before.  LAST_US
 * is the moment of the last step. */
int64_t connection_next_us(const struct connection *c, int64_t last_us);

/* Closes the connection when others need it, or when it was idle for long.  Returns 1 if it was to stay and something
 * has ended it: others ask about this worker now, so a heartbeat is due. */
int connection_check(struct connection *c);
