/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A growable string of bytes.  It remembers that memory ran out, so that a long run of appends is checked once.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

struct js_buf {
	char *data; /* NUL-terminated once anything was added; else NULL */
	size_t len, room;
	int failed; /* memory ran out: the content is not whole */
};

/* Appends.  After a failure these do nothing. */
void js_buf_add(struct js_buf *buf, const void *data, size_t len);
void js_buf_str(struct js_buf *buf, const char *text);
void js_buf_char(struct js_buf *buf, char c);
void js_buf_u64(struct js_buf *buf, uint64_t value); /* in decimal */
void js_buf_i64(struct js_buf *buf, int64_t value);
void js_buf_hex(struct js_buf *buf, const char digits[16], const void *data, size_t len); /* two DIGITS for each byte */
void js_buf_printf(struct js_buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Reserves memory for LEN more bytes. Returns where they go, or NULL; the caller adds to len what it wrote. */
char *js_buf_room(struct js_buf *buf, size_t len);

/* Empties it, keeping its memory; frees its memory. */
void js_buf_reset(struct js_buf *buf);
void js_buf_free(struct js_buf *buf);

/* Frees what had a secret in it. */
void js_buf_wipe(struct js_buf *buf);

/* Appends TEXT as one word for a shell: in single quotes; js_buf_shell_word: as it is where it needs no quotes. */
void js_buf_shell_quote(struct js_buf *buf, const char *text, size_t len);
void js_buf_shell_word(struct js_buf *buf, const char *text, size_t len);
