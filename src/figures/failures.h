/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The largest groups of failures of a stack.
 */
#pragma once

#include "jobstack/jobstack.h"

#include <stddef.h>

#define INSIGHT_FAILURES 10

/* A group, with copies of its texts. */
struct insight_failure {
	struct jobstack_failure f;
	char reason[256], pattern[160], example[256], node[256];
	char program[1024]; /* the version that all of them ran, where the stack has several: a fact's text; or "" */
};

/* Start it as {0}. */
struct insight_failures {
	struct insight_failure group[INSIGHT_FAILURES]; /* largest first */
	size_t n;
	struct jobstack_failures_report report;
};

/* Reads them as OPTIONS (may be NULL) says.  0, or a JOBSTACK_E code with ERROR filled. */
int insight_failures_read(struct jobstack *handle, const char *stack, const struct jobstack_failures_options *options,
			  struct insight_failures *failures, struct jobstack_error *error);

/* The result of a call with STATUS.  If its callback stopped it because it had ENOUGH, that is not an error. */
int insight_enough(int status, int enough, struct jobstack_error *error);
