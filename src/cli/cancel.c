/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack cancel: gives up entries that have not started, or are dead; or with --all everything that has not started.
 * Promise: what is running is refused, and named.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "cli/filter.h"
#include "cli/item.h"
#include "view/json.h"
#include "view/words.h"

#include <inttypes.h>
#include <stdio.h>

#define REFUSALS 10 /* that are told one by one */
#define CANCELLABLE (JOBSTACK_IS_READY | JOBSTACK_IS_WAITING | JOBSTACK_IS_DEAD | JOBSTACK_IS_FAILED | JOBSTACK_IS_LOST)

static struct request {
	struct cli_filter filter;
	struct jobstack_cancel_options options;
	const char *states_arg; /* of -t, or NULL */
	int all;
	uint64_t missing, refused;
	struct cli *cli;
} request = {.filter = CLI_FILTER_INIT, .options = JOBSTACK_CANCEL_OPTIONS_INIT};
static const struct js_opt table[] = {
	CLI_OPTS_STACK_TYPED,
	{0, "all", NULL, "cancel the whole stack: nothing more starts or can be pushed, and\nthe workers end",
	 CLI_FLAG(&request.all)},
	{'t', "state", "STATES",
	 "ready, waiting, dead, failed (dead, and the last attempt failed) or lost (dead, and its worker died). "
	 "Default: "
	 "ready,waiting,dead",
	 CLI_WORD(&request.states_arg)},
	CLI_OPTS_FILTER(&request.filter),
	{'m', "note", "TEXT", "the reason, shown by `jobstack show` or, with --all, by\n`jobstack status`",
	 CLI_WORD(&request.options.note)},
	{0, "dry-run", NULL, "only print what would be done", CLI_FLAG(&request.options.dry_run)},
	CLI_OPTS_YES,
	CLI_OPTS_REST};

static int check_cancel(struct cli *cli)
{
	struct request *r = &request;
	int chosen = cli->words_n > 0 || r->filter.given || r->states_arg != NULL || r->filter.f.limit > 0, status = 0;

	if (!cli->stack_typed)
		return cli_usage(cli, "name the stack with -s");
	if (r->all && (chosen || r->options.dry_run))
		return cli_usage(cli,
				 "--all cancels the whole stack: it can't be used with entries, --dry-run or options "
				 "that select entries");
	if (!r->all && !chosen)
		return cli_usage(
			cli,
			"name the entries to cancel, or select them (-t dead, --match GLOB); `jobstack cancel -s "
			"%s --all` cancels all that have not started",
			cli->stack);
	if (r->states_arg != NULL)
		status = cli_states(cli, r->states_arg, &r->filter.f.states);
	if (status == 0 && r->filter.f.states == JOBSTACK_IS_RUNNING)
		return cli_usage(cli, "running entries can't be cancelled: use `jobstack kill`");
	if (status == 0 && r->states_arg != NULL &&
	    (r->filter.f.states == 0 || (r->filter.f.states & ~CANCELLABLE) != 0))
		return cli_usage(cli, "only ready, waiting and dead entries can be cancelled, not -t %s",
				 r->states_arg);
	return JS_THEN(status, cli_filter_end(cli, &r->filter));
}

/* A named entry that is not cancelled now. */
static int tell_refused(void *ctx, const struct jobstack_item *item)
{
	struct request *r = ctx;
	char more[JOBSTACK_STACK_MAX + 60] = "";

	if (++r->refused > REFUSALS)
		return 0;
	if (item->state == JOBSTACK_IS_RUNNING)
		(void)snprintf(more, sizeof(more), ": use `jobstack kill -s %s %" PRIu64 "`", r->cli->stack,
			       item->entry);
	else if (item->state == JOBSTACK_IS_HELD)
		(void)snprintf(more, sizeof(more), " by a push --atomic that is not complete");
	else if ((item->state & CANCELLABLE) != 0)
		(void)snprintf(more, sizeof(more), ", and does not match the options");
	cli_say(r->cli, "entry %" PRIu64 " (%.*s) is refused: it is %s%s", item->entry, (int)item->datapath.len,
		(const char *)item->datapath.data, view_state_word(item->state), more);
	return 0;
}

/* Says what the named entries are that were not cancelled. */
static int find_refused(struct request *r, const struct jobstack_requeue_result *result)
{
	struct jobstack_filter f = JOBSTACK_FILTER_INIT;

	if (result->refused == 0)
		return 0;
	f.entries = r->filter.entries;
	f.entries_n = r->filter.f.entries_n;
	f.states = JOBSTACK_IS_RUNNING | JOBSTACK_IS_DONE | JOBSTACK_IS_HELD | JOBSTACK_IS_MOVED;
	if (!r->options.dry_run)
		f.states |= JOBSTACK_IS_READY | JOBSTACK_IS_WAITING | JOBSTACK_IS_DEAD;
	return jobstack_list(r->cli->handle, r->cli->stack, &f, tell_refused, r, &r->cli->error);
}

