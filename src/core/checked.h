/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the files of the check share.
 */
#pragma once

#include "core/findings.h"

/* The stack as the view shows it. */
struct js_checked {
	struct jobstack *handle;
	uint64_t id, tail, pushed, named;
	int lifo, has_names; /* named is not NULL */
	int64_t done, dead;
	uint64_t last; /* numbers from 1 to this are looked at one by one */
	struct js_findings findings;
	struct jobstack_check_report report;
};
