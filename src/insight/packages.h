/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The Python packages of a stack that most attempts imported.
 */
#pragma once

#include "jobstack/jobstack.h"

#define INSIGHT_PACKAGES 25

struct insight_packages {
	struct {
		char name[128], version[64];
		uint64_t entries, nodes;
	} at[INSIGHT_PACKAGES];
	size_t n;
	uint64_t more; /* packages without room */
};

/* 0, or a JOBSTACK_E code with ERROR filled. */
int insight_packages_read(struct insight_packages *packages, struct jobstack *handle, const char *stack,
			  struct jobstack_error *error);
