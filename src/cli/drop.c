/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack drop: removes a stack with its history.  Promises: nothing goes unless the stack was typed and it was said
 * yes; cut short, the same command goes on.
 */
#define _GNU_SOURCE
#include "cli/cli.h"

#include "base/clock.h"
#include "view/json.h"
#include "insight/stack.h"
#include "view/term.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { YES = CLI_OWN };

static const struct js_opt table[] = {CLI_OPTS_STACK_TYPED, {'y', "yes", NULL, "do not ask"},
				      CLI_OPTS_JSON,	    CLI_OPTS_DATABASE,
				      CLI_OPTS_ALWAYS,	    CLI_OPTS_END};
static const struct js_opts opts = {"jobstack drop",
				    "-s NAME [OPTIONS]",
				    "Removes a stack with all its entries and all its history, for good. The files "
				    "that the entries name, and what the\n"
				    "commands wrote, are not touched. Refused while entries run or somebody pushes.",
				    table,
				    "Cut short, the stack is \"dropping\": nothing of it can be used, and the same "
				    "command goes on. Where the database was\n"
				    "lost in that moment, `jobstack status` tells whether it has begun.\n\n"
				    "  jobstack drop -s mystack",
				    0};

static int ask(const struct cli *cli, const struct insight_stack *stack)
{
	const struct jobstack_status *s = &stack->s;
	char answer[16] = "";

	(void)fprintf(stderr,
		      "drop the stack \"%s\" with its %" PRIu64 " entries (%" PRIu64 " done, %" PRIu64 " dead, %" PRIu64
		      " not finished)? [y/N] ",
		      cli->stack, s->pushed, s->done, s->dead, insight_stack_left(s) + s->cancelled);
	return fgets(answer, sizeof(answer), stdin) != NULL &&
	       (strcmp(answer, "y\n") == 0 || strcmp(answer, "yes\n") == 0);
}

static int tell_progress(void *ctx, uint64_t done, uint64_t total)
{
	struct view_progress *p = ctx;

	view_progress(p, "%" PRIu64 " of %" PRIu64 " rows are gone", done, total);
	return cli_stop;
}

static int tell(const struct cli *cli, uint64_t pushed)
{
	json_t *o;
	int bad = 0;

	if (cli->json) {
		o = json_object();
		bad |= view_json_text(o, "stack", cli->stack);
		bad |= view_json_count(o, "dropped", pushed);
		return view_json_print(o, bad) == 0 ? CLI_YES : CLI_BUG;
	}
	if (!cli->quiet)
		(void)printf("the stack \"%s\" with its %" PRIu64 " entries is gone\n", cli->stack, pushed);
	return CLI_YES;
}

static int drop(struct cli *cli, int yes)
{
	struct view_progress progress = {.cli = cli};
	struct insight_stack stack = {.cwd = {0}};
	int status;

	if (cli_stack(cli, &stack) != 0)
		status = cli_fail(cli);
	else if (!yes && !ask(cli, &stack)) {
		cli_say(cli, "nothing was dropped");
		status = CLI_NO;
	} else {
		status = jobstack_drop(cli->handle, cli->stack, tell_progress, &progress, &cli->error);
		view_progress_end(&progress);
		if (status == JOBSTACK_ESTOPPED)
			cli_say(cli, "%s", cli->error.text);
		status = status == 0 ? tell(cli, stack.s.pushed) : cli_fail(cli);
	}
	insight_stack_free(&stack);
	return status;
}

int cli_drop_main(int argc, char **argv)
{
	const char *arg;
	struct cli cli;
	int key, status, yes = 0;

	cli_begin(&cli, &opts);
	while ((key = cli_next(&cli, argc, argv, &arg, &status)) >= 0)
		yes = 1;
	if (key == -2)
		return status;
	if (optind < argc)
		return cli_usage(&cli, "\"%s\" is one word too many: the stack is named with -s", argv[optind]);
	if (!cli.stack_typed)
		return cli_usage(&cli, "the stack to drop has to be named with -s");
	if (!yes && !isatty(STDIN_FILENO))
		return cli_usage(&cli, "without a terminal to ask, --yes has to be given");
	cli_catch_signals();
	status = cli_connect(&cli, 60 * JS_SECOND_US);
	if (status != 0)
		return status;
	return cli_end(&cli, drop(&cli, yes));
}
