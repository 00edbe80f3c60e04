/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The error object's one writer.  The first error wins; lower layers state facts, the command adds the remedy.
 */
#pragma once

#include "jobstack/jobstack.h"

#include <errno.h>

/* Fills ERROR (may be NULL), unless it is filled already, and returns CODE.  Newlines and other control characters in
 * the text become '?', so that a message stays one line whatever name it quotes.  WHY becomes server_errno: a server's
 * number, an enum jobstack_why or an enum js_why.  Remedies are chosen by it, never by the text. */
int js_error_why(struct jobstack_error *error, int code, unsigned why, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The same without a reason. */
#define js_error_set(error, code, ...) js_error_why((error), (code), 0, __VA_ARGS__)

/* Returns from the calling function with the status of CALL, unless that is 0. */
#define JS_TRY(call)                                                                                                   \
	do {                                                                                                           \
		int js_try_status = (call);                                                                            \
		if (js_try_status != 0)                                                                                \
			return js_try_status;                                                                          \
	} while (0)

/* What only our own tools find: see enum jobstack_why. */
enum js_why {
	JS_WHY_NO_PROGRAM = 101001, /* EFILE: a program was not found */
	JS_WHY_NOT_EXECUTABLE,	    /* EFILE: a program's file is not executable */
	JS_WHY_LATE,		    /* EFILE: a program did not end within its time, and was killed */
	JS_WHY_NO_SLURM_CONFIG,	    /* EFILE: libslurm found no configuration */
	JS_WHY_OLD_DATA,	    /* ECONFLICT: the data of `jobstack server` are an older MariaDB's */
	JS_WHY_PAUSED,		    /* no error: the stack is paused */
	JS_WHY_PAUSED_FOR	    /* ... by somebody who said what for */
};

/* Versions in rows of jobstack_version that no program has: `jobstack server` writes them, and every program refuses
 * the database, by ESCHEMA with this number as its reason. */
#define JS_ASIDE_MOVING 4294967293U /* a move to another server is under way, or was cut short */
#define JS_ASIDE_MOVED 4294967294U  /* it was moved to another server */
#define JS_ASIDE_HALF 4294967295U   /* a restore is under way, or was cut short */

/* Fills ERROR (may be NULL) with FROM, unless it is filled already. */
void js_error_pass(struct jobstack_error *error, const struct jobstack_error *from);

/* Fills ERROR with the text and, behind it, errno in words.  The code is EFILE; of js_error_access EPERM if errno is
 * EACCES. */
int js_error_errno(struct jobstack_error *error, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
#define js_error_file(error, ...) js_error_errno((error), JOBSTACK_EFILE, __VA_ARGS__)
#define js_error_access(error, ...)                                                                                    \
	js_error_errno((error), errno == EACCES ? JOBSTACK_EPERM : JOBSTACK_EFILE, __VA_ARGS__)

/* Empties it. */
void js_error_clear(struct jobstack_error *error);

/* The next of several steps: it is taken only if all before it succeeded (STATUS is 0), and STATUS is then its result.
 */
#define JS_THEN(status, step) ((status) = (status) != 0 ? (status) : (step))

/* The one error that has no other words: no memory. */
int js_error_memory(struct jobstack_error *error);

/* The exit statuses of the tools, and that for a code of the library. */
enum { JS_EXIT_OK = 0, JS_EXIT_NO = 1, JS_EXIT_USAGE = 2, JS_EXIT_NODB = 69, JS_EXIT_BUG = 70, JS_EXIT_NOPERM = 77 };
int js_error_exit_status(int code);

/* Why no process, or no thread, could be started, by its errno ERR: with what to look at where that is a limit. */
const char *js_error_process_words(int err);

/* The code for it: JOBSTACK_EBUG if the machine gave no process (EAGAIN, ENOMEM), else JOBSTACK_EFILE. */
int js_error_process_code(int err);

/* The js_error_why for it, or 0. */
unsigned js_error_process_why(int err);

/* Returns whether the number says that this machine's, or the server's, memory is used up; or that the server's disk is
 * full. */
int js_error_is_memory(unsigned why);
int js_error_is_disk(unsigned why);
