/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Filters in SQL: the one place that knows how what a caller asks for is said to the server, and in how small pieces.
 */
#pragma once

#include "queue/queue.h"

/* The tables with one row per entry, joined to what filters and items need: e is the entry, a its last attempt, w its
 * worker (a and w may be missing).  Each has one %u, the stack, and is continued with " AND ".  A SELECT of these
 * begins with STRAIGHT_JOIN: the first table is read by its primary key, in the order of entry_id, and of the others
 * one row each by theirs. */
#define JS_FROM_DONE                                                                                                   \
	" FROM attempt a JOIN entry e ON e.stack_id=a.stack_id AND e.entry_id=a.entry_id LEFT JOIN worker w ON "       \
	"w.worker_id=a.worker_id WHERE a.stack_id=%u AND a.final=1"
#define JS_FROM_DEAD_ROWS                                                                                              \
	" FROM set_aside d JOIN entry e ON e.stack_id=d.stack_id AND e.entry_id=d.entry_id LEFT JOIN attempt a ON "    \
	"a.stack_id=d.stack_id AND a.entry_id=d.entry_id AND a.attempt=d.attempt LEFT JOIN worker w ON "               \
	"w.worker_id=a.worker_id"
#define JS_FROM_DEAD JS_FROM_DEAD_ROWS " WHERE d.stack_id=%u AND d.state=0"
#define JS_FROM_CANCELLED JS_FROM_DEAD_ROWS " WHERE d.stack_id=%u AND d.state=1"
/* "SELECT the first number behind ... in TABLE": see js_window_jump. */
#define JS_NEXT_OF(table) "SELECT entry_id FROM " table " WHERE stack_id=%u AND entry_id>%u ORDER BY entry_id LIMIT 1"

/* Makes FILTER of what the caller has GIVEN (NULL: all).  0, or JOBSTACK_EUSAGE if that is not a filter. */
int js_filter_take(struct jobstack_filter *filter, const struct jobstack_filter *given, struct jobstack_error *error);

/* Returns whether it asks how an attempt ended.  Then neither running entries nor those that have never run match. */
int js_filter_of_end(const struct jobstack_filter *filter);

/* Adds " AND ..." for all that it says of e, a and w, but for the numbers; of A and W only if it asks for them. */
void js_filter_sql(struct js_sql *sql, const struct jobstack_filter *filter);

/* Decides whether a datapath that was found by that matches: to the server a glob with brackets says less than it
 * means. */
int js_filter_fits(const struct jobstack_filter *filter, const char *datapath);

/* Adds " AND ..." that keeps spans, or claims (t), to those that may hold what FILTER names; nothing if it names
 * nothing. */
void js_filter_sets_sql(struct js_sql *sql, const struct jobstack_filter *filter);

/* The entry numbers from low to high, piece by piece, so that no query looks at more than some ten thousand entries,
 * however few of them fit; of a filter that names entries, only those. */
struct js_window {
	uint64_t last, high; /* all up to last are done with */
	uint64_t end;	     /* of this piece */
	const uint64_t *ids; /* NULL: none are named */
	size_t n, take;	     /* of ids that are left, and in this piece */
};
void js_window_begin(struct js_window *window, const struct jobstack_filter *filter, uint64_t low, uint64_t high);

/* The same for the N numbers IDS, which must stay; they become those of them that the filter names. */
void js_window_begin_ids(struct js_window *window, const struct jobstack_filter *filter, uint64_t *ids, size_t n);

/* Goes to the next piece: 0 if there is none. */
int js_window_next(struct js_window *window);

/* Adds " AND ..." for this piece; COLUMN is one of the program's words. */
void js_window_sql(struct js_sql *sql, const struct js_window *window, const char *column);

/* Notes that the piece is done: up to LAST if it came back FULL, with as many rows as may come; if not, to its end. */
void js_window_done(struct js_window *window, int full, uint64_t last);

/* Goes, after an empty piece, to the next existing number, by a query JS_NEXT_OF. */
int js_window_jump(struct js_window *window, struct jobstack *handle, const char *query, uint64_t stack,
		   struct jobstack_error *error);
