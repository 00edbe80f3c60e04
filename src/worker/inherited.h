/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Children that this process had before it became jobstack-worker: `sleep 1000 & exec jobstack-worker ...` in a batch
 * script.  They are not the worker's, and neither is what they start.
 *
 * The keeper kills every process below it when the worker has ended, and can't tell theirs from the orphans of
 * commands.  So where there are such children, the keeper becomes a child of this process, and everything below it is
 * the worker's.
 */
#pragma once

#include "jobstack/jobstack.h"

/* To be called before keeper_split, by the only thread.  Returns 0 in a process that has no such children: this one, or
 * a new one. Returns 1 in this one if there is a new one, when that has ended; signals that ask a worker to go were
 * passed on to it, and *STATUS is the exit status to end with.  Negative: there is still one process, and ERROR says
 * why. */
int inherited_part(int *status, struct jobstack_error *error);
