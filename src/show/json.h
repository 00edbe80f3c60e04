/* SPDX-License-Identifier: BSD-2-Clause
 *
 * JSON for users: unknown values are null, times are UTC in ISO 8601 with microseconds, and bytes that are not UTF-8
 * are base64 under the key KEY_base64.
 */
#pragma once

#include "base/buf.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* A member of an object; made by one of the macros below. */
struct show_member {
	const char *key;
	json_t *value; /* the object takes it over; NULL: memory ran out */
	int base64;    /* the value is coded: the key gets the suffix _base64 */
};

/* clang-format off */
/* The text, or KEY_base64 if it is not UTF-8; null if it is NULL. */
#define KEY_BYTES(name, bytes, length) show_bytes_member(name, bytes, length)
#define KEY_TEXT(name, text) show_text_member(name, text)
/* The number; null if KNOWN is 0. */
#define KEY_COUNT(name, number) {(name), json_integer((json_int_t)(number)), 0}
#define KEY_INT(name, number, known) {(name), (known) ? json_integer((json_int_t)(number)) : json_null(), 0}
#define KEY_REAL(name, number, known) {(name), (known) ? json_real(number) : json_null(), 0}
/* Microseconds since 1970; a time span in microseconds, as seconds; null if negative. */
#define KEY_TIME(name, wall_us) {(name), show_json_time(wall_us), 0}
#define KEY_SPAN(name, us) {(name), show_json_span(us), 0}
#define KEY_FLAG(name, flag) {(name), json_boolean(flag), 0}
/* How many entries of a stack are in which state. */
#define KEY_COUNTS(s) \
	KEY_COUNT("pushed", (s)->pushed), KEY_COUNT("ready", (s)->ready), KEY_COUNT("waiting", (s)->waiting), \
		KEY_COUNT("held", (s)->held), KEY_COUNT("running", (s)->running), KEY_COUNT("done", (s)->done), \
		KEY_COUNT("dead", (s)->dead), KEY_COUNT("cancelled", (s)->cancelled), KEY_COUNT("moved", (s)->moved), \
		KEY_COUNT("pruned", (s)->pruned)
/* A json_t, which the object takes over. */
#define KEY_JSON(name, json) {(name), (json), 0}
/* clang-format on */

struct show_member show_bytes_member(const char *key, const void *data, size_t len);
struct show_member show_text_member(const char *key, const char *text);

/* The text in SAID, which is freed; null if it is empty. */
struct show_member show_said_member(const char *key, struct js_buf *said);
json_t *show_json_time(int64_t wall_us);
json_t *show_json_span(int64_t us);

/* None of these has to be checked: if memory runs out in one of them, the next show_json_line fails. */

/* An object with these members, for the caller to free. */
#define SHOW_OBJECT(...) show_object((const struct show_member[]){__VA_ARGS__, {.key = NULL}})
json_t *show_object(const struct show_member *member);

/* Sets these members in OBJECT. */
#define SHOW_SET(object, ...) show_set(object, (const struct show_member[]){__VA_ARGS__, {.key = NULL}})
void show_set(json_t *object, const struct show_member *member);

/* Appends an object with these members to LIST; or JSON, which LIST takes over. */
#define SHOW_APPEND(list, ...) show_append(list, SHOW_OBJECT(__VA_ARGS__))
void show_append(json_t *list, json_t *json);

/* Reading an object.  A number: -1 if it is null or missing.  A text: "" if it is. */
double show_get_number(const json_t *object, const char *key);
const char *show_get_text(const json_t *object, const char *key);

/* Appends the text that KEY_BYTES has set, as show_safe shows it; nothing if it is null or missing. */
void show_get_name(const json_t *object, const char *key, struct js_buf *out);

/* Appends OBJECT as a line, and frees it.  Not 0 if OBJECT is NULL, or if memory has run out since the last line. */
int show_json_line(json_t *object, struct js_buf *out);

/* Appends DATA in base64 (RFC 4648, padded). */
void show_base64(struct js_buf *out, const void *data, size_t len);
