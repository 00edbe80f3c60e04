/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Taking back what dead workers hold.
 */
#ifndef JS_CLI_LOST_H
#define JS_CLI_LOST_H

#include "cli/cli.h"

#include <stdint.h>

struct cli_lost {
	uint64_t taken;	  /* entries taken back, or that would be */
	uint64_t workers; /* that were dead */
};

/* Looks at each worker of cli->stack that holds something, and takes back what those hold that are provably dead: their
 * process on this host is gone, Slurm says that their job has ended, or they were silent for longer than their lease while
 * we looked twice.  Says what it did, and which others have been silent for long.  DRY_RUN: only says.  Returns 0, or a
 * JOBSTACK_E code with cli->error filled. */
int cli_lost_recover(struct cli *cli, int dry_run, struct cli_lost *lost);

#endif
