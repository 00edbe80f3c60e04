/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One change of all the entries that are chosen, as requeue and cancel make it.  The command says what differs.  The
 * frame asks before it changes much, says which named entries are refused, makes the change, and prints how many
 * entries were changed, as text or as JSON.
 */
#pragma once

#include "cli/filter.h"

struct cli_change {
	struct cli_filter *filter;
	int dry_run;
	unsigned able;	      /* what -t may say: JOBSTACK_IS_ bits; FAILED and LOST mean dead entries */
	const char *able_as;  /* the same in words: "ready, waiting and dead" */
	const char *done;     /* "requeued", also the key in JSON */
	const char *to;	      /* the other stack, for a move; else NULL */
	const char *matching; /* "requeueable" */
	const char *hint;     /* behind the message if no entry is in these states; or "" */
	/* If the change concerns entries in these states, the user is asked first: ASK[0] "5" ASK[1] "entries of the
	 * stack ..." ASK[2], such as "run 5 done entries of the stack ... again". */
	unsigned asks;
	const char *ask[3];
	/* What is counted besides: its key in JSON, its words, and how many there are. */
	const char *other, *other_as;
	uint64_t others;
	uint64_t settled; /* named entries that are as they should be: they are not refused */
	int silent;	  /* do not say which are refused */
	/* Called before the entries are looked at; may be NULL.  0, or a JOBSTACK_E code with cli->error filled. */
	int (*begin)(struct cli *cli, struct cli_change *change);
	/* Changes what FILTER chooses, or with DRY_RUN only counts it.  0, or a JOBSTACK_E code, likewise. */
	int (*act)(struct cli *cli, const struct cli_change *change, const struct jobstack_filter *filter, int dry_run,
		   struct jobstack_requeue_result *result);
	/* Appends what a named entry is that is not chosen: "is running".  0: it counts in OTHERS, and is settled. */
	int (*refuse)(const struct cli *cli, const struct jobstack_item *item, struct js_buf *out);
	struct jobstack_requeue_result result;
};

/* Refuses -t with states that CHANGE is not able to change, and what cli_filter_end refuses.  0, or the exit status,
 * with the reason printed. */
int cli_change_check(struct cli *cli, const struct cli_change *change);

/* Does all of it.  Returns the exit status, with the reason printed: CLI_YES, CLI_NO if nothing was changed and OTHERS
 * is 0, CLI_USAGE if a named entry is missing. */
int cli_change_run(struct cli *cli, struct cli_change *change);
