/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Items as records of a file that other programs read: CSV (RFC 4180) and lines of JSON.
 */
#pragma once

#include "base/buf.h"
#include "view/fields.h"

/* Appends the names of the fields, or their values, as a line of CSV.  What is not known is an empty field; a text is
 * its bytes as they are, in quotes where it must be. */
void view_csv_head(const struct view_fields *fields, struct js_buf *out);
void view_csv_record(const struct view_fields *fields, const struct jobstack_item *item, struct js_buf *out);

/* Appends an object with the fields on a line, as view_fields_json and view_json_print make it. */
void view_jsonl_record(const struct view_fields *fields, const struct jobstack_item *item, struct js_buf *out);
