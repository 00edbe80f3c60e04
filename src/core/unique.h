/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The names that a stack has, for a push --unique.
 */
#pragma once

#include "core/pushing.h"

/* Gives every entry of the stack its row in name, step by step, until none is left out. */
int js_unique_complete(struct js_pushing *p, struct jobstack_error *error);

/* Drops from the part what the stack has, and second times.  A name that another push --atomic holds counts as neither:
 * *HOLDER is the push_id of one that holds names of the part, or 0, and *HELD how many names are so held. */
int js_unique_drop(struct js_pushing *p, uint64_t *holder, uint64_t *held, struct jobstack_error *error);
