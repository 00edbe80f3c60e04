/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack requeue: pushes entries back, or dead ones to another stack.  If nothing is chosen, or lost ones are, it
 * first requeues the entries of dead workers, because a user who asks for lost entries means these, too.  Promise: each
 * entry is requeued once, however many do it at once.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "base/num.h"
#include "cli/again.h"
#include "cli/filter.h"
#include "cli/item.h"
#include "view/json.h"
#include "cli/recover.h"
#include "view/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REFUSALS 10 /* that are told one by one */

#define REQUEUABLE (JOBSTACK_IS_DEAD | JOBSTACK_IS_DONE | JOBSTACK_IS_FAILED | JOBSTACK_IS_LOST | JOBSTACK_IS_CANCELLED)

#define MOVABLE (JOBSTACK_IS_DEAD | JOBSTACK_IS_FAILED | JOBSTACK_IS_LOST)

static struct request {
	struct cli_filter filter;
	const char *to;
	const char *states_arg; /* of -t, or NULL */
	int dry_run;
	uint64_t missing;
} request = {.filter = CLI_FILTER_INIT};
static const struct js_opt table[] = {
	CLI_OPTS_STACK,
	{'t', "state", "STATES",
	 "dead, lost (the worker died), failed (dead, and the last attempt failed), cancelled or done. Default: "
	 "dead,lost. Named entries: all of these. With --to, --limit or a selecting option: dead",
	 CLI_WORD(&request.states_arg)},
	CLI_OPTS_FILTER(&request.filter),
	{0, "to", "STACK",
	 "move dead entries to that stack, as new entries without attempts;\nthe stack is created if it does not "
	 "exist",
	 CLI_WORD_ONCE(&request.to)},
	{0, "dry-run", NULL, "only print what would be done", CLI_FLAG(&request.dry_run)},
	CLI_OPTS_YES,
	CLI_OPTS_REST};

static int check_states(struct cli *cli, const struct request *r)
{
	unsigned states = r->filter.f.states;

	if (states == JOBSTACK_IS_RUNNING)
		return cli_usage(cli, "running entries can't be requeued; if their worker is dead, use -t lost");
	if (states == JOBSTACK_IS_MOVED)
		return cli_usage(cli,
				 "moved entries can't be requeued here: requeue them in the stack to which they moved");
	if (states == 0 || (states & ~REQUEUABLE) != 0)
		return cli_usage(cli, "only dead, lost, failed, cancelled and done entries can be requeued, not -t %s",
				 r->states_arg);
	return 0;
}

static int check_to(struct cli *cli, const struct request *r)
{
	if (r->to == NULL)
		return 0;
	if (strcmp(r->to, cli->stack) == 0)
		return cli_usage(cli, "--to %s is the same stack; without --to the entries go back into its queue",
				 r->to);
	if (r->states_arg != NULL && (r->filter.f.states & ~MOVABLE) != 0)
		return cli_usage(
			cli, "--to moves only dead entries; push the names of done entries to %s with `jobstack push`",
			r->to);
	return 0;
}

static int check_requeue(struct cli *cli)
{
	struct request *r = &request;
	int status = 0;

	if (r->states_arg != NULL)
		status = cli_states(cli, r->states_arg, &r->filter.f.states);
	if (status == 0 && r->states_arg != NULL)
		status = check_states(cli, r);
	JS_THEN(status, check_to(cli, r));
	return JS_THEN(status, cli_filter_end(cli, &r->filter));
}

/* Without -t.  Entries of dead workers are recovered only if nothing says which entries are meant, or they are named.
 */
static unsigned default_states(const struct request *r, int named)
{
	if (r->to != NULL)
		return JOBSTACK_IS_DEAD;
	if (named)
		return REQUEUABLE;
	return r->filter.given || r->filter.f.limit > 0 ? JOBSTACK_IS_DEAD : JOBSTACK_IS_DEAD | JOBSTACK_IS_LOST;
}

static int count_item(void *ctx, const struct jobstack_item *item)
{
	(void)item;
	++*(uint64_t *)ctx;
	return 0;
}

/* How many of the named entries are in STATE; without names, none. */
static int count_named(struct cli *cli, const struct request *r, unsigned state, uint64_t *n)
{
	struct jobstack_filter f = JOBSTACK_FILTER_INIT;

	*n = 0;
	f.states = state;
	f.entries = r->filter.entries;
	f.entries_n = r->filter.f.entries_n;
	return f.entries_n == 0 ? 0 : jobstack_list(cli->handle, cli->stack, &f, count_item, n, &cli->error);
}

/* Takes back what is lost, where that is wanted.  *BACK: how many of the named entries are
 * queued now because of that. */
