/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a worker runs now, for display: the column `running` of its row, "ENTRY:ATTEMPT:START" with commas, START in
 * microseconds since 1970 by the server's clock.  What its steps cost stands at the end, as if it were of entry 0:
 * "0:STEP:COMMIT:WAITING", see struct jobstack_step.
 */
#pragma once

#include "queue/queue.h"

/* Writes the column, as far as there is room.  COMMIT_US: how long a commit takes; 0: not known. */
void js_running_write(const struct js_db *db, const struct jobstack_step *step, int64_t commit_us, struct js_buf *text);

/* Reads the next "entry:attempt:start" of a worker's column `running`, and moves *RUNNING (may be NULL) behind it.  0
 * at the end. */
int js_running_next(const char **running, uint64_t *entry, int64_t *started_us);

/* When ENTRY began, by the worker's column RUNNING (may be NULL): microseconds since 1970, or -1. */
int64_t js_running_since(const char *running, uint64_t entry);
