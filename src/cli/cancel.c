/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack cancel: gives up entries that have not started, or are dead; or with --all everything that has not started.
 * Promise: what is running is refused, and named.
 */
#include "cli/change.h"

#include "base/clock.h"
#include "show/words.h"

#include <inttypes.h>

#define ABLE (JOBSTACK_IS_READY | JOBSTACK_IS_WAITING | JOBSTACK_IS_DEAD | JOBSTACK_IS_FAILED | JOBSTACK_IS_LOST)

static struct cli_filter filter = CLI_FILTER_INIT;
static struct jobstack_cancel_options options = JOBSTACK_CANCEL_OPTIONS_INIT;
static int all;

static int cancel_chosen(struct cli *cli, const struct cli_change *c, const struct jobstack_filter *f, int dry_run,
			 struct jobstack_requeue_result *result)
{
	(void)c;
	options.dry_run = dry_run;
	return jobstack_cancel(cli->handle, cli->stack, f, &options, result, &cli->error);
}

static int explain_not_cancellable(const struct cli *cli, const struct jobstack_item *item, struct js_buf *out)
{
	js_buf_printf(out, "is %s", show_state_word(item->state));
	if (item->state == JOBSTACK_IS_RUNNING)
		js_buf_printf(out, ": use `jobstack kill -s %s %" PRIu64 "`", cli->stack, item->entry);
	else if (item->state == JOBSTACK_IS_HELD)
		js_buf_str(out, " by a push --atomic that is not complete");
	return item->state != JOBSTACK_IS_CANCELLED;
}

static struct cli_change change = {.filter = &filter,
				   .able = ABLE,
				   .able_as = "ready, waiting and dead",
				   .done = "cancelled",
				   .matching = "cancellable",
				   .hint = "",
				   .ask = {"cancel", "", ""},
				   .other = "already",
				   .other_as = "cancelled before",
				   .act = cancel_chosen,
				   .refuse = explain_not_cancellable};
static const struct js_opt table[] = {
	CLI_OPTS_STACK_TYPED,
	{0, "all", NULL, "cancel the whole stack: nothing more starts or can be pushed, and\nthe workers end",
	 CLI_FLAG(&all)},
	CLI_OPTS_FILTER(&filter, "ready, waiting, dead, failed (dead, and the last attempt failed) or lost (dead, and "
				 "its worker died). Default: ready,waiting,dead"),
	{'m', "note", "TEXT", "the reason, shown by `jobstack show` or, with --all, by\n`jobstack status`",
	 CLI_WORD(&options.note)},
	{0, "dry-run", NULL, "only print what would be done", CLI_FLAG(&change.dry_run)},
	CLI_OPTS_YES,
	CLI_OPTS_REST};

static int check_cancel(struct cli *cli)
{
	const int chosen =
		cli->words_n > 0 || cli_filter_given(&filter) || filter.states_arg != NULL || filter.f.limit > 0;

	if (!cli->stack_typed)
		return cli_usage(cli, "name the stack: `jobstack cancel STACK ENTRY...`");
	if (all && (chosen || change.dry_run))
		return cli_usage(cli,
				 "--all cancels the whole stack: it can't be used with entries, --dry-run or options "
				 "that select entries");
	if (!all && !chosen)
		return cli_usage(cli,
				 "name the entries to cancel, or select them (-t dead, --match GLOB); `jobstack cancel "
				 "%s --all` cancels all that have not started",
				 cli->stack);
	if (filter.f.states == JOBSTACK_IS_RUNNING)
		return cli_usage(cli, "running entries can't be cancelled: use `jobstack kill`");
	return cli_change_check(cli, &change);
}

/* Does --all: one change of the stack's state, whatever the number of entries; `jobstack resume` undoes it. */
static int cancel_stack(struct cli *cli)
{
	struct jobstack_status s;

	if (cli_read_status(cli, &s) != 0)
		return cli_fail(cli);
	JS_TRY(cli_confirm(cli, "cancel %" PRIu64 " %s of the stack \"%s\" that %s not started",
			   SHOW_ENTRIES(s.ready + s.waiting + s.held), cli->stack,
			   s.ready + s.waiting + s.held == 1 ? "has" : "have"));
	return cli_set_state(cli, JOBSTACK_CANCELLED, options.note, "is cancelled now", "was cancelled already");
}

/* Entries that are named one by one are not asked about: whoever types their numbers means them. */
static int cancel_entries(struct cli *cli)
{
	int status;

	if (all)
		return cancel_stack(cli);
	if (cli_filter_entries(cli, &filter, 1) != 0)
		return cli_fail(cli);
	if (filter.f.states == 0)
		filter.f.states = JOBSTACK_IS_READY | JOBSTACK_IS_WAITING | JOBSTACK_IS_DEAD;
	change.asks = cli_filter_names(&filter) ? 0 : ABLE; /* who names each entry is not asked */
	status = cli_change_run(cli, &change);
	return status == CLI_YES && change.result.refused > 0 ? CLI_NO : status;
}

static const char about[] = "Gives up entries that have not started, and dead entries that will never work: those that "
			    "are named, by number "
			    "or\ndatapath, or all that match the options. They are cancelled then, and `jobstack "
			    "requeue -t cancelled` returns "
			    "them. With\n--all it cancels the whole stack, which `jobstack resume` undoes.";
static const char notes[] =
	"  jobstack cancel mystack -t dead --match '*/2011/*' --note 'corrupt granules'\n  jobstack "
	"cancel mystack --all -m 'wrong list'";
static const struct js_opts opts = {"jobstack cancel", "STACK [OPTIONS] [ENTRY...]", about, table, notes, 0};
const struct cli_frame cli_cancel = {&opts,	   NULL,	  CLI_CATCHES | CLI_NAMED, 60 * JS_SECOND_US,
				     check_cancel, cancel_entries};