static int take_back(struct cli *cli, const struct request *r, struct cli_recovery *lost, uint64_t *back)
{
	const unsigned states = JOBSTACK_IS_RUNNING | JOBSTACK_IS_DEAD;
	uint64_t running = 0, before = 0, after = 0;
	int status = 0;

	*back = 0;
	if (r->to == NULL) /* what runs can't go elsewhere */
		status = count_named(cli, r, JOBSTACK_IS_RUNNING, &running);
	if (status == 0 && running > 0)
		status = count_named(cli, r, states, &before);
	if (status == 0 && ((r->filter.f.states & JOBSTACK_IS_LOST) != 0 || running > 0))
		status = cli_recover_dead(cli, lost);
	if (status != 0 || running == 0 || lost->taken == 0 || r->dry_run)
		return status;
	status = count_named(cli, r, states, &after);
	*back = status == 0 && before > after ? before - after : 0;
	return status;
}

static int print_requeued_json(const struct cli *cli, const struct request *r,
			       const struct jobstack_requeue_result *result, const struct cli_recovery *lost)
{
	json_t *o = VIEW_OBJECT(KEY_TEXT("stack", cli->stack));

	if (r->to != NULL)
		VIEW_SET(o, KEY_TEXT("to", r->to));
	VIEW_SET(o, KEY_COUNT(r->to == NULL ? "requeued" : "moved", result->requeued),
		 KEY_COUNT("taken_back", lost->taken), KEY_COUNT("refused", result->refused),
		 KEY_COUNT("missing", result->missing), KEY_FLAG("dry_run", r->dry_run));
	return cli_print_json(o);
}

static void print_requeued(const struct request *r, const struct jobstack_requeue_result *result,
			   const struct cli_recovery *lost)
{
	(void)printf("%" PRIu64 " %s", result->requeued, r->dry_run ? "would be " : "");
	if (r->to == NULL)
		(void)printf("requeued");
	else
		(void)printf("moved to %s", r->to);
	if (lost->taken > 0)
		(void)printf(", %" PRIu64 " %srecovered from dead workers", lost->taken, r->dry_run ? "would be " : "");
	if (result->refused > 0)
		(void)printf(", %" PRIu64 " refused", result->refused);
	if (result->missing > 0)
		(void)printf(", %" PRIu64 " missing", result->missing);
	(void)putchar('\n');
}

/* Named entries that will be refused. */
struct refusal {
	struct cli *cli;
	const struct request *r;
	uint64_t *fit; /* those that -t and the other options choose */
	size_t fit_n;
	uint64_t n;
};

static int note_fit(void *ctx, const struct jobstack_item *item)
{
	struct refusal *x = ctx;

	x->fit[x->fit_n] = item->entry;
	x->fit_n += x->fit_n < x->r->filter.f.entries_n;
	return 0;
}

static int say_refused(void *ctx, const struct jobstack_item *item)
{
	const unsigned queued = JOBSTACK_IS_READY | JOBSTACK_IS_WAITING | JOBSTACK_IS_HELD,
		       never = queued | JOBSTACK_IS_RUNNING | JOBSTACK_IS_MOVED;
	struct refusal *x = ctx;
	const unsigned state = item->state, wanted = x->r->filter.f.states;
	struct js_buf why = {0};

	if ((state & never) == 0 && bsearch(&item->entry, x->fit, x->fit_n, sizeof(*x->fit), js_num_order) != NULL)
		return 0;
	if ((state & queued) != 0)
		js_buf_printf(&why, "is already in the queue (%s)", view_state_word(state));
	else if ((state & wanted) != 0 && (state & never) == 0)
		js_buf_str(&why, "does not match the options");
	else
		js_buf_printf(&why, "is %s", view_state_word(state));
	if (++x->n <= REFUSALS && why.data != NULL)
		cli_say(x->cli, "entry %" PRIu64 " (%.*s) is refused: it %s", item->entry, (int)item->datapath.len,
			(const char *)item->datapath.data, why.data);
	js_buf_free(&why);
	return 0;
}

static int say_all_refused(struct cli *cli, const struct request *r)
{
	struct jobstack_filter f = JOBSTACK_FILTER_INIT;
	struct refusal x = {.cli = cli, .r = r, .fit = calloc(r->filter.f.entries_n + 1, sizeof(*x.fit))};
	int status = x.fit == NULL ? js_error_memory(&cli->error) : 0;

	f.entries = r->filter.entries;
	f.entries_n = r->filter.f.entries_n;
	JS_THEN(status, jobstack_list(cli->handle, cli->stack, &r->filter.f, note_fit, &x, &cli->error));
	if (x.fit != NULL)
		qsort(x.fit, x.fit_n, sizeof(*x.fit), js_num_order);
	JS_THEN(status, jobstack_list(cli->handle, cli->stack, &f, say_refused, &x, &cli->error));
	if (x.n > REFUSALS)
		cli_say(cli, "... and %" PRIu64 " more", x.n - REFUSALS);
	free(x.fit);
	return status;
}

