/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The line that reruns an attempt by hand.
 */
#pragma once

#include "base/buf.h"
#include "jobstack/jobstack.h"

#define SHOW_ARGV_CUT 60000 /* as much as a worker stores of its arguments */

/* Replaces the contents of LINE by the line, made from the arguments of ITEM's worker: cd, the variables that the
 * command had, the command.  LINE is empty if the command is unknown (`jobstack pop` in a script; arguments that were
 * cut). */
void show_rerun(const char *stack, const struct jobstack_item *item, struct js_buf *line);
