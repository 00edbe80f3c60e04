/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The ten findings about reading and writing, for people and for programs.
 */
#pragma once

#include "base/buf.h"
#include "insight/io.h"

#include <jansson.h>

/* A finding in words, all of them plain text. */
struct view_finding {
	const char *title, *meaning, *advice;
	const char *why; /* it can't be told; NULL: it is, by VALUE */
	char value[240];
};

/* Words finding I of IO, from 0. */
void view_finding(const struct insight_io *io, size_t i, struct view_finding *to);

/* Appends all of them as text, at most COLUMNS wide (0: 80), with colour if COLOURS. */
void view_io_text(const struct insight_io *io, unsigned columns, int colours, struct js_buf *out);

/* All of it as an object; NULL without memory. */
json_t *view_io_json(const struct insight_io *io);
