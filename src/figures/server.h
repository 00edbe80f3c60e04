/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a database server says of itself (jobstack_server_facts), in memory.
 */
#pragma once

#include "base/buf.h"
#include "jobstack/jobstack.h"

/* Start it as {0}; end it with figures_server_free. */
struct figures_server {
	struct js_buf facts; /* NAME=VALUE, and so on, each ended by a NUL */
};

/* What a commit waits for: nothing, InnoDB's log, the binary log, a replica, the other servers of a cluster. */
enum figures_commit { FIGURES_NOTHING, FIGURES_LOG, FIGURES_BINLOG, FIGURES_REPLICA, FIGURES_CLUSTER };

/* Reads the facts.  0, or a JOBSTACK_E code with ERROR filled. */
int figures_server_read(struct figures_server *server, struct jobstack *handle, struct jobstack_error *error);
void figures_server_free(struct figures_server *server);

/* Return the value of NAME as text or as a number; NONE: the server did not say it. */
const char *figures_server_text(const struct figures_server *server, const char *name, const char *none);
double figures_server_number(const struct figures_server *server, const char *name, double none);

/* Returns whether a value of NAME, which may have several, is VALUE; whether NAME is switched on. */
int figures_server_is(const struct figures_server *server, const char *name, const char *value);
int figures_server_is_on(const struct figures_server *server, const char *name);

enum figures_commit figures_server_commit(const struct figures_server *server);
