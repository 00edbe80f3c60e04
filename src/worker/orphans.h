/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Orphans: processes outside of their commands' process groups that commands left behind when they ended.  They have
 * become children of the worker, which kills them.
 */
#pragma once

#include "worker/state.h"

/* By the thread that starts the commands. */
void orphans_begin(struct supervisor *s);
void orphans_end(struct supervisor *s);

/* Kills those that there are now.  This takes up to a second. */
void orphans_kill(struct supervisor *s);

/* The same after the command of SLOT has ended (its pid still stands there): at once, or at s->orphans_at if that would
 * cost a walk through /proc for each of many short commands. */
void orphans_kill_of(struct supervisor *s, struct slot *slot);
