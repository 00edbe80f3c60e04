/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Blocks that the server has parsed before: for this layer's files only.
 *
 * A quarter of what a step costs a MariaDB server is to parse its block (docs/PERFORMANCE.md).  A block that a
 * connection sends again, with other values, is therefore prepared, and from then on only the values are sent:
 * `EXECUTE js_commit_0_55ad... USING 141,x'A5'`.  Where the server can't do that, and where it fails for whatever
 * reason, the whole text goes, as it does the first time.
 */
#pragma once

#include "db/request.h"
#include "db/state.h"

/* Returns the text to send for REQUEST: its own, or one in BUF with prepared blocks. */
const struct js_buf *js_prepared_text(struct js_db *db, const struct js_request *request, struct js_buf *buf);

/* Returns whether error NUMBER says that the server has lost what was prepared (a proxy that changes the connection, a
 * table that was altered).  Then nothing is sent that way any more, and the request may be sent again. */
int js_prepared_is_lost(struct js_db *db, unsigned number);

/* The connection has ended, and with it what was prepared. */
void js_prepared_end(struct js_db *db);
