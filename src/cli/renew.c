/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack renew: more time for a popped entry.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "cli/item.h"

#include <inttypes.h>

static const char *attempt_arg;
static int64_t lease_us;
static const struct js_opt table[] = {CLI_OPTS_STACK,
				      {0, "attempt", "N",
				       "the attempt's number, as pop printed it (default: $JOBSTACK_ATTEMPT if ENTRY "
				       "is $JOBSTACK_ENTRY, else the running attempt of ENTRY)",
				       CLI_WORD(&attempt_arg)},
				      {0, "lease", "D", "the new lease, from now on (default: as long as before)",
				       CLI_TIME(&lease_us, JS_SECOND_US, CLI_LEASE_WORDS)},
				      CLI_OPTS_TEXT};

static int renew_lease(struct cli *cli)
{
	uint32_t attempt;
	uint64_t entry;

	JS_TRY(cli_which(cli, attempt_arg, &entry, &attempt));
	if (jobstack_renew(cli->handle, cli->stack, entry, attempt, lease_us, &cli->error) != 0)
		return cli_fail(cli);
	if (cli->verbose)
		cli_say(cli, "renewed the lease of entry %" PRIu64 ", attempt %" PRIu32, entry, attempt);
	return CLI_YES;
}

static const char about[] =
	"Renews the lease of a popped entry: $JOBSTACK_ENTRY, or the given ENTRY (number or datapath). Ends with\n1 if "
	"the lease has ended: stop the work then, because another worker may have the entry.";
static const char notes[] = "  jobstack renew --lease 2h || exit 1";
static const struct js_opts opts = {"jobstack renew", "[STACK] [ENTRY] [OPTIONS]", about, table, notes, 0};
const struct cli_frame cli_renew = {&opts, NULL, CLI_CATCHES | CLI_OFFLINE, 0, NULL, renew_lease};
