/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Lists of JSON objects as tables: what each column takes from an object, and how it shows it.
 */
#pragma once

#include "show/amount.h"
#include "show/table.h"

#include <jansson.h>

/* How a column shows its member.  What is null is a dash, but of SHOW_WORDS and SHOW_BAR nothing. */
enum show_kind {
	SHOW_NAME, /* any text, escaped; SHOW_WORDS: likewise */
	SHOW_WORDS,
	SHOW_OUTCOME, /* the same, red unless it is "done" */
	SHOW_COUNT,
	SHOW_FAULTS, /* a count that is red unless it is 0 */
	SHOW_NUMBER, /* a number that says nothing if it is added up */
	SHOW_TENTHS, /* with one digit behind the point; SHOW_RATIO: with two */
	SHOW_RATIO,
	SHOW_TOOK, /* seconds */
	SHOW_AGO,  /* seconds */
	SHOW_SIZE, /* bytes */
	SHOW_SHARE,
	SHOW_HOUR,  /* of the day */
	SHOW_START, /* a moment: "2026-11-21 06:20:11" */
	SHOW_BAR    /* a bar, the longest of which belongs to the largest count */
};

struct show_row_column {
	struct show_column column;
	const char *key;
	enum show_kind kind;
};

/* Appends LIST as a table of N columns, indented by two.  Of more than MOST objects (0: any number) the last ones
 * are one row, with the sums of their counts. */
void show_rows(const json_t *list, const struct show_row_column *columns, size_t n, size_t most,
	       const struct show_page *page);

/* Returns the largest number with KEY in the objects of LIST; 0 if there is none above it. */
double show_largest(const json_t *list, const char *key);

/* Appends a bar of at most WIDTH characters. */
void show_bar(struct js_buf *out, unsigned width, double n, double of);

/* Returns a number as its kind is shown; "-" if it is negative. */
struct show_amount show_number(enum show_kind kind, double value);

/* Returns a moment in JSON as "2026-11-21 06:20:11"; null becomes a question mark. */
struct show_amount show_start(const json_t *object, const char *key);
