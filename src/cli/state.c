/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack pause, resume and cancel: stop handing out; go on; give up what has not started.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "view/json.h"
#include "view/words.h"

#include <inttypes.h>
#include <stdio.h>

#define NOTE "note", "TEXT", "the reason, shown by `jobstack status`"

static const struct js_opt stop_table[] = {CLI_OPTS_STACK, {'m', NOTE}, CLI_OPTS_REST};
static const struct js_opt cancel_table[] = {CLI_OPTS_STACK_TYPED, {'m', NOTE}, CLI_OPTS_REST};
static const struct js_opt go_table[] = {CLI_OPTS_STACK, CLI_OPTS_REST};

/* A command. */
struct change {
	enum jobstack_stack_state to;
	const char *now, *already; /* in words */
};
static const char *note;
static const struct cli_take takes[] = {{'m', CLI_WORD(&note)}, CLI_TAKE_END};

static int print_change(struct cli *cli, const struct change *c, int changed, const struct jobstack_status *s)
{
	if (cli->json)
		return CLI_PRINT(KEY_TEXT("stack", cli->stack), KEY_TEXT("state", view_stack_word(c->to)),
				 KEY_FLAG("changed", changed));
	if (cli->quiet)
		return CLI_YES;
	(void)printf("the stack \"%s\" %s: ", cli->stack, changed ? c->now : c->already);
	if (c->to == JOBSTACK_CANCELLED)
		(void)printf("%" PRIu64 " cancelled, %" PRIu64 " running\n", s->cancelled, s->running);
	else
		(void)printf("%" PRIu64 " ready, %" PRIu64 " waiting, %" PRIu64 " running\n", s->ready, s->waiting,
			     s->running);
	return CLI_YES;
}

static int set_state(struct cli *cli, const struct change *c)
{
	struct jobstack_status before, after;
	int status = cli_read_status(cli, &before);

	if (status == 0 && c->to == JOBSTACK_PAUSED && before.state == JOBSTACK_CANCELLED)
		status = js_error_why(&cli->error, JOBSTACK_ECONFLICT, JOBSTACK_WHY_CANCELLED,
				      "the stack \"%s\" is cancelled, so there is nothing to pause", cli->stack);
	if (status != 0 || jobstack_set_state(cli->handle, cli->stack, c->to, note, &cli->error) != 0 ||
	    cli_read_status(cli, &after) != 0)
		return cli_fail(cli);
	return print_change(cli, c, before.state != c->to, &after);
}

static int pause_stack(struct cli *cli)
{
	return set_state(cli, &(struct change){JOBSTACK_PAUSED, "is paused now", "was paused already"});
}

static int resume_stack(struct cli *cli)
{
	return set_state(cli, &(struct change){JOBSTACK_OPEN, "is open again", "was open already"});
}

static int check_cancel(struct cli *cli)
{
	return cli->stack_typed ? 0 : cli_usage(cli, "name the stack to cancel with -s");
}

static int cancel_stack(struct cli *cli)
{
	return set_state(cli, &(struct change){JOBSTACK_CANCELLED, "is cancelled now", "was cancelled already"});
}

static const char pause_about[] = "Pauses a stack: no more entries start; running entries continue to their end.";
static const char pause_notes[] = "Workers without work end after their --idle-timeout. Resume a cancelled stack "
				  "before pausing it.\n\n  jobstack pause -s mystack -m 'the file server is full'";
static const struct js_opts pause_opts = {"jobstack pause", "[OPTIONS]", pause_about, stop_table, pause_notes, 0};
const struct cli_frame cli_pause = {&pause_opts, takes,	     "name the stack with -s", 0, 10 * JS_SECOND_US,
				    NULL,	 pause_stack};
static const char resume_about[] = "Continues a stack after a pause, or undoes a cancel.";
static const char resume_notes[] = "  jobstack resume -s mystack";
static const struct js_opts resume_opts = {"jobstack resume", "[OPTIONS]", resume_about, go_table, resume_notes, 0};
const struct cli_frame cli_resume = {&resume_opts, takes,	"name the stack with -s", 0, 10 * JS_SECOND_US,
				     NULL,	   resume_stack};
static const char cancel_about[] = "Gives up all entries of a stack that have not started: no more entries start or "
				   "can be pushed, and its workers end\nwhen the running entries have ended.";
static const char cancel_notes[] = "Done entries stay done. `jobstack resume` undoes the cancel, `jobstack drop` "
				   "removes the stack.\n\n  jobstack cancel -s mystack -m 'wrong list'";
static const struct js_opts cancel_opts = {"jobstack cancel", "-s NAME [OPTIONS]", cancel_about,
					   cancel_table,      cancel_notes,	   0};
const struct cli_frame cli_cancel = {&cancel_opts, takes,	"name the stack with -s", 0, 10 * JS_SECOND_US,
				     check_cancel, cancel_stack};
