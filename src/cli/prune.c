/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack prune: takes away what was done long ago.  Promises: nothing goes unless the stack was typed; with an
 * archive, nothing goes that is not in it and on the disk; stopped or killed anywhere, the ledger balances and the same
 * command goes on.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "cli/archive.h"
#include "view/amount.h"
#include "view/json.h"
#include "cli/progress.h"

#include <inttypes.h>
#include <stdio.h>

#define PATIENCE_US (60 * JS_SECOND_US)

enum { OLDER_THAN = CLI_OWN, ARCHIVE, DRY_RUN };

static const struct js_opt table[] = {
	CLI_OPTS_STACK_TYPED,
	{OLDER_THAN, "older-than", "D", "what ended longer ago than this: 30d, 12h; 0: all that has"},
	{ARCHIVE, "archive", "FILE",
	 "first append each entry, with all its attempts, to FILE: a line of\nJSON each, as `jobstack show --json` "
	 "prints it"},
	{DRY_RUN, "dry-run", NULL, "only say how many"},
	CLI_OPTS_REST};
static const struct js_opts opts = {"jobstack prune",
				    "-s NAME --older-than D [OPTIONS]",
				    "Takes the entries that are done, and ended longer than D ago, with their attempts "
				    "out of the database, and what is left\n"
				    "over of workers and pushes. Workers may go on meanwhile. What is dead, in line or "
				    "running stays; so do the names of a\n"
				    "stack that had a `push --unique`: none of them is pushed again.",
				    table,
				    "  jobstack prune -s mystack --older-than 30d --archive mystack.jsonl\n\n"
				    "Some hundreds of entries at a time are archived and, once they are on the disk, "
				    "removed. Killed in between, the next\n"
				    "prune archives these again: what reads the archive takes the last line of an "
				    "entry. So it does with an entry that was\n"
				    "requeued in that moment: it is archived again when it goes.",
				    0};

struct pruning {
	struct cli cli;
	struct jobstack_prune_options options;
	const char *path; /* of the archive, or NULL */
	struct cli_archive archive;
	struct cli_progress progress;
};

static int archive_item(void *ctx, const struct jobstack_item *item)
{
	return cli_archive_add(&((struct pruning *)ctx)->archive, item);
}

static int keep_archive(void *ctx)
{
	return cli_archive_keep(&((struct pruning *)ctx)->archive);
}

static int show_progress(void *ctx, uint64_t done, uint64_t total)
{
	struct pruning *p = ctx;

	cli_progress(&p->progress, "looked at %" PRIu64 " of %" PRIu64 " entries", done, total);
	return cli_stop;
}

static int print_result(const struct pruning *p, const struct jobstack_prune_result *r)
{
	const struct cli *cli = &p->cli;

	if (cli->json)
		return CLI_PRINT(KEY_TEXT("stack", cli->stack), KEY_SPAN("older_than_seconds", p->options.older_us),
				 KEY_FLAG("dry_run", p->options.dry_run), KEY_COUNT("entries", r->entries),
				 KEY_COUNT("attempts", r->attempts), KEY_COUNT("workers", r->workers),
				 KEY_COUNT("pushes", r->pushes),
				 KEY_TEXT("archive", p->options.dry_run ? NULL : p->path));
	if (cli->quiet)
		return CLI_YES;
	(void)printf("%" PRIu64 " entries with %" PRIu64
		     " attempts, older than %s, %s\"%s\", and the records of %" PRIu64 " ended workers and %" PRIu64
		     " pushes\n",
		     r->entries, r->attempts, view_duration(p->options.older_us).text,
		     p->options.dry_run ? "would go from " : "were pruned from ", cli->stack, r->workers, r->pushes);
	return CLI_YES;
}

static int parse_prune(struct pruning *p, int argc, char **argv)
{
	const struct cli_take takes[] = {
		{DRY_RUN, CLI_FLAG(&p->options.dry_run)},
		{ARCHIVE, CLI_WORD_ONCE(&p->path)},
		{OLDER_THAN, CLI_TIME(&p->options.older_us, 0, "a duration up to 366 d, such as 30d, 12h or 0")},
		CLI_TAKE_END};
	int status;

	p->options.older_us = -1;
	status = cli_parse(&p->cli, &opts, takes, argc, argv, "the stack is named with -s");
	if (status != CLI_GO_ON)
		return status;
	if (!p->cli.stack_typed)
		return cli_usage(&p->cli, "the stack to prune has to be named with -s");
	if (p->options.older_us < 0)
		return cli_usage(&p->cli, "--older-than says what may go, and has to be given");
	return CLI_GO_ON;
}

static int prune_stack(struct pruning *p)
{
	struct jobstack_prune_result result = JOBSTACK_PRUNE_RESULT_INIT;
	struct cli *cli = &p->cli;
	int status;

	p->options.ctx = p;
	p->options.progress = show_progress;
	if (p->path != NULL && !p->options.dry_run) {
		p->options.item = archive_item;
		p->options.keep = keep_archive;
	}
	status = jobstack_prune(cli->handle, cli->stack, &p->options, &result, &cli->error);
	cli_progress_end(&p->progress);
	if (status == 0)
		return print_result(p, &result);
	if (!p->options.dry_run && (result.entries > 0 || status == JOBSTACK_ESTOPPED))
		cli_say(cli, "%" PRIu64 " entries were pruned before that, the others are as they were",
			result.entries);
	return p->archive.failed ? CLI_USAGE : cli_fail(cli);
}

int cli_prune_main(int argc, char **argv)
{
	static struct pruning p = {.options = JOBSTACK_PRUNE_OPTIONS_INIT, .archive = {.fd = -1}};
	int status = parse_prune(&p, argc, argv);

	if (status != CLI_GO_ON)
		return status;
	p.progress.cli = &p.cli;
	status = cli_open(&p.cli, PATIENCE_US);
	if (status != 0)
		return status;
	if (p.path != NULL && !p.options.dry_run)
		status = cli_archive_begin(&p.archive, &p.cli, p.path);
	if (status == 0)
		status = prune_stack(&p);
	cli_archive_end(&p.archive);
	return cli_end(&p.cli, status);
}
