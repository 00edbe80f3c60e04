/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a mistyped word was meant to be.
 */
#pragma once

/* A search: begin it with the word as it was typed, try the words that there are, and look at BEST. */
struct js_near {
	const char *word;
	const char *best; /* the nearest so far, or NULL: none is near */
	unsigned changes; /* how far that is */
};

/* clang-format off */
#define JS_NEAR_INIT(typed) {(typed), 0, 0}
/* clang-format on */

/* Near is what differs by case alone, goes on behind three letters or more that were typed, or needs one letter left
 * out, added, changed or two swapped (words of five letters and more: two such changes).  The first of equally near
 * ones stays. */
void js_near_try(struct js_near *near, const char *candidate);
