/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pushes --atomic that hold names: showing that this one is alive, and waiting for another one.
 */
#pragma once

#include "core/pushing.h"

/* Shows that this push is alive, if it is time to: by its row's beat, and by js_holder_show. */
int js_holder_beat(struct js_pushing *p, struct jobstack_error *error);

/* Shows to others, by a user lock of the server that ends with our connection, that this push --atomic is alive. */
int js_holder_show(struct js_pushing *p, struct jobstack_error *error);

/* The same push has ended: gives the lock back. */
void js_holder_hide(struct js_pushing *p);

/* Push HOLDER holds HELD names that we push, too.  Waits until it has ended, and ends it if it is dead.  0: the names
 * are to be looked at again; JOBSTACK_ECONFLICT: it is alive, and goes on. */
int js_holder_wait(struct js_pushing *p, uint64_t holder, uint64_t held, struct jobstack_error *error);
