/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack report: how a stack's run went, and what the next one should ask for.  Promise: one pass over the attempts,
 * in flat memory.
 */
#define _GNU_SOURCE
#include "view/report.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/num.h"
#include "cli/item.h"
#include "view/json.h"
#include "insight/snapshot.h"
#include "cli/since.h"
#include "view/term.h"
#include "view/text.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SINCE = CLI_OWN, WITHIN, SLURM };

static const struct js_opt table[] = {
	CLI_OPTS_STACK,
	{SINCE, "since", "WHEN", "only what ended since: " CLI_SINCE_HELP},
	{WITHIN, "within", "D", "the wall time that you want: how many workers does that take?"},
	{SLURM, "slurm", NULL, "print only the recommendations, as lines of a batch script"},
	CLI_OPTS_JSON,
	CLI_OPTS_DATABASE,
	CLI_OPTS_ALWAYS,
	CLI_OPTS_END};
static const struct js_opts opts = {
	"jobstack report",
	"[OPTIONS]",
	"Tells how a stack's run went: how long entries took, how many were done when and where, what was wasted and "
	"why, what was\n"
	"used; and what the next run should ask for. While workers go on, it is how things are so far.",
	table,
	"  jobstack report -s mystack\n  jobstack report -s mystack --slurm --within 8h\n\n"
	"docs/DATA.md tells how the recommendations are made.",
	0};

int insight_report_so_far(const struct insight_report *r)
{
	return insight_stack_left(&r->stack.s) > 0 && r->stack.s.state != JOBSTACK_CANCELLED;
}

/* ----------------------------------------------------------------------------------------------------- gathering */

struct gathering {
	struct insight_report *r;
	struct view_progress progress;
};

static int take_attempt(void *ctx, const struct jobstack_item *item)
{
	struct gathering *g = ctx;
	struct insight_report *r = g->r;

	insight_tally_add(r->tally, item);
	if (item->entry % 1024 == 0)
		view_progress(&g->progress, "%" PRIu64 " attempts", insight_tally_attempts(r->tally));
	return r->tally->failed || cli_stop;
}

static int gather(struct insight_report *r)
{
	struct jobstack_export_options o = JOBSTACK_EXPORT_OPTIONS_INIT;
	struct gathering g = {r, {.cli = r->cli}};
	int status;

	o.since_us = r->since_us;
	o.within_us = r->within_us;
	o.no_datapath = 1;
	status = jobstack_export(r->cli->handle, r->cli->stack, &o, take_attempt, &g, &r->cli->error);
	view_progress_end(&g.progress);
	if (r->tally->failed)
		return js_error_memory(&r->cli->error);
	insight_tally_end(r->tally);
	return status;
}

static int take_path(void *ctx, const struct jobstack_item *item)
{
	struct insight_report *r = ctx;

	for (size_t i = 0; i < r->tally->slow_n; i++)
		if (r->tally->slow[i].entry == item->entry && r->slow[i].len == 0)
			js_buf_add(&r->slow[i], item->datapath.data, item->datapath.len);
	return 0;
}

/* The names of the slowest: nothing else of the report needs a name, and so the pass reads none. */
static int name_slowest(struct insight_report *r)
{
	uint64_t entry[INSIGHT_SLOWEST];

	for (size_t i = 0; i < r->tally->slow_n; i++)
		entry[i] = r->tally->slow[i].entry;
	qsort(entry, r->tally->slow_n, sizeof(entry[0]), js_num_order);
	return jobstack_datapaths(r->cli->handle, r->cli->stack, entry, r->tally->slow_n, take_path, r, &r->cli->error);
}

/* ------------------------------------------------------------------------------------------------------ failures */

static void failure_row(struct insight_report *r, const struct jobstack_failure *f)
{
	const char *example = f->various ? NULL : f->example;
	struct js_buf text = {0};
	char words[32];

	view_failure_how(f, words);
	view_table_printf(&r->failing, VIEW_PLAIN, "%" PRIu64, f->count);
	view_table_cell(&r->failing, VIEW_PLAIN, words);
	view_table_printf(&r->failing, VIEW_PLAIN, "%" PRIu64, f->entry);
	if (f->reason != NULL)
		view_safe(&text, f->reason, strlen(f->reason));
	if (example != NULL) {
		js_buf_str(&text, text.len > 0 ? ": " : "");
		view_safe(&text, example, strlen(example));
	}
	if (text.len == 0 && f->various)
		js_buf_str(&text, "(various)");
	if (text.len > 0)
		r->failing.hidden = 0; /* the column has something to say */
	view_table_cell(&r->failing, VIEW_PLAIN, text.len > 0 ? text.data : "");
	js_buf_free(&text);
}

static int failure_json(struct insight_report *r, const struct jobstack_failure *f)
{
	json_t *o = json_object();
	int bad = view_json_count(o, "count", f->count);

	bad |= view_json_text(o, "outcome", view_outcome_word(f->outcome));
	bad |= view_json_int(o, "exit_code", f->exit_code, f->exit_code >= 0);
	bad |= view_json_int(o, "signal", f->signal, f->signal > 0);
	bad |= view_json_text(o, "reason", f->reason);
	bad |= view_json_text(o, "pattern", f->pattern);
	bad |= view_json_text(o, "example", f->example);
	bad |= view_json_count(o, "entry", f->entry);
	bad |= view_json_count(o, "attempt", f->attempt);
	bad |= json_object_set_new(o, "various", json_boolean(f->various));
	return bad | json_array_append_new(r->failures, o);
}

