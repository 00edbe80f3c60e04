/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Packets: SQL text that holds only what stands in this program, numbers, and hexadecimal literals.  Nothing that came
 * from outside can become SQL: there is no way to add text.
 */
#ifndef JS_DB_SQL_H
#define JS_DB_SQL_H

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

#define JS_SQL_ROWS 8

/* A packet: statements that go to the server together. */
struct js_sql {
	struct js_buf text;
	unsigned statements; /* complete ones */
	unsigned guards[4], guards_n; /* the numbers of those that are guards */
	unsigned rows[JS_SQL_ROWS], rows_n; /* the numbers of those that answer with rows; rows_n may count more than are here */
	size_t begin; /* where the last statement begins */
};

/* Appends to the packet's last statement.  FORMAT is text of the program with:
 *   %u  uint64_t            %d  int64_t            %n  int64_t, negative: NULL
 *   %x  const void *, size_t: a literal x'...' (NULL pointer: NULL)
 *   %s  const char *: the string as a literal x'...' (NULL pointer: NULL)
 *   %t  int64_t: microseconds since 1970 UTC as a DATETIME literal, negative: NULL
 * A semicolon at the end of FORMAT completes the statement.  Every argument must have exactly the type named. */
void js_sql_add(struct js_sql *sql, const char *format, ...);

/* The same, and the statement is completed; gives its number in the packet, from 0, which its rows carry. */
unsigned js_sql_stmt(struct js_sql *sql, const char *format, ...);

/* Raises the server's error 1690 and so stops the packet if the statement before changed (or matched) fewer than N rows.  At
 * most four in a packet. */
void js_sql_guard(struct js_sql *sql, uint64_t n);

/* The same, in one statement with other assignments to user variables. */
void js_sql_guard_set(struct js_sql *sql, uint64_t n, const char *assignments);

/* Is statement NUMBER of the packet a guard?  A 1690 of any other is a fault of ours, not an answer. */
int js_sql_is_guard(const struct js_sql *sql, unsigned number);

void js_sql_reset(struct js_sql *sql);
void js_sql_free(struct js_sql *sql);

#endif
