/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The supervisor's part with persistent commands: hears their answers, hands out the next entries, and ends processes
 * that are to end.
 */
#pragma once

#include "worker/supervisor.h"

/* Makes what the loop waits on: the supervisor's own descriptors, and later the pipes.  0, or negative with ERROR. */
int converse_begin(struct supervisor *s, struct jobstack_error *error);
void converse_end(struct supervisor *s);

/* Takes answers and hands out entries, until there is something else for the supervisor to do, or UNTIL.  0, or
 * negative with ERROR. */
int converse(struct supervisor *s, int64_t until, struct jobstack_error *error);

/* The process of SLOT was collected. */
void converse_died(struct supervisor *s, struct slot *slot, struct js_reaped *reaped);

/* What is due to a process that is to end; the idle ones are, when the worker goes.  Gives the moment of the next
 * thing, if it is before NEXT. */
int64_t converse_keep_time(struct supervisor *s, struct slot *slot, int going, int64_t now, int64_t next);
