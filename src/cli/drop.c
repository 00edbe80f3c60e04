/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack drop: removes a stack with its history.  Promises: nothing goes unless the stack was typed and it was said
 * yes; cut short, the same command goes on.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "view/json.h"
#include "insight/stack.h"
#include "cli/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct js_opt table[] = {CLI_OPTS_STACK_TYPED, {'y', "yes", NULL, "do not ask"}, CLI_OPTS_REST};
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

static int confirm(const struct cli *cli, const struct insight_stack *stack)
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

static int show_progress(void *ctx, uint64_t done, uint64_t total)
{
	struct cli_progress *p = ctx;

	cli_progress(p, "%" PRIu64 " of %" PRIu64 " rows are gone", done, total);
	return cli_stop;
}

static int print_result(const struct cli *cli, uint64_t pushed)
{
	if (cli->json)
		return CLI_PRINT(KEY_TEXT("stack", cli->stack), KEY_COUNT("dropped", pushed));
	if (!cli->quiet)
		(void)printf("the stack \"%s\" with its %" PRIu64 " entries is gone\n", cli->stack, pushed);
	return CLI_YES;
}

static int drop_stack(struct cli *cli, int yes)
{
	struct cli_progress progress = {.cli = cli};
	struct insight_stack stack = {.cwd = {0}};
	int status;

	if (insight_stack_read(cli->handle, cli->stack, &stack, &cli->error) != 0)
		status = cli_fail(cli);
	else if (!yes && !confirm(cli, &stack)) {
		cli_say(cli, "nothing was dropped");
		status = CLI_NO;
	} else {
		status = jobstack_drop(cli->handle, cli->stack, show_progress, &progress, &cli->error);
		cli_progress_end(&progress);
		if (status == JOBSTACK_ESTOPPED)
			cli_say(cli, "%s", cli->error.text);
		status = status == 0 ? print_result(cli, stack.s.pushed) : cli_fail(cli);
	}
	insight_stack_free(&stack);
	return status;
}

int cli_drop_main(int argc, char **argv)
{
	int yes = 0, status;
	const struct cli_take takes[] = {{'y', CLI_FLAG(&yes)}, CLI_TAKE_END};
	struct cli cli;

	status = cli_parse(&cli, &opts, takes, argc, argv, "the stack is named with -s");
	if (status != CLI_GO_ON)
		return status;
	if (!cli.stack_typed)
		return cli_usage(&cli, "the stack to drop has to be named with -s");
	if (!yes && !isatty(STDIN_FILENO))
		return cli_usage(&cli, "without a terminal to ask, --yes has to be given");
	status = cli_open(&cli, 60 * JS_SECOND_US);
	return status != 0 ? status : cli_end(&cli, drop_stack(&cli, yes));
}
