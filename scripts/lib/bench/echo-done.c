/* SPDX-License-Identifier: BSD-2-Clause
 *
 * echo-done: the least that a persistent command can do.  For each line "ENTRY ATTEMPT DATAPATH" of its input it says
 * "done", at once, and looks at nothing.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	char *line = NULL;
	size_t capacity = 0;

	while (getline(&line, &capacity, stdin) > 0)
		if (puts("done") < 0 || fflush(stdout) != 0)
			return 1;
	free(line);
	return 0;
}
