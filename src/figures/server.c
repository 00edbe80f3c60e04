/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a database server says of itself.
 */
#include "figures/server.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int append_fact(void *ctx, const char *name, const char *value)
{
	struct js_buf *facts = ctx;

	js_buf_printf(facts, "%s=%s", name, value);
	js_buf_char(facts, '\0');
	return facts->failed;
}

int figures_server_read(struct figures_server *s, struct jobstack *handle, struct jobstack_error *error)
{
	int status = jobstack_server_facts(handle, append_fact, &s->facts, error);

	if (!s->facts.failed)
		return status;
	js_error_clear(error);
	return js_error_memory(error);
}

void figures_server_free(struct figures_server *s)
{
	js_buf_free(&s->facts);
}

/* Returns the next value of NAME behind the value AFTER (NULL: the first one), or NULL. */
static const char *next_value(const struct figures_server *s, const char *name, const char *after)
{
	const char *at = after == NULL ? s->facts.data : after + strlen(after) + 1, *end = s->facts.data + s->facts.len;
	size_t len = strlen(name);

	for (; at != NULL && at < end; at += strlen(at) + 1)
		if (strncmp(at, name, len) == 0 && at[len] == '=')
			return at + len + 1;
	return NULL;
}

const char *figures_server_text(const struct figures_server *s, const char *name, const char *none)
{
	const char *value = next_value(s, name, NULL);

	return value != NULL ? value : none;
}

double figures_server_number(const struct figures_server *s, const char *name, double none)
{
	const char *value = figures_server_text(s, name, "");
	char *end;
	double n = strtod(value, &end);

	return end == value || *end != '\0' ? none : n;
}

int figures_server_is(const struct figures_server *s, const char *name, const char *value)
{
	const char *one = next_value(s, name, NULL);

	while (one != NULL && strcasecmp(one, value) != 0)
		one = next_value(s, name, one);
	return one != NULL;
}

int figures_server_is_on(const struct figures_server *s, const char *name)
{
	return figures_server_is(s, name, "ON") || figures_server_is(s, name, "1");
}

/* The longest wait is asked for first: a cluster or a replica is waited for beside the disks. */
enum figures_commit figures_server_commit(const struct figures_server *s)
{
	if (figures_server_is_on(s, "variable.wsrep_on") ||
	    *figures_server_text(s, "variable.group_replication_group_name", "") != '\0')
		return FIGURES_CLUSTER;
	if (figures_server_is_on(s, "status.rpl_semi_sync_master_status") ||
	    figures_server_is_on(s, "status.rpl_semi_sync_source_status"))
		return FIGURES_REPLICA;
	if (figures_server_is_on(s, "variable.log_bin") && figures_server_is(s, "variable.sync_binlog", "1"))
		return FIGURES_BINLOG;
	return figures_server_is(s, "variable.innodb_flush_log_at_trx_commit", "1") ? FIGURES_LOG : FIGURES_NOTHING;
}
