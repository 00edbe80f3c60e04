/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A push under way, for the files that make it: push.c takes the names in, chunk.c brings them to the stack, unique.c
 * knows which names are there already, holder.c deals with another push that holds them.
 */
#pragma once

#include "base/buf.h"
#include "core/core.h"

/* What one INSERT takes; and what one LOAD takes, in names and in bytes, as far as the names before the last are
 * counted. */
#define JS_PART_NAMES 2000
#define JS_PART_BYTES (512 * 1024)
#define JS_CHUNK_NAMES 65536
#define JS_CHUNK_BYTES (4 * 1024 * 1024)

struct js_pushed_name {
	size_t at;
	uint32_t len;
	int drop; /* known, or a second time in this chunk */
};

/* May names go by LOAD? */
enum js_loads { JS_LOADS_UNASKED, JS_LOADS_YES, JS_LOADS_NO };

struct js_pushing {
	struct jobstack *handle;
	const char *stack_name;
	const struct jobstack_push_options *options;
	struct js_stack stack;
	int begun;
	uint64_t push_id, seq;
	unsigned char token[16];
	int64_t beat_us, shown_us; /* the last beat, and the last js_holder_show */
	enum js_loads loads;
	struct js_buf bytes; /* the chunk's names, each with a NUL behind it */
	struct js_pushed_name names[JS_CHUNK_NAMES];
	size_t n;
	int64_t first_us;	  /* when its first name came */
	size_t from, to, dropped; /* the part of it that is on its way, and how many of that are dropped */
	int relative;		  /* the chunk has a relative name */
	struct jobstack_push_result result;
};
