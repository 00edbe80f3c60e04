/* SPDX-License-Identifier: BSD-2-Clause
 *
 * UTF-8, a character at a time.
 */
#ifndef JS_BASE_UTF8_H
#define JS_BASE_UTF8_H

#include <stddef.h>

/* The length of the well-formed UTF-8 character at DATA, with LEN bytes there; 0 if there is none. */
size_t js_utf8_len(const char *data, size_t len);

#endif
