/* SPDX-License-Identifier: BSD-2-Clause
 *
 * --since WHEN.  A duration is left to the server's clock to count back from.
 */
#include "cli/since.h"

#include "base/clock.h"
#include "base/num.h"

int cli_since(struct cli *cli, const char *arg, int64_t *since_us, int64_t *within_us)
{
	*within_us = -1;
	*since_us = js_clock_read(arg);
	if (*since_us >= 0 || js_num_duration(arg, within_us) == 0)
		return 0;
	return cli_usage(cli,
			 "--since takes a duration such as 2h or 7d, or a time in UTC such as 2026-11-21 or "
			 "2026-11-21T06:20:00, not \"%s\"",
			 arg);
}
