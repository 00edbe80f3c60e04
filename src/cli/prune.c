/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack prune: takes away what was done long ago.  Promises: nothing goes unless the stack was typed; with an
 * archive, nothing goes that is not in it and on the disk; stopped or killed anywhere, the ledger balances and the same
 * command goes on.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "cli/archive.h"
#include "show/amount.h"
#include "show/json.h"
#include "show/words.h"

#include <inttypes.h>
#include <stdio.h>

static struct jobstack_prune_options options = JOBSTACK_PRUNE_OPTIONS_INIT;
static const char *path; /* of the archive, or NULL */
static struct cli_archive archive = {.fd = -1};
static struct cli_progress progress;
static int64_t older_us = -1;
static int usage;
static const struct js_opt table[] = {
	CLI_OPTS_STACK_TYPED,
	{0, "older-than", "D", "prune what ended longer ago than D: 30d, 12h; 0: all that has ended",
	 CLI_TIME(&older_us, 0, "a duration up to 366 d, such as 30d, 12h or 0")},
	{0, "archive", "FILE",
	 "first append the attempts of the entries to FILE: one line of JSON\nper attempt, as `jobstack export --json` "
	 "prints it",
	 CLI_WORD_ONCE(&path)},
	{0, "usage", NULL,
	 "instead of entries, remove the platforms, and lists of Python\npackages, that no worker of the last D had",
	 CLI_FLAG(&usage)},
	{0, "dry-run", NULL, "only print how many would be pruned", CLI_FLAG(&options.dry_run)},
	CLI_OPTS_YES,
	CLI_OPTS_REST};

static int check_prune(struct cli *cli)
{
	if (!cli->stack_typed)
		return cli_usage(cli, "name the stack to prune: `jobstack prune STACK --older-than 30d`");
	options.older_us = older_us;
	options.usage = usage;
	if (usage && path != NULL)
		return cli_usage(cli, "--archive can't be used with --usage");
	return older_us >= 0 ? 0 : cli_usage(cli, "--older-than is required: it says what may be pruned");
}

static int show_pruned(void *ctx, uint64_t done, uint64_t total)
{
	(void)ctx;
	cli_progress(&progress, "checked %" PRIu64 " of %" PRIu64 " entries", done, total);
	return cli_stop;
}

/* Words what --usage removes: "3 package lists and 1 platform". */
static struct show_amount words_of_usage(const struct jobstack_prune_result *r)
{
	struct show_amount a;

	(void)snprintf(a.text, sizeof(a.text), "%" PRIu64 " package list%s and %" PRIu64 " platform%s", r->packages,
		       show_plural(r->packages), r->platforms, show_plural(r->platforms));
	return a;
}

/* Prints what was pruned, or in a dry run would be. */
static int print_pruned(const struct cli *cli, const struct jobstack_prune_result *r)
{
	int older = options.older_us > 0;

	if (cli->json)
		return CLI_PRINT(KEY_TEXT("stack", cli->stack), KEY_SPAN("older_than_seconds", options.older_us),
				 KEY_FLAG("dry_run", options.dry_run), KEY_COUNT("entries", r->entries),
				 KEY_COUNT("attempts", r->attempts), KEY_COUNT("workers", r->workers),
				 KEY_COUNT("pushes", r->pushes), KEY_COUNT("packages", r->packages),
				 KEY_COUNT("platforms", r->platforms),
				 KEY_TEXT("archive", options.dry_run ? NULL : path));
	if (cli->quiet)
		return CLI_YES;
	if (usage) {
		(void)printf("%s %s of \"%s\"%s%s%s\n", options.dry_run ? "would remove" : "removed",
			     words_of_usage(r).text, cli->stack, older ? " (of workers that ended over " : "",
			     older ? show_duration(options.older_us).text : "", older ? " ago)" : "");
		return CLI_YES;
	}
	(void)printf("%s %" PRIu64 " %s with %" PRIu64 " attempt%s from \"%s\"%s%s%s, and the records of %" PRIu64
		     " worker%s and %" PRIu64 " push%s\n",
		     options.dry_run ? "would prune" : "pruned", SHOW_ENTRIES(r->entries), r->attempts,
		     show_plural(r->attempts), cli->stack, older ? " (ended over " : "",
		     older ? show_duration(options.older_us).text : "", older ? " ago)" : "", r->workers,
		     show_plural(r->workers), r->pushes, r->pushes == 1 ? "" : "es");
	return CLI_YES;
}

