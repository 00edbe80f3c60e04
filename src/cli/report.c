/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack report: how a stack's run went, and what the next one should ask for.  Promise: one pass over the attempts,
 * in flat memory.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "base/file.h"
#include "cli/item.h"
#include "exec/site.h"
#include "show/report.h"
#include "show/report_io.h"
#include "show/term.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Shows how far the pass over the attempts is; looking at the clock for each of them would take longer than the rest.
 */
static int show_attempts(void *ctx, uint64_t attempts)
{
	if (attempts % 1024 == 0)
		cli_progress(ctx, "%" PRIu64 " attempts", attempts);
	return cli_stop;
}

#define SHARED "datapaths, arguments, users, packages, messages"

static struct figures_report wanted = FIGURES_REPORT_INIT;
static const char *since, *html;
static int slurm, findings, all, shares;
static struct js_site site;
static struct figures_share share;
static int64_t every_us;
static struct js_buf page; /* the reports of all stacks */

/* Reads --share: the kinds of names that are not left out. */
static int choose_shared(struct cli *cli, void *ctx, int key, const char *arg)
{
	(void)ctx;
	(void)key;
	shares = 1;
	while (*arg != '\0') {
		size_t len = strcspn(arg, ",");
		unsigned i = 0;

		while (i < FIGURES_SHARE_KINDS &&
		       (strlen(figures_share_words[i]) != len || strncmp(figures_share_words[i], arg, len) != 0))
			i++;
		if (i == FIGURES_SHARE_KINDS)
			return cli_usage(cli, "--share: unknown word \"%.*s\"; choose from " SHARED, (int)len, arg);
		share.shown |= 1u << i;
		arg += len + (arg[len] == ',');
	}
	return 0;
}

static int is_public(const void *ctx, const char *package)
{
	return js_site_is_public(ctx, package);
}

static const struct js_opt table[] = {
	CLI_OPTS_STACKS,
	{'a', "all", NULL, "all stacks of the database, except those called canary-...", CLI_FLAG(&all)},
	{0, "since", "WHEN", "only what ended since this time: " CLI_SINCE_HELP, CLI_WORD(&since)},
	{0, "within", "D", "recommend a number of workers for this wall time",
	 CLI_TIME(&wanted.wanted_us, JS_SECOND_US, "a duration of at least 1 s, such as 90m or 8h")},
	{0, "slurm", NULL, "print only the recommendations, as lines for a batch script", CLI_FLAG(&slurm)},
	{0, "io", NULL, "print ten findings about reading and writing instead, for all of these\nstacks together",
	 CLI_FLAG(&findings)},
	{0, "html", "FILE", "write a page for a browser, which needs no network; -: print it", CLI_WORD_ONCE(&html)},
	{0, "every", "D", "with --html: write it again every D, until nothing is left to do; the page\nreloads itself",
	 CLI_TIME(&every_us, JS_SECOND_US, "a duration of at least 1 s, such as 30 or 5m")},
	{0, "share", "[WHAT,...]",
	 "make a report to give to others: leave out datapaths, arguments, users,\nmessages (of commands) and packages "
	 "(that the site does not list),\nexcept the kinds named in WHAT, such as --share=users,packages",
	 CLI_BY(choose_shared, NULL)},
	CLI_OPTS_REST};

static int check_report(struct cli *cli)
{
	if (slurm && cli->json)
		return cli_usage(
			cli, "--slurm and --json can't be used together: --json prints the recommendations as well");
	if (html != NULL && (slurm || cli->json))
		return cli_usage(cli, "--html can't be used with --json or --slurm");
	if (findings && (slurm || since != NULL))
		return cli_usage(cli, "--io can't be used with --slurm or --since");
	if (all && cli->stack_given)
		return cli_usage(cli, "--all means every stack: don't name one");
	cli->stack_given |= all;
	if (every_us > 0 && html == NULL)
		return cli_usage(cli, "--every needs --html FILE");
	if (every_us > 0 && (all || cli->stacks_n > 1))
		return cli_usage(cli, "--every follows one stack");
	if (shares) {
		share.is_public = is_public;
		share.ctx = &site;
		wanted.share = &share;
		if (js_site_read(&site, getenv("JOBSTACK_SITE_FILE"), &cli->error) != 0)
			return cli_fail(cli);
	}
	return since != NULL ? cli_since(cli, since, &wanted.since_us, &wanted.within_us) : 0;
}

