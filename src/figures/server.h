/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a database server says of itself (jobstack_server_facts), in memory.
 */
#pragma once

#include "base/buf.h"
#include "jobstack/jobstack.h"

/* Start it as {0}; end it with insight_server_free. */
struct insight_server {
	struct js_buf facts; /* NAME=VALUE, and so on, each ended by a NUL */
};

/* What a commit waits for: nothing, InnoDB's log, the binary log, a replica, the other servers of a cluster. */
enum insight_commit { INSIGHT_NOTHING, INSIGHT_LOG, INSIGHT_BINLOG, INSIGHT_REPLICA, INSIGHT_CLUSTER };

/* Reads the facts.  0, or a JOBSTACK_E code with ERROR filled. */
int insight_server_read(struct insight_server *server, struct jobstack *handle, struct jobstack_error *error);
void insight_server_free(struct insight_server *server);

/* The value of NAME as text or as a number; NONE: the server did not say it. */
const char *insight_server_text(const struct insight_server *server, const char *name, const char *none);
double insight_server_number(const struct insight_server *server, const char *name, double none);

/* Returns whether a value of NAME, which may have several, is VALUE; whether NAME is switched on. */
int insight_server_is(const struct insight_server *server, const char *name, const char *value);
int insight_server_is_on(const struct insight_server *server, const char *name);

enum insight_commit insight_server_commit(const struct insight_server *server);
