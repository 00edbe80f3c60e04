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
#include "view/words.h"
#include "cli/progress.h"

#include <inttypes.h>
#include <stdio.h>

#define PATIENCE_US (60 * JS_SECOND_US)

enum { OLDER_THAN = CLI_OWN, ARCHIVE, DRY_RUN };

static const struct js_opt table[] = {
	CLI_OPTS_STACK_TYPED,
	{OLDER_THAN, "older-than", "D", "prune what ended longer ago than D: 30d, 12h; 0: all that has ended"},
	{ARCHIVE, "archive", "FILE",
	 "first append each entry, with all its attempts, to FILE: one line\nof JSON per entry, as `jobstack show "
	 "--json` prints it"},
	{DRY_RUN, "dry-run", NULL, "only print how many would be pruned"},
	CLI_OPTS_REST};
static const struct js_opts opts = {
	"jobstack prune",
	"-s NAME --older-than D [OPTIONS]",
	"Removes the entries that were done longer than D ago, and their attempts, from the database, and old records "
	"of workers\nand pushes. Workers can continue meanwhile. Dead, queued and running entries stay. So do the "
	"names in a stack that had\na `push --unique`, so that they are not pushed again.",
	table,
	"  jobstack prune -s mystack --older-than 30d --archive mystack.jsonl\n\nSome hundreds of entries at a time "
	"are archived and, once they are on the disk, removed. If prune is killed in between,\nthe next prune archives "
	"these again. So an entry may have several lines in the archive; the last one counts. The same\nhappens to an "
	"entry that is requeued at that moment.",
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

	cli_progress(&p->progress, "checked %" PRIu64 " of %" PRIu64 " entries", done, total);
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
	(void)printf("%s %" PRIu64 " %s with %" PRIu64
		     " attempt%s from \"%s\" (ended over %s ago), and the records of %" PRIu64 " worker%s and %" PRIu64
		     " push%s\n",
		     p->options.dry_run ? "would prune" : "pruned", CLI_ENTRIES(r->entries), r->attempts,
		     view_plural(r->attempts), cli->stack, view_duration(p->options.older_us).text, r->workers,
		     view_plural(r->workers), r->pushes, r->pushes == 1 ? "" : "es");
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
	status = cli_parse(&p->cli, &opts, takes, argc, argv, "name the stack with -s");
	if (status != CLI_GO_ON)
		return status;
	if (!p->cli.stack_typed)
		return cli_usage(&p->cli, "name the stack to prune with -s");
	if (p->options.older_us < 0)
		return cli_usage(&p->cli, "--older-than is required: it says what may be pruned");
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
		cli_say(cli, "%" PRIu64 " entries were pruned before that; the others are unchanged", result.entries);
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
