/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Arrays that grow, and a search in sorted ones.
 */
#pragma once

#include <stddef.h>

/* Grows an array of elements of SIZE bytes, with memory for *ROOM of them, to at least N.  ARRAY is the address of the
 * pointer to it (may be NULL), which may change.  Returns 0, or -1 without memory: then the array is as it was. */
int js_array_grow(void *array, size_t *room, size_t n, size_t size);

/* The place of KEY, or of the first element behind it, in LIST: N elements of SIZE bytes in the order of COMPARE. */
size_t js_array_lower(const void *list, size_t n, size_t size, const void *key,
		      int (*compare)(const void *element, const void *key));
