/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack requeue: pushes entries back, or dead ones to another stack.  If nothing is chosen, or lost ones are, it
 * first requeues the entries of dead workers, because a user who asks for lost entries means these, too.  Promise: each
 * entry is requeued once, however many do it at once.
 */
#include "cli/change.h"

#include "base/clock.h"
#include "base/num.h"
#include "cli/last_start.h"
#include "cli/item.h"
#include "cli/recover.h"
#include "show/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOVABLE (JOBSTACK_IS_DEAD | JOBSTACK_IS_FAILED | JOBSTACK_IS_LOST)
#define REQUEUABLE (MOVABLE | JOBSTACK_IS_DONE | JOBSTACK_IS_CANCELLED)
#define QUEUED (JOBSTACK_IS_READY | JOBSTACK_IS_WAITING | JOBSTACK_IS_HELD)

static struct cli_filter filter = CLI_FILTER_INIT;
static struct cli_recovery lost;

static int requeue_or_move(struct cli *cli, const struct cli_change *c, const struct jobstack_filter *f, int dry_run,
			   struct jobstack_requeue_result *result)
{
	struct jobstack_move_options move = JOBSTACK_MOVE_OPTIONS_INIT;
	int status;

	if (c->to == NULL)
		return jobstack_requeue(cli->handle, cli->stack, f, dry_run, result, &cli->error);
	move.to = c->to;
	move.dry_run = dry_run;
	status = jobstack_move(cli->handle, cli->stack, f, &move, result, &cli->error);
	if (status == JOBSTACK_ECONFLICT)
		cli->stack = c->to; /* what is cancelled or being dropped, and what the remedy is about */
	return status;
}

static int explain_not_requeueable(const struct cli *cli, const struct jobstack_item *item, struct js_buf *out)
{
	(void)cli;
	js_buf_printf(out, (item->state & QUEUED) != 0 ? "is already in the queue (%s)" : "is %s",
		      show_state_word(item->state));
	return 1;
}

/* Recovers the entries of dead workers first, where that is wanted: -t lost, or a named entry that runs.  Named entries
 * that are queued because of that count as settled, although this command did not requeue them itself. */
static int recover_lost(struct cli *cli, struct cli_change *c)
{
	struct jobstack_filter f = JOBSTACK_FILTER_INIT;
	struct cli_numbers running = {0}, still = {0};
	int status = 0;

	f.entries = filter.f.entries;
	f.entries_n = filter.f.entries_n;
	f.states = JOBSTACK_IS_RUNNING;
	if (c->to == NULL && f.entries_n > 0) /* what runs can't go elsewhere */
		status = cli_numbers_list(cli, &f, &running);
	if (status == 0 && ((filter.f.states & JOBSTACK_IS_LOST) != 0 || running.n > 0))
		status = cli_recover_dead(cli, &lost);
	c->others = lost.taken;
	if (status == 0 && running.n > 0 && lost.taken > 0 && !c->dry_run) {
		qsort(running.at, running.n, sizeof(*running.at), js_num_order);
		f.entries = running.at;
		f.entries_n = running.n;
		f.states |= JOBSTACK_IS_DEAD;
		status = cli_numbers_list(cli, &f, &still);
		c->settled = running.n - (still.n < running.n ? still.n : running.n);
	}
	c->silent = c->settled > 0;
	free(running.at);
	free(still.at);
	return status;
}

static struct cli_change change = {.filter = &filter,
				   .able = REQUEUABLE,
				   .able_as = "dead, lost, failed, cancelled and done",
				   .done = "requeued",
				   .matching = "requeueable",
				   .hint = " (-t done requeues done entries)",
				   .asks = JOBSTACK_IS_DONE,
				   .ask = {"run", "done ", " again"},
				   .other = "taken_back",
				   .other_as = "recovered from dead workers",
				   .begin = recover_lost,
				   .act = requeue_or_move,
				   .refuse = explain_not_requeueable};