static int print_cancelled(const struct request *r, const struct jobstack_requeue_result *result, uint64_t already)
{
	if (r->cli->json)
		return CLI_PRINT(KEY_TEXT("stack", r->cli->stack), KEY_COUNT("cancelled", result->requeued),
				 KEY_COUNT("already", already), KEY_COUNT("refused", r->refused),
				 KEY_COUNT("missing", result->missing), KEY_FLAG("dry_run", r->options.dry_run));
	if (r->cli->quiet)
		return CLI_YES;
	(void)printf("%" PRIu64 " %scancelled", result->requeued, r->options.dry_run ? "would be " : "");
	if (already > 0)
		(void)printf(", %" PRIu64 " cancelled before", already);
	if (r->refused > 0)
		(void)printf(", %" PRIu64 " refused", r->refused);
	if (result->missing > 0)
		(void)printf(", %" PRIu64 " missing", result->missing);
	(void)putchar('\n');
	return CLI_YES;
}

/* Entries that are chosen by options: 0 to cancel them, or the exit status. */
static int confirm_cancel(struct request *r)
{
	struct jobstack_cancel_options look = JOBSTACK_CANCEL_OPTIONS_INIT;
	struct jobstack_requeue_result result = JOBSTACK_REQUEUE_RESULT_INIT;

	look.dry_run = 1;
	if (r->options.dry_run || !cli_asks(r->cli))
		return 0;
	if (jobstack_cancel(r->cli->handle, r->cli->stack, &r->filter.f, &look, &result, &r->cli->error) != 0)
		return cli_fail(r->cli);
	return result.requeued == 0 ? 0
				    : cli_confirm(r->cli, "cancel %" PRIu64 " %s of the stack \"%s\"",
						  VIEW_ENTRIES(result.requeued), r->cli->stack);
}

static int cancel_chosen(struct request *r)
{
	struct jobstack_requeue_result result = JOBSTACK_REQUEUE_RESULT_INIT;
	size_t n = r->filter.f.entries_n;
	int named = n > 0 || r->missing > 0, status = 0;
	uint64_t already;

	if (!named)
		JS_TRY(confirm_cancel(r));
	if (!named || n > 0)
		status = jobstack_cancel(r->cli->handle, r->cli->stack, &r->filter.f, &r->options, &result,
					 &r->cli->error);
	if (status != 0 && result.requeued > 0)
		cli_say(r->cli, "%" PRIu64 " had been cancelled before this error:", result.requeued);
	if (status != 0 || find_refused(r, &result) != 0)
		return cli_fail(r->cli);
	already = result.refused > r->refused ? result.refused - r->refused : 0;
	result.missing += r->missing;
	if (print_cancelled(r, &result, already) != CLI_YES)
		return CLI_BUG;
	if (result.missing > 0)
		return CLI_USAGE;
	if (!named && result.requeued == 0)
		cli_say(r->cli,
			"no entry of the stack \"%s\" that is ready, waiting or dead matches these options: try them "
			"with "
			"`jobstack list -s %s`",
			r->cli->stack, r->cli->stack);
	return r->refused == 0 && result.requeued + already > 0 ? CLI_YES : CLI_NO;
}

static int cancel_entries(struct cli *cli)
{
	struct request *r = &request;
	struct jobstack_status s;
	int status = 0;

	r->cli = cli;
	if (r->all && cli_read_status(cli, &s) != 0)
		return cli_fail(cli);
	if (r->all)
		status = cli_confirm(cli, "cancel %" PRIu64 " %s of the stack \"%s\" that %s not started",
				     VIEW_ENTRIES(s.ready + s.waiting + s.held), cli->stack,
				     s.ready + s.waiting + s.held == 1 ? "has" : "have");
	if (r->all && status == 0)
		return cli_set_state(cli, JOBSTACK_CANCELLED, r->options.note, "is cancelled now",
				     "was cancelled already");
	JS_THEN(status, cli_filter_entries(cli, &r->filter, &r->missing) == 0 ? cancel_chosen(r) : cli_fail(cli));
	cli_filter_free(&r->filter);
	return status;
}

static const char about[] = "Gives up entries that have not started, and dead entries that will never work: those that "
			    "are named, by number "
			    "or\ndatapath, or all that match the options. They are cancelled then, and `jobstack "
			    "requeue -t cancelled` returns "
			    "them. With\n--all it cancels the whole stack, which `jobstack resume` undoes.";
static const char notes[] =
	"  jobstack cancel -s mystack -t dead --match '*/2011/*' --note 'corrupt granules'\n  jobstack "
	"cancel -s mystack --all -m 'wrong list'";
static const struct js_opts opts = {"jobstack cancel", "-s NAME [OPTIONS] [ENTRY...]", about, table, notes, 0};
const struct cli_frame cli_cancel = {&opts,	   NULL,	  CLI_CATCHES | CLI_NAMED, 60 * JS_SECOND_US,
				     check_cancel, cancel_entries};
