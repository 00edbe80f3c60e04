/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack close: closes what pop gave, with an exit code that means what it means to a worker; or delivers what
 * workers left in spools.
 */
#define _GNU_SOURCE
#include "cli/cli.h"

#include "base/num.h"
#include "cli/item.h"
#include "cli/replay.h"

#include <getopt.h>
#include <stdio.h>

#define TRY_AGAIN 75 /* EX_TEMPFAIL: not to blame, later */

enum { ATTEMPT = CLI_OWN, EXIT, REPLAY };

static const struct js_opt table[] = {
	CLI_OPTS_STACK,
	{ATTEMPT, "attempt", "N",
	 "the attempt that pop told (default: $JOBSTACK_ATTEMPT if it is\nthat entry's, else the one that runs now)"},
	{EXIT, "exit", "CODE", "how it ended: 0 (default) done, 75 to be tried again uncharged,\nelse failed"},
	{REPLAY, "replay", NULL,
	 "deliver the outcomes in FILE..., the spools that workers left\nwhen the database was away"},
	CLI_OPTS_JSON,
	CLI_OPTS_DATABASE,
	CLI_OPTS_ALWAYS,
	CLI_OPTS_END};
static const struct js_opts opts = {
	"jobstack close",
	"[ENTRY] [OPTIONS] | --replay FILE...",
	"Closes an entry that `jobstack pop` gave: $JOBSTACK_ENTRY, or ENTRY by its number or datapath. Again, with "
	"the same\n"
	"exit code, is harmless. Ends with 1 if the lease is gone, or if it was closed otherwise: that stands.\n"
	"With --replay: ends with 1 if some outcomes came too late, because their entries were given up meanwhile.",
	table,
	"  ./process \"$JOBSTACK_DATAPATH\"; jobstack close --exit $?\n  jobstack close --replay "
	"jobstack-logs/mystack/*.spool",
	0};

int cli_close_main(int argc, char **argv)
{
	struct jobstack_outcome o = JOBSTACK_OUTCOME_INIT;
	const char *arg, *attempt = NULL;
	struct cli cli;
	char reason[32];
	int key, status, replay = 0, given = 0;
	uint64_t code = 0;

	cli_begin(&cli, &opts);
	while ((key = cli_next(&cli, argc, argv, &arg, &status)) >= 0) {
		if (key == REPLAY) {
			replay = 1;
			continue;
		}
		given = 1;
		if (key == ATTEMPT)
			attempt = arg;
		else if (js_num_u64(arg, 0, 255, &code) != 0)
			return cli_usage(&cli, "--exit takes an exit code from 0 to 255, not \"%s\"", arg);
	}
	if (key == -2)
		return status;
	if (replay && given)
		return cli_usage(&cli, "--replay takes the outcomes from the files: no --attempt and no --exit");
	if (replay && optind == argc)
		return cli_usage(&cli, "--replay wants a FILE");
	if (cli.json && !replay)
		return cli_usage(&cli, "--json goes with --replay");
	cli_catch_signals();
	if (replay)
		return cli_end(&cli, cli_replay(&cli, argv + optind, (size_t)(argc - optind)));
	status = cli_which(&cli, argv + optind, argc - optind, attempt, &o.entry, &o.attempt);
	if (status != 0)
		return cli_end(&cli, status);
	o.exit_code = (int32_t)code;
	o.verdict = code == 0 ? JOBSTACK_DONE : code == TRY_AGAIN ? JOBSTACK_INTERRUPTED : JOBSTACK_FAILED;
	o.later = code == TRY_AGAIN;
	(void)snprintf(reason, sizeof(reason), code == TRY_AGAIN ? "exit %u: try again later" : "exit %u",
		       (unsigned)code);
	o.reason = code == 0 ? NULL : reason;
	if (jobstack_close(cli.handle, cli.stack, &o, 1, NULL, &cli.error) != 0)
		return cli_end(&cli, cli_fail(&cli));
	if (cli.verbose)
		cli_say(&cli, "entry %llu, attempt %u, is closed: %s", (unsigned long long)o.entry, (unsigned)o.attempt,
			view_outcome_word((int)o.verdict));
	return cli_end(&cli, CLI_YES);
}
