/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Names as push and run read them: the words of the command line, or a stream of lines or of NUL-separated names, while
 * the writer still writes.
 */
#pragma once

#include "cli/cli.h"

#define CLI_INPUT_SIZE (1 << 16)

/* How often each line has come.  It keeps a hash of 64 bits per line, and needs about 64 bytes for that.  Start it as
 * {0}.
 */
struct cli_lines {
	void *tree;    /* for tsearch(3) */
	uint32_t pass; /* a higher one begins to count again at 0; the lines stay known */
};

/* Returns the count of a line.  One that is new is added if ADD, and then NULL means that there is no memory; else NULL
 * means that it has not come. */
uint32_t *cli_lines_find(struct cli_lines *lines, const void *text, size_t len, int add);

struct cli_input {
	const struct cli *cli; /* which says what is wrong with a name */
	char *const *words;    /* not NULL: the names are WORDS_N words of the command line, and no stream */
	size_t words_n;
	int fd;
	int nul;      /* names end with NUL; else with a newline */
	int crlf;     /* a carriage return before the newline is not of the name */
	int commands; /* they are command lines: what is blank or begins with # is passed over */
	/* Of command lines, not NULL: counts them.  If the same line comes again, a comment tells it from the others ("
	 * #2"), so that it is an entry of its own.  As the file stands, each occurrence has the same comment every
	 * time. */
	struct cli_lines *known;
	struct js_buf prefix, suffix, line; /* of #DISBATCH PREFIX and SUFFIX; the line that was made */
	uint64_t directive; /* the first other #DISBATCH line, whose text LINE is, or 0: nothing was given of it */
	int atomic;	    /* after a bad name no name is given any more */
	uint64_t refused;   /* bad names so far: each was told, and was not given */
	uint64_t lines;	    /* lines (or names) read so far */
	uint64_t empty;	    /* empty lines passed over */
	int mark;	    /* the first line began with a byte-order mark */
	int no_nul; /* names were to end with NUL, but what came last ends with a newline: nothing of it was given */
	uint64_t cr_line; /* a line near the beginning that ends with a carriage return, and not by crlf: nothing was
			     given; or 0 */
	size_t cut;	  /* so many bytes of the line were too many for the buffer */
	int cut_nul;	  /* there was a NUL byte in them */
	int read_errno;
	size_t begin, end;
	int at_end;
	char buffer[CLI_INPUT_SIZE];
};

/* The row for it in a command's table. */
/* clang-format off */
#define CLI_INPUT_OPT_CRLF(FLAG)                                                                                  \
	{0, "crlf", NULL, "~strip the carriage return at the end of each line (lists from Windows)", CLI_FLAG(FLAG)}
/* clang-format on */

/* Checks the options above and the words, which the shell may have left as they are because they match no file, or
 * opens FILE, the value of --arg-file: NULL or "-" is standard input.  0, or the exit status, with the reason printed.
 */
int cli_input_open(struct cli *cli, struct cli_input *input, const char *file);

/* If the names stopped (JOBSTACK_ESTOPPED) for what the input is, says so.  Returns the exit status; 0 if it was not
 * that. */
int cli_input_refused(const struct cli *cli, const struct cli_input *input, uint64_t pushed);

/* Says what of the input was skipped or dropped, if anything. */
void cli_input_say_skipped(const struct cli *cli, const struct cli_input *input);

/* Gives the next name, as a jobstack_next_fn does.  Says which names are bad, and leaves them out.  Stops (negative) at
 * cli_stop, at a read error, and where cli_input_refused has something to say: if atomic, that is also at the end after
 * a bad name. */
int cli_input_next(struct cli_input *input, struct jobstack_bytes *datapath);
