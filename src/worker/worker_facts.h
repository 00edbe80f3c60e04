/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the outcomes of this worker refer to, stored once: versions of the program, file systems, the platform, Python
 * packages.  Only the ledger's thread uses it.
 */
#pragma once

#include "proc/mounts.h"
#include "exec/packages.h"
#include "exec/program.h"

#define FACTS_TOLD 32

/* The members up to PACKAGES are given. */
struct facts {
	struct js_program *version;
	const struct js_mounts *mounts;
	const char *platform; /* a text, and its number (-1: not known) */
	int64_t platform_number;
	struct js_packages *packages; /* NULL: they are not recorded */
	struct {
		int64_t number[FACTS_TOLD]; /* what this worker has stored: a ring */
		unsigned n;		    /* how many in all */
	} told[JOBSTACK_FACT_PACKAGES + 1];
	/* lists of packages still to be stored: a list must be stored exactly as it was when its number was computed */
	struct facts_list {
		int64_t number;
		char *text;
	} * untold;
	size_t untold_n, untold_room;
	int64_t forgot_us; /* when the stored lists were last forgotten: they are stored again once a day */
};

/* Sets in N OUTCOMES which packages their attempts imported.  It waits for what commands have just written about that,
 * for a fifth of a second at most, and asks no database. */
void facts_of_packages(struct facts *facts, struct jobstack_outcome *outcomes, size_t n);

/* Stores what N OUTCOMES refer to and the database does not have yet.  Returns 0; or a negative code: then not all is
 * stored, and it can be called again. */
int facts_store(struct facts *facts, struct jobstack_worker *worker, const struct jobstack_outcome *outcomes, size_t n);

void facts_free(struct facts *facts);
