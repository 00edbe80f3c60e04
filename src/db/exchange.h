/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One try at a request: what is sent, what came back, and what an error in it means.  For this layer's files only.
 */
#pragma once

#include "db/fault.h"
#include "db/request.h"
#include "db/row.h"
#include "db/state.h"

/* What is to be sent.  PACKET NULL: the request has its text already. */
struct js_exchange {
	const struct js_sql *packet, *tail;
	int transaction;
	const char *load; /* what the packet's LOAD gets; NULL: it has none */
	size_t load_len;
	js_row_fn *fn; /* gets the rows of the packet's statements; may be NULL */
	void *ctx;
	struct js_request request;
	/* how the last try ended */
	unsigned number, answered; /* the error's number, 0 for none; how many answers came before it */
	unsigned stopped, skipped; /* tries that a guard stopped; that the guard of the sum did */
	enum js_fault fault;
};

/* Writes the request for the server that DB is connected to, unless it is there already.  0; or a negative code: no
 * memory, or it is more than that server takes. */
int js_exchange_write(struct js_db *db, struct js_exchange *x, struct jobstack_error *error);

/* Sends it once and reads all its answers; sets how it ended, and db->last_errno and db->last_error. */
void js_exchange_send(struct js_db *db, struct js_exchange *x);

/* After an error: leaves the connection without a transaction, or without a connection. */
void js_exchange_roll_back(struct js_db *db, struct js_exchange *x);

/* Returns whether the transaction may have been committed, though it ended with an error. */
int js_exchange_may_be_committed(const struct js_exchange *x);
