/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Entries, states and fields as people name them.
 */
#pragma once

#include "cli/cli.h"
#include "show/fields.h"

#define CLI_LEASE_WORDS "a duration of at least 1 s and at most 366 d, such as 90, 15m or 1:30:00"

/* For a command about one entry: checks that it is named.  Returns 0, or the exit status, with the reason printed. */
int cli_check_entry(struct cli *cli);

/* Numbers of entries.  Start it as {0}, and free AT. */
struct cli_numbers {
	uint64_t *at;
	size_t n, capacity;
};

/* Appends one: 0, or 1 if there is no memory. */
int cli_numbers_add(struct cli_numbers *numbers, uint64_t entry);

/* Appends the entries that F chooses, in the order of the list.  0, or a JOBSTACK_E code with cli->error filled. */
int cli_numbers_list(struct cli *cli, const struct jobstack_filter *f, struct cli_numbers *found);

/* Calls FN with the one ENTRY of STACK, as jobstack_list has it; up to ten times, since an entry that changes its state
 * meanwhile can be missed.  SEEN is set by FN.  0, or a JOBSTACK_E code with cli->error filled. */
int cli_look_at_entry(struct cli *cli, const char *stack, uint64_t entry, jobstack_item_fn *fn, void *ctx,
		      const unsigned *seen);

/* Finds the popped entry and attempt that close and renew are about, by cli->words and --attempt's argument (or NULL).
 * Without a word these are $JOBSTACK_ENTRY and $JOBSTACK_ATTEMPT.  A word without --attempt means $JOBSTACK_ATTEMPT if
 * it is the entry of $JOBSTACK_ENTRY, else the attempt that runs now.  Returns 0, or the exit status, with the reason
 * printed. */
int cli_which(struct cli *cli, const char *attempt_arg, uint64_t *entry, uint32_t *attempt);

/* Reads "ready,dead" into JOBSTACK_IS_ bits; "all" is 0.  Returns 0, or CLI_USAGE, with the reason printed. */
int cli_states(struct cli *cli, const char *list, unsigned *states);

/* Reads "entry,datapath".  Returns 0, or CLI_USAGE, with the reason printed. */
int cli_fields(struct cli *cli, const char *list, struct show_fields *fields);

#define CLI_SINCE_HELP "2h or 7d ago, or 2026-11-21\nor 2026-11-21T06:20:00 (UTC)"

/* Reads it: a time into *SINCE_US, microseconds since 1970; a duration into *WITHIN_US.  The other becomes -1.  Returns
 * 0, or CLI_USAGE, with the reason printed. */
int cli_since(struct cli *cli, const char *arg, int64_t *since_us, int64_t *within_us);
