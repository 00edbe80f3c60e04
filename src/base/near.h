/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a mistyped word was meant to be.
 */
#pragma once

#include <stddef.h>

/* A search: begin it with the word as it was typed, try the words that there are, and look at BEST. */
struct js_near {
	const char *word;
	const char *best; /* the nearest so far, or NULL: none is near */
	size_t changes;	  /* how far that is */
};

/* clang-format off */
#define JS_NEAR_INIT(typed) {(typed), 0, 0}
/* clang-format on */

/* A candidate is near if it differs by case alone, if the typed word (of at least three letters) is its beginning, or
 * if one change leads to it: a letter left out, added or changed, or two swapped (two letters next to each other for
 * words of five letters and more). The first of equally near candidates stays. */
void js_near_try(struct js_near *near, const char *candidate);
