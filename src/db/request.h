/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What goes over the wire for a packet, and what answers it has: for this layer's files only.
 *
 * MariaDB takes compound statements outside of stored programs.  There small statements go as one block: they are run
 * without an answer to each, only those with rows have one, and then the block; with less to send, and to wake for, a
 * step costs the server a third less (docs/PERFORMANCE.md).  A large statement goes by itself, between two blocks,
 * since a block's statements are copied in the server.
 */
#pragma once

#include "db/sql.h"

/* A kill can end a packet between two of its statements, and the answer before still says that more will follow.  Then
 * the client waits for the next answer, and the server for the next command, in the transaction.  So a packet of
 * several statements begins with the first of these and ends with the second: a server that waits in the middle ends
 * the connection, and its transaction, after two seconds.  @js_idle is for how long a connection may be idle otherwise,
 * in seconds; NULL: ten minutes.  The end of a packet applies it. */
#define JS_REQUEST_HURRY "SET SESSION wait_timeout=2;"
#define JS_REQUEST_REST "SET SESSION wait_timeout=CAST(COALESCE(@js_idle,600) AS UNSIGNED);"

/* One answer of the server. */
struct js_answer {
	enum { JS_ANSWER_QUIET, JS_ANSWER_STMT, JS_ANSWER_BLOCK } kind;
	unsigned stmt;	  /* STMT: the statement's number for the caller */
	int guard;	  /* STMT: it is a guard */
	unsigned columns; /* STMT: so many each row must have */
};

/* What is sent for a packet to one kind of server.  Start it with zeros; free it with js_request_free. */
struct js_request {
	struct js_buf text, list; /* list: one struct js_answer per answer; none: they are not known beforehand */
	struct js_buf values;	  /* one struct js_sql_value for each value in a block */
	struct js_buf spans;	  /* one struct js_sql_value for each block: its first byte, the byte behind it */
	struct js_buf end;	  /* what is sent after an error and the ROLLBACK, so that nothing is held */
	unsigned n;
	unsigned commit_from, commit_to; /* the answers among which the COMMIT's is; both n: there is none */
	int blocks;			 /* it was written for a server that takes blocks */
	int cluster;			 /* ... for one of a cluster whose servers all take writes */
};

/* Writes PACKET with a transaction around it, and TAIL (may be NULL) behind.  DATABASE is its name, for the names of
 * user locks, or NULL for a server of a cluster, where a user lock excludes nobody.  The former content is forgotten.
 * If memory ran out, text.failed is set. */
void js_request_transaction(struct js_request *e, const struct js_sql *packet, const struct js_sql *tail, int blocks,
			    const char *database);

/* Writes PACKET as it is. */
void js_request_plain(struct js_request *e, const struct js_sql *packet);

const struct js_answer *js_request_answer(const struct js_request *e, unsigned number);

void js_request_free(struct js_request *e);
