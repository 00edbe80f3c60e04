/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the supervisor does that may hang: calls that touch files, one slot at a time.  While such a call is under
 * way, its slot is busy, and all others go on (worker/relay.h).
 */
#pragma once

#include "worker/supervisor.h"

/* Around each such call.  aside_end does not return if nobody waits for the call any more. */
void aside_begin(struct supervisor *s, struct slot *slot, enum aside what);
void aside_end(struct supervisor *s, struct slot *slot);

/* Whether a thread is in such a call for any slot. */
int aside_any(const struct supervisor *s);

/* Says it when the call of SLOT hangs, and gives it up when the worker can't stay any longer.  Gives the moment of
 * the next thing, if it is before NEXT. */
int64_t aside_keep_time(struct supervisor *s, struct slot *slot, int64_t now, int64_t next);

/* Says that nothing hangs any more. */
void aside_told(struct supervisor *s);
