/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Command-line options from one table per command, which both the parser and the help use.  getopt_long does the work.
 */
#pragma once

#include "base/buf.h"
#include "jobstack/jobstack.h"

#include <stdint.h>

#define JS_OPT_ROW 4096

/* The key of a row for options of another program, which must be the last one; its name is "".  js_opt_next gives as
 * its argument each whole word that begins with an option which the table does not have.  In such a table no option can
 * be shortened, and options end at the first word that is not an option (set first_word_ends). */
#define JS_OPT_OTHER 4095

/* The name of a row whose TAKE is a table of answers to options of other programs. */
#define JS_OPT_ANSWERS "="

struct js_opt_answer {
	const char *names; /* "delimiter d"; NULL: the table ends */
	int takes;	   /* they have a value */
	const char *with;  /* what to type in their place or, behind a ^, before the whole line; % is the value; NULL:
			      WHY  says it */
	const char *why;
};

/* One option.  A table ends with a row whose name is NULL. */
struct js_opt {
	int key;	  /* the short letter, not '?' or ':'; from 256 on without one; 0: JS_OPT_ROW and its index */
	const char *name; /* without the dashes */
	const char *arg;  /* its argument's name, or NULL: takes none; in brackets: may be missing, then "" is given;
			      a bare number as the next word is its value */
	const char *help; /* a line or more; NULL: works, but is not in the help; begins with JS_OPT_MORE: see
			     js_opt_help */
	const void *take; /* for the program that uses the table; nothing here reads it */
};

struct js_opts {
	const char *command; /* "jobstack push" */
	const char *usage;   /* behind the command: "[-0] [DATAPATH...]" */
	const char *about;   /* a sentence or more */
	const struct js_opt *table;
	const char *notes;   /* below the options, or NULL */
	int first_word_ends; /* options end at the first word that is not an option (a command follows) */
};

/* Parses the next option of ARGV: gives its key, with its argument in *ARG; -1 at the end, and optind is the first
 * word;
 * '?' with ERROR filled (JOBSTACK_EUSAGE).  -h is --help where it is nothing else.  Set optind to 0 before the first
 * call. */
int js_opt_next(const struct js_opts *opts, int argc, char *const argv[], const char **arg,
		struct jobstack_error *error);

/* For an option that names one thing, given with ARG: 0 if it was not given BEFORE (NULL), or alike; else
 * JOBSTACK_EUSAGE in ERROR. */
int js_opt_once(const char *option, const char *before, const char *arg, struct jobstack_error *error);

/* The table's row for KEY, which must exist. */
const struct js_opt *js_opt_row(const struct js_opts *opts, int key);

/* What an option does with its value.  FLAG sets an int to 1.  WORD stores the value.  NAME is WORD, but refuses an
 * empty value (what "$DIR" becomes if DIR is unset).  ONCE is WORD, and refuses a second, different value.  NUMBER
 * reads a number from LOW to HIGH into a uint64_t, TIME a time of at least LOW into an int64_t of microseconds, SIZE at
 * least LOW bytes into an int64_t; if HIGH is 0, SIZE also takes the word none, which is 0.  CHOICE sets an int to the
 * place, from 0, of the value among WANTS: "csv or jsonl", "shell, json or path0". */
struct js_take {
	enum { JS_FLAG, JS_WORD, JS_NAME, JS_ONCE, JS_NUMBER, JS_TIME, JS_SIZE, JS_CHOICE } is;
	void *to;
	uint64_t low, high;
	const char *wants; /* in words: "a number from 1 to 65535"; may be NULL for NAME and NUMBER */
};

/* Applies TAKE to ARG, the value of option O.  Returns 0, or JOBSTACK_EUSAGE. */
int js_opt_take(const struct js_opt *o, const struct js_take *take, const char *arg, struct jobstack_error *error);

/* "--slots takes WANTS, not "ARG"", as JOBSTACK_EUSAGE. */
int js_opt_refuse(const struct js_opt *o, const char *wants, const char *arg, struct jobstack_error *error);

/* Appends the help, in lines of at most WIDTH columns (0: not a terminal's).  A newline before a blank or another
 * newline is kept; others are a blank.  Of many options, those marked by ~ are shown only if ALL is set; else
 * a line says that --help-all shows them. */
void js_opt_help(const struct js_opts *opts, unsigned width, int all, struct js_buf *text);

/* Appends the same for a program to read, of which the build makes manual pages and completions: lines of fields
 * between tabs, in which \n, \t and \\ stand for these three.  "title COMMAND", "usage TEXT", "about TEXT", for each
 * option that is in the help "option LETTER NAME ARG HELP" (LETTER and ARG may be empty), "notes TEXT" if there are
 * any. */
void js_opt_spec(const struct js_opts *opts, struct js_buf *text);
