/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Items as records of a file that other programs read: CSV (RFC 4180) and lines of JSON.
 */
#pragma once

#include "base/buf.h"
#include "view/fields.h"

/* Appends the names of the fields, or their values, as a line of CSV.  An unknown value is an empty field.  A text is
 * written byte for byte, in quotes if CSV requires them. */
void view_csv_head(const struct view_fields *fields, struct js_buf *out);
void view_csv_record(const struct view_fields *fields, const struct jobstack_item *item, struct js_buf *out);

/* Appends an object with the fields as a line of JSON, equal to what view_fields_json and view_json_line make. */
void view_jsonl_record(const struct view_fields *fields, const struct jobstack_item *item, struct js_buf *out);