/* Asks on a terminal, with what a dry run has counted.  0 to go on, or the exit status. */
static int confirm_prune(struct cli *cli)
{
	struct jobstack_prune_result r = JOBSTACK_PRUNE_RESULT_INIT;
	struct jobstack_prune_options look = options;
	int older = options.older_us > 0, status;

	if (options.dry_run || !cli_asks(cli))
		return 0;
	look.dry_run = 1;
	status = jobstack_prune(cli->handle, cli->stack, &look, &r, &cli->error);
	cli_progress_end(&progress);
	if (status != 0)
		return cli_fail(cli);
	if (usage && r.packages + r.platforms > 0)
		return cli_confirm(cli, "remove %s of the stack \"%s\"", words_of_usage(&r).text, cli->stack);
	if (r.entries == 0)
		return 0;
	return cli_confirm(cli, "remove %" PRIu64 " done %s of the stack \"%s\"%s%s%s, %s", SHOW_ENTRIES(r.entries),
			   cli->stack, older ? " that ended over " : "",
			   older ? show_duration(options.older_us).text : "", older ? " ago" : "",
			   path == NULL ? "without an archive" : "after they are in the archive");
}

/* The archive is opened, and locked, only after the question was answered. */
static int prune_stack(struct cli *cli)
{
	struct jobstack_prune_result result = JOBSTACK_PRUNE_RESULT_INIT;
	int status, archives = path != NULL && !options.dry_run;

	progress.cli = cli;
	options.progress = show_pruned;
	JS_TRY(confirm_prune(cli));
	if (archives) {
		options.item = cli_archive_add;
		options.keep = cli_archive_sync;
		options.ctx = &archive;
	}
	status = archives ? cli_archive_begin(&archive, cli, path) : 0;
	if (status == 0) {
		status = jobstack_prune(cli->handle, cli->stack, &options, &result, &cli->error);
		cli_progress_end(&progress);
		if (status != 0 && !options.dry_run && (result.entries > 0 || status == JOBSTACK_ESTOPPED))
			cli_say(cli, "pruned %" PRIu64 " %s before that; the others are unchanged",
				SHOW_ENTRIES(result.entries));
		status = status == 0 ? print_pruned(cli, &result) : archive.failed ? CLI_USAGE : cli_fail(cli);
	}
	cli_archive_end(&archive);
	return status;
}

static const char about[] =
	"Removes the entries that were done longer than D ago, and their attempts, from the database, and old records "
	"of workers\nand pushes. Workers can continue meanwhile. Dead, queued and running entries stay. If the\nstack "
	"was ever pushed to with --unique, the names of the removed entries stay too, so that --unique still skips "
	"them.";
static const char notes[] =
	"  jobstack prune -s mystack --older-than 30d --archive mystack.jsonl\n\nWith --archive, prune takes some "
	"thousands of entries at a time: it archives their attempts, waits until they are on the disk,\nand then "
	"removes them from the database. If it is killed before the removal, the next prune archives the same "
	"attempts\n"
	"again. So does a later prune, if an entry is requeued in between. So some lines may be in the archive twice.";
static const struct js_opts opts = {"jobstack prune", "STACK --older-than D [OPTIONS]", about, table, notes, 0};
const struct cli_frame cli_prune = {
	&opts, "only one stack can be given", CLI_CATCHES | CLI_NAMED, 60 * JS_SECOND_US, check_prune, prune_stack};
