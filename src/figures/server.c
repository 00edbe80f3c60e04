/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What a database server says of itself.
 */
#include "figures/server.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int keep_fact(void *ctx, const char *name, const char *value)
{
	struct js_buf *facts = ctx;

	js_buf_printf(facts, "%s=%s", name, value);
	js_buf_char(facts, '\0');
	return facts->failed;
}

int insight_server_read(struct insight_server *s, struct jobstack *handle, struct jobstack_error *error)
{
	int status = jobstack_server_facts(handle, keep_fact, &s->facts, error);

	if (!s->facts.failed)
		return status;
	js_error_clear(error);
	return js_error_memory(error);
}

void insight_server_free(struct insight_server *s)
{
	js_buf_free(&s->facts);
}

/* The next value of NAME behind the value AFTER (NULL: the first one), or NULL. */
static const char *next_value(const struct insight_server *s, const char *name, const char *after)
{
	const char *at = after == NULL ? s->facts.data : after + strlen(after) + 1, *end = s->facts.data + s->facts.len;
	size_t len = strlen(name);

	for (; at != NULL && at < end; at += strlen(at) + 1)
		if (strncmp(at, name, len) == 0 && at[len] == '=')
			return at + len + 1;
	return NULL;
}

const char *insight_server_text(const struct insight_server *s, const char *name, const char *none)
{
	const char *value = next_value(s, name, NULL);

	return value != NULL ? value : none;
}

double insight_server_number(const struct insight_server *s, const char *name, double none)
{
	const char *value = insight_server_text(s, name, "");
	char *end;
	double n = strtod(value, &end);

	return end == value || *end != '\0' ? none : n;
}

int insight_server_is(const struct insight_server *s, const char *name, const char *value)
{
	const char *one = next_value(s, name, NULL);

	while (one != NULL && strcasecmp(one, value) != 0)
		one = next_value(s, name, one);
	return one != NULL;
}

int insight_server_is_on(const struct insight_server *s, const char *name)
{
	return insight_server_is(s, name, "ON") || insight_server_is(s, name, "1");
}

enum insight_commit insight_server_commit(const struct insight_server *s)
{
	if (insight_server_is_on(s, "variable.wsrep_on") ||
	    *insight_server_text(s, "variable.group_replication_group_name", "") != '\0')
		return INSIGHT_CLUSTER;
	if (insight_server_is_on(s, "status.rpl_semi_sync_master_status") ||
	    insight_server_is_on(s, "status.rpl_semi_sync_source_status"))
		return INSIGHT_REPLICA;
	if (insight_server_is_on(s, "variable.log_bin") && insight_server_is(s, "variable.sync_binlog", "1"))
		return INSIGHT_BINLOG;
	return insight_server_is(s, "variable.innodb_flush_log_at_trx_commit", "1") ? INSIGHT_LOG : INSIGHT_NOTHING;
}