/* Does it, or tries it. */
static int run_request(struct cli *cli, const struct request *r, struct jobstack_requeue_result *result)
{
	struct jobstack_move_options move = JOBSTACK_MOVE_OPTIONS_INIT;
	int status;

	if (r->to == NULL)
		return jobstack_requeue(cli->handle, cli->stack, &r->filter.f, r->dry_run, result, &cli->error);
	move.to = r->to;
	move.dry_run = r->dry_run;
	status = jobstack_move(cli->handle, cli->stack, &r->filter.f, &move, result, &cli->error);
	if (status == JOBSTACK_ECONFLICT)
		cli->stack = r->to; /* what is cancelled or being dropped, and what the remedy is about */
	return status;
}

/* Done entries that are not named one by one: 0 to requeue them, or the exit status. */
static int confirm_done(struct cli *cli, struct request *r)
{
	struct jobstack_requeue_result result = JOBSTACK_REQUEUE_RESULT_INIT;
	unsigned states = r->filter.f.states;
	int status;

	if ((states & JOBSTACK_IS_DONE) == 0 || r->dry_run || !cli_asks(cli))
		return 0;
	r->filter.f.states = JOBSTACK_IS_DONE;
	status = jobstack_requeue(cli->handle, cli->stack, &r->filter.f, 1, &result, &cli->error);
	r->filter.f.states = states;
	if (status != 0)
		return cli_fail(cli);
	return result.requeued == 0 ? 0
				    : cli_confirm(cli, "run %" PRIu64 " done %s of the stack \"%s\" again",
						  VIEW_ENTRIES(result.requeued), cli->stack);
}

static int requeue_chosen(struct cli *cli, struct request *r)
{
	struct jobstack_requeue_result result = JOBSTACK_REQUEUE_RESULT_INIT;
	struct cli_recovery lost = {.dry_run = r->dry_run};
	size_t n = r->filter.f.entries_n;
	int named = n > 0 || r->missing > 0, status;
	const char *to = r->to != NULL ? r->to : cli->stack;
	struct js_buf next = {0};
	uint64_t back = 0;

	if (r->states_arg == NULL)
		r->filter.f.states = default_states(r, named);
	if (!named || n > 0)
		JS_TRY(confirm_done(cli, r));
	status = take_back(cli, r, &lost, &back);
	if (status == 0 && n > 0 && back == 0 && r->filter.f.limit == 0)
		status = say_all_refused(cli, r);
	if (status == 0 && (!named || n > 0))
		status = run_request(cli, r, &result);
	if (status != 0 && (result.requeued > 0 || lost.taken > 0))
		cli_say(cli, "%" PRIu64 " had been %s and %" PRIu64 " recovered before this error:", result.requeued,
			r->to == NULL ? "requeued" : "moved", lost.taken);
	if (status != 0)
		return cli_fail(cli);
	result.missing += r->missing;
	result.refused -= back < result.refused ? back : result.refused;
	if (cli->json) {
		if (print_requeued_json(cli, r, &result, &lost) != 0)
			return CLI_BUG;
	} else if (!cli->quiet)
		print_requeued(r, &result, &lost);
	if (result.missing > 0)
		return CLI_USAGE;
	if (r->filter.given && !named && result.requeued == 0)
		cli_say(cli,
			"no requeueable entry of the stack \"%s\" matches these options: try them with `jobstack list "
			"-s %s`",
			cli->stack, cli->stack);
	else if (!named && result.requeued + lost.taken == 0)
		cli_say(cli,
			"no entry of the stack \"%s\" is in these states: see `jobstack status -s %s` (-t done "
			"requeues done entries)",
			cli->stack, cli->stack);
	(void)fflush(stdout);
	if (result.requeued + lost.taken > 0 && !r->dry_run)
		cli_again_next(cli_again_way(cli->handle, to, NULL), to, &next);
	if (next.data != NULL)
		cli_say(cli, "%s starts workers", next.data);
	js_buf_free(&next);
	if (lost.failed != 0)
		return lost.failed;
	return result.requeued + lost.taken > 0 ? CLI_YES : CLI_NO;
}

static int requeue_entries(struct cli *cli)
{
	struct request *r = &request;
	int status = cli_filter_entries(cli, &r->filter, &r->missing);

	status = status == 0 ? requeue_chosen(cli, r) : cli_fail(cli);
	cli_filter_free(&r->filter);
	return status;
}

static const char about[] =
	"Puts all entries in the given states back in the queue; if entries are named (by number or datapath), only "
	"these.\nOptions that select entries are combined: an entry must match all of them. The history "
	"is kept. With the\nstate lost, it first recovers the entries of dead workers, as `jobstack recover` does.";
static const char notes[] = "  jobstack requeue -s mystack --exit 3 --dry-run\n  jobstack requeue -s mystack --reason "
			    "'out of memory' --to bignodes";
static const struct js_opts opts = {"jobstack requeue", "[OPTIONS] [ENTRY...]", about, table, notes, 0};
const struct cli_frame cli_requeue = {&opts,	     NULL,	     CLI_CATCHES | CLI_CHANGES, 60 * JS_SECOND_US,
				      check_requeue, requeue_entries};
