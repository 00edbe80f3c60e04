/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack export: a stack's attempts or entries as CSV or lines of JSON, for other programs.  Promises: flat memory,
 * whatever the number of rows; output that could not be written is reported, and is never a success.
 */
#include "cli/cli.h"

#include "base/buf.h"
#include "base/clock.h"
#include "cli/item.h"
#include "show/record.h"
#include "show/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WRITE_AT 65536 /* bytes */

#define FORMATS "csv or jsonl" /* the order of the enum below */
enum { CSV, JSONL };

static struct exporting {
	struct jobstack_export_options o;
	struct show_fields fields;
	const char *states_arg, *fields_arg, *since_arg;
	int format, follow;
	struct cli *cli;
	struct js_buf out;
	struct cli_progress progress;
	uint64_t rows, entries, last;
} export = {.o = JOBSTACK_EXPORT_OPTIONS_INIT, .format = -1};
static const struct js_opt table[] = {
	CLI_OPTS_STACK,
	{0, "format", "csv|jsonl", "CSV with a header (default), or one JSON object per line",
	 CLI_CHOICE(&export.format, FORMATS)},
	{0, "what", "attempts|entries",
	 "one row per attempt that has ended (default), or one per entry,\nwith its last attempt and its state",
	 CLI_CHOICE(&export.o.by_entry, "attempts or entries")},
	{'o', "fields", "FIELDS", "only these fields, separated by commas, as in `jobstack list -o`\n(default: all)",
	 CLI_WORD(&export.fields_arg)},
	{'t', "state", "STATES",
	 "attempts: done, failed, lost, interrupted (how they ended);\nentries: ready, waiting, held, running, done, "
	 "failed, lost, dead,\ncancelled, moved (default: all)",
	 CLI_WORD(&export.states_arg)},
	{0, "since", "WHEN", "leave out what ended before this time: " CLI_SINCE_HELP, CLI_WORD(&export.since_arg)},
	{0, "follow", NULL, "print attempts as they end, each with a field \"cursor\", until you press\nCtrl-C",
	 CLI_FLAG(&export.follow)},
	{0, "after", "CURSOR", "print the attempts after the one with this cursor; 0: from the first",
	 CLI_WORD(&export.o.after)},
	{CLI_JSON, "json", NULL, "the same as --format jsonl", NULL},
	CLI_OPTS_TEXT};

/* ------------------------------------------------------------------------------------------------------- options */

/* Reads "done,lost" as bits of outcomes. */
static int parse_outcomes(struct cli *cli, const char *list, unsigned *bits)
{
	do {
		size_t len = strcspn(list, ",");
		int v = show_outcome(list, len);

		if (v < 0)
			return cli_usage(cli,
					 "-t: \"%.*s\" is not an outcome of an attempt (done, failed, lost, "
					 "interrupted); use --what entries to select entries by state",
					 (int)len, list);
		*bits |= 1u << v;
		list += len;
	} while (*list++ == ',');
	return 0;
}

/* Chooses the default fields, and asks the library only for texts that are printed: datapaths and ends of stderr are
 * long. */
static int settle_fields(struct cli *cli, struct exporting *x)
{
	if (x->fields_arg == NULL && x->o.by_entry)
		show_fields_all(&x->fields);
	else if (x->fields_arg == NULL)
		show_fields_of_attempts(&x->fields);
	for (size_t i = 0; i < x->fields.n && !x->o.by_entry; i++)
		if (show_field_is_of_entry(x->fields.field[i]))
			return cli_usage(cli, "%s is a field of entries, not of attempts: use --what entries",
					 x->fields.field[i]->name);
	x->o.no_datapath = !show_fields_have(&x->fields, "datapath");
	x->o.tails = show_fields_have(&x->fields, "err_tail");
	return 0;
}

static int check_export(struct cli *cli)
{
	struct exporting *x = &export;
	int status = 0;

	if (cli->json && x->format >= 0 && x->format != JSONL)
		return cli_usage(cli, "--format csv and --json can't be used together");
	if (x->format < 0)
		x->format = cli->json ? JSONL : CSV;
	x->o.follow = x->follow;
	if (x->o.by_entry && (x->follow || x->o.after != NULL))
		return cli_usage(cli, "--follow and --after are for attempts, not for --what entries");
	if (x->since_arg != NULL)
		status = cli_since(cli, x->since_arg, &x->o.since_us, &x->o.within_us);
	if (status == 0 && x->states_arg != NULL && x->o.by_entry)
		status = cli_states(cli, x->states_arg, &x->o.states);
	else if (status == 0 && x->states_arg != NULL && strcmp(x->states_arg, "all") != 0)
		status = parse_outcomes(cli, x->states_arg, &x->o.outcomes);
	if (status == 0 && x->fields_arg != NULL)
		status = cli_fields(cli, x->fields_arg, &x->fields);
	return status != 0 ? status : settle_fields(cli, x);
}

