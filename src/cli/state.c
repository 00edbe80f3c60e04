/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack pause and resume: stop handing out; go on.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "show/json.h"
#include "show/words.h"

#include <inttypes.h>
#include <stdio.h>

static const char *note;

/* clang-format off */
#define NOTE {'m', "note", "TEXT", "the reason, shown by `jobstack status`", CLI_WORD(&note)}
/* clang-format on */
static const struct js_opt stop_table[] = {CLI_OPTS_STACK, NOTE, CLI_OPTS_REST};
static const struct js_opt go_table[] = {CLI_OPTS_STACK, CLI_OPTS_REST};

static int print_change(struct cli *cli, enum jobstack_stack_state to, const char *words, int changed,
			const struct jobstack_status *s)
{
	if (cli->json)
		return CLI_PRINT(KEY_TEXT("stack", cli->stack), KEY_TEXT("state", show_stack_word(to)),
				 KEY_FLAG("changed", changed));
	if (cli->quiet)
		return CLI_YES;
	(void)printf("the stack \"%s\" %s: ", cli->stack, words);
	if (to == JOBSTACK_CANCELLED)
		(void)printf("%" PRIu64 " cancelled, %" PRIu64 " running\n", s->cancelled, s->running);
	else
		(void)printf("%" PRIu64 " ready, %" PRIu64 " waiting, %" PRIu64 " running\n", s->ready, s->waiting,
			     s->running);
	if (to == JOBSTACK_OPEN && s->workers == 0 && s->ready + s->waiting > 0)
		cli_say(cli, "no worker is running: start workers again (`jobstack status %s` shows how)", cli->stack);
	return CLI_YES;
}

/* The state is read before and after: the first tells whether anything has changed, the second what the change has led
 * to. */
int cli_set_state(struct cli *cli, enum jobstack_stack_state to, const char *why, const char *now, const char *already)
{
	struct jobstack_status before, after;
	int status = cli_read_status(cli, &before);

	if (status == 0 && to == JOBSTACK_PAUSED && before.state == JOBSTACK_CANCELLED)
		status = js_error_why(&cli->error, JOBSTACK_ECONFLICT, JOBSTACK_WHY_CANCELLED,
				      "the stack \"%s\" is cancelled, so there is nothing to pause", cli->stack);
	if (status != 0 || jobstack_set_state(cli->handle, cli->stack, to, why, &cli->error) != 0 ||
	    cli_read_status(cli, &after) != 0)
		return cli_fail(cli);
	return print_change(cli, to, before.state != to ? now : already, before.state != to, &after);
}

static int pause_stack(struct cli *cli)
{
	return cli_set_state(cli, JOBSTACK_PAUSED, note, "is paused now", "was paused already");
}

static int resume_stack(struct cli *cli)
{
	return cli_set_state(cli, JOBSTACK_OPEN, NULL, "is open again", "was open already");
}

static const char pause_about[] = "Pauses a stack: no more entries start; running entries continue to their end.";
static const char pause_notes[] = "Workers without work end after their --idle-timeout. Resume a cancelled stack "
				  "before pausing it.\n\n  jobstack pause mystack -m 'the file server is full'";
static const struct js_opts pause_opts = {"jobstack pause", "[STACK] [OPTIONS]", pause_about,
					  stop_table,	    pause_notes,	 0};
const struct cli_frame cli_pause = {&pause_opts, "only one stack can be given", CLI_CHANGES, 10 * JS_SECOND_US, NULL,
				    pause_stack};
static const char resume_about[] = "Continues a stack after a pause, or undoes `jobstack cancel --all`.";
static const char resume_notes[] = "  jobstack resume mystack";
static const struct js_opts resume_opts = {"jobstack resume", "[STACK] [OPTIONS]", resume_about,
					   go_table,	      resume_notes,	   0};
const struct cli_frame cli_resume = {&resume_opts, "only one stack can be given", CLI_CHANGES, 10 * JS_SECOND_US, NULL,
				     resume_stack};
