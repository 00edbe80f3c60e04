/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack renew: more time for a popped entry.
 */
#define _GNU_SOURCE
#include "cli/cli.h"

#include "base/clock.h"
#include "base/num.h"
#include "cli/item.h"

#include <getopt.h>

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
	const char *arg, *attempt_arg = NULL;
	int64_t lease_us = 0;
	uint32_t attempt;
	uint64_t entry;
	struct cli cli;
	int key, status;

	cli_begin(&cli, &opts);
	while ((key = cli_next(&cli, argc, argv, &arg, &status)) >= 0) {
		if (key == ATTEMPT)
			attempt_arg = arg;
		else if (js_num_duration(arg, &lease_us) != 0 || lease_us < JS_SECOND_US)
			return cli_usage(&cli,
					 "--lease takes a duration of at least 1 s and at most 366 d, such as 90, 15m "
					 "or 1:30:00, not \"%s\"",
					 arg);
	}
	if (key == -2)
		return status;
	cli_catch_signals();
	status = cli_which(&cli, argv + optind, argc - optind, attempt_arg, &entry, &attempt);
	if (status != 0)
		return cli_end(&cli, status);
	if (jobstack_renew(cli.handle, cli.stack, entry, attempt, lease_us, &cli.error) != 0)
		return cli_end(&cli, cli_fail(&cli));
	if (cli.verbose)
		cli_say(&cli, "entry %llu, attempt %u: the lease starts anew", (unsigned long long)entry,
			(unsigned)attempt);
	return cli_end(&cli, CLI_YES);
}
