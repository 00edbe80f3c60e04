/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A report that is given to others.  What could name files and people is removed from the figures before any view
 * shows them.  Counts, times, bytes, names of stacks and nodes, kernel, processor and the job's memory stay.
 */
#pragma once

#include "figures/facts.h"
#include "figures/failures.h"

/* What is left out, unless it is in SHOWN. */
enum {
	FIGURES_SHARE_DATAPATHS = 1, /* also the directories of stacks and mounts */
	FIGURES_SHARE_ARGUMENTS =
		2, /* versions: paths of programs and of arguments, --code; modules, environments, libraries */
	FIGURES_SHARE_USERS = 4,
	FIGURES_SHARE_PACKAGES = 8,  /* those that IS_PUBLIC does not take */
	FIGURES_SHARE_MESSAGES = 16, /* what failed commands printed, reasons, and notes */
	FIGURES_SHARE_KINDS = 5	     /* how many there are */
};

struct figures_share {
	unsigned shown;
	int (*is_public)(const void *ctx, const char *package);
	const void *ctx;
};

/* "datapaths" and so on, by the place of the bit. */
extern const char *const figures_share_words[FIGURES_SHARE_KINDS];

/* Returns whether WHAT is left out.  If SHARE is NULL, nothing is. */
int figures_share_hides(const struct figures_share *share, unsigned what);

/* Replaces the text of a program's version by "number 1" and so on, and that of a mount by its type.  Of a platform
 * only the machine stays.  Returns 0, or -1 without memory. */
int figures_share_facts(const struct figures_share *share, struct figures_facts *facts);
void figures_share_mount(const struct figures_share *share, char *text);

/* Removes messages and programs from groups of failures.  Counts and exit statuses stay. */
void figures_share_failures(const struct figures_share *share, struct figures_failures *failures);
