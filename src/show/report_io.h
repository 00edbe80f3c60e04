/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The ten findings about reading and writing, for people and for programs.
 */
#pragma once

#include "base/buf.h"
#include "figures/io.h"

#include <jansson.h>

/* Returns all of it as an object; NULL without memory. */
json_t *show_io_json(const struct figures_io *io);

/* Appends the object as text, at most COLUMNS wide (0: 80), with colour if COLOURS. */
void show_io_text(const json_t *io, unsigned columns, int colours, struct js_buf *out);
