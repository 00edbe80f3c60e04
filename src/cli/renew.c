/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack renew: more time for a popped entry.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "cli/item.h"

enum { ATTEMPT = CLI_OWN, LEASE };

static const struct js_opt table[] = {
	CLI_OPTS_STACK,
	{ATTEMPT, "attempt", "N",
	 "the attempt that pop told (default: $JOBSTACK_ATTEMPT if it is\nthat entry's, else the one that runs now)"},
	{LEASE, "lease", "D", "how long from now on (default: as long as it was)"},
	CLI_OPTS_DATABASE,
	CLI_OPTS_ALWAYS,
	CLI_OPTS_END};
static const struct js_opts opts = {"jobstack renew",
				    "[ENTRY] [OPTIONS]",
				    "Starts the lease of an entry that `jobstack pop` gave anew: of $JOBSTACK_ENTRY, "
				    "or of ENTRY by its number or datapath.\n"
				    "Ends with 1 if it is gone: stop the work then, somebody else may have the entry.",
				    table,
				    "  jobstack renew --lease 2h || exit 1",
				    0};

int cli_renew_main(int argc, char **argv)
{
	const char *attempt_arg = NULL;
	int64_t lease_us = 0;
	const struct cli_take takes[] = {{ATTEMPT, CLI_WORD(&attempt_arg)},
					 {LEASE, CLI_TIME(&lease_us, JS_SECOND_US, CLI_LEASE_WORDS)},
					 CLI_TAKE_END};
	uint32_t attempt;
	uint64_t entry;
	struct cli cli;
	int status = cli_parse(&cli, &opts, takes, argc, argv, NULL);

	if (status != CLI_GO_ON)
		return status;
	cli_catch_signals();
	status = cli_which(&cli, attempt_arg, &entry, &attempt);
	if (status != 0)
		return cli_end(&cli, status);
	if (jobstack_renew(cli.handle, cli.stack, entry, attempt, lease_us, &cli.error) != 0)
		return cli_end(&cli, cli_fail(&cli));
	if (cli.verbose)
		cli_say(&cli, "entry %llu, attempt %u: the lease starts anew", (unsigned long long)entry,
			(unsigned)attempt);
	return cli_end(&cli, CLI_YES);
}
