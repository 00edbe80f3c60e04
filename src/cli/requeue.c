/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack requeue: pushes entries back.  First it takes back what dead workers hold, since that is what "lost" means to
 * whoever asks.  Promise: each entry is requeued once, however many do it at once.
 */
#define _GNU_SOURCE
#include "cli/cli.h"

#include "base/clock.h"
#include "base/error.h"
#include "cli/item.h"
#include "cli/json.h"
#include "cli/recover.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define REQUEUABLE (JOBSTACK_IS_DEAD | JOBSTACK_IS_DONE | JOBSTACK_IS_FAILED | JOBSTACK_IS_LOST)

enum { DRY_RUN = CLI_OWN };

static const struct js_opt table[] = {
	CLI_OPTS_STACK,
	{'t', "state", "STATES",
	 "dead, lost, failed (dead, by a failure), done (default: dead,lost;\nany of these if entries are named)"},
	{DRY_RUN, "dry-run", NULL, "only say what would be"},
	CLI_OPTS_JSON,
	CLI_OPTS_DATABASE,
	CLI_OPTS_ALWAYS,
	CLI_OPTS_END};
static const struct js_opts opts = {
	"jobstack requeue", "[OPTIONS] [ENTRY...]",
	"Pushes entries back: those in the given states, or of these just those that are named by number or datapath. Their\n"
	"history is kept. With lost, it first takes back what dead workers hold, as `jobstack recover` does.",
	table, "  jobstack requeue -s mystack -t dead", 0};

struct request {
	unsigned states;
	int states_given, dry_run;
	uint64_t *entries;
	size_t n;
	uint64_t missing;
};

static int parse(struct cli *cli, struct request *r, int argc, char **argv)
{
	const char *arg;
	int key = -1, status = 0;

	while (status == 0 && (key = cli_next(cli, argc, argv, &arg, &status)) >= 0) {
		if (key == DRY_RUN) {
			r->dry_run = 1;
			continue;
		}
		status = cli_states(cli, arg, &r->states);
		r->states_given = 1;
		if (status == 0 && r->states == JOBSTACK_IS_RUNNING)
			status = cli_usage(cli, "a running entry is not requeued; if its worker is dead, -t lost takes it back");
		else if (status == 0 && (r->states == 0 || (r->states & ~REQUEUABLE) != 0))
			status = cli_usage(cli, "only dead, lost, failed and done entries can be requeued, not -t %s", arg);
	}
	if (status != 0)
		return status;
	return key == -2 ? -1 : 0;
}

static int count_item(void *ctx, const struct jobstack_item *item)
{
	(void)item;
	++*(uint64_t *)ctx;
	return 0;
}

/* How many of the named entries are in STATE; without names, none. */
static int count(struct cli *cli, const struct request *r, unsigned state, uint64_t *n)
{
	struct jobstack_filter f = JOBSTACK_FILTER_INIT;

	*n = 0;
	f.states = state;
	f.entries = r->entries;
	f.entries_n = r->n;
	return r->n == 0 ? 0 : jobstack_list(cli->handle, cli->stack, &f, count_item, n, &cli->error);
}

/* Takes back what is lost, where that is wanted.  *BACK: of the named entries, those that are in line now thanks to it. */
static int take_back(struct cli *cli, const struct request *r, struct cli_recovery *lost, uint64_t *back)
{
	uint64_t before, after = 0, dead_before = 0, dead_after = 0;
	int status = count(cli, r, JOBSTACK_IS_RUNNING, &before);

	*back = 0;
	if (status == 0 && before > 0)
		status = count(cli, r, JOBSTACK_IS_DEAD, &dead_before);
	if (status == 0 && ((r->states & JOBSTACK_IS_LOST) != 0 || before > 0))
		status = cli_recover(cli, lost);
	if (status != 0 || before == 0 || lost->taken == 0 || r->dry_run)
		return status;
	status = count(cli, r, JOBSTACK_IS_RUNNING, &after);
	if (status == 0)
		status = count(cli, r, JOBSTACK_IS_DEAD, &dead_after);
	if (status == 0 && before + dead_before > after + dead_after)
		*back = before + dead_before - after - dead_after;
	return status;
}

static int tell(const struct cli *cli, const struct request *r, const struct jobstack_requeue_result *result,
		const struct cli_recovery *lost)
{
	json_t *o;
	int bad = 0;

	if (cli->json) {
		o = json_object();
		bad |= cli_json_text(o, "stack", cli->stack);
		bad |= cli_json_count(o, "requeued", result->requeued);
		bad |= cli_json_count(o, "taken_back", lost->taken);
		bad |= cli_json_count(o, "refused", result->refused);
		bad |= cli_json_count(o, "missing", result->missing);
		bad |= json_object_set_new(o, "dry_run", json_boolean(r->dry_run));
		return cli_json_print(o, bad);
	}
	(void)printf("%" PRIu64 " %srequeued, %" PRIu64 " %staken back from dead workers", result->requeued,
		     r->dry_run ? "would be " : "", lost->taken, r->dry_run ? "would be " : "");
	if (result->refused > 0)
		(void)printf(" (%" PRIu64 " refused: running, in line already, or in another state%s", result->refused,
			     result->missing > 0 ? "; " : ")");
	if (result->missing > 0)
		(void)printf("%s%" PRIu64 " missing)", result->refused > 0 ? "" : " (", result->missing);
	(void)putchar('\n');
	return 0;
}

static int requeue(struct cli *cli, struct request *r)
{
	struct jobstack_requeue_result result = {0, 0, 0};
	struct jobstack_filter f = JOBSTACK_FILTER_INIT;
	struct cli_recovery lost = {.dry_run = r->dry_run};
	uint64_t back = 0;
	int named = r->n > 0 || r->missing > 0, status;

	if (!r->states_given)
		r->states = named ? REQUEUABLE : JOBSTACK_IS_DEAD | JOBSTACK_IS_LOST;
	status = take_back(cli, r, &lost, &back);
	f.states = r->states;
	f.entries = r->entries;
	f.entries_n = r->n;
	if (status == 0 && (!named || r->n > 0))
		status = jobstack_requeue(cli->handle, cli->stack, &f, r->dry_run, &result, &cli->error);
	if (status != 0 && (result.requeued > 0 || lost.taken > 0))
		cli_say(cli, "%" PRIu64 " had been requeued and %" PRIu64 " taken back when this happened:", result.requeued, lost.taken);
	if (status != 0)
		return cli_fail(cli);
	result.missing += r->missing;
	result.refused -= back < result.refused ? back : result.refused;
	if (!cli->quiet || cli->json)
		status = tell(cli, r, &result, &lost);
	if (status != 0)
		return CLI_BUG;
	if (result.missing > 0)
		return CLI_USAGE;
	return result.requeued + lost.taken > 0 ? CLI_YES : CLI_NO;
}

int cli_requeue_main(int argc, char **argv)
{
	struct request r = {.entries = NULL};
	struct cli cli;
	int status;

	cli_begin(&cli, &opts);
	status = parse(&cli, &r, argc, argv);
	if (status != 0)
		return status < 0 ? CLI_YES : status;
	cli_catch_signals();
	status = cli_connect(&cli, 60 * JS_SECOND_US);
	if (status != 0)
		return status;
	if (optind < argc && cli_entries(&cli, argv + optind, (size_t)(argc - optind), &r.entries, &r.n, &r.missing) != 0)
		return cli_end(&cli, cli_fail(&cli));
	if (r.n == 0) {
		free(r.entries);
		r.entries = NULL;
	}
	status = requeue(&cli, &r);
	free(r.entries);
	return cli_end(&cli, status);
}
