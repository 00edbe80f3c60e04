/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Counted lines, in a hash table.  Promise: at most 64 bytes of memory per different line.
 */
#include "cli/lines.h"

#include "base/num.h"

#include <stdlib.h>

/* Returns the place of HASH, or the free one where it belongs.  At least half of the places are free. */
static struct cli_line *find_place(const struct cli_lines *lines, uint64_t hash)
{
	size_t i = (size_t)(hash ^ hash >> 32);

	for (; lines->at[i & (lines->room - 1)].hash != 0; i++)
		if (lines->at[i & (lines->room - 1)].hash == hash)
			break;
	return &lines->at[i & (lines->room - 1)];
}

static int double_room(struct cli_lines *lines)
{
	struct cli_lines more = {.n = lines->n, .room = lines->room > 0 ? 2 * lines->room : 1024};

	more.at = calloc(more.room, sizeof(*more.at));
	for (size_t i = 0; i < lines->room && more.at != NULL; i++)
		if (lines->at[i].hash != 0)
			*find_place(&more, lines->at[i].hash) = lines->at[i];
	if (more.at == NULL)
		return -1;
	free(lines->at);
	*lines = more;
	return 0;
}

uint32_t *cli_lines_find(struct cli_lines *lines, const void *text, size_t len, int add)
{
	const uint64_t hash = js_num_hash(JS_NUM_HASH, text, len) | 1; /* never 0 */
	struct cli_line *line;

	if (add && 2 * (lines->n + 1) > lines->room && double_room(lines) != 0)
		return NULL;
	line = lines->room > 0 ? find_place(lines, hash) : NULL;
	if (line == NULL || (line->hash == 0 && !add))
		return NULL;
	lines->n += line->hash == 0;
	line->hash = hash;
	return &line->count;
}
