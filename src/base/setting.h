/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Option files, as MySQL's own readers take them: groups in brackets, "key = value", with quotes, escapes and comments.
 */
#pragma once

#include "jobstack/jobstack.h"

/* One line. */
struct js_setting {
	const char *path;  /* of the file */
	unsigned line;	   /* its number, from 1 */
	const char *group; /* that it is in, or NULL: none was named yet */
	char *key;	   /* with dashes as underscores; a line that begins with '!' as it is */
	char *value;	   /* without quotes, or NULL: there is no "=" */
};

/* Takes a line, whose texts are gone after the call.  Returns 0, or a JOBSTACK_E code with ERROR filled. */
typedef int js_setting_fn(void *ctx, const struct js_setting *setting, struct jobstack_error *error);

/* Reads PATH, and calls TAKE for each line with a setting (in a group; if none is named above it, the error says to
 * write [GROUP]).  The other lines are read after an error, too.  Returns 0, or the first error: EPERM or EFILE (with
 * errno) if the file can't be read, EUSAGE if a line is invalid, or what TAKE has returned.  The memory that held the
 * file is wiped, since it may have a password. */
int js_setting_read(const char *path, const char *group, js_setting_fn *take, void *ctx, struct jobstack_error *error);

/* "PATH, line N: WORDS", as JOBSTACK_EUSAGE. */
int js_setting_refuse(const struct js_setting *setting, struct jobstack_error *error, const char *words);

/* Takes the blanks off both ends of TEXT, in place; returns its new beginning. */
char *js_setting_trim(char *text);
