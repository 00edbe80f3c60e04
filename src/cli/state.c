/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack pause, resume and cancel: stop handing out; go on; give up what has not started.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "view/json.h"
#include "view/words.h"
#include "insight/stack.h"

#include <inttypes.h>
#include <stdio.h>

#define NOTE "note", "TEXT", "the reason, shown by `jobstack status`"

static const struct js_opt stop_table[] = {CLI_OPTS_STACK, {'m', NOTE}, CLI_OPTS_REST};
static const struct js_opt cancel_table[] = {CLI_OPTS_STACK_TYPED, {'m', NOTE}, CLI_OPTS_REST};
static const struct js_opt go_table[] = {CLI_OPTS_STACK, CLI_OPTS_REST};

struct change {
	struct js_opts opts;
	enum jobstack_stack_state to;
	const char *now, *already; /* in words */
};
static const struct change pausing = {{"jobstack pause", "[OPTIONS]",
				       "Pauses a stack: no more entries start; running entries continue to their end.",
				       stop_table,
				       "Workers without work end after their --idle-timeout. Resume a cancelled stack "
				       "before pausing it.\n\n  jobstack pause -s mystack -m 'the file server is full'",
				       0},
				      JOBSTACK_PAUSED,
				      "is paused now",
				      "was paused already"};
static const struct change resuming = {{"jobstack resume", "[OPTIONS]",
					"Continues a stack after a pause, or undoes a cancel.", go_table,
					"  jobstack resume -s mystack", 0},
				       JOBSTACK_OPEN,
				       "is open again",
				       "was open already"};
static const struct change cancelling = {
	{"jobstack cancel", "-s NAME [OPTIONS]",
	 "Gives up all entries of a stack that have not started: no more entries start or can be pushed, and its "
	 "workers end\nwhen the running entries have ended.",
	 cancel_table,
	 "Done entries stay done. `jobstack resume` undoes the cancel, `jobstack drop` removes the stack.\n\n  "
	 "jobstack cancel -s mystack -m 'wrong list'",
	 0},
	JOBSTACK_CANCELLED,
	"is cancelled now",
	"was cancelled already"};

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

static int set_state(const struct change *c, int argc, char **argv)
{
	struct insight_stack before = {.cwd = {0}}, after = {.cwd = {0}};
	const char *note = NULL;
	const struct cli_take takes[] = {{'m', CLI_WORD(&note)}, CLI_TAKE_END};
	struct cli cli;
	int status = cli_parse(&cli, &c->opts, takes, argc, argv, "name the stack with -s");

	if (status != CLI_GO_ON)
		return status;
	if (c->to == JOBSTACK_CANCELLED && !cli.stack_typed)
		return cli_usage(&cli, "name the stack to cancel with -s");
	status = cli_connect(&cli, 10 * JS_SECOND_US);
	if (status != 0)
		return status;
	status = insight_stack_read(cli.handle, cli.stack, &before, &cli.error);
	if (status == 0 && c->to == JOBSTACK_PAUSED && before.s.state == JOBSTACK_CANCELLED)
		status = js_error_why(&cli.error, JOBSTACK_ECONFLICT, JOBSTACK_WHY_CANCELLED,
				      "the stack \"%s\" is cancelled, so there is nothing to pause", cli.stack);
	if (status != 0 || jobstack_set_state(cli.handle, cli.stack, c->to, note, &cli.error) != 0 ||
	    insight_stack_read(cli.handle, cli.stack, &after, &cli.error) != 0)
		status = cli_fail(&cli);
	else
		status = print_change(&cli, c, before.s.state != c->to, &after.s);
	insight_stack_free(&before);
	insight_stack_free(&after);
	return cli_end(&cli, status);
}

int cli_pause_main(int argc, char **argv)
{
	return set_state(&pausing, argc, argv);
}

int cli_resume_main(int argc, char **argv)
{
	return set_state(&resuming, argc, argv);
}

int cli_cancel_main(int argc, char **argv)
{
	return set_state(&cancelling, argc, argv);
}
