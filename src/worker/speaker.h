/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Writes what the worker says, by a thread of its own: standard error may be a file on a file system that does not
 * answer, or a pipe that nobody reads, and neither commands nor the heart may wait for that.
 */
#ifndef JS_WORKER_SPEAKER_H
#define JS_WORKER_SPEAKER_H

/* Starts the thread, which calls WRITE for each line; after the signals were blocked.  0, or -1: it could not be
 * started, and speaker_say takes nothing. */
int speaker_begin(void (*write)(const char *text));

/* Takes a line.  -1: it was not taken, as there is no thread or no memory; the caller writes it. */
int speaker_say(const char *text);

/* Waits until all is written, but at most five seconds.  Returns 1 if something is still not written: then the
 * thread stays, and the process can only be ended with _exit. */
int speaker_end(void);

#endif
