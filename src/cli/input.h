/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Names from a stream, as push and run read them: lines or NUL-separated, while the writer still writes.
 */
#pragma once

#include "cli/cli.h"

#define CLI_INPUT_SIZE (1 << 16)

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
	char buffer[CLI_INPUT_SIZE];
};

/* The row for it in a command's table. */
/* clang-format off */
#define CLI_INPUT_OPT_CRLF(KEY)                                                                                        \
	{                                                                                                              \
		KEY, "crlf", NULL, "strip the carriage return at the end of each line (lists from Windows)"           \
	}
/* clang-format on */

/* Checks the options above, and opens FILE, the value of --arg-file: NULL or "-" is standard input.  0, or the exit
 * status, with the reason printed. */
int cli_input_open(struct cli *cli, struct cli_input *input, const char *file);

/* Tells, if the names stopped (JOBSTACK_ESTOPPED) for what the input is: 1 if it did. */
int cli_input_refused(const struct cli *cli, const struct cli_input *input, uint64_t pushed);

/* How many empty lines were skipped, if any. */
void cli_input_say_empty(const struct cli *cli, const struct cli_input *input);

/* A jobstack_next_fn over a struct cli_input.  Stops (negative) at cli_stop, and at a read error. */
int cli_input_next(void *ctx, struct jobstack_bytes *datapath);