static int take_failure(void *ctx, const struct jobstack_failure *f)
{
	struct insight_report *r = ctx;

	if (r->failing_n == INSIGHT_REPORT_FAILURES)
		return 1;
	r->failing_n++;
	if (r->failures == NULL)
		failure_row(r, f);
	else if (failure_json(r, f) != 0)
		r->tally->failed = 1;
	return r->tally->failed;
}

static int group_failures(struct insight_report *r)
{
	int status = jobstack_failures(r->cli->handle, r->cli->stack, NULL, take_failure, r, NULL, &r->cli->error);

	if (r->tally->failed)
		return js_error_memory(&r->cli->error);
	return status == JOBSTACK_ESTOPPED && cli_stop == 0 ? 0 : status;
}

/* ---------------------------------------------------------------------------------------------------------- main */

static int parse(struct insight_report *r, int *slurm, int argc, char **argv)
{
	struct cli *cli = r->cli;
	int key = -1, status = 0;
	const char *arg;

	while (status == 0 && (key = cli_next(cli, argc, argv, &arg, &status)) >= 0) {
		if (key == SINCE)
			status = cli_since(cli, arg, &r->since_us, &r->within_us);
		else if (key == SLURM)
			*slurm = 1;
		else if (js_num_duration(arg, &r->wanted_us) != 0 || r->wanted_us < JS_SECOND_US)
			status = cli_usage(
				cli, "--within takes a duration of at least 1 s, such as 90m or 8h, not \"%s\"", arg);
	}
	if (status != 0)
		return status;
	if (key == -2)
		return -1;
	if (optind < argc)
		return cli_usage(cli, "\"%s\" is one word too many: a stack is named with -s", argv[optind]);
	if (*slurm && cli->json)
		return cli_usage(
			cli, "--slurm and --json exclude each other: the object of --json has the recommendations too");
	return 0;
}

static int print_json(struct insight_report *r)
{
	json_t *o = json_object();

	if (view_json_print(o, view_report_json(r, o)) == 0)
		return CLI_YES;
	(void)js_error_memory(&r->cli->error);
	return cli_fail(r->cli);
}

static int print_text(struct insight_report *r, int slurm)
{
	struct js_buf out = {0}, fit = {0};
	unsigned columns = view_columns(stdout);
	int status = CLI_YES;

	if (slurm &&
	    (!r->advice.known || (r->wanted_us >= 0 && insight_advice_workers(&r->advice, r->wanted_us) == 0))) {
		cli_say(r->cli,
			r->advice.known
				? "no number of workers does it within that time: the longest entries take as long"
				: "nothing was done in the stack \"%s\", so there is nothing to go by",
			r->cli->stack);
		return CLI_NO;
	}
	if (slurm)
		view_report_slurm(r, &out);
	else
		view_report_text(r, columns, view_colours(stdout), &out);
	if (!slurm && columns > 0 && !out.failed)
		view_fit(&fit, out.data, columns);
	if (out.failed || fit.failed) {
		(void)js_error_memory(&r->cli->error);
		status = cli_fail(r->cli);
	} else
		(void)fputs(fit.len > 0 ? fit.data : out.data, stdout);
	js_buf_free(&out);
	js_buf_free(&fit);
	return status;
}

static int run(struct insight_report *r, int slurm)
{
	int status = cli_stack(r->cli, &r->stack);

	if (status == 0)
		status = gather(r);
	if (status == 0)
		status = name_slowest(r);
	if (status == 0 && r->stack.s.dead > 0)
		status = group_failures(r);
	if (status != 0)
		return cli_fail(r->cli);
	insight_advice_make(&r->advice, r->tally, insight_report_so_far(r) ? insight_stack_left(&r->stack.s) : 0,
			    r->wanted_us);
	return r->cli->json ? print_json(r) : print_text(r, slurm);
}

static const struct view_column failing[] = {
	{"DEAD", 1, 0, 0}, {"HOW", 0, 0, 0}, {"SUCH AS", 1, 1, 0}, {"SAYING", 0, 0, 12}};

int cli_report_main(int argc, char **argv)
{
	struct insight_report r = {.since_us = -1,
				   .within_us = -1,
				   .wanted_us = -1,
				   .failing = {.column = failing, .n = 4, .hidden = 1u << 3}};
	int status, slurm = 0;
	struct cli cli;

	cli_begin(&cli, &opts);
	r.cli = &cli;
	status = parse(&r, &slurm, argc, argv);
	if (status != 0)
		return status < 0 ? CLI_YES : status;
	cli_catch_signals();
	status = cli_connect(&cli, 60 * JS_SECOND_US);
	if (status != 0)
		return status;
	r.tally = insight_tally_new();
	r.failures = cli.json ? json_array() : NULL;
	if (r.tally == NULL || (cli.json && r.failures == NULL)) {
		(void)js_error_memory(&cli.error);
		status = cli_fail(&cli);
	} else
		status = run(&r, slurm);
	insight_tally_free(r.tally);
	json_decref(r.failures);
	view_table_free(&r.failing);
	insight_stack_free(&r.stack);
	for (size_t i = 0; i < INSIGHT_SLOWEST; i++)
		js_buf_free(&r.slow[i]);
	return cli_end(&cli, status);
}
