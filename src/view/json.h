/* SPDX-License-Identifier: BSD-2-Clause
 *
 * JSON as the commands print it: what is not known is null, times are UTC in ISO 8601 with microseconds, and bytes that
 * are not UTF-8 come as base64 under a name of their own.
 */
#ifndef JS_VIEW_JSON_H
#define JS_VIEW_JSON_H

#include "base/buf.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* Each sets KEY of OBJECT, and returns 0, or not 0 without memory. */

/* The text; or KEY_base64, if it is not UTF-8; null if DATA is NULL. */
int view_json_bytes(json_t *object, const char *key, const void *data, size_t len);
int view_json_text(json_t *object, const char *key, const char *text);

/* The number; null if PRESENT is 0. */
int view_json_int(json_t *object, const char *key, int64_t value, int present);
int view_json_count(json_t *object, const char *key, uint64_t value);
int view_json_real(json_t *object, const char *key, double value, int present);

/* Microseconds since 1970, null if negative; a time span in microseconds as seconds, null if negative. */
int view_json_time(json_t *object, const char *key, int64_t wall_us);
int view_json_seconds(json_t *object, const char *key, int64_t us);

/* Prints OBJECT on a line of standard output and frees it.  BAD: it is not whole.  Returns 0, or -1 with nothing
 * printed without memory; a failed write is standard output's own error. */
int view_json_print(json_t *object, int bad);

/* OBJECT (NULL: there is none) as a line without its end, to be freed; frees OBJECT.  NULL without memory. */
char *view_json_line(json_t *object);

/* Appends DATA in base64 (RFC 4648, padded). */
void view_base64(struct js_buf *out, const void *data, size_t len);

#endif
