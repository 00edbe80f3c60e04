/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Homes spread the pops of a stack's workers over several spans, where commits are slow.
 */
#pragma once

#include "core/span.h"
#include "core/worker.h"

/* Sets W's number of homes, by what was last read of the server and the stack. */
void js_homes_count(struct jobstack_worker *w);

/* Draws the home of POP.  Of 17 pops one is in order, and one may make homes. */
void js_homes_draw(struct jobstack_worker *w, struct js_pop *pop);
