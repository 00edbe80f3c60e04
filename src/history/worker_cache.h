/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Workers by their number, for readers of many attempts: each worker's row is read once and kept, instead of being
 * joined to each of its attempts.
 */
#pragma once

#include "queue/queue.h"

#define JS_CREW_MAX 4096 /* how many are kept */

struct js_crew;

struct js_crew *js_crew_new(void);
void js_crew_free(struct js_crew *crew);

/* Reads those of the N WORKERS (at most JS_CREW_MAX, in any order, repeated or not, 0: none) that are not known yet.
 * Then, until the next call, all of them can be asked for. */
int js_crew_read(struct js_crew *crew, struct jobstack *handle, const uint64_t *workers, size_t n,
		 struct jobstack_error *error);

/* Sets the worker's fields of ITEM by item->worker, and its log where the attempt has a place in it (or its stderr) but
 * no file of its own.  What it points to stays until the next js_crew_read. */
void js_crew_fill(const struct js_crew *crew, struct jobstack_item *item);
