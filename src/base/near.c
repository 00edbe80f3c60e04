/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How near two words are: the changes of letters that lead from one to the other, of which two neighbours swapped are
 * one.
 */
#include "base/near.h"

#include <string.h>
#include <strings.h>

#define LETTERS 32 /* longer words are not compared */

static unsigned smaller_of(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static int lower_case(char c)
{
	return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

static unsigned edit_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	unsigned row[LETTERS + 1][LETTERS + 1];

	for (size_t i = 0; i <= a_len; i++)
		for (size_t j = 0; j <= b_len; j++) {
			unsigned other;

			if (i == 0 || j == 0) {
				row[i][j] = (unsigned)(i + j);
				continue;
			}
			other = lower_case(a[i - 1]) != lower_case(b[j - 1]);
			row[i][j] = smaller_of(row[i - 1][j - 1] + other, smaller_of(row[i - 1][j], row[i][j - 1]) + 1);
			if (i > 1 && j > 1 && lower_case(a[i - 1]) == lower_case(b[j - 2]) &&
			    lower_case(a[i - 2]) == lower_case(b[j - 1]))
				row[i][j] = smaller_of(row[i][j], row[i - 2][j - 2] + 1);
		}
	return row[a_len][b_len];
}

void js_near_try(struct js_near *near, const char *candidate)
{
	size_t len = strlen(near->word), other = strlen(candidate);
	unsigned changes;

	if (len > LETTERS || other > LETTERS)
		return;
	changes = len >= 3 && strncasecmp(near->word, candidate, len) == 0
			  ? other > len
			  : edit_distance(near->word, len, candidate, other);
	if (changes > (len < 5 ? 1U : 2U) || changes >= len || (near->best != NULL && changes >= near->changes))
		return;
	near->best = candidate;
	near->changes = changes;
}
