/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Writes what the worker says, by a thread of its own: standard error may be a file on a file system that does not
 * answer, or a pipe that nobody reads, and neither commands nor heartbeats may wait for that.
 */
#pragma once

#include "worker/config.h"

/* Starts the thread; after the signals were blocked.  If it can't be started, whoever says a line writes it. */
void speaker_begin(void);

/* Says a line.  Control characters become '?'. */
void speaker_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A jobstack_log_fn that says what the struct config in CTX wants to hear. */
void speaker_log(void *ctx, enum jobstack_level level, const char *text);

/* Waits until all is written, but at most five seconds.  Returns 1 if something is still not written: then the
 * thread stays, and the process can only be ended with _exit. */
int speaker_end(void);
