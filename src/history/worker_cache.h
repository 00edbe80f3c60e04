/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Workers by their number, for readers of many attempts: each worker's row is read once and kept, instead of being
 * joined to each of its attempts.
 */
#pragma once

#include "queue/queue.h"

#define JS_WORKER_CACHE_MAX 4096 /* how many are kept */

struct js_worker_cache;

struct js_worker_cache *js_worker_cache_new(void);
void js_worker_cache_free(struct js_worker_cache *cache);

/* Reads those of the N WORKERS that are not known yet: at most JS_WORKER_CACHE_MAX, in any order, repeated or not; 0
 * stands for no worker.  Until the next call, js_worker_cache_fill knows all of them. */
int js_worker_cache_read(struct js_worker_cache *cache, struct jobstack *handle, const uint64_t *workers, size_t n,
			 struct jobstack_error *error);

/* Sets the worker's fields of ITEM by item->worker, and its log where the attempt has a place in it (or its stderr) but
 * no file of its own.  What it points to stays until the next js_worker_cache_read. */
void js_worker_cache_fill(const struct js_worker_cache *cache, struct jobstack_item *item);
