/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Making a connection, for this layer's files only: by the option file as it is at that moment.
 */
#pragma once

#include "db/state.h"
#include "jobstack/jobstack.h"

/* Connects, trying until the moment UNTIL.  If it was never connected before, only a crowd is waited for. */
int js_connect(struct js_db *db, int64_t until, struct jobstack_error *error);

/* Whether the other side has ended the idle connection; never waits. */
int js_connect_is_over(const struct js_db *db);

/* Before try number TRIES, waits longer each time, at most LONGEST_US, and never twice the same, so that many clients
 * spread out. */
void js_connect_back_off(struct js_db *db, unsigned tries, int64_t longest_us);
