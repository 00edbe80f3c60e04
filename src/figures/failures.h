/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The largest groups of failures of a stack.
 */
#pragma once

#include "jobstack/jobstack.h"

#include <stddef.h>

#define FIGURES_FAILURES 10

/* A group, with copies of its texts. */
struct figures_failure {
	struct jobstack_failure f;
	char reason[256], pattern[160], example[256], node[256];
	char program[1024]; /* the version that all of them ran, where the stack has several: a fact's text; or "" */
};

/* Start it as {0}. */
struct figures_failures {
	struct figures_failure group[FIGURES_FAILURES]; /* largest first */
	size_t n;
	struct jobstack_failures_report report;
};

/* Reads them as OPTIONS (may be NULL) says.  0, or a JOBSTACK_E code with ERROR filled. */
int figures_failures_read(struct jobstack *handle, const char *stack, const struct jobstack_failures_options *options,
			  struct figures_failures *failures, struct jobstack_error *error);

/* The result of a call with STATUS.  If its callback stopped it because it had ENOUGH, that is not an error. */
int figures_enough(int status, int enough, struct jobstack_error *error);
