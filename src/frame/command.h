/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Other programs that a command runs to their end (sbatch, scontrol, a mailer), and lists of words for them.
 */
#pragma once

#include "base/buf.h"
#include "jobstack/jobstack.h"
#include "proc/child.h"

#include <stddef.h>
#include <stdint.h>

/* Set by a signal that ends the call (cli_catch_signals): what runs is ended, too. */
extern volatile int cli_stop;

/* A list of words that it owns, ended by a NULL.  Start it as {0}. */
struct cli_words {
	char **at; /* NULL before the first */
	size_t n, capacity;
	int failed; /* memory ran out: the list is not whole */
};

void cli_words_add(struct cli_words *words, const char *word);
void cli_words_format(struct cli_words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cli_words_all(struct cli_words *words, const struct cli_words *more);
void cli_words_free(struct cli_words *words);

/* Splits TEXT as a shell would, by blanks, with '...', "..." and the backslash, but expands nothing.  -1: a quote is
 * open. */
int cli_words_split(struct cli_words *words, const char *text);

/* Appends them as one line that bash reads as just these words, and in which no control character stands. */
void cli_words_quote(struct js_buf *out, const struct cli_words *words);

/* A program to run.  Its input is INPUT (NULL: nothing). */
struct cli_command {
	const struct cli_words *words; /* the first is looked for in $PATH, unless it has a slash */
	char *const *env;	       /* NULL: ours */
	const struct js_buf *input;
	struct js_buf *out, *err; /* where its output goes; NULL: where ours goes.  May be the same */
	int64_t limit_us;	  /* then it gets TERM, and KILL two seconds later; 0: none */
};

/* Runs it.  Returns its exit status, or 128 and the signal that ended it; or a negative code with ERROR filled:
 * EMISSING there is no such program, EFILE it can't be run, or the time was up; ESTOPPED by cli_stop. */
int cli_command(const struct cli_command *command, struct jobstack_error *error);

/* Returns the first line of what a program SAID, which is cut there; NONE if it said nothing. */
const char *cli_first_line(struct js_buf *said, const char *none);
