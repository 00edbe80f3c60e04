/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The placeholders of a template: which one a text begins with, and what it stands for.
 */
#pragma once

#include "base/buf.h"
#include "jobstack/jobstack.h"

/* What a template, and the environment (exec/env.h), is filled with.  A command without an entry of its own, which gets
 * many of them on its standard input, has a datapath of NULL. */
struct js_template_values {
	const char *datapath; /* any bytes but NUL; need not be terminated; NULL: there is no entry */
	size_t datapath_len;
	uint64_t entry;
	uint32_t attempt;
	uint32_t slot; /* from 1 */
	const char *stack;
	uint64_t worker;
};

/* How a template is read: what stands for {}, and what separates the fields; each may be NULL.  Then, for a script, the
 * shell that runs it (NULL: /bin/sh), and whether bash ignores what becomes of a pipeline's earlier parts.  NULL for
 * the whole struct: all are 0. */
struct js_template_syntax {
	const char *repl, *colsep;
	const char *shell;
	int no_pipefail;
};

/* All before NUMBER stand for the name.  NOEXT2 is without its last two extensions, EXT is the last one alone, and
 * PARENT the directory, or nothing. */
enum js_place {
	JS_PLACE_NONE,
	JS_PLACE_DATAPATH,
	JS_PLACE_BASE,
	JS_PLACE_DIR,
	JS_PLACE_NOEXT,
	JS_PLACE_NOEXT2,
	JS_PLACE_NOEXT3,
	JS_PLACE_BASENOEXT,
	JS_PLACE_BASENOEXT2,
	JS_PLACE_BASENOEXT3,
	JS_PLACE_EXT,
	JS_PLACE_EXT2,
	JS_PLACE_EXT3,
	JS_PLACE_PARENT,
	JS_PLACE_NUMBER,
	JS_PLACE_SLOT,
	JS_PLACE_COUNT /* also: a placeholder of GNU parallel that js_place_check refuses */
};

/* A placeholder: of a field of the name, counted from 1, or (0) of the whole. */
struct js_spot {
	enum js_place place;
	unsigned field;
};

/* Returns whether PLACE stands for the name, or a part of it. */
int js_place_is_name(enum js_place place);

/* Returns the length of the placeholder with which the text at AT in the string TEXT begins, and which it is in *SPOT;
 * 0 and JS_PLACE_NONE if there is none.  The longest wins.  Without a separator the first field is the whole, and other
 * fields are found so that they can be refused, and so are placeholders that only GNU parallel knows.  What is in
 * braces directly after $ belongs to the shell. */
size_t js_place_match(const char *text, const char *at, const struct js_template_syntax *syntax, struct js_spot *spot);

/* Checks whether SPOT, LEN bytes at TEXT, can stand where there are these fields: 0, or JOBSTACK_EUSAGE. */
int js_place_check(const char *text, size_t len, const struct js_spot *spot, const struct js_template_syntax *syntax,
		   struct jobstack_error *error);

/* Appends what SPOT stands for; COLSEP (may be NULL) separates the fields.  A field that is not there is nothing. */
void js_place_add(struct js_buf *out, const struct js_spot *spot, const struct js_template_values *values,
		  const char *colsep);

/* Returns how many fields the datapath has between the separators: one at least. */
unsigned js_template_fields(const char *datapath, size_t len, const char *colsep);
