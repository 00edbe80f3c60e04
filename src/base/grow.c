/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Structs that can grow.  Promises: nothing is read or written beyond the size that the caller gave; where caller and
 * library know the same struct, an array is not copied.
 */
#include "base/grow.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

#define SIZE_MAX_GIVEN 4096 /* a larger one was not set */

/* Each struct begins with its size. */
static size_t size_of(const void *object)
{
	size_t size;

	memcpy(&size, object, sizeof(size));
	return size;
}

static int check_size(size_t size, const char *name, struct jobstack_error *error)
{
	if (size >= sizeof(size_t) && size <= SIZE_MAX_GIVEN)
		return 0;
	return js_error_set(error, JOBSTACK_EUSAGE,
			    "struct %s has a wrong size (%zu): initialize it with its INIT macro", name, size);
}

/* Checks that the size is right, and that what this library does not know is zero. */
static int check_given(const void *given, size_t known, const char *name, struct jobstack_error *error)
{
	const unsigned char *bytes = given;
	size_t size = size_of(given);
	int status = check_size(size, name, error);

	for (size_t i = known; status == 0 && i < size; i++)
		if (bytes[i] != 0)
			status = js_error_set(error, JOBSTACK_EUSAGE,
					      "struct %s sets a member that libjobstack %s does not know", name,
					      JOBSTACK_VERSION);
	return status;
}

/* Copies all but the size. */
static void copy_members(void *to, const void *from, size_t size)
{
	memcpy((char *)to + sizeof(size), (const char *)from + sizeof(size), size - sizeof(size));
}

int js_grow_in(void *known, const void *given, const char *name, struct jobstack_error *error)
{
	size_t ours = size_of(known);
	int status = given == NULL ? 0 : check_given(given, ours, name, error);

	if (status == 0 && given != NULL)
		copy_members(known, given, size_of(given) < ours ? size_of(given) : ours);
	return status;
}

int js_grow_array(const void **array, void **memory, const void *given, size_t n, const void *defaults,
		  const char *name, struct jobstack_error *error)
{
	size_t ours = size_of(defaults), size = n == 0 || given == NULL ? ours : size_of(given);
	int status = check_size(size, name, error);

	*array = given;
	*memory = NULL;
	if (given == NULL && n > 0)
		return js_error_set(error, JOBSTACK_EUSAGE, "an array of %zu struct %s is NULL", n, name);
	for (size_t i = 0; status == 0 && i < n; i++)
		if (size_of((const char *)given + i * size) != size)
			status = js_error_set(error, JOBSTACK_EUSAGE,
					      "elements of an array of struct %s have different sizes", name);
	if (status != 0 || size == ours)
		return status;
	*array = *memory = calloc(n, ours);
	if (*memory == NULL)
		return js_error_memory(error);
	for (size_t i = 0; status == 0 && i < n; i++) {
		memcpy((char *)*memory + i * ours, defaults, ours);
		status = js_grow_in((char *)*memory + i * ours, (const char *)given + i * size, name, error);
	}
	return status;
}

int js_grow_begin(void *given, const void *known, const char *name, struct jobstack_error *error)
{
	int status = given == NULL ? 0 : check_size(size_of(given), name, error);

	if (status == 0)
		js_grow_out(given, known);
	return status;
}

void js_grow_out(void *given, const void *known)
{
	size_t ours = size_of(known), size = given == NULL ? 0 : size_of(given);

	if (check_size(size, "", NULL) != 0)
		return;
	copy_members(given, known, size < ours ? size : ours);
	if (size > ours)
		memset((char *)given + ours, 0, size - ours);
}
