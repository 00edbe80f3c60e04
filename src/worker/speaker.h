/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Writes what the worker says, by a thread of its own: standard error may be a file on a file system that does not
 * answer, or a pipe that nobody reads, and neither commands nor heartbeats may wait for that.
 */
#pragma once

#include "worker/config.h"

/* Makes the picture that stands below the lines on a terminal of COLUMNS columns: lines with newlines between them, or
 * nothing.  COLUMNS 0: a line for a file, to be said from time to time.  Returns 0 if the terminal is another's now. */
typedef int speaker_draw_fn(void *ctx, unsigned columns, struct js_buf *text);

/* Starts the thread, which calls DRAW (may be NULL); after the signals were blocked.  Each line begins with WHO.  If
 * the thread can't be started, whoever says a line writes it. */
void speaker_begin(const char *who, speaker_draw_fn *draw, void *ctx);

/* Returns whether standard error is a terminal on which a line can be replaced. */
int speaker_on_terminal(void);

/* Says a line.  Control characters become '?'.  speaker_put says LINE as it is, and adds the newline. */
void speaker_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void speaker_put(struct js_buf *line);

/* Erases the picture, and draws none (HIDE 1), while something else writes to the terminal.  Waits for what is being
 * written.  Returns whether there are pictures, which are drawn from the beginning of a line. */
int speaker_hide(int hide);

/* A jobstack_log_fn that says what the struct config in CTX wants to hear. */
void speaker_log(void *ctx, enum jobstack_level level, const char *text);

/* Waits until all is written, but at most five seconds.  Returns 1 if something is still not written: then the
 * thread stays, and the process can only be ended with _exit. */
int speaker_end(void);
