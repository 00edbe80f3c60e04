/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What to do about an error, or about a stack's state, for both tools: one table of reasons and remedies.  A remedy is
 * chosen by server_errno (js_error_why), never by the text.
 */
#pragma once

#include "jobstack/jobstack.h"

/* What the caller knows. */
enum {
	JS_REMEDY_WORKER = 1,	   /* it is a worker */
	JS_REMEDY_OWN_SERVER = 2,  /* FILE is the one that `jobstack server` writes */
	JS_REMEDY_STACK_GIVEN = 4, /* the user has named STACK */
	JS_REMEDY_NO_FILE = 8	   /* filled in here: FILE is NULL */
};
struct js_remedy {
	unsigned known;
	const char *file;  /* the option file that was used, in words if need be; NULL: there is none */
	const char *stack; /* the stack's name */
};

/* What to do about dead entries, for js_remedy_fill. */
#define JS_REMEDY_DEAD                                                                                                 \
	"`jobstack list -s {stack} -t dead` lists what failed, `jobstack requeue -s {stack}` queues it again"

/* Returns what to do about ERROR, in a static buffer until the next call, or NULL. */
const char *js_remedy(const struct jobstack_error *error, const struct js_remedy *about);

/* The text in the table for a reason alone; and a TEXT with its {file} and {stack} filled in, in that buffer. */
const char *js_remedy_text(unsigned why);
const char *js_remedy_fill(const char *text, const struct js_remedy *about);
