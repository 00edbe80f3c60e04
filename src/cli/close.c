/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack close: closes what pop gave, with an exit code that means what it means to a worker; or delivers what
 * workers left in spools.
 */
#include "cli/cli.h"

#include "cli/item.h"
#include "cli/replay.h"
#include "view/words.h"

#include <stdio.h>

#define TRY_AGAIN 75 /* EX_TEMPFAIL: not to blame, later */

enum { ATTEMPT = CLI_OWN, EXIT, REPLAY };

static const struct js_opt table[] = {
	CLI_OPTS_STACK,
	{ATTEMPT, "attempt", "N",
	 "the attempt that pop printed (default: $JOBSTACK_ATTEMPT if it\nbelongs to that entry, else the attempt that "
	 "is running)"},
	{EXIT, "exit", "CODE",
	 "its exit code: 0 (default) done; 75 try again, without counting a\nfailed attempt; any other: failed"},
	{REPLAY, "replay", NULL,
	 "deliver the outcomes in FILE..., the spools that workers wrote\nwhile the database was unreachable"},
	CLI_OPTS_REST};
static const struct js_opts opts = {
	"jobstack close",
	"[ENTRY] [OPTIONS] | --replay FILE...",
	"Records how an entry that `jobstack pop` claimed has ended: $JOBSTACK_ENTRY, or ENTRY by its number or "
	"datapath.\nRepeating it with the same exit code is harmless. Ends with 1 if the lease has ended, or if the "
	"entry was closed with\nanother exit code, which then stays. With --replay: ends with 1 if some outcomes came "
	"too late, because their entries\nhave been requeued meanwhile.",
	table,
	"  ./process \"$JOBSTACK_DATAPATH\"; jobstack close --exit $?\n  jobstack close --replay "
	"jobstack-logs/mystack/*.spool",
	0};

int cli_close_main(int argc, char **argv)
{
	struct jobstack_outcome o = JOBSTACK_OUTCOME_INIT;
	const char *attempt = NULL;
	uint64_t code = UINT64_MAX; /* not given */
	int replay = 0, status;
	const struct cli_take takes[] = {{ATTEMPT, CLI_WORD(&attempt)},
					 {EXIT, CLI_NUMBER(&code, 0, 255, "an exit code from 0 to 255")},
					 {REPLAY, CLI_FLAG(&replay)},
					 CLI_TAKE_END};
	struct cli cli;
	char reason[32];

	status = cli_parse(&cli, &opts, takes, argc, argv, NULL);
	if (status != CLI_GO_ON)
		return status;
	if (replay && (attempt != NULL || code != UINT64_MAX))
		return cli_usage(
			&cli, "--replay reads the outcomes from the files: --attempt and --exit can't be used with it");
	if (replay && cli.words_n == 0)
		return cli_usage(&cli, "--replay needs at least one FILE");
	if (cli.json && !replay)
		return cli_usage(&cli, "--json can only be used with --replay");
	cli_catch_signals();
	if (replay)
		return cli_end(&cli, cli_replay(&cli, cli.words, cli.words_n));
	status = cli_which(&cli, attempt, &o.entry, &o.attempt);
	if (status != 0)
		return cli_end(&cli, status);
	code = code == UINT64_MAX ? 0 : code;
	o.exit_code = (int32_t)code;
	o.verdict = code == 0 ? JOBSTACK_DONE : code == TRY_AGAIN ? JOBSTACK_INTERRUPTED : JOBSTACK_FAILED;
	o.later = code == TRY_AGAIN;
	(void)snprintf(reason, sizeof(reason), code == TRY_AGAIN ? "exit %u: try again later" : "exit %u",
		       (unsigned)code);
	o.reason = code == 0 ? NULL : reason;
	if (jobstack_close(cli.handle, cli.stack, &o, 1, NULL, &cli.error) != 0)
		return cli_end(&cli, cli_fail(&cli));
	if (cli.verbose)
		cli_say(&cli, "closed entry %llu, attempt %u: %s", (unsigned long long)o.entry, (unsigned)o.attempt,
			view_outcome_word((int)o.verdict));
	return cli_end(&cli, CLI_YES);
}
