/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The files that commands write themselves: whether the result that --creates names is there, and whether a disk is
 * full.  All of this touches files, so it may hang.
 */
#pragma once

#include "worker/commands.h"

#define RESULTS_NAME 200 /* bytes of a result's path that messages show, with the NUL */

/* Looks for the file that --creates names, for the entry in SLOT, whose path becomes slot->result.  RETRY: an earlier
 * attempt may have written it and died.  Returns 1: it is the result; 0: it is not there; -1: it is there, but may be
 * incomplete, or memory ran out.  NAME gets its path, or the end of a long one. */
int results_find(const struct commands *c, struct slot *slot, const struct js_template_values *values, int retry,
		 char name[RESULTS_NAME]);

/* Returns where the words of a failure speak of a full disk, or NULL. */
const char *results_say_full(const char *said);

/* Finds out whether a disk to which the command of SLOT writes is full.  SAID: the words of a failure.  If they speak
 * of a full disk, tries to write beside the paths in that line, beside the entry's own files and in the working
 * directory: words alone prove nothing.  Returns 0, or JOBSTACK_EFILE with what was full in ERROR. */
int results_full(const struct commands *c, const struct slot *slot, const char *said, struct jobstack_error *error);
