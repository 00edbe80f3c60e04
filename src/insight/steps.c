/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How much time workers lose by waiting for their steps.  Promise: nothing is written, and no table but the server's
 * own is read.
 */
#include "insight/steps.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NOTICEABLE 0.05

static int is_on(const char *value)
{
	return strcasecmp(value, "ON") == 0 || strcmp(value, "1") == 0;
}

static void wait_for(struct insight_server *s, enum insight_commit commit, int is_so)
{
	if (is_so && s->commit < commit)
		s->commit = commit;
}

void insight_server_fact(struct insight_server *s, const char *name, const char *value)
{
	if (strcmp(name, "cpu.slowdown") == 0)
		s->slowdown = strtod(value, NULL);
	else if (strcmp(name, "roundtrip_us") == 0)
		s->trip_us = strtoll(value, NULL, 10);
	else if (strcmp(name, "variable.innodb_flush_log_at_trx_commit") == 0)
		wait_for(s, INSIGHT_LOG, strcmp(value, "1") == 0);
	else if (strcmp(name, "variable.log_bin") == 0) /* it comes before sync_binlog: they are sorted */
		s->binlog = is_on(value);
	else if (strcmp(name, "variable.sync_binlog") == 0)
		wait_for(s, INSIGHT_BINLOG, s->binlog && strcmp(value, "1") == 0);
	else if (strncmp(name, "status.rpl_semi_sync_", strlen("status.rpl_semi_sync_")) == 0)
		wait_for(s, INSIGHT_REPLICA, is_on(value));
	else if (strcmp(name, "variable.wsrep_on") == 0)
		wait_for(s, INSIGHT_CLUSTER, is_on(value));
	else if (strcmp(name, "variable.group_replication_group_name") == 0)
		wait_for(s, INSIGHT_CLUSTER, value[0] != '\0');
}

static int take_fact(void *ctx, const char *name, const char *value)
{
	insight_server_fact(ctx, name, value);
	return 0;
}

int insight_steps_read(struct jobstack *handle, const struct jobstack_worker_row *worker, size_t n,
		       struct insight_steps *steps, struct jobstack_error *error)
{
	double slots = 0, waiting = 0, us = 0, commit_us = 0, told = 0;

	*steps = (struct insight_steps){0};
	for (size_t i = 0; i < n; i++) {
		if (worker[i].step_us == 0)
			continue;
		told++;
		slots += (double)worker[i].slots;
		waiting += (double)worker[i].slots * (double)worker[i].waiting / 1000;
		us += (double)worker[i].step_us;
		commit_us += (double)worker[i].commit_us;
	}
	if (told == 0 || waiting < NOTICEABLE * slots)
		return JOBSTACK_NOTHING;
	steps->waiting = waiting / slots;
	steps->us = (int64_t)(us / told);
	steps->commit_us = (int64_t)(commit_us / told);
	return jobstack_server_facts(handle, take_fact, &steps->server, error);
}
