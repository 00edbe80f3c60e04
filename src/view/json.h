/* SPDX-License-Identifier: BSD-2-Clause
 *
 * JSON as it is shown: what is not known is null, times are UTC in ISO 8601 with microseconds, and bytes that are not
 * UTF-8 come as base64 under a name of their own.
 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* A member of an object; made by one of the macros below. */
struct view_member {
	const char *key;
	enum {
		VIEW_JSON_BYTES = 1,
		VIEW_JSON_COUNT,
		VIEW_JSON_INT,
		VIEW_JSON_REAL,
		VIEW_JSON_TIME,
		VIEW_JSON_SPAN,
		VIEW_JSON_FLAG,
		VIEW_JSON_VALUE
	} is;
	union {
		const void *data;
		uint64_t count;
		int64_t n;
		double real;
		json_t *value;
	} as;
	size_t len;  /* of the data; TEXT_LEN: it ends with a NUL */
	int present; /* else it is null */
};
#define VIEW_TEXT_LEN SIZE_MAX

/* clang-format off */
/* The text, or KEY_base64 if it is not UTF-8; null if it is NULL. */
#define KEY_BYTES(name, bytes, length) {.key = (name), .is = VIEW_JSON_BYTES, .as.data = (bytes), .len = (length)}
#define KEY_TEXT(name, text) KEY_BYTES(name, text, VIEW_TEXT_LEN)
/* The number; null if KNOWN is 0. */
#define KEY_COUNT(name, number) {.key = (name), .is = VIEW_JSON_COUNT, .as.count = (number)}
#define KEY_INT(name, number, known) {.key = (name), .is = VIEW_JSON_INT, .as.n = (number), .present = (known)}
#define KEY_REAL(name, number, known) {.key = (name), .is = VIEW_JSON_REAL, .as.real = (number), .present = (known)}
/* Microseconds since 1970; a time span in microseconds, as seconds; null if negative. */
#define KEY_TIME(name, wall_us) {.key = (name), .is = VIEW_JSON_TIME, .as.n = (wall_us)}
#define KEY_SPAN(name, us) {.key = (name), .is = VIEW_JSON_SPAN, .as.n = (us)}
#define KEY_FLAG(name, flag) {.key = (name), .is = VIEW_JSON_FLAG, .present = (flag)}
/* How many entries of a stack are where. */
#define KEY_COUNTS(s) \
	KEY_COUNT("pushed", (s)->pushed), KEY_COUNT("ready", (s)->ready), KEY_COUNT("waiting", (s)->waiting), \
		KEY_COUNT("held", (s)->held), KEY_COUNT("running", (s)->running), KEY_COUNT("done", (s)->done), \
		KEY_COUNT("dead", (s)->dead), KEY_COUNT("cancelled", (s)->cancelled), KEY_COUNT("moved", (s)->moved), \
		KEY_COUNT("pruned", (s)->pruned)
/* A value of jansson's, which is taken over; NULL: memory ran out. */
#define KEY_JSON(name, json) {.key = (name), .is = VIEW_JSON_VALUE, .as.value = (json)}
/* clang-format on */

/* An object with these members, for the caller to free; NULL without memory. */
#define VIEW_OBJECT(...) view_object((const struct view_member[]){__VA_ARGS__, {.key = NULL}})
json_t *view_object(const struct view_member *member);

/* Appends an object with these members to LIST; not 0 without memory. */
#define VIEW_APPEND(list, ...) json_array_append_new(list, VIEW_OBJECT(__VA_ARGS__))

/* Sets these members in OBJECT; not 0 without memory. */
#define VIEW_SET(object, ...) view_set(object, (const struct view_member[]){__VA_ARGS__, {.key = NULL}})
int view_set(json_t *object, const struct view_member *member);

/* JSON as it is; if it is BAD (memory ran out while it was made) it is freed, and NULL given. */
json_t *view_checked(json_t *json, int bad);

/* Appends OBJECT (NULL: there is none) as a line, and frees it.  Not 0 without memory. */
int view_json_line(json_t *object, struct js_buf *out);

/* Appends DATA in base64 (RFC 4648, padded). */
void view_base64(struct js_buf *out, const void *data, size_t len);
