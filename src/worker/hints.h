/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What to do about what went wrong, and about a command line that will not do what was meant.  Nothing here prints.
 */
#pragma once

#include "exec/program.h"
#include "worker/config.h"

/* Returns what to do about ERROR, to be put behind its text: ": ..." or "".  Valid until the next call. */
const char *hints_of_error(const struct config *config, const struct jobstack_error *error);

/* Does the same if the command could not be run, for the reason WHY (see js_error_why). */
const char *hints_of_command(const struct config *config, unsigned why);

/* If the command, whose files PROGRAM has, reads the number of a job array's task: appends to OUT a line that says so,
 * and two with what to type instead. */
void hints_of_array(const struct config *config, const struct js_program *program, struct js_buf *out);

/* Returns what of the command line is probably not as it was meant, or NULL.  Valid until the next call. */
const char *hints_of_line(const struct config *config);
