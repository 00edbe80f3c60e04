/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack report: how a stack's run went, and what the next one should ask for.  Promise: one pass over the attempts,
 * in flat memory.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "cli/item.h"
#include "view/report.h"
#include "view/term.h"

#include <inttypes.h>
#include <stdio.h>

static int show_attempts(void *ctx, uint64_t attempts)
{
	if (attempts % 1024 == 0)
		cli_progress(ctx, "%" PRIu64 " attempts", attempts);
	return cli_stop;
}

static struct insight_report wanted = INSIGHT_REPORT_INIT;
static const char *since;
static int slurm;
static const struct js_opt table[] = {
	CLI_OPTS_STACKS,
	{0, "since", "WHEN", "only what ended since this time: " CLI_SINCE_HELP, CLI_WORD(&since)},
	{0, "within", "D", "recommend a number of workers for this wall time",
	 CLI_TIME(&wanted.wanted_us, JS_SECOND_US, "a duration of at least 1 s, such as 90m or 8h")},
	{0, "slurm", NULL, "print only the recommendations, as lines for a batch script", CLI_FLAG(&slurm)},
	CLI_OPTS_REST};

static int check_report(struct cli *cli)
{
	if (slurm && cli->json)
		return cli_usage(
			cli, "--slurm and --json can't be used together: --json prints the recommendations as well");
	return since != NULL ? cli_since(cli, since, &wanted.since_us, &wanted.within_us) : 0;
}

static int render_slurm(struct cli *cli, const struct insight_report *r, struct js_buf *out)
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

static int print_report(struct cli *cli)
{
	struct cli_progress progress = {.cli = cli};
	struct insight_report report = wanted;
	struct js_buf text = {0}, out = {0};
	unsigned columns = view_columns(stdout);
	int status = insight_report_read(cli->handle, cli->stack, &report, show_attempts, &progress, &cli->error);

	cli_progress_end(&progress);
	if (status != 0)
		status = cli_fail(cli);
	else if (cli->json)
		status = cli_print_json(view_report_json(&report));
	else if (slurm)
		status = render_slurm(cli, &report, &out);
	else {
		if (cli->stack != cli->stacks[0] && cli->stacks_n > 1)
			js_buf_char(&out, '\n');
		view_report_text(&report, columns, view_colours(stdout), &text);
		view_fit(&out, text.data != NULL ? text.data : "", columns);
	}
	if (text.failed || out.failed)
		status = cli_no_memory(cli);
	else if (out.len > 0)
		(void)fputs(out.data, stdout);
	js_buf_free(&text);
	js_buf_free(&out);
	insight_report_free(&report);
	return status;
}

static const char about[] = "Shows how a stack's run went: how long entries took, how many were done when and where, "
			    "what was wasted and why, which\nresources were used, and what to request for the next "
			    "run. While workers are running, it shows the run so far.";
static const char notes[] = "  jobstack report mystack\n  jobstack report mystack --slurm --within "
			    "8h\n\ndocs/DATA.md explains how the recommendations are computed.";
static const struct js_opts opts = {"jobstack report", "[STACK...] [OPTIONS]", about, table, notes, 0};
const struct cli_frame cli_report = {&opts,	   "",		CLI_CATCHES | CLI_EACH | CLI_LOOKS, 60 * JS_SECOND_US,
				     check_report, print_report};
