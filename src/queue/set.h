/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Spans and claims out of the database, page by page along their primary keys.
 */
#pragma once

#include "queue/span.h"

/* A span or a claim without its entries. */
struct js_place {
	unsigned class; /* of a span */
	int64_t rank, pos;
	uint32_t attempt, fails, losses;
	uint64_t worker, no; /* of a claim; 0: it is a span */
};

struct js_set {
	struct js_place place;
	uint64_t first, last, n; /* the first and the last entry, and how many there are */
	uint64_t lo;		 /* of a list: the place of the first in it */
	uint64_t *ids;		 /* of a list; NULL: an interval */
	int damaged;		 /* lo, hi and ids are no set of entries */
	int64_t claimed_us;	 /* of a claim by a script: since when, else -1 */
	const char *running;	 /* the column of its worker, or NULL */
};

/* Reads the columns lo, hi and ids of ROW, from COL on, into SET, IDS being the memory for a list.  Sets
 * set->damaged; what is known of the entries is set nevertheless. */
void js_set_read(struct js_set *set, const struct js_row *row, unsigned col, uint64_t ids[JS_IDS_MAX]);

struct js_set_query {
	struct jobstack *handle;
	uint64_t stack;
	int claims;			      /* claims, not spans */
	unsigned class, last_class;	      /* spans of these classes */
	uint64_t low, high;		      /* only those that may hold entries from low to high; high 0: all */
	const struct jobstack_filter *filter; /* only those that may hold what this names; NULL: all */
	int running;			      /* the running of claims is wanted, and only those whose worker exists */
	uint64_t page;
	/* the answer: ROWS sets, valid until the next page */
	struct js_set *set;
	size_t rows;
	/* the reader's own */
	struct js_place at; /* the last one of the page before */
	size_t room;
	int failed;
};

/* Makes the next js_sets_page the first one. */
void js_sets_begin(struct js_set_query *query);

/* Reads a page of at most query->page sets, in the order of their key: fewer at the end. */
int js_sets_page(struct js_set_query *query, struct jobstack_error *error);

/* Frees the page. */
void js_sets_free(struct js_set_query *query);
