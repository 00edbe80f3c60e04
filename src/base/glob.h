/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Globs over bytes: * matches any bytes, also slashes, ? one byte, [a-z] one of these, [!a-z] one of the others; a
 * backslash makes the next byte literal.
 */
#pragma once

#include "base/buf.h"

#include <stddef.h>

/* Returns NULL if GLOB is valid, else what is wrong with it, in words. */
const char *js_glob_fault(const char *glob, size_t len);

/* Returns whether GLOB, which has no fault, matches the whole TEXT. */
int js_glob_match(const char *glob, const char *text);

/* Appends a pattern for SQL's LIKE ... ESCAPE '|' that matches whatever GLOB does; more than that only where GLOB has
 * brackets. */
void js_glob_like(struct js_buf *out, const char *glob, size_t len);
