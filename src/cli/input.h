/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Names from a stream, as push and run read them: lines or NUL-separated, while the writer still writes.
 */
#pragma once

#include "cli/cli.h"

#include <stddef.h>
#include <stdint.h>

#define CLI_INPUT_ROOM (1 << 16)

struct cli_input {
	int fd;
	int nul;	   /* names end with NUL; else with a newline */
	int crlf;	   /* a carriage return before the newline is not of the name */
	uint64_t names;	   /* given so far */
	uint64_t lines;	   /* lines (or names) read so far */
	uint64_t empty;	   /* empty lines passed over */
	uint64_t nul_line; /* the first line with a NUL byte in it, or 0 */
	uint64_t long_line;
	int no_nul; /* names were to end with NUL, but what came last ends with a newline: nothing of it was given
		       (CLI_INPUT_NO_NUL) */
	int all_cr; /* every line ends with a carriage return, and not by crlf: nothing of it was given
		       (CLI_INPUT_ALL_CR) */
	int read_errno;
	size_t begin, end;
	int at_end;
	char room[CLI_INPUT_ROOM];
};

/* What to say of that. */
#define CLI_INPUT_NO_NUL "the input ends with a newline, not with a NUL as find -print0 writes it: leave out -0"

#define CLI_INPUT_ALL_CR                                                                                               \
	"every line of the input ends with a carriage return, as in files from Windows, and nothing was pushed: "      \
	"--crlf strips it, and -0 "                                                                                    \
	"pushes names that really end with one"

#define CLI_INPUT_BOTH "--crlf and -0 can't be used together: --crlf is for lines, -0 for names that end with NUL"

/* The row for it in a command's table. */
/* clang-format off */
#define CLI_INPUT_OPT_CRLF(KEY)                                                                                        \
	{                                                                                                              \
		KEY, "crlf", NULL, "strip the carriage return at the end of each line (lists from Windows)"           \
	}
/* clang-format on */

/* Opens FILE, the value of --arg-file: NULL or "-" is standard input.  0, or the exit status, having told why. */
int cli_input_open(struct cli *cli, struct cli_input *input, const char *file);

/* Tells, if the names stopped (JOBSTACK_ESTOPPED) for what the input is: 1 if it did. */
int cli_input_refused(const struct cli *cli, const struct cli_input *input, uint64_t pushed);

/* A jobstack_next_fn over a struct cli_input.  Stops (negative) at cli_stop, and at a read error. */
int cli_input_next(void *ctx, struct jobstack_bytes *datapath);
