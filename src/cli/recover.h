/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Taking back what dead workers hold: for recover, and for requeue.
 */
#pragma once

#include "cli/cli.h"
#include "death/death.h"

struct cli_suspect;
struct cli_recovery {
	int dry_run;	 /* only say what would be */
	int wait;	 /* watch workers that are only silent, however long their leases are */
	uint64_t only;	 /* look at this worker only, and print nothing about it; 0: at all */
	json_t *workers; /* gets an object for each worker that was dead, or is suspect; NULL: not wanted */
	/* the result */
	uint64_t taken;	   /* entries taken back, or that would be */
	uint64_t dead;	   /* workers */
	uint64_t suspects; /* workers that may be dead */
	int failed;	   /* the exit status for a worker that could not be recovered, which was reported; 0: none */
	char proof[300];   /* with ONLY: why it is dead, and of what; "": that is not proven */
	enum jobstack_cause cause;
	/* its own */
	struct cli *cli;
	uint64_t *printed; /* the dead workers that a dry run has printed */
	size_t printed_n, printed_capacity;
	struct cli_suspect *left; /* the suspects of the last look */
	size_t left_n, left_capacity;
	int64_t longest_us; /* what is to be watched of them */
	int bad;
};

/* Takes back, at once, from each worker of cli->stack whose death is confirmed; then watches those that are only
 * silent, if a minute does or WAIT says so.  Prints what it did, and which suspects are left.  Returns 0, or a
 * JOBSTACK_E code with cli->error filled. */
int cli_recover_dead(struct cli *cli, struct cli_recovery *recovery);
