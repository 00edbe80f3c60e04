/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How often each line of a list has come.  It keeps a hash of 64 bits per line, so two lines that differ may very
 * seldom count as one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Start it as {0}. */
struct cli_lines {
	struct cli_line {
		uint64_t hash; /* 0: this place is free */
		uint32_t count;
	} * at;
	size_t n, room;
};

/* Returns the count of a line.  One that is new is added with a count of 0 if ADD, and then NULL means that there is no
 * memory; else NULL means that it has not come. */
uint32_t *cli_lines_find(struct cli_lines *lines, const void *text, size_t len, int add);
