/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Arrays that grow.  Promise: N elements added one by one are copied fewer than two times N times.
 */
#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>

#define FIRST 16

void *js_array_grow(void *array, size_t *room, size_t n, size_t size)
{
	size_t more = *room < FIRST / 2 ? FIRST : 2 * *room;
	void *grown;

	if (n <= *room && array != NULL)
		return array;
	if (more < n)
		more = n;
	if (more > SIZE_MAX / size)
		return NULL;
	grown = realloc(array, more * size);
	if (grown != NULL)
		*room = more;
	return grown;
}
