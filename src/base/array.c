/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Arrays that grow, and a search in sorted ones.  Promise: N elements added one by one are copied fewer than two times
 * N times.
 */
#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST 16

int js_array_grow(void *array, size_t *room, size_t n, size_t size)
{
	size_t more = *room < FIRST / 2 ? FIRST : 2 * *room;
	void *old, *grown;

	memcpy(&old, array, sizeof(old)); /* whatever it points to, a pointer is as large */
	if (n <= *room && old != NULL)
		return 0;
	if (more < n)
		more = n;
	grown = more <= SIZE_MAX / size ? realloc(old, more * size) : NULL;
	if (grown == NULL)
		return -1;
	memcpy(array, &grown, sizeof(grown));
	*room = more;
	return 0;
}

size_t js_array_lower(const void *list, size_t n, size_t size, const void *key,
		      int (*compare)(const void *element, const void *key))
{
	size_t low = 0;

	while (low < n) {
		size_t middle = low + (n - low) / 2;

		if (compare((const char *)list + middle * size, key) < 0)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}
