/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Whether a step that its fence has stopped was one of ours.
 */
#ifndef JS_CORE_SETTLE_H
#define JS_CORE_SETTLE_H

#include "core/worker.h"

/* A guard stopped a step, or with ENDING the end, of W; LOST: a reply to an earlier try was lost.  Was it that try,
 * which had arrived (0), or is W fenced (1)?  The guard's UPDATE has waited for it, so what is read now is final.
 * JOBSTACK_ECONFLICT: the database was set back, or the stack is gone. */
int js_worker_settle(struct jobstack_worker *w, int lost, int ending, struct jobstack_error *error);

#endif
