/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The Python packages of a stack that most attempts imported.
 */
#pragma once

#include "insight/share.h"
#include "jobstack/jobstack.h"

#define INSIGHT_PACKAGES 25

struct insight_packages {
	struct {
		char name[128], version[64];
		uint64_t entries, nodes;
	} at[INSIGHT_PACKAGES];
	size_t n;
	uint64_t more; /* packages without room, or left out */
	const struct insight_share *share;
};

/* Those that SHARE does not leave out.  0, or a JOBSTACK_E code with ERROR filled. */
int insight_packages_read(struct insight_packages *packages, struct jobstack *handle, const char *stack,
			  const struct insight_share *share, struct jobstack_error *error);