static const struct js_opt table[] = {
	CLI_OPTS_STACK,
	CLI_OPTS_FILTER(&filter, "dead, lost (the worker died), failed (dead, and the last attempt failed), cancelled "
				 "or done. Default: dead,lost. Named entries: all of these. With --to, --limit or a "
				 "selecting option: dead"),
	{0, "to", "STACK",
	 "move dead entries to that stack, as new entries without attempts;\nthe stack is created if it does not "
	 "exist",
	 CLI_WORD_ONCE(&change.to)},
	{0, "dry-run", NULL, "only print what would be done", CLI_FLAG(&change.dry_run)},
	CLI_OPTS_YES,
	CLI_OPTS_REST};

static int check_requeue(struct cli *cli)
{
	const unsigned states = filter.f.states;

	if (states == JOBSTACK_IS_RUNNING)
		return cli_usage(cli, "running entries can't be requeued; if their worker is dead, use -t lost");
	if (states == JOBSTACK_IS_MOVED)
		return cli_usage(cli,
				 "moved entries can't be requeued here: requeue them in the stack to which they moved");
	if (change.to != NULL && strcmp(change.to, cli->stack) == 0)
		return cli_usage(cli, "--to %s is the same stack; without --to the entries go back into its queue",
				 change.to);
	if (change.to != NULL && (states & ~MOVABLE) != 0)
		return cli_usage(
			cli, "--to moves only dead entries; push the names of done entries to %s with `jobstack push`",
			change.to);
	if (change.to != NULL) {
		change.done = "moved";
		change.able = MOVABLE;
		change.able_as = "dead, lost and failed";
	}
	if (change.dry_run)
		change.other_as = "would be recovered from dead workers";
	lost.dry_run = change.dry_run;
	return cli_change_check(cli, &change);
}

/* Returns the states for a call without -t.  Entries of dead workers are recovered only if nothing says which entries
 * are meant, or they are named. */
static unsigned default_states(void)
{
	if (change.to != NULL)
		return JOBSTACK_IS_DEAD;
	if (cli_filter_names(&filter))
		return REQUEUABLE;
	return cli_filter_given(&filter) || filter.f.limit > 0 ? JOBSTACK_IS_DEAD : JOBSTACK_IS_DEAD | JOBSTACK_IS_LOST;
}

/* What was changed is printed before the hint, which is on standard error.  A recovery that failed decides the exit
 * status, unless the requeue itself has a worse one. */
static int requeue_entries(struct cli *cli)
{
	const char *to = change.to != NULL ? change.to : cli->stack;
	struct js_buf next = {0};
	int status;

	if (cli_filter_entries(cli, &filter, 1) != 0)
		return cli_fail(cli);
	if (filter.states_arg == NULL)
		filter.f.states = default_states();
	status = cli_change_run(cli, &change);
	(void)fflush(stdout);
	if (status == CLI_YES && !change.dry_run)
		cli_last_start_command(cli_last_start_way(cli->handle, to, NULL), to, &next);
	if (next.data != NULL)
		cli_say(cli, "%s starts workers", next.data);
	js_buf_free(&next);
	return status <= CLI_NO && lost.failed != 0 ? lost.failed : status;
}

static const char about[] =
	"Puts all entries in the given states back in the queue; if entries are named (by number or datapath), only "
	"these.\nOptions that select entries are combined: an entry must match all of them. The history "
	"is kept. With the\nstate lost, it first recovers the entries of dead workers, as `jobstack recover` does.";
static const char notes[] = "  jobstack requeue mystack --exit 3 --dry-run\n  jobstack requeue mystack --reason "
			    "'out of memory' --to bignodes";
static const struct js_opts opts = {"jobstack requeue", "[STACK] [OPTIONS] [ENTRY...]", about, table, notes, 0};
const struct cli_frame cli_requeue = {&opts,	     NULL,	     CLI_CATCHES | CLI_CHANGES, 60 * JS_SECOND_US,
				      check_requeue, requeue_entries};
