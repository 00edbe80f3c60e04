/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A picture as lines of text, some of which can be chosen.
 */
#pragma once

#include "top/feed.h"

/* A line that can be chosen, and what it shows. */
struct page_row {
	size_t line;
	const char *stack;
	uint64_t entry;			     /* 0: none */
	const struct figures_failure *group; /* NULL: none */
};

/* Start it as {0}; end it with page_free, before the picture of which it was made. */
struct page {
	struct js_buf text; /* lines, each ended by a newline; escaped, with show_paint's colours */
	size_t lines;
	struct page_row *row;
	size_t n, capacity;
};

/* Replaces the contents of PAGE by PICTURE: of the lines that can be chosen, those that contain FILTER, in letters of
 * any case.  Without a FILTER, stacks that have been finished for long are only counted. */
void page_make(struct page *page, const struct feed_picture *picture, const char *filter, unsigned columns);
void page_free(struct page *page);
