/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Lists of JSON objects as tables: what each column takes from an object, and how it shows it.
 */
#pragma once

#include "show/amount.h"
#include "show/table.h"

#include <jansson.h>

/* How a column shows its member.  What is null is a dash, but of VIEW_WORDS and VIEW_BAR nothing. */
enum view_kind {
	VIEW_NAME, /* any text, escaped; VIEW_WORDS: likewise */
	VIEW_WORDS,
	VIEW_OUTCOME, /* the same, red unless it is "done" */
	VIEW_COUNT,
	VIEW_FAULTS, /* a count that is red unless it is 0 */
	VIEW_NUMBER, /* a number that says nothing if it is added up */
	VIEW_TENTHS, /* with one digit behind the point; VIEW_RATIO: with two */
	VIEW_RATIO,
	VIEW_TOOK, /* seconds */
	VIEW_AGO,  /* seconds */
	VIEW_SIZE, /* bytes */
	VIEW_SHARE,
	VIEW_HOUR,  /* of the day */
	VIEW_START, /* a moment: "2026-11-21 06:20:11" */
	VIEW_BAR    /* a bar, the longest of which belongs to the largest count */
};

struct view_row_column {
	struct view_column column;
	const char *key;
	enum view_kind kind;
};

/* Appends LIST as a table of N columns, indented by two.  Of more than MOST objects (0: any number) the last ones
 * are one row, with the sums of their counts. */
void view_rows(const json_t *list, const struct view_row_column *columns, size_t n, size_t most,
	       const struct view_page *page);

/* The largest number with KEY in the objects of LIST; 0 if there is none above it. */
double view_largest(const json_t *list, const char *key);

/* Appends a bar of at most WIDTH characters. */
void view_bar(struct js_buf *out, unsigned width, double n, double of);

/* A number as its kind is shown; "-" if it is negative. */
struct view_amount view_number(enum view_kind kind, double value);

/* "2026-11-21 06:20:11" of a moment in JSON; "?" if it is null. */
struct view_amount view_start(const json_t *object, const char *key);
