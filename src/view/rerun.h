/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The line that reruns an attempt by hand.
 */
#pragma once

#include "base/buf.h"
#include "jobstack/jobstack.h"

/* Puts the line into LINE, in place of what is there, made from the arguments of ITEM's worker: cd, the variables that
 * the command had, the command.  Leaves LINE empty if it can't be known (a script's pop, arguments that were cut). */
void view_rerun(const char *stack, const struct jobstack_item *item, struct js_buf *line);
