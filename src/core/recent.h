/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Finds where the attempts are that ended since a given time: windows of entry numbers.
 */
#pragma once

#include "core/core.h"

/* Start it with zeros. */
struct js_recent {
	uint64_t tail;	      /* the highest number */
	uint64_t unit, units; /* numbers per bit; bits */
	unsigned char *bits;
};

/* Finds the windows of STACK.  Each attempt that ended at SINCE_US or later, and was recorded before the call, is in
 * one of them.  Free it with js_recent_free, whatever it returns. */
int js_recent_read(struct js_recent *recent, struct jobstack *handle, const struct js_stack *stack, int64_t since_us,
		   struct jobstack_error *error);

/* Gives the next window behind the number AFTER: from *LOW to *HIGH, at most MOST numbers or a few more.  0: none. */
int js_recent_next(const struct js_recent *recent, uint64_t after, uint64_t most, uint64_t *low, uint64_t *high);

void js_recent_free(struct js_recent *recent);
