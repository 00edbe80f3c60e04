/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack drop: removes stacks with their history.  Promises: nothing goes unless each stack was typed, is there, and
 * it was said yes; cut short, the same command goes on.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "show/json.h"
#include "figures/stack.h"
#include "show/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static int show_drop(void *ctx, uint64_t done, uint64_t total)
{
	struct cli_progress *p = ctx;

	cli_progress(p, "removed %" PRIu64 " of %" PRIu64 " rows", done, total);
	return cli_stop;
}

static int print_dropped(const struct cli *cli, uint64_t pushed)
{
	char logs[JOBSTACK_STACK_MAX + 32];

	if (cli->json)
		return CLI_PRINT(KEY_TEXT("stack", cli->stack), KEY_COUNT("dropped", pushed));
	if (!cli->quiet)
		(void)printf("dropped the stack \"%s\" with %" PRIu64 " %s\n", cli->stack, SHOW_ENTRIES(pushed));
	(void)fflush(stdout);
	(void)snprintf(logs, sizeof(logs), "jobstack-logs/%s", cli->stack);
	if (access(logs, F_OK) == 0)
		cli_say(cli, "%s is kept: it has the output of the commands", logs);
	return CLI_YES;
}

static const struct js_opt table[] = {CLI_OPTS_STACK_TYPED, CLI_OPTS_YES, CLI_OPTS_REST};

static int check_drop(struct cli *cli)
{
	if (!cli->stack_typed)
		return cli_usage(cli, "name the stacks to drop: `jobstack drop STACK...`");
	return cli->yes || cli_asks(cli) ? 0 : cli_usage(cli, "this is not a terminal, so --yes is required");
}

/* Looks at all stacks before the first one goes, and asks once. */
static int ask_about_all(struct cli *cli)
{
	struct js_buf list = {0};
	struct jobstack_status s;
	int status = 0;

	for (size_t i = 0; i < cli->stacks_n && status == 0; i++) {
		cli->stack = cli->stacks[i];
		status = cli_read_status(cli, &s);
		js_buf_printf(&list,
			      "%s the stack \"%s\" with its %" PRIu64 " %s (%" PRIu64 " done, %" PRIu64
			      " dead, %" PRIu64 " not finished)",
			      i > 0 ? "," : "", cli->stack, SHOW_ENTRIES(s.pushed), s.done, s.dead,
			      figures_stack_left(&s) + s.cancelled);
	}
	if (status == 0 && list.failed)
		status = js_error_memory(&cli->error);
	status = status != 0 ? cli_fail(cli) : cli_confirm(cli, "remove%s, and their history", list.data);
	cli->stack = cli->stacks[0];
	js_buf_free(&list);
	return status;
}

static int drop_stack(struct cli *cli)
{
	static int answer = CLI_GO_ON;
	struct cli_progress progress = {.cli = cli};
	struct jobstack_status s;
	int status;

	if (answer == CLI_GO_ON)
		answer = ask_about_all(cli);
	JS_TRY(answer);
	if (cli_read_status(cli, &s) != 0)
		return cli_fail(cli);
	status = jobstack_drop(cli->handle, cli->stack, show_drop, &progress, &cli->error);
	cli_progress_end(&progress);
	if (status == JOBSTACK_ESTOPPED)
		cli_say(cli, "%s", cli->error.text);
	return status == 0 ? print_dropped(cli, s.pushed) : cli_fail(cli);
}

static const char about[] =
	"Permanently removes stacks with all their entries and history. The files that the entries name, and what the "
	"commands\nwrote, are not touched. Refused while entries are running or a push is under way.";
static const char notes[] =
	"If drop is interrupted, the stack stays in the state \"dropping\" and can't be used: run "
	"the same command again to\nfinish. If the connection to the database was lost, `jobstack "
	"status` shows whether the drop has begun.\n\n  jobstack drop mystack\n  jobstack drop old older oldest";
static const struct js_opts opts = {"jobstack drop", "STACK... [OPTIONS]", about, table, notes, 0};
const struct cli_frame cli_drop = {&opts,      "",	  CLI_CATCHES | CLI_NAMED | CLI_EACH, 60 * JS_SECOND_US,
				   check_drop, drop_stack};