/* Prints what --slurm asks for. */
static int print_script(struct cli *cli, const json_t *report)
{
	const json_t *next = json_object_get(report, "next");
	const char *script = json_string_value(json_object_get(next, "script"));

	if (script != NULL) {
		(void)fputs(script, stdout);
		return CLI_YES;
	}
	cli_say(cli,
		json_is_object(next) ? "no number of workers finishes within that time: single entries take longer"
				     : "no entry of the stack \"%s\" is done yet, so nothing can be recommended",
		cli->stack);
	return CLI_NO;
}

/* Prints a report as text, with a blank line before it if it is not the first one. */
static int print_text(struct cli *cli, const json_t *report)
{
	struct js_buf text = {0}, out = {0};
	unsigned columns = show_columns(stdout);
	int bad;

	if (cli->stack != cli->stacks[0] && cli->stacks_n > 1)
		js_buf_char(&out, '\n');
	show_report_text(report, columns, show_colours(stdout), &text);
	show_fit(&out, text.data != NULL ? text.data : "", columns);
	bad = text.failed || out.failed;
	if (!bad)
		(void)fputs(out.data, stdout);
	js_buf_free(&text);
	js_buf_free(&out);
	return bad ? cli_no_memory(cli) : CLI_YES;
}

/* Reads the findings for all stacks; TALLY, if it is not NULL, has their attempts already. */
static json_t *read_findings(struct cli *cli, const struct figures_tally *tally)
{
	struct cli_progress progress = {.cli = cli};
	struct figures_io io = {.tally = tally, .shared = wanted.share};
	int status;

	io.stacks = cli->stacks_n > 0 ? cli->stacks : &cli->stack;
	io.stacks_n = cli->stacks_n > 0 ? cli->stacks_n : 1;
	status = figures_io_read(cli->handle, &io, show_attempts, &progress, &cli->error);
	cli_progress_end(&progress);
	if (status == 0 && io.unindexed)
		cli_say(cli,
			"this account may not write the index of files, so files that are not in it yet are left out: "
			"`jobstack report --io` of an account that may write adds them");
	return status == 0 ? show_io_json(&io) : NULL;
}

/* Writes the page, whose reports have been added. */
static int write_page(struct cli *cli, json_t *io, int reloads)
{
	int status = CLI_YES;

	show_page_end(&page, io, reloads ? (unsigned)(every_us / JS_SECOND_US) : 0);
	if (page.failed)
		status = cli_no_memory(cli);
	else if (strcmp(html, "-") == 0)
		(void)fwrite(page.data, 1, page.len, stdout);
	else if (js_file_replace(html, 0644, page.data, page.len) != 0) {
		cli_tell(cli, "can't write the page to %s: %s", html, strerror(errno));
		status = CLI_USAGE;
	}
	js_buf_free(&page);
	return status;
}

/* Adds the stack to the page, which is written with the last one.  R is NULL for one that could not be read. */
static int add_to_page(struct cli *cli, const struct figures_report *r)
{
	json_t *io = NULL;
	size_t more = 0;

	while (more < cli->stacks_n && cli->stacks[cli->stacks_n - 1 - more] != cli->stack)
		more++;
	more = more < cli->stacks_n ? more : 0;
	if (r != NULL)
		show_page_add(&page, show_report_json(r), more);
	if (more > 0 || page.len == 0)
		return CLI_YES;
	if (findings) /* if there is only one stack, R has its attempts */
		io = read_findings(cli, cli->stacks_n < 2 && r != NULL && since == NULL ? r->tally : NULL);
	if (findings && io == NULL)
		return cli_fail(cli);
	return write_page(cli, io, r != NULL && figures_report_so_far(r));
}

