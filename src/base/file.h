/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Small files read whole and written whole, and random bytes.
 */
#pragma once

#include "base/buf.h"

#include <stdint.h>
#include <sys/types.h>

/* Appends the whole file to BUF.  Returns 0, or -1 with errno. */
int js_file_read(const char *path, struct js_buf *buf);

/* Puts a file with this content in PATH's place at once (a temporary beside it, fsync, rename): a reader sees the old
 * one or the new one.  Returns 0, or -1 with errno. */
int js_file_replace(const char *path, mode_t mode, const void *data, size_t len);

/* Makes PATH and the directories above it.  One that is there already is fine.  Returns 0, or -1 with errno. */
int js_file_mkdirs(const char *path, mode_t mode);

/* Checks whether the directory PATH, there or to be made, could be written to.  Returns 0, or -1 with errno. */
int js_file_can_make(const char *path);

/* Makes the directories above PATH, as js_file_mkdirs does. */
int js_file_make_parent(const char *path, mode_t mode);

/* Makes the names in the directory DIR safe on the disk, unless its file system does that by itself.  0; -1 with errno;
 * 1 with errno if it can't be opened. */
int js_file_sync_dir(const char *dir);

/* Writes all of it, continuing after a short write or EINTR, and waits for a descriptor that does not block;
 * js_file_write_at writes at *AT, which it advances, or at the file position if AT is NULL.  Returns 0, or -1 with
 * errno. */
int js_file_write_at(int fd, const void *data, size_t len, int64_t *at);
int js_file_write_all(int fd, const void *data, size_t len);

/* Closes *FD unless it is -1, and makes it -1.  Keeps errno. */
void js_file_close(int *fd);

/* Makes sure that no later open returns the number of a closed standard stream: a connection to a server with the
 * number of standard output would receive what is printed. Reading from or writing to such a stream fails, as before.
 */
void js_file_hold_streams(void);

/* Fills DATA with random bytes; there is no failure on a kernel since 3.17. */
void js_file_random(void *data, size_t len);

/* Fills TEXT with DIGITS random hexadecimal digits, and a NUL. */
void js_file_random_hex(char *text, size_t digits);
