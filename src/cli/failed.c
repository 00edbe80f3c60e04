/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What failed, for a person: the first names with their reasons and last words, and the commands to type next.
 */
#include "cli/cli.h"

#include "show/words.h"

#include <inttypes.h>
#include <stdio.h>

#define SHOWN 5

struct failed {
	const struct cli *cli;
	uint64_t dead, n, entry, killed; /* entry: the first; killed: the first that was; 0: none was */
};

static int print_failed(void *ctx, const struct jobstack_item *item)
{
	struct failed *f = ctx;
	struct js_buf line = {0};

	show_failed(&line, item->datapath.data, item->datapath.len, item->reason, item->err_tail.data,
		    item->err_tail.len);
	if (f->n++ == 0) {
		f->entry = item->entry;
		(void)fprintf(stderr, "%s: %" PRIu64 " failed:%s", f->cli->opts->command, f->dead,
			      f->dead > 1 ? "\n" : "");
	}
	(void)fprintf(stderr, "%s%s\n", f->dead > 1 ? "  " : " ", line.data != NULL ? line.data : "");
	if (f->killed == 0 && item->cause == JOBSTACK_CAUSE_KILLED)
		f->killed = item->entry;
	js_buf_free(&line);
	return 0;
}

/* An error in reading them is no reason to complain: the summary has the number already. */
void cli_say_failed(struct cli *cli, uint64_t dead)
{
	struct jobstack_error ignored = JOBSTACK_ERROR_INIT;
	struct jobstack_filter filter = JOBSTACK_FILTER_INIT;
	struct failed f = {cli, dead, 0, 0, 0};

	if (cli->quiet || dead == 0)
		return;
	filter.states = JOBSTACK_IS_DEAD;
	filter.limit = SHOWN;
	filter.tails = 1;
	if (jobstack_list(cli->handle, cli->stack, &filter, print_failed, &f, &ignored) != 0 || f.n == 0)
		return;
	if (f.n < dead)
		(void)fprintf(stderr, "  and %" PRIu64 " more: `jobstack list -s %s -t dead`\n", dead - f.n,
			      cli->stack);
	cli_say(cli, "`jobstack logs -s %s %" PRIu64 "` shows what %s printed", cli->stack, f.entry,
		dead == 1 ? "it" : "the first one");
	cli_say(cli, "`jobstack requeue -s %s` puts %s back in the queue; the same line then runs %s", cli->stack,
		dead == 1 ? "it" : "them", dead == 1 ? "it" : "them");
	if (f.killed != 0)
		cli_say(cli, "entry %" PRIu64 " was killed: `jobstack cancel -s %s %" PRIu64 "` gives it up for good",
			f.killed, cli->stack, f.killed);
}
