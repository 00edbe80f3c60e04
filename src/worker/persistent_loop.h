/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The supervisor's part with persistent commands: takes their answers, hands them entries, and ends processes that have
 * to end.
 */
#pragma once

#include "worker/state.h"

/* Makes s->commands.epoll, which watches the supervisor's own descriptors, and later the pipes.  0, or negative with
 * ERROR. */
int persistent_loop_begin(struct supervisor *s, struct jobstack_error *error);

/* Takes answers and hands out entries until there is something else for the supervisor to do, or UNTIL.  0, or negative
 * with ERROR. */
int persistent_loop_serve(struct supervisor *s, int64_t until, struct jobstack_error *error);

/* Handles the end of SLOT's process, which was collected. */
void persistent_loop_ended(struct supervisor *s, struct slot *slot, struct js_reaped *reaped);

/* Sends what is due to the process of SLOT, which runs no entry, if it has to end; GOING: the worker ends.  Returns
 * when the next is due. */
int64_t persistent_loop_keep_time(struct supervisor *s, struct slot *slot, int going, int64_t now);
