/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Packets: SQL text made only of literals of this program, numbers, and hexadecimal literals. Nothing from outside can
 * become SQL: no function adds other text.
 */
#pragma once

#include "base/buf.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* What a statement is. */
enum {
	JS_SQL_ROWS = 1,     /* it answers with rows */
	JS_SQL_GUARD = 2,    /* it may stop the packet */
	JS_SQL_BLOCKS = 4,   /* it is sent only to a server that takes blocks (see request.h), in one */
	JS_SQL_SINGLE = 8,   /* it is sent only to one that does not */
	JS_SQL_CLUSTER = 16, /* it is sent only to a cluster whose servers all take writes */
};

/* A statement of a packet. */
struct js_sql_mark {
	size_t end; /* where the statement ends in the text */
	unsigned flags;
	uint64_t counted; /* so many rows it adds to the packet's sum (js_sql_count) */
};

/* Where a value stands in a text: what differs from one use of a statement to the next. */
struct js_sql_value {
	size_t at, end;
};

/* A packet: statements that go to the server together. */
struct js_sql {
	struct js_buf text, marks; /* marks: one struct js_sql_mark per statement */
	struct js_buf values;	   /* one struct js_sql_value for each */
	unsigned statements;	   /* complete ones */
	unsigned only;		   /* of the next one */
	int counts;		   /* some statements are counted */
	int races; /* it is ordinary that a guard stops it, because others are faster; any other packet is sent again
		    * then, in case the server has skipped the statement that the guard looked at */
	uint64_t lock_of, lock; /* see js_sql_user_lock; 0: none */
	unsigned lock_wait;
};

/* Appends to the packet's last statement.  FORMAT is text of the program with:
 *   %u  uint64_t            %d  int64_t            %n  int64_t, negative: NULL
 *   %x  const void *, size_t: a literal x'...' (NULL pointer: NULL)
 *   %k  const unsigned char *: the same, of the 16 bytes of a token
 *   %s  const char *: the string as a literal x'...' (NULL pointer: NULL)
 *   %t  int64_t: microseconds since 1970 UTC as a DATETIME literal, negative: NULL
 * A semicolon at the end of FORMAT completes the statement.  Every argument must have exactly the type named. */
void js_sql_add(struct js_sql *sql, const char *format, ...);

/* The same, and the statement is completed; gives its number in the packet, from 0, which its rows carry. */
unsigned js_sql_stmt(struct js_sql *sql, const char *format, ...);

unsigned js_sql_vstmt(struct js_sql *sql, const char *format, va_list args);

/* Appends WORDS, the N numbers with commas between them, and a ")". */
void js_sql_list(struct js_sql *sql, const char *words, const uint64_t *numbers, size_t n);

/* Appends N numbers, each as ",%n" does. */
void js_sql_numbers(struct js_sql *sql, const int64_t *values, size_t n);

/* Raises the server's error 1690 and so stops the packet if the statement before changed (or matched) fewer than N
 * rows.  At most four in a packet. */
#define js_sql_guard(sql, n) js_sql_guard_set((sql), (n), NULL)

/* The same, in one statement with other assignments to user variables. */
void js_sql_guard_set(struct js_sql *sql, uint64_t n, const char *assignments);

/* Adds a statement, and a guard that it changes (or matches) at least one row. */
#define js_sql_must(sql, ...)                                                                                          \
	do {                                                                                                           \
		(void)js_sql_stmt((sql), __VA_ARGS__);                                                                 \
		js_sql_guard_set((sql), 1, NULL);                                                                      \
	} while (0)

/* Makes sure that the statement before is noticed if it does nothing: it changes (or matches) exactly N rows.  MariaDB
 * skips a statement in a block, without an error, if KILL QUERY or a time limit arrives at the wrong moment, and goes
 * on to the COMMIT (DESIGN.md, "Skipped statements").  So the rows are added up, and a guard before the COMMIT compares
 * the sum.  If it differs, the transaction runs again.  In the ELSE of an IF in which the same is counted, N is 0: it
 * is added, but not expected once more. */
void js_sql_count(struct js_sql *sql, uint64_t n);

/* The next statement is JS_SQL_BLOCKS, JS_SQL_SINGLE or JS_SQL_CLUSTER; with JS_SQL_GUARD it is a guard as well. */
void js_sql_only(struct js_sql *sql, unsigned flags);

/* A piece of a statement that holds others, such as "IF ... THEN "; JS_SQL_BLOCKS.  It is numbered as they are. */
void js_sql_piece(struct js_sql *sql, const char *text);

/* Before it locks any row, the transaction asks for user lock N (from 1) of OF, and holds it until the COMMIT.  If the
 * lock isn't granted within SECONDS, the transaction proceeds without it: it only keeps too many from waiting for the
 * same row at once, and correctness does not depend on it. */
void js_sql_user_lock(struct js_sql *sql, uint64_t of, uint64_t n, unsigned seconds);

const struct js_sql_mark *js_sql_mark(const struct js_sql *sql, unsigned number);

void js_sql_free(struct js_sql *sql);
