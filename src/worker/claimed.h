/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What happens to entries between their claim and their start: this finds out whether they may run here, and reads what
 * has to be known of them first.  Only the ledger's thread calls it.
 */
#pragma once

#include "worker/database.h"

/* The directories that names of a stack may be relative to. */
struct claimed_directory {
	const char *run;  /* the one that the commands run in */
	char known[4096]; /* another name of it; "": none is known yet */
};

/* Has the worker leave if STACK, the directory in which the names of the stack were pushed (NULL: they are absolute),
 * is not the one that it runs in. */
void claimed_check_directory(struct database *db, struct claimed_directory *dir, const char *stack);

/* Hands the claimed entries to the supervisor, and takes over BATCH.  FAR: hands over only the farthest entry, and
 * returns the others.  Notes which entries may not run here.  If that can't be found out, the worker leaves and returns
 * all of them. */
void claimed_hand_over(struct database *db, struct jobstack_batch *batch, int far);
