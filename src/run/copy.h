/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Copies bytes from file to file, within the kernel where it can.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Copies LEN bytes of the file IN, from FROM on, to OUT: at *AT, which it moves on, or where OUT stands if AT is NULL
 * (a pipe, a terminal, a file opened to append).  Waits for an OUT that does not block.  Returns the bytes copied,
 * fewer than LEN only if IN ends before; or -1 with errno, and then part of it may be copied. */
int64_t js_copy(int in, int64_t from, int64_t len, int out, int64_t *at);

/* Reads LEN bytes of the file IN, from FROM on.  Returns how many there were, or -1 with errno. */
int64_t js_copy_read(int in, int64_t from, void *data, size_t len);
