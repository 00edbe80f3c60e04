/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Shell scripts with placeholders: each becomes a positional parameter, quoted for where it stands.
 */
#pragma once

#include "base/buf.h"
#include "jobstack/jobstack.h"
#include "run/place.h"

#define JS_SCRIPT_FIELDS 64 /* different placeholders of fields in one script */

struct js_script {
	const struct js_template_syntax *syntax; /* may be NULL */
	int bare;				 /* no name is appended */
	struct js_buf text;			 /* made; to be freed with js_buf_free, whatever the result */
	struct js_spot fields[JS_SCRIPT_FIELDS]; /* what its parameters from ${JS_PLACE_COUNT} on are */
	size_t fields_n;
};

/* Puts SOURCE into SCRIPT, whose text is empty, with its placeholders turned into ${1} (the datapath) to ${7} (enum
 * js_place) and, those of fields, ${8} and so on, with the quotes they need; if no name stands in it, "${1}" is
 * appended, unless BARE.  A backslash outside quotes keeps a placeholder from being one.  Returns 0, or JOBSTACK_EUSAGE
 * with what the script can't have. */
int js_script_make(const char *source, struct js_script *script, struct jobstack_error *error);
