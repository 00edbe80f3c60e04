/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Arrays that grow.
 */
#ifndef JS_BASE_ARRAY_H
#define JS_BASE_ARRAY_H

#include <stddef.h>

/* Makes room for at least N elements of SIZE bytes in ARRAY, which has room for *ROOM and may be NULL.  Returns the
 * array, which may have moved, or NULL without memory: then the old one is as it was. */
void *js_array_grow(void *array, size_t *room, size_t n, size_t size);

#endif
