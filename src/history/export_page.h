/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A page of an export: rows become lines, and lines are reported as items.  For export.c, which reads attempts, and
 * export_entries.c, which reads entries.
 */
#pragma once

#include "history/stream.h"
#include "history/window.h"
#include "queue/where.h"

#define JS_EXPORT_PAGE 2048 /* rows, or numbers of entries */

/* Where a text is missing, instead of its offset. */
#define JS_EXPORT_NO_TEXT SIZE_MAX

/* A row of the page.  While the page grows its texts may move, so they are offsets in the page's bytes. */
struct js_export_line {
	struct jobstack_item item;
	size_t datapath, reason, log, err_log, tail, to_stack, note;
	int final;     /* the attempt was the one that made the entry done */
	unsigned dead; /* the state that its row in set_aside gives the entry; 0: there is no such row */
	int left_out;  /* it does not match the options, and is not reported */
};

struct js_export {
	struct jobstack *handle;
	struct js_stack stack;
	struct jobstack_export_options o;
	jobstack_item_fn *fn;
	void *ctx;
	struct js_worker_cache *cache;
	struct js_where where;
	struct js_windows windows;
	uint64_t low, high;    /* entries of the page, or of the window of attempts */
	uint64_t last;	       /* attempts are read up to this entry, */
	uint32_t last_attempt; /* and this attempt of it; UINT32_MAX: all of them */
	size_t n, at;	       /* lines; the one that the last row belongs to */
	size_t rows;	       /* of the last query */
	struct js_stream_block block;
	uint64_t no;   /* of the block */
	uint64_t done; /* attempts up to this entry and DONE_ATTEMPT were reported before */
	uint64_t done_attempt;
	int streaming; /* items have a cursor */
	char cursor[96];
	struct js_buf bytes; /* the texts of the page */
	uint64_t workers[JS_EXPORT_PAGE];
	struct js_export_line line[JS_EXPORT_PAGE];
};

/* The columns that js_export_page_attempt reads; the %u is whether the end of stderr is wanted. */
#define JS_EXPORT_ATTEMPT JS_ITEM_ATTEMPT ",a.worker_id"

/* The condition for attempts of the entries from one on up to another.  Of the first one, the attempts that were read
 * already are left out. */
#define JS_EXPORT_BEHIND " AND a.entry_id BETWEEN %u AND %u AND (a.entry_id>%u OR a.attempt>%u)"

/* Empties the page. */
void js_export_page_begin(struct js_export *x);

/* Adds a line to the page, with the first two columns of ROW (the entry's number and its datapath) in it.  NULL: the
 * page is full, and the next one begins with this row. */
struct js_export_line *js_export_page_add(struct js_export *x, const struct js_row *row);

/* Reads the columns JS_EXPORT_ATTEMPT of ROW into LINE, from column *C on, which is moved behind them. */
void js_export_page_attempt(struct js_export *x, struct js_export_line *line, const struct js_row *row, unsigned *c);

/* Copies TEXT (may be NULL) into the page.  Returns its offset, or JS_EXPORT_NO_TEXT. */
size_t js_export_page_text(struct js_export *x, const char *text);

/* Reports the lines that are not left out.  Returns 0; JOBSTACK_ESTOPPED, without a text, if the caller's function
 * asked for that; or an error. */
int js_export_page_report(struct js_export *x, struct jobstack_error *error);

/* Exports all entries of x->stack with their last attempts. */
int js_export_entries(struct js_export *x, struct jobstack_error *error);
