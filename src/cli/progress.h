/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A line on the terminal that tells how far a long command is.
 */
#pragma once

#include "cli/cli.h"

#include <stdint.h>

/* A line on standard error that is written over again and again; nothing at all where that is no terminal, or with -q.
 * Start it as {0} and cli. */
struct cli_progress {
	const struct cli *cli;
	int64_t next_us;
	int begun, on, shown;
};

/* Is it time for a new line?  At most eight a second, and none in the first half second. */
int cli_progress_due(struct cli_progress *progress);

/* Shows the line, if it is time. */
void cli_progress(struct cli_progress *progress, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Takes the line away; before anything else is printed. */
void cli_progress_end(struct cli_progress *progress);
