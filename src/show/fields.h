/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The fields of an item: by name, as text, as a value, and in JSON.
 */
#pragma once

#include "base/attempt.h"
#include "base/buf.h"
#include "jobstack/jobstack.h"

#include <inttypes.h>
#include <stddef.h>

/* The fields in their order: FIELD(name, kind, member) of struct jobstack_item, TEXT(member) of the same name, and the
 * columns of an attempt (base/attempt.h). */
/* clang-format off */
#define SHOW_ALL_FIELDS(FIELD, TEXT, COLUMN)                                                                           \
	FIELD("entry", U64, entry) FIELD("datapath", BYTES, datapath) FIELD("state", STATE, state)                     \
	FIELD("attempt", U32, attempt) FIELD("outcome", OUTCOME, outcome)                                              \
	JS_ATTEMPT_END(COLUMN)                                                                                         \
	TEXT(node) FIELD("worker", NUMBER, worker)                                                                     \
	JS_ATTEMPT_TIMES(COLUMN)                                                                                       \
	FIELD("seconds", TOOK, started_us)                                                                             \
	TEXT(host) TEXT(cluster) TEXT(job) TEXT(array_job) TEXT(array_task) TEXT(step) TEXT(account) TEXT(qos)         \
	TEXT(partition) TEXT(user) TEXT(cwd)                                                                           \
	JS_ATTEMPT_USAGE(COLUMN)                                                                                       \
	JS_ATTEMPT_OUTPUT(COLUMN)                                                                                      \
	FIELD("err_tail", BYTES, err_tail)                                                                             \
	TEXT(to_stack) FIELD("to_entry", NUMBER, to_entry) TEXT(note)
/* clang-format on */

/* Their names for a help text, with a blank before each. */
#define SHOW_FIELD_NAME(name, ...) " " name
#define SHOW_TEXT_NAME(name) " " #name
#define SHOW_COLUMN_NAME(member, column, name, ...) " " name
#define SHOW_FIELD_NAMES SHOW_ALL_FIELDS(SHOW_FIELD_NAME, SHOW_TEXT_NAME, SHOW_COLUMN_NAME)

struct show_field {
	const char *name;
	int kind;
	size_t at;
};

/* The fields that were chosen. */
#define SHOW_FIELDS_MAX 64
struct show_fields {
	const struct show_field *field[SHOW_FIELDS_MAX];
	size_t n;
};

/* Parses a list such as "entry,datapath".  Returns 0, or -1 with the reason appended to FAULT. */
int show_fields_parse(const char *list, struct show_fields *fields, struct js_buf *fault);

/* Choose all fields; or those that an attempt has: the state of an entry, where it went and its note belong to the
 * entry. */
void show_fields_all(struct show_fields *fields);
int show_field_is_of_entry(const struct show_field *field);
void show_fields_of_attempts(struct show_fields *fields);

/* Returns whether NAME is among them.  (The query reads "err_tail" and "datapath" only if the filter asks for them.) */
int show_fields_have(const struct show_fields *fields, const char *name);

/* Appends one field as text, "-" if it is unknown.  RAW: names byte for byte, else escaped by show_safe. */
void show_field_text(const struct show_field *field, const struct jobstack_item *item, int raw, struct js_buf *out);

/* One field's value. */
enum show_value_is { SHOW_UNKNOWN, SHOW_NUMBER, SHOW_SECONDS, SHOW_MOMENT, SHOW_FACT, SHOW_TEXT };

/* The number of a fact, as it is written everywhere: a uint64_t. */
#define SHOW_FACT_FORMAT "%016" PRIx64
struct show_value {
	enum show_value_is is;
	int64_t n; /* a number; microseconds; microseconds since 1970 UTC */
	struct jobstack_bytes text;
};
void show_field_value(const struct show_field *field, const struct jobstack_item *item, struct show_value *value);

/* Appends the value as text: a time span in seconds, with a decimal point; a text byte for byte; nothing if it is
 * unknown. */
void show_value_add(struct js_buf *out, const struct show_value *value);
