/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Items as records of a file that other programs read: CSV (RFC 4180) and lines of JSON.
 */
#pragma once

#include "base/buf.h"
#include "show/fields.h"

/* Appends the names of the fields, or their values, as a line of CSV.  An unknown value is an empty field.  A text is
 * written byte for byte, in quotes if CSV requires them. */
void show_csv_head(const struct show_fields *fields, struct js_buf *out);
void show_csv_record(const struct show_fields *fields, const struct jobstack_item *item, struct js_buf *out);

/* Appends the fields as members of a JSON object, with commas between them and no braces around them; or a member of
 * this NAME: TEXT, under the key NAME_base64 in base64 if it is not UTF-8, or null if it is NULL. */
void show_json_members(const struct show_fields *fields, const struct jobstack_item *item, struct js_buf *out);
void show_json_member(struct js_buf *out, const char *name, const void *text, size_t len);
