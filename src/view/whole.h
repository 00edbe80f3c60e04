/* SPDX-License-Identifier: BSD-2-Clause
 *
 * An entry with all its attempts as one JSON object: what `show --json` prints, and what prune archives.
 */
#pragma once

#include "base/buf.h"
#include "view/fields.h"

#include <jansson.h>

/* Start it as {0}. */
struct view_whole {
	json_t *object, *attempts;
	struct js_buf rerun;
	struct view_fields all, own; /* all fields; those of an attempt */
};

/* Adds ITEM, the entry itself or the next of its attempts.  It has the entry's state (0: unknown), and the stack to
 * which the entry was moved. */
void view_whole_add(struct view_whole *whole, const char *stack, const struct jobstack_item *item);

/* Returns the object, which the caller frees, and begins the next one; NULL if nothing was added. */
json_t *view_whole_take(struct view_whole *whole);

void view_whole_end(struct view_whole *whole);
