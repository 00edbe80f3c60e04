/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Names as push and run read them: the words of the command line, or a stream of lines or of NUL-separated names, while
 * the writer still writes.
 */
#pragma once

#include "cli/cli.h"

#define CLI_INPUT_SIZE (1 << 16)

struct cli_input {
	char *const *words; /* not NULL: the names are WORDS_N words of the command line, and no stream */
	size_t words_n;
	int fd;
	int nul;	    /* names end with NUL; else with a newline */
	int crlf;	    /* a carriage return before the newline is not of the name */
	int commands;	    /* they are command lines: what is blank or begins with # is passed over */
	uint64_t directive; /* the first #DISBATCH line, or 0: nothing was given of it */
	uint64_t names;	    /* given so far */
	uint64_t lines;	    /* lines (or names) read so far */
	uint64_t empty;	    /* empty lines passed over */
	uint64_t nul_line;  /* the first line with a NUL byte in it, or 0 */
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
#define CLI_INPUT_OPT_CRLF(FLAG)                                                                                  \
	{0, "crlf", NULL, "strip the carriage return at the end of each line (lists from Windows)", CLI_FLAG(FLAG)}
/* clang-format on */

/* Checks the options above and the words, which the shell may have left as they are because they match no file, or
 * opens FILE, the value of --arg-file: NULL or "-" is standard input.  0, or the exit status, with the reason printed.
 */
int cli_input_open(struct cli *cli, struct cli_input *input, const char *file);

/* Tells, if the names stopped (JOBSTACK_ESTOPPED) for what the input is: 1 if it did. */
int cli_input_refused(const struct cli *cli, const struct cli_input *input, uint64_t pushed);

/* What its names are: "argument", "line" or "name"; input->lines counts them. */
const char *cli_input_unit(const struct cli_input *input);

/* How many empty lines were skipped, if any. */
void cli_input_say_empty(const struct cli *cli, const struct cli_input *input);

/* A jobstack_next_fn over a struct cli_input.  Stops (negative) at cli_stop, and at a read error. */
int cli_input_next(void *ctx, struct jobstack_bytes *datapath);
