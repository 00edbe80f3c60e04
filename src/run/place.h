/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The placeholders of a template: which one a text begins with, and what it stands for.
 */
#ifndef JS_RUN_PLACE_H
#define JS_RUN_PLACE_H

#include "base/buf.h"
#include "run/template.h"

/* In the order of the positional parameters of a shell script, from 1; the first five stand for the name. */
enum js_place {
	JS_PLACE_NONE,
	JS_PLACE_DATAPATH,
	JS_PLACE_BASE,
	JS_PLACE_DIR,
	JS_PLACE_NOEXT,
	JS_PLACE_BASENOEXT,
	JS_PLACE_NUMBER,
	JS_PLACE_SLOT,
	JS_PLACE_COUNT
};

/* Whether PLACE stands for the name, or a part of it. */
int js_place_is_name(enum js_place place);

/* Gives the length of the placeholder that TEXT begins with, and which it is in *PLACE; 0 and JS_PLACE_NONE if
 * with none. REPL (may be NULL) stands for {}.  The longest wins. */
size_t js_place_match(const char *text, const char *repl, enum js_place *place);

/* Appends what PLACE stands for. */
void js_place_add(struct js_buf *out, enum js_place place, const struct js_template_values *values);

#endif
