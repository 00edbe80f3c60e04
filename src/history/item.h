/* SPDX-License-Identifier: BSD-2-Clause
 *
 * An item (struct jobstack_item) out of rows: which columns to ask for, and how they are read.
 */
#pragma once

#include "base/attempt.h"
#include "queue/queue.h"

/* The columns of an attempt, where a is its row; the %u is whether the end of its stderr is wanted. */
#define JS_ITEM_COLUMN(member, column, ...) ",a." column
#define JS_ITEM_ATTEMPT "a.attempt,a.outcome" JS_ATTEMPT(JS_ITEM_COLUMN) ",IF(%u,a.err_tail,NULL)"

/* What an item tells of its worker, where w is the worker's row, or NULL: see JS_COLUMN_NAME. */
/* clang-format off */
#define JS_ITEM_OF_WORKER(X)                                                                                           \
	X(node, "w.node", TEXT) X(account, "w.slurm_account", TEXT)                                                    \
	X(user, "w.user", TEXT) X(slots, "w.slots", U32)
/* clang-format on */
#define JS_ITEM_WORKER "w.worker_id" JS_ITEM_OF_WORKER(JS_COLUMN_NAME) ",w.identity"

/* Reads these columns from column *C on, which is moved behind them; the worker's behind the attempt's, since its log
 * is the attempt's where that has output but no file of its own.  Texts stay in the row. */
void js_item_attempt(struct jobstack_item *item, const struct js_row *row, unsigned *c);
void js_item_worker(struct jobstack_item *item, const struct js_row *row, unsigned *c);

/* The same in two steps, of which the first can be done only once with a row: reading gives the worker's log, setting
 * copies what was read into FROM. */
const char *js_item_read_worker(struct jobstack_item *item, const struct js_row *row, unsigned *c);
void js_item_set_worker(struct jobstack_item *item, const struct jobstack_item *from, const char *log);

/* Makes what js_item_attempt reads that of an item without an attempt. */
void js_item_no_attempt(struct jobstack_item *item);
