/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the outcomes of this worker refer to, stored once: versions of the program, file systems, the platform.  Only
 * the ledger's thread uses it.
 */
#pragma once

#include "process/mounts.h"
#include "run/packages.h"
#include "run/program.h"

#define FACTS_TOLD 32

/* The first four members, and packages, are given. */
struct facts {
	struct js_program *version;
	const struct js_mounts *mounts;
	const char *platform; /* a text, and its number (-1: not known) */
	int64_t platform_number;
	struct js_packages *packages; /* NULL: they are not recorded */
	int64_t packages_us;	      /* when they were stored last */
	struct {
		int64_t number[FACTS_TOLD]; /* that the database has by this worker; without room, the oldest go */
		unsigned n;
	} told[JOBSTACK_FACT_PLATFORM + 1];
};

/* Stores what N OUTCOMES refer to and the database does not have yet.  What fails is tried again with the next outcome
 * that refers to it. */
void facts_tell(struct facts *facts, struct jobstack_worker *worker, const struct jobstack_outcome *outcomes, size_t n);

/* Stores the packages whose counts have changed, at most every few seconds; LAST: all, now. */
void facts_tell_packages(struct facts *facts, struct jobstack_worker *worker, int last);
