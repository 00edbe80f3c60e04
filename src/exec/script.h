/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Shell scripts with placeholders: each becomes a positional parameter, quoted for where it stands.
 */
#pragma once

#include "base/buf.h"
#include "jobstack/jobstack.h"
#include "exec/placeholder.h"

struct js_script {
	struct js_buf text;	    /* to be freed with js_buf_free, whatever the result */
	struct js_spot places[100]; /* of ${1}, which is always the datapath, ${2}... JS_PLACE_NONE ends it */
};

/* Makes SCRIPT, which is all 0, from SOURCE.  If no name stands in it, "${1}" is appended, unless BARE.  A backslash
 * outside quotes keeps a placeholder from being one.  Returns 0, or JOBSTACK_EUSAGE. */
int js_script_make(const char *source, const struct js_template_syntax *syntax, int bare, struct js_script *script,
		   struct jobstack_error *error);
