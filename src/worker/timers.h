/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What becomes due at a moment: TERM and KILL for commands, calls that hang, trimming output, orphans, the job's end.
 */
#pragma once

#include "worker/state.h"

/* Does what is due.  Returns the moment when the next is. */
int64_t timers_run(struct supervisor *s);

/* If the job ends too soon for another entry, nothing starts any more.  Returns the moment when to ask again. */
int64_t timers_watch_job_end(struct supervisor *s);

/* Returns whether a call that may hang is under way for any slot. */
int timers_any_call(const struct supervisor *s);
