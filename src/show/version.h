/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Versions of a program in words.
 */
#pragma once

#include "base/buf.h"

/* Appends a few words: what was changed last, or the commit, or the user's own words. */
void show_version_short(struct js_buf *out, const char *text);

/* Appends " (only with ...)" to the message of a group of failures; nothing if TEXT is "". */
void show_version_only(struct js_buf *out, const char *text);

/* Appends all of it, with BEFORE at the beginning of each line. */
void show_version(struct js_buf *out, const char *before, const char *text);
