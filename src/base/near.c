/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How near two words are, by the letters between their common beginning and their common end.
 */
#include "base/near.h"

#include <string.h>
#include <strings.h>

static int lower_case(char c)
{
	return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

/* Counts what is left of the longer word between the beginning and the end that both have in common. */
static size_t count_changes(const char *a, const char *b)
{
	size_t n, m;

	while (*a != '\0' && lower_case(*a) == lower_case(*b)) {
		a++;
		b++;
	}
	n = strlen(a);
	m = strlen(b);
	for (; n > 0 && m > 0 && lower_case(a[n - 1]) == lower_case(b[m - 1]); m--)
		n--;
	if (n == 2 && m == 2 && lower_case(a[0]) == lower_case(b[1]) && lower_case(a[1]) == lower_case(b[0]))
		return 1; /* two letters were swapped */
	return n > m ? n : m;
}

void js_near_try(struct js_near *near, const char *candidate)
{
	size_t len = strlen(near->word), changes;

	changes = len >= 3 && strncasecmp(near->word, candidate, len) == 0 ? strlen(candidate) > len
									   : count_changes(near->word, candidate);
	if (changes > (len < 5 ? 1 : 2) || changes >= len || (near->best != NULL && changes >= near->changes))
		return;
	near->best = candidate;
	near->changes = changes;
}
