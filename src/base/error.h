/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The error object's one writer.  The first error wins; lower layers state facts, the command adds the remedy.
 */
#ifndef JS_BASE_ERROR_H
#define JS_BASE_ERROR_H

#include "jobstack/jobstack.h"

/* Fills ERROR (may be NULL), unless it is filled already, and returns CODE.  Newlines and other control characters in
 * the text become '?', so that a message stays one line whatever name it quotes. */
int js_error_set(struct jobstack_error *error, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Empties it. */
void js_error_clear(struct jobstack_error *error);

/* The one error that has no other words: no memory. */
int js_error_memory(struct jobstack_error *error);

/* Why no process, or no thread, could be started, by its errno ERR: with what to look at where that is a limit. */
const char *js_error_process_words(int err);

/* The code for it: JOBSTACK_EBUG if the machine gave no process (EAGAIN, ENOMEM), else JOBSTACK_EFILE. */
int js_error_process_code(int err);

/* What to do about a server's error (its number) that comes from one of its settings; NULL for any other. */
const char *js_error_setting(unsigned server_errno);

#endif
