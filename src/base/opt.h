/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Command-line options from one table per command, which both the parser and the help use.  getopt_long does the work.
 */
#pragma once

#include "base/buf.h"
#include "jobstack/jobstack.h"

/* One option.  A table ends with a row whose name is NULL. */
struct js_opt {
	int key;	  /* the short letter, or a number from 256 on for an option without one; not '?' or ':' */
	const char *name; /* without the dashes */
	const char *arg;  /* its argument's name, or NULL: takes none; in brackets: may be missing, then "" is given */
	const char *help; /* a line or more; NULL: works, but is not in the help */
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

/* Appends the help. */
void js_opt_help(const struct js_opts *opts, struct js_buf *text);

/* Appends the same for a program to read, of which the build makes manual pages and completions: lines of fields
 * between tabs, in which \n, \t and \\ stand for these three.  "title COMMAND", "usage TEXT", "about TEXT", for each
 * option that is in the help "option LETTER NAME ARG HELP" (LETTER and ARG may be empty), "notes TEXT" if there are
 * any. */
void js_opt_spec(const struct js_opts *opts, struct js_buf *text);
