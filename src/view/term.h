/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a terminal gets and a file or a pipe doesn't: colour, lines cut to its width, progress.
 */
#ifndef JS_CLI_TERM_H
#define JS_CLI_TERM_H

#include "base/buf.h"
#include "cli/cli.h"

#include <stdint.h>
#include <stdio.h>

/* The columns of the terminal that TO is (the user's $COLUMNS wins); 0 if it is none: then nothing is cut. */
unsigned cli_columns(FILE *to);

/* May colour go to TO?  A terminal that is not dumb, and no NO_COLOR in the environment (https://no-color.org). */
int cli_colours(FILE *to);

enum cli_colour { CLI_PLAIN, CLI_BOLD, CLI_RED, CLI_GREEN, CLI_YELLOW, CLI_FAINT };

/* Appends TEXT in a colour, if ON. */
void cli_paint(struct js_buf *out, int on, enum cli_colour colour, const char *text);

/* Is $TERM one that can't go back over what it has written? */
int cli_is_dumb(void);

/* The columns that TEXT takes; a colour of cli_paint takes none. */
unsigned cli_width(const char *text, size_t len);

/* Appends TEXT cut to COLUMNS (0: not cut), with a ~ for what is missing; so each line of TEXT, which all end with a
 * newline then. */
void cli_cut(struct js_buf *out, const char *text, unsigned columns);
void cli_cut_bytes(struct js_buf *out, const char *text, size_t len, unsigned columns);
void cli_fit(struct js_buf *out, const char *text, unsigned columns);

/* Appends TEXT with its lines broken at blanks, where they are wider than COLUMNS (0: as they are). */
void cli_wrap(struct js_buf *out, const char *text, unsigned columns);

/* Appends a bar of WIDTH columns, brackets included, filled by SHARE (0 to 1). */
void cli_bar(struct js_buf *out, unsigned width, double share);

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

#endif
