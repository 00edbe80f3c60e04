/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The session on a connection, for this layer's files only: its settings, and what the server says about itself.
 */
#pragma once

#include "db/state.h"

#define JS_SESSION_CROWDED_US (60 * INT64_C(1000000)) /* how long a shortage that was seen is assumed to last */

/* Sets the new connection MY up, reads the server's clock, and how many of its connections are taken.  Returns 0, or an
 * error's number, with its text in db->last_error: JS_FAULT_READ_ONLY for a server that does not take writes. */
unsigned js_session_begin(struct js_db *db, MYSQL *my);

/* Closes the connection, but only while the server's connections are short.  Looks whether they are, every few
 * seconds. */
void js_session_end_if_crowded(struct js_db *db);

/* Closes the connection, if there is one; the next packet connects again. */
void js_session_end(struct js_db *db);
