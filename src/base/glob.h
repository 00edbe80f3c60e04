/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Globs over bytes: * stands for any bytes (a slash is one like others), ? for one, [a-z] for one of these, [!a-z] for
 * one of the others; a backslash takes the next byte as it is.
 */
#pragma once

#include "base/buf.h"

#include <stddef.h>

/* NULL if GLOB is one, else what is wrong with it, in words. */
const char *js_glob_fault(const char *glob, size_t len);

/* Does GLOB, which has no fault, match the whole TEXT? */
int js_glob_match(const char *glob, size_t len, const char *text, size_t text_len);

/* Appends a pattern for SQL's LIKE ... ESCAPE '|' that matches whatever GLOB does; more than that only where GLOB has
 * brackets. */
void js_glob_like(struct js_buf *out, const char *glob, size_t len);
