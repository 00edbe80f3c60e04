/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Making messages alike: what two programs' last words have in common when they fail for the same cause.
 */
#pragma once

#include <stddef.h>

/* The last line of TEXT that is not blank, without blanks around it: *LINE in TEXT, and its length (0: there is none).
 * A carriage return ends a line, too: a progress bar's last state is its last line. */
size_t js_similar_last(const char *text, size_t len, const char **line);

/* Writes LINE for comparing into OUT (SIZE bytes, NUL-terminated, cut at a whole character): the entry's DATAPATH and
 * its base name become {}, other absolute paths their base name behind .../, numbers and hexadecimal words #, control
 * characters blanks, and blanks one blank.  DATAPATH may be NULL. */
void js_similar(const char *line, size_t len, const char *datapath, size_t path_len, char *out, size_t size);