/* -------------------------------------------------------------------------------------------------------- output */

/* Writes what has been gathered.  -1: that failed, now or before, and nothing more will be written. */
static int write_out(struct exporting *x)
{
	const int status = cli_write(x->cli, &x->out);

	js_buf_reset(&x->out);
	return status;
}

/* In a stream of attempts (--follow, --after) each record begins with its cursor. */
static void add_csv(struct exporting *x, const struct jobstack_item *item)
{
	if (item->cursor != NULL)
		js_buf_printf(&x->out, "%s,", item->cursor);
	show_csv_record(&x->fields, item, &x->out);
}

static void add_jsonl(struct exporting *x, const struct jobstack_item *item)
{
	js_buf_char(&x->out, '{');
	if (item->cursor != NULL)
		js_buf_printf(&x->out, "\"cursor\":\"%s\",", item->cursor);
	show_json_members(&x->fields, item, &x->out);
	js_buf_str(&x->out, "}\n");
}

/* Gathers records, and writes them in blocks, since a write for each would take longer than everything else.  ITEM NULL
 * means that nothing more can be read at the moment: with --follow the reader is waiting for what is there. */
static int add_record(void *ctx, const struct jobstack_item *item)
{
	struct exporting *x = ctx;

	if (item == NULL) /* nothing more to read at the moment */
		return write_out(x) != 0 || cli_write(x->cli, NULL) != 0 || cli_stop;
	if (x->format == CSV)
		add_csv(x, item);
	else
		add_jsonl(x, item);
	x->rows++;
	x->entries += item->entry != x->last;
	x->last = item->entry;
	if (x->out.failed)
		return 1;
	if (x->out.len < WRITE_AT)
		return cli_stop;
	cli_progress(&x->progress, "%" PRIu64 " rows, entry %" PRIu64, x->rows, item->entry);
	return write_out(x) != 0 || cli_stop;
}

/* Whole rows that were read before an error are printed all the same; the exit status tells that they are not all. */
static int print_export(struct cli *cli)
{
	struct exporting *x = &export;
	int status;

	x->progress.cli = x->cli = cli;
	x->progress.begun = isatty(STDOUT_FILENO); /* and not on: it would be in the way of rows on the same terminal */
	if (x->format == CSV && (x->follow || x->o.after != NULL))
		js_buf_str(&x->out, "cursor,");
	if (x->format == CSV)
		show_csv_head(&x->fields, &x->out);
	status = jobstack_export(cli->handle, cli->stack, &x->o, add_record, x, &cli->error);
	if (x->out.failed)
		status = js_error_memory(&cli->error);
	else if (status != JOBSTACK_EMISSING && status != JOBSTACK_EUSAGE) /* nothing was read: no header */
		(void)write_out(x); /* after an error too, whole rows are printed */
	cli_progress_end(&x->progress);
	if (cli->write_errno != 0)
		status = CLI_YES; /* cli_end tells, and makes it what it is */
	else if (status != 0)
		status = cli_fail(cli);
	else if (x->rows > x->entries && isatty(STDERR_FILENO))
		cli_say(cli,
			"%" PRIu64 " attempts of %" PRIu64 " entries: `--what entries` prints one row for each entry",
			x->rows, x->entries);
	js_buf_free(&x->out);
	return status;
}

static const char about[] =
	"Prints a stack's history for other programs, in the order of the entries' numbers, with times in UTC. An "
	"unknown value\nis an empty field in CSV and null in JSON. Workers can continue meanwhile.";
static const char notes[] = "  jobstack export -s mystack >mystack.csv\n  jobstack export -s mystack --what entries "
			    "--format jsonl -o entry,datapath,state\n\ndocs/DATA.md describes each column, and how to "
			    "read the data with pandas, R and sqlite.";
static const struct js_opts opts = {"jobstack export", "[STACK] [OPTIONS]", about, table, notes, 0};
const struct cli_frame cli_export = {
	&opts,	     "to select entries use `jobstack list`", CLI_CATCHES | CLI_LOOKS, 60 * JS_SECOND_US, check_export,
	print_export};
