/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Shell scripts with placeholders: each becomes a positional parameter, quoted for where it stands.
 */
#ifndef JS_RUN_SCRIPT_H
#define JS_RUN_SCRIPT_H

#include "base/buf.h"
#include "jobstack/jobstack.h"

/* Puts SOURCE into the empty SCRIPT with its placeholders turned into ${1} (the datapath) to ${7} (enum js_place),
 * with the quotes they need; if no name stands in it, "${1}" is appended, unless BARE.  REPL (may be NULL) stands for {}.  A
 * backslash outside quotes keeps a placeholder from being one.  Returns 0, or JOBSTACK_EUSAGE with what the script
 * can't have. */
int js_script_make(const char *source, const char *repl, int bare, struct js_buf *script, struct jobstack_error *error);

#endif
