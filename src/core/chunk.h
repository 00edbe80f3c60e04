/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Bringing a chunk of a push to its stack.
 */
#pragma once

#include "core/pushing.h"

/* Puts the chunk onto the stack: by a LOAD if it is too large for an INSERT, else, or if none is taken, part by part.
 * Each part is there wholly or not at all, once.  Counts in p->result what was pushed and skipped. */
int js_chunk_put(struct js_pushing *p, struct jobstack_error *error);

/* The fence stopped the push: another one has ended it, or the database was set back and has forgotten what it had
 * confirmed.  Gives JOBSTACK_ECONFLICT and says which, or another error. */
int js_chunk_refuse(const struct js_pushing *p, struct jobstack_error *error);
