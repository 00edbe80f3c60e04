/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack close: closes what pop gave, with an exit code that means what it means to a worker; or delivers what
 * workers left in spools.
 */
#include "cli/cli.h"

#include "cli/item.h"
#include "show/words.h"

#include <inttypes.h>
#include <stdio.h>

#define TRY_AGAIN 75 /* EX_TEMPFAIL: not to blame, later */

static const char *attempt;
static uint64_t code = UINT64_MAX; /* not given */
static int replay;
static const struct js_opt table[] = {
	CLI_OPTS_STACK,
	{0, "attempt", "N",
	 "the attempt's number, as pop printed it (default: $JOBSTACK_ATTEMPT if ENTRY is $JOBSTACK_ENTRY, else the "
	 "running attempt of ENTRY)",
	 CLI_WORD(&attempt)},
	{0, "exit", "CODE",
	 "its exit code: 0 (default) done; 75 try again, without counting a\nfailed attempt; any other: failed",
	 CLI_NUMBER(&code, 0, 255, "an exit code from 0 to 255")},
	{0, "replay", NULL,
	 "deliver the outcomes in FILE..., the spools that workers wrote\nwhile the database was unreachable",
	 CLI_FLAG(&replay)},
	CLI_OPTS_REST};

static int check_close(struct cli *cli)
{
	if (replay && (attempt != NULL || code != UINT64_MAX))
		return cli_usage(
			cli, "--replay reads the outcomes from the files: --attempt and --exit can't be used with it");
	if (replay && cli->words_n == 0)
		return cli_usage(cli, "--replay needs at least one FILE");
	return cli->json && !replay ? cli_usage(cli, "--json can only be used with --replay") : 0;
}

/* The exit code means what it means to a worker: 0 is done, 75 is interrupted and comes again later, anything else has
 * failed. */
static int close_entry(struct cli *cli)
{
	struct jobstack_outcome o = JOBSTACK_OUTCOME_INIT;
	char reason[32];

	cli->stack_typed |= replay; /* the words are files: none of them is the stack */
	if (replay)
		return cli_replay(cli, cli->words, cli->words_n);
	JS_TRY(cli_which(cli, attempt, &o.entry, &o.attempt));
	o.exit_code = code == UINT64_MAX ? 0 : (int32_t)code;
	o.later = o.exit_code == TRY_AGAIN;
	o.verdict = o.exit_code == 0 ? JOBSTACK_DONE : o.later ? JOBSTACK_INTERRUPTED : JOBSTACK_FAILED;
	o.cause = o.exit_code == 0 ? JOBSTACK_CAUSE_NONE : o.later ? JOBSTACK_CAUSE_DEFERRED : JOBSTACK_CAUSE_EXIT;
	(void)snprintf(reason, sizeof(reason), "exit %" PRId32 "%s", o.exit_code, o.later ? ": try again later" : "");
	o.reason = o.exit_code == 0 ? NULL : reason;
	if (jobstack_close(cli->handle, cli->stack, &o, 1, NULL, &cli->error) != 0)
		return cli_fail(cli);
	if (cli->verbose)
		cli_say(cli, "closed entry %" PRIu64 ", attempt %" PRIu32 ": %s", o.entry, o.attempt,
			show_outcome_word((int)o.verdict));
	return CLI_YES;
}

static const char about[] =
	"Records how a popped entry has ended: $JOBSTACK_ENTRY, or the given ENTRY (number or datapath).\nRepeating it "
	"with the same exit code is harmless. Ends with 1 if the lease has ended, or if the entry was\nalready closed "
	"with another exit code; that first exit code is kept. With --replay: ends with 1 if some\noutcomes came too "
	"late, because their entries have been requeued meanwhile.";
static const char notes[] = "  ./process \"$JOBSTACK_DATAPATH\"; jobstack close --exit $?\n  jobstack close --replay "
			    "jobstack-logs/mystack/*.spool";
static const struct js_opts opts = {
	"jobstack close", "[STACK] [ENTRY] [OPTIONS] | --replay FILE...", about, table, notes, 0};
const struct cli_frame cli_close = {&opts, NULL, CLI_CATCHES | CLI_OFFLINE, 0, check_close, close_entry};
