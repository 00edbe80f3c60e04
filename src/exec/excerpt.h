/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What is kept of a stream that a command has printed: all of it or, beyond a limit, its beginning and its end, with a
 * line in between that says how much is left out.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define JS_KEPT_MARK 64	  /* size of that line with its NUL */
#define JS_KEPT_TAIL 4096 /* the most that js_kept_tail returns */

/* Pieces of the file FD.  HEAD bytes at HEAD_AT, the line, TAIL bytes at TAIL_AT; without the last two it is all there
 * was. */
struct js_kept {
	int fd;
	int64_t head_at, head, tail_at, tail;
	char mark[JS_KEPT_MARK];
	size_t mark_len;
};

/* Chooses what to keep of the LEN bytes of FD from FROM on: at most LIMIT and the line (0: everything), whole lines if
 * that costs little.  What lies between the first half of LIMIT and GONE, a place in the file, can't be read any more
 * (GONE 0: everything can).  Returns 0, or -1 with errno. */
int js_kept_choose(struct js_kept *kept, int fd, int64_t from, int64_t len, int64_t limit, int64_t gone);

/* Returns how long that is. */
int64_t js_kept_len(const struct js_kept *kept);

/* Writes all of it to OUT, waiting if OUT does not block: at *AT, which is moved on, or where OUT stands if AT is NULL.
 * Returns 0; 1 if the file has become shorter meanwhile; -1 with errno. */
int js_kept_copy(const struct js_kept *kept, int out, int64_t *at);

/* Calls FN with each block of it; FN returns 0 to go on.  Results as js_kept_copy, and -1 if FN did not return 0. */
int js_kept_each(const struct js_kept *kept, int (*fn)(void *ctx, const char *text, size_t len), void *ctx);

/* Reads the last byte of it into *LAST.  Results as there; there must be one. */
int js_kept_last(const struct js_kept *kept, char *last);

/* Reads the end of the stream, at most JS_KEPT_TAIL bytes, from the beginning of a line if one begins there.  Returns
 * how many; 0 also if it can't be read. */
size_t js_kept_tail(const struct js_kept *kept, char to[JS_KEPT_TAIL]);

/* Does the same for the whole file PATH; 0 if it is no regular file. */
size_t js_kept_tail_of(const char *path, char to[JS_KEPT_TAIL]);
