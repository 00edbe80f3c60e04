/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Finds where the attempts are that ended since a given time, or before one: windows of entry numbers.
 */
#pragma once

#include "queue/queue.h"

/* Start it with zeros. */
struct js_windows {
	uint64_t tail;	      /* the highest number */
	uint64_t unit, units; /* numbers per bit; bits */
	unsigned char *bits;
};

/* Finds the windows of STACK.  Each attempt that ended at SINCE_US or later, or before BEFORE_US, and was recorded
 * before the call, is in one of them, if its number is not above STACK's tail.  Free it with js_windows_free, whatever
 * they return. */
int js_windows_since(struct js_windows *windows, struct jobstack *handle, const struct js_stack *stack,
		     int64_t since_us, struct jobstack_error *error);
int js_windows_before(struct js_windows *windows, struct jobstack *handle, const struct js_stack *stack,
		      int64_t before_us, struct jobstack_error *error);

/* Gives the next window behind the number AFTER: from *LOW to *HIGH, at most MOST numbers or a few more.  0: none. */
int js_windows_next(const struct js_windows *windows, uint64_t after, uint64_t most, uint64_t *low, uint64_t *high);

void js_windows_free(struct js_windows *windows);
