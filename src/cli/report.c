/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack report: how a stack's run went, and what the next one should ask for.  Promise: one pass over the attempts,
 * in flat memory.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "cli/progress.h"
#include "cli/since.h"
#include "view/json.h"
#include "view/report.h"
#include "view/term.h"

#include <inttypes.h>
#include <stdio.h>

enum { SINCE = CLI_OWN, WITHIN, SLURM };

static const struct js_opt table[] = {
	CLI_OPTS_STACK,
	{SINCE, "since", "WHEN", "only what ended since this time: " CLI_SINCE_HELP},
	{WITHIN, "within", "D", "recommend a number of workers for this wall time"},
	{SLURM, "slurm", NULL, "print only the recommendations, as lines for a batch script"},
	CLI_OPTS_REST};
static const struct js_opts opts = {"jobstack report",
				    "[OPTIONS]",
				    "Shows how a stack's run went: how long entries took, how many were done when and "
				    "where, what was wasted and why, which\nresources were used, and what to request "
				    "for the next run. While workers are running, it shows the run so far.",
				    table,
				    "  jobstack report -s mystack\n  jobstack report -s mystack --slurm --within "
				    "8h\n\ndocs/DATA.md explains how the recommendations are computed.",
				    0};

static int show_progress(void *ctx, uint64_t attempts)
{
	if (attempts % 1024 == 0)
		cli_progress(ctx, "%" PRIu64 " attempts", attempts);
	return cli_stop;
}

static int print_slurm(struct cli *cli, const struct insight_report *r, struct js_buf *out)
{
	if (r->advice.known && (r->wanted_us < 0 || insight_report_workers(r) > 0)) {
		view_report_slurm(r, out);
		return CLI_YES;
	}
	cli_say(cli,
		r->advice.known ? "no number of workers finishes within that time: single entries take longer"
				: "no entry of the stack \"%s\" is done yet, so nothing can be recommended",
		cli->stack);
	return CLI_NO;
}

static int print_report(struct cli *cli, const struct insight_report *r, int slurm)
{
	struct js_buf text = {0}, out = {0};
	unsigned columns = view_columns(stdout);
	int status = CLI_YES;

	if (cli->json)
		out.failed |= view_json_line(view_report_json(r), &out) != 0;
	else if (slurm)
		status = print_slurm(cli, r, &out);
	else {
		view_report_text(r, columns, view_colours(stdout), &text);
		view_fit(&out, text.data != NULL ? text.data : "", columns);
	}
	if (text.failed || out.failed)
		status = cli_no_memory(cli);
	else if (out.len > 0)
		(void)fputs(out.data, stdout);
	js_buf_free(&text);
	js_buf_free(&out);
	return status;
}

int cli_report_main(int argc, char **argv)
{
	struct insight_report r = INSIGHT_REPORT_INIT;
	const char *since = NULL;
	int status, slurm = 0;
	const struct cli_take takes[] = {
		{SINCE, CLI_WORD(&since)},
		{SLURM, CLI_FLAG(&slurm)},
		{WITHIN, CLI_TIME(&r.wanted_us, JS_SECOND_US, "a duration of at least 1 s, such as 90m or 8h")},
		CLI_TAKE_END};
	struct cli cli;
	struct cli_progress progress = {.cli = &cli};

	status = cli_parse(&cli, &opts, takes, argc, argv, "name a stack with -s");
	if (status != CLI_GO_ON)
		return status;
	if (slurm && cli.json)
		return cli_usage(
			&cli, "--slurm and --json can't be used together: --json prints the recommendations as well");
	status = since != NULL ? cli_since(&cli, since, &r.since_us, &r.within_us) : 0;
	if (status == 0)
		status = cli_open(&cli, 60 * JS_SECOND_US);
	if (status != 0)
		return status;
	status = insight_report_read(cli.handle, cli.stack, &r, show_progress, &progress, &cli.error);
	cli_progress_end(&progress);
	status = status != 0 ? cli_fail(&cli) : print_report(&cli, &r, slurm);
	insight_report_free(&r);
	return cli_end(&cli, status);
}
