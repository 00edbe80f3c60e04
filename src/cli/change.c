/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The frame of requeue and cancel.  Promises: only what is chosen is changed, and nothing if words name entries of
 * which none is there; each named entry that is refused is counted, and the first of them are explained.
 */
#include "cli/change.h"

#include "base/num.h"
#include "cli/item.h"
#include "show/json.h"
#include "show/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define REFUSALS 10 /* that are told one by one */

int cli_change_check(struct cli *cli, const struct cli_change *c)
{
	const unsigned states = c->filter->f.states;

	if (c->filter->states_arg != NULL && (states == 0 || (states & ~c->able) != 0))
		return cli_usage(cli, "only %s entries can be %s, not -t %s", c->able_as, c->done,
				 c->filter->states_arg);
	return cli_filter_end(cli, c->filter);
}

/* Asks on a terminal, if there is something to ask about: a dry run counts it first.  0 to go on, or the exit status.
 */
static int confirm_change(struct cli *cli, const struct cli_change *c)
{
	struct jobstack_requeue_result would = JOBSTACK_REQUEUE_RESULT_INIT;
	struct jobstack_filter f = c->filter->f;

	f.states &= c->asks;
	if (f.states == 0 || c->dry_run || !cli_asks(cli))
		return 0;
	if (c->act(cli, c, &f, 1, &would) != 0)
		return cli_fail(cli);
	return would.requeued == 0
		       ? 0
		       : cli_confirm(cli, "%s %" PRIu64 " %s%s of the stack \"%s\"%s", c->ask[0], would.requeued,
				     c->ask[1], would.requeued == 1 ? "entry" : "entries", cli->stack, c->ask[2]);
}

/* The check of the named entries.  FIT are those that the options choose, in order; others are refused. */
struct named_check {
	struct cli *cli;
	struct cli_change *c;
	struct cli_numbers fit;
	uint64_t refused;
	int silent; /* with a limit it is not known which are refused */
};

/* Says why a named entry is refused, unless it fits.  FAILED and LOST are ways in which a dead entry has ended, so for
 * the state they mean DEAD. */
static int check_named_entry(void *ctx, const struct jobstack_item *item)
{
	struct named_check *l = ctx;
	const unsigned by_end = JOBSTACK_IS_FAILED | JOBSTACK_IS_LOST, states = l->c->filter->f.states,
		       wanted = (states & ~by_end) | ((states & by_end) != 0 ? JOBSTACK_IS_DEAD : 0);
	struct js_buf what = {0};

	if ((item->state & wanted) != 0 && l->fit.n > 0 &&
	    bsearch(&item->entry, l->fit.at, l->fit.n, sizeof(*l->fit.at), js_num_order) != NULL)
		return 0;
	if (l->c->refuse(l->cli, item, &what) == 0) {
		l->c->settled++;
		l->c->others++;
	} else if (++l->refused <= REFUSALS && !l->silent)
		cli_say(l->cli, "entry %" PRIu64 " (%.*s) is refused: it %s", item->entry, (int)item->datapath.len,
			(const char *)item->datapath.data,
			(item->state & wanted) != 0 ? "does not match the options"
			: what.data != NULL	    ? what.data
						    : "");
	js_buf_free(&what);
	return 0;
}

/* Says which of the named entries are refused. */
static int say_refused(struct cli *cli, struct cli_change *c)
{
	struct jobstack_filter named = JOBSTACK_FILTER_INIT;
	struct named_check l = {.cli = cli, .c = c, .silent = c->silent || c->filter->f.limit > 0};
	int status = cli_numbers_list(cli, &c->filter->f, &l.fit);

	named.entries = c->filter->f.entries;
	named.entries_n = c->filter->f.entries_n;
	if (l.fit.n > 0)
		qsort(l.fit.at, l.fit.n, sizeof(*l.fit.at), js_num_order);
	JS_THEN(status, jobstack_list(cli->handle, cli->stack, &named, check_named_entry, &l, &cli->error));
	if (l.refused > REFUSALS && !l.silent)
		cli_say(cli, "... and %" PRIu64 " more", l.refused - REFUSALS);
	free(l.fit.at);
	return status;
}

static int print_change(const struct cli *cli, const struct cli_change *c)
{
	const struct jobstack_requeue_result *r = &c->result;
	json_t *o;

	if (cli->json) {
		o = SHOW_OBJECT(KEY_TEXT("stack", cli->stack));
		if (c->to != NULL)
			SHOW_SET(o, KEY_TEXT("to", c->to));
		SHOW_SET(o, KEY_COUNT(c->done, r->requeued), KEY_COUNT(c->other, c->others),
			 KEY_COUNT("refused", r->refused), KEY_COUNT("missing", r->missing),
			 KEY_FLAG("dry_run", c->dry_run));
		return cli_print_json(o);
	}
	if (cli->quiet)
		return CLI_YES;
	(void)printf("%" PRIu64 " %s%s%s%s", r->requeued, c->dry_run ? "would be " : "", c->done,
		     c->to != NULL ? " to " : "", c->to != NULL ? c->to : "");
	if (c->others > 0)
		(void)printf(", %" PRIu64 " %s", c->others, c->other_as);
	if (r->refused > 0)
		(void)printf(", %" PRIu64 " refused", r->refused);
	if (r->missing > 0)
		(void)printf(", %" PRIu64 " missing", r->missing);
	(void)putchar('\n');
	return CLI_YES;
}

static void say_nothing_fits(const struct cli *cli, const struct cli_change *c)
{
	if (cli_filter_given(c->filter))
		cli_say(cli,
			"no %s entry of the stack \"%s\" matches these options: try them with `jobstack list -s %s`",
			c->matching, cli->stack, cli->stack);
	else if (c->others == 0)
		cli_say(cli, "no entry of the stack \"%s\" is in these states: see `jobstack status -s %s`%s",
			cli->stack, cli->stack, c->hint);
}

/* The order: ask; BEGIN, which may change what the entries are; the named entries that are refused; the change; the
 * result.  Words that name only entries that do not exist change nothing, where no words at all would mean all entries.
 */
int cli_change_run(struct cli *cli, struct cli_change *c)
{
	const struct cli_filter *f = c->filter;
	const int named = cli_filter_names(f), any = !named || f->f.entries_n > 0;
	struct jobstack_requeue_result *r = &c->result;
	int status = 0;

	*r = (struct jobstack_requeue_result)JOBSTACK_REQUEUE_RESULT_INIT;
	if (any)
		JS_TRY(confirm_change(cli, c));
	if (c->begin != NULL)
		status = c->begin(cli, c);
	if (status == 0 && f->f.entries_n > 0)
		status = say_refused(cli, c);
	if (status == 0 && any)
		status = c->act(cli, c, &f->f, c->dry_run, r);
	if (status != 0 && r->requeued > 0)
		cli_say(cli, "%" PRIu64 " had been %s before this error:", r->requeued, c->done);
	if (status != 0)
		return cli_fail(cli);
	r->missing += f->missing;
	/* the library refuses settled entries, too, since they are not in a state that it can change */
	r->refused -= c->settled < r->refused ? c->settled : r->refused;
	if (print_change(cli, c) != CLI_YES)
		return CLI_BUG;
	if (r->missing > 0)
		return CLI_USAGE;
	if (!named && r->requeued == 0)
		say_nothing_fits(cli, c);
	return r->requeued + c->others > 0 ? CLI_YES : CLI_NO;
}
