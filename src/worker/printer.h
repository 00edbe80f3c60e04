/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What commands print, on the worker's own output (--output -): each entry in one piece, with its name before each line
 * (--tag), in the order in which the entries were started first (--keep-order).  Output that comes too early
 * waits in one temporary file without a name; in memory it takes some forty bytes per entry.  And the log of --joblog.
 */
#pragma once

#include "exec/excerpt.h"
#include "exec/template.h"
#include "worker/config.h"
#include "worker/mailbox.h"

struct held_output {
	uint64_t entry;
	int64_t at, out, err; /* what it printed, in the file; AT -1: nothing is held */
	int over;	      /* it will print nothing more */
};

struct printer {
	const struct config *config;
	struct mailbox *box;
	const char *dir, *node; /* for the temporary file; this machine's name */
	pthread_mutex_t lock;	/* held while something is printed; taken before the mailbox's */
	int file;		/* with held output; -1: there is none yet */
	int64_t end;		/* of what it holds */
	int log, shown;		/* --joblog, or -1; a picture is drawn below what is printed */
	_Atomic int told;	/* that --joblog can't be written to */
	/* with the mailbox's lock: */
	struct held_output *held; /* in the order of the first starts: those from FIRST to N are still to be printed */
	size_t first, n, room;
};

/* Opens the file of --joblog.  0, or negative with ERROR. */
int printer_begin(struct printer *printer, const struct config *config, struct mailbox *box, const char *dir,
		  const char *node, struct jobstack_error *error);

/* With the mailbox's lock held: ENTRY is started, which gives it its place in the order; or it will print nothing. */
void printer_start(struct printer *printer, const struct jobstack_entry *entry);
void printer_skip(struct printer *printer, const struct jobstack_entry *entry);

/* Prints or holds what ENTRY, which ended as OUTCOME says, has printed on stdout and stderr, and prints what waited for
 * that.  It may hang.  Returns 0, or JOBSTACK_EFILE. */
int printer_print(struct printer *printer, const struct jobstack_entry *entry, const struct js_kept kept[2],
		  const struct jobstack_outcome *outcome, struct jobstack_error *error);

/* Appends a line to the file of --joblog: ARGV ended as OUTCOME says, after OUT bytes on stdout. */
void printer_log(struct printer *printer, const struct jobstack_entry *entry, const struct jobstack_outcome *outcome,
		 int64_t wall_us, int64_t out, char *const *argv);

/* Prints what still waits, when no command is left. */
void printer_end(struct printer *printer);
