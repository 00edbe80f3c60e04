/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The fields of an item: one table for `list -o` and for JSON, so that both have the same names.
 */
#include "show/fields.h"

#include "base/clock.h"
#include "base/near.h"
#include "figures/tally.h"
#include "show/amount.h"
#include "show/text.h"
#include "show/words.h"

#include <endian.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* The kinds of the fields that are not columns of `attempt`. */
enum {
	U64 = JS_KINDS, /* uint64_t */
	U32,		/* uint32_t */
	NUMBER,		/* uint64_t; 0: unknown */
	BYTES,		/* struct jobstack_bytes */
	STATE,
	OUTCOME,
	TOOK
};

#define FIELD(name, kind, member) {name, kind, offsetof(struct jobstack_item, member)},
#define TEXT_FIELD(name) FIELD(#name, JS_KIND_TEXT, name)
#define COLUMN_FIELD(member, column, name, kind, ...) FIELD(name, JS_KIND_##kind, member)
static const struct show_field all_fields[] = {SHOW_ALL_FIELDS(FIELD, TEXT_FIELD, COLUMN_FIELD)};
#define FIELDS (sizeof(all_fields) / sizeof(all_fields[0]))
_Static_assert(FIELDS <= SHOW_FIELDS_MAX, "a choice can hold all fields");

/* Says which field was probably meant, else which fields there are. */
static void add_unknown(struct js_buf *fault, const char *list, size_t len)
{
	char typed[64];
	struct js_near near = JS_NEAR_INIT(typed);

	(void)snprintf(typed, sizeof(typed), "%.*s", (int)len, list);
	for (size_t i = 0; i < FIELDS; i++)
		js_near_try(&near, all_fields[i].name);
	js_buf_printf(fault, "unknown field \"%.*s\"", (int)len, list);
	if (near.best != NULL)
		js_buf_printf(fault, ": did you mean \"%s\"?", near.best);
	else
		js_buf_str(fault, ": the fields are" SHOW_FIELD_NAMES);
}

int show_fields_parse(const char *list, struct show_fields *fields, struct js_buf *fault)
{
	fields->n = 0;
	do {
		size_t len = strcspn(list, ",");
		size_t i = 0;

		while (i < FIELDS && (strlen(all_fields[i].name) != len || strncmp(all_fields[i].name, list, len) != 0))
			i++;
		if (i == FIELDS) {
			add_unknown(fault, list, len);
			return -1;
		}
		if (fields->n == SHOW_FIELDS_MAX) {
			js_buf_printf(fault, "at most %d fields can be given", SHOW_FIELDS_MAX);
			return -1;
		}
		fields->field[fields->n++] = &all_fields[i];
		list += len;
	} while (*list++ == ',');
	return 0;
}

int show_fields_have(const struct show_fields *fields, const char *name)
{
	for (size_t i = 0; i < fields->n; i++)
		if (strcmp(fields->field[i]->name, name) == 0)
			return 1;
	return 0;
}

void show_fields_all(struct show_fields *fields)
{
	for (fields->n = 0; fields->n < FIELDS; fields->n++)
		fields->field[fields->n] = &all_fields[fields->n];
}

int show_field_is_of_entry(const struct show_field *f)
{
	return f->kind == STATE || strcmp(f->name, "to_stack") == 0 || strcmp(f->name, "to_entry") == 0 ||
	       strcmp(f->name, "note") == 0;
}

void show_fields_of_attempts(struct show_fields *fields)
{
	fields->n = 0;
	for (size_t i = 0; i < FIELDS; i++)
		if (!show_field_is_of_entry(&all_fields[i]))
			fields->field[fields->n++] = &all_fields[i];
}

static void set_text_value(struct show_value *v, const char *text)
{
	v->is = text == NULL ? SHOW_UNKNOWN : SHOW_TEXT;
	v->text = (struct jobstack_bytes){text, text == NULL ? 0 : strlen(text)};
}

/* A negative number means unknown for all kinds of numbers, as in the library's structs. */
void show_field_value(const struct show_field *f, const struct jobstack_item *item, struct show_value *v)
{
	const void *at = (const char *)item + f->at;

	v->is = SHOW_NUMBER;
	switch (f->kind) {
	case STATE: set_text_value(v, item->state == 0 ? NULL : show_state_word(item->state)); return;
	case OUTCOME: set_text_value(v, show_outcome_word(item->outcome)); return;
	case JS_KIND_CAUSE: set_text_value(v, show_cause_word(*(const enum jobstack_cause *)at)); return;
	case JS_KIND_TEXT: set_text_value(v, *(const char *const *)at); return;
	case BYTES:
		v->text = *(const struct jobstack_bytes *)at;
		v->is = v->text.data == NULL ? SHOW_UNKNOWN : SHOW_TEXT;
		return;
	case U32: v->n = *(const uint32_t *)at; break;
	case U64: v->n = (int64_t) * (const uint64_t *)at; break;
	case NUMBER: v->n = *(const uint64_t *)at == 0 ? -1 : (int64_t) * (const uint64_t *)at; break;
	case JS_KIND_CODE: v->n = *(const int32_t *)at; break;
	case JS_KIND_SIGNAL: v->n = *(const int32_t *)at > 0 ? *(const int32_t *)at : -1; break;
	case TOOK: v->n = figures_took(item); break;
	default: v->n = *(const int64_t *)at;
	}
	if (f->kind == JS_KIND_CPU || f->kind == TOOK)
		v->is = SHOW_SECONDS;
	else if (f->kind == JS_KIND_FACT)
		v->is = SHOW_FACT;
	else if (f->kind == JS_KIND_MOMENT)
		v->is = SHOW_MOMENT;
	if (v->n < 0)
		v->is = SHOW_UNKNOWN;
}

/* Microseconds as seconds, without trailing zeros, but with at least one decimal, so that programs read it as a
 * floating-point number. */
static void add_seconds(struct js_buf *out, int64_t us)
{
	char text[] = ".000000";
	int64_t rest = us % JS_SECOND_US;
	size_t len = sizeof(text) - 1;

	for (int i = 6; i > 0; i--, rest /= 10)
		text[i] = (char)('0' + rest % 10);
	while (len > 2 && text[len - 1] == '0')
		len--;
	js_buf_i64(out, us / JS_SECOND_US);
	js_buf_add(out, text, len);
}

/* CSV, JSON and `list -o` all write values by this, so they can't differ. */
void show_value_add(struct js_buf *out, const struct show_value *v)
{
	const uint64_t fact = htobe64((uint64_t)v->n); /* as SHOW_FACT_FORMAT, but quicker */

	switch (v->is) {
	case SHOW_UNKNOWN: break;
	case SHOW_NUMBER: js_buf_i64(out, v->n); break;
	case SHOW_SECONDS: add_seconds(out, v->n); break;
	case SHOW_MOMENT: js_buf_str(out, show_moment(v->n).text); break;
	case SHOW_FACT: js_buf_hex(out, "0123456789abcdef", &fact, sizeof(fact)); break;
	case SHOW_TEXT: js_buf_add(out, v->text.data, v->text.len);
	}
}

void show_field_text(const struct show_field *f, const struct jobstack_item *item, int raw, struct js_buf *out)
{
	struct show_value v;

	show_field_value(f, item, &v);
	if (v.is == SHOW_UNKNOWN)
		js_buf_char(out, '-');
	else if (v.is == SHOW_TEXT && !raw)
		show_safe(out, v.text.data, v.text.len);
	else
		show_value_add(out, &v);
}
