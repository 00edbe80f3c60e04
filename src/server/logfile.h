/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The server's error log: the part of the latest start, its last lines, and what they mean.
 */
#pragma once

#include "base/buf.h"
#include "frame/frame.h"

#include <stdint.h>

/* Opens the log for a new start; renames a big one to PATH.1.  *OFFSET is where the new part begins.  Returns a
 * descriptor, or -1 with errno. */
int js_logfile_open(const char *path, int64_t *offset);

/* Appends the log from OFFSET on (its last part, if it is long) to TEXT. */
void js_logfile_read(const char *path, int64_t offset, struct js_buf *text);

/* Prints the last LINES of TEXT (may be NULL), or that many from its first error on, each with "| " before it. */
void js_logfile_tell(const struct cli *cli, const char *text, int lines);

#define JS_LOGFILE_FULL 1021 /* the server's number for a full disk, for js_error_why */

/* Return 1 if TEXT (may be NULL) mentions a full disk or quota; the same, or if the disk under DIR is full. */
int js_logfile_says_full(const char *text);
int js_logfile_full(const char *dir, const char *text);

/* Returns 1 if the log, from OFFSET on, says that the server waits for space on the disk. */
int js_logfile_waits_for_space(const char *path, int64_t offset);