/* Text and script are made of the JSON, as the page is, so that they can't disagree with it. */
static int show_report(struct cli *cli, const struct figures_report *r)
{
	json_t *json;
	int status;

	if (html != NULL)
		return add_to_page(cli, r);
	json = show_report_json(r);
	if (cli->json)
		return cli_print_json(json);
	status = json == NULL ? cli_no_memory(cli) : slurm ? print_script(cli, json) : print_text(cli, json);
	json_decref(json);
	return status;
}

/* Reads and shows the report of one stack.  *SO_FAR: it has work left.  A stack that can't be read must not keep the
 * page from being written, so its place is left out there. */
static int print_once(struct cli *cli, int *so_far)
{
	struct cli_progress progress = {.cli = cli};
	struct figures_report report = wanted;
	int status = figures_report_read(cli->handle, cli->stack, &report, show_attempts, &progress, &cli->error);

	cli_progress_end(&progress);
	if (status == 0) {
		*so_far = figures_report_so_far(&report);
		status = show_report(cli, &report);
	} else {
		status = cli_fail(cli);
		if (html != NULL)
			(void)add_to_page(cli, NULL);
	}
	figures_report_free(&report);
	return status;
}

/* Prints the findings, which are about all stacks together: so with the first of them, and nothing with the others. */
static int print_findings(struct cli *cli)
{
	struct js_buf out = {0};
	json_t *io;
	int status = CLI_YES;

	if (cli->stacks_n > 0 && cli->stack != cli->stacks[0])
		return CLI_YES;
	io = read_findings(cli, NULL);
	if (io == NULL)
		return cli_fail(cli);
	if (cli->json)
		return cli_print_json(io);
	show_io_text(io, show_columns(stdout), show_colours(stdout), &out);
	if (out.failed)
		status = cli_no_memory(cli);
	else
		(void)fputs(out.data, stdout);
	js_buf_free(&out);
	json_decref(io);
	return status;
}

static int add_stack(void *ctx, const struct jobstack_status *s)
{
	static char names[CLI_STACKS_MAX][JOBSTACK_STACK_MAX + 1];
	struct cli *cli = ctx;

	if (strncmp(s->stack, JOBSTACK_CANARY, strlen(JOBSTACK_CANARY)) == 0)
		return 0;
	if (cli->stacks_n == CLI_STACKS_MAX)
		return 1;
	(void)snprintf(names[cli->stacks_n], sizeof(names[0]), "%s", s->stack);
	cli->stacks[cli->stacks_n] = names[cli->stacks_n];
	cli->stacks_n++;
	return 0;
}

/* Does --all: puts all stacks of the database in the place of those that were named.  0, or the exit status. */
static int choose_all(struct cli *cli)
{
	int status = jobstack_status(cli->handle, NULL, add_stack, cli, &cli->error);

	if (status == JOBSTACK_ESTOPPED)
		return cli_usage(cli, "there are more than %d stacks: name those that you want", CLI_STACKS_MAX);
	if (status != 0)
		return cli_fail(cli);
	cli->stack = cli->stacks_n > 0 ? cli->stacks[0] : cli->stack;
	return 0;
}

/* With --every the page is written again and again, until nothing is left to do. */
static int print_report(struct cli *cli)
{
	int status, so_far;

	if (all && cli->stacks_n == 0)
		JS_TRY(choose_all(cli));
	if (findings && html == NULL)
		return print_findings(cli);

	do {
		so_far = 0;
		status = print_once(cli, &so_far);
		if (status == CLI_YES && so_far && every_us > 0)
			js_clock_nap(every_us, &cli_stop);
	} while (status == CLI_YES && so_far && every_us > 0 && cli_stop == 0);
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
