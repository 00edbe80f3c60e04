/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Taking away what an atomic push wrote and nobody will publish.
 */
#pragma once

#include "core/core.h"

#define JS_DISCARD_MINUTES 60 /* a push that has been silent for so long is over */

/* Ends push ID of a stack (ONLY_SILENT: if it has been silent for so long and has not ended), and takes away what it
 * holds. */
int js_discard(struct jobstack *handle, uint64_t stack, uint64_t id, int only_silent, struct jobstack_error *error);

/* Ends push ID, which was found dead, if it has not moved since its row had SEQ and BEAT_US (else JOBSTACK_NOTHING),
 * and takes away what it holds. */
int js_discard_dead(struct jobstack *handle, uint64_t stack, uint64_t id, uint64_t seq, int64_t beat_us,
		    struct jobstack_error *error);

/* Takes away what push ID, which has ended, still holds. */
int js_discard_held(struct jobstack *handle, uint64_t stack, uint64_t id, struct jobstack_error *error);

/* Does js_discard for every atomic push of the stack that was abandoned. */
int js_discard_abandoned(struct jobstack *handle, uint64_t stack, struct jobstack_error *error);
