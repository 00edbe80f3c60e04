/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The living workers of a stack.  Promise: one query, however many there are.
 */
#include "core/core.h"

#include <stdlib.h>
#include <string.h>

/* What jobstack_suspect left, if it was said at this seq. */
static const char *suspicion_at(const char *text, uint64_t seq)
{
	char *end;

	if (text == NULL || strtoull(text, &end, 10) != seq || *end != ' ')
		return NULL;
	return end + 1;
}

/* Which of "entry:attempt:start,..." began first, and how long ago. */
static void find_longest(const char *running, int64_t now_us, struct jobstack_worker_row *w)
{
	w->longest_us = -1;
	while (running != NULL && *running != '\0') {
		char *end;
		uint64_t entry = strtoull(running, &end, 10);
		int64_t start = *end == ':' && (end = strchr(end + 1, ':')) != NULL ? strtoll(end + 1, NULL, 10) : -1;

		if (start > 0 && now_us - start > w->longest_us) {
			w->longest = entry;
			w->longest_us = now_us - start;
		}
		running = strchr(running, ',');
		running = running == NULL ? NULL : running + 1;
	}
}

struct workers_call {
	jobstack_worker_fn *fn;
	void *ctx;
	int stopped;
};

static void take_worker_row(void *ctx, const struct js_row *row)
{
	struct workers_call *call = ctx;
	struct jobstack_worker_row w;
	unsigned c = 0;

	if (row == NULL || call->stopped)
		return;
	memset(&w, 0, sizeof(w));
	w.worker = js_row_u64(row, c++);
	w.node = row->col[c++];
	w.host = row->col[c++];
	w.boot = row->col[c++];
	w.user = row->col[c++];
	w.cluster = row->col[c++];
	w.job = row->col[c++];
	w.array_job = row->col[c++];
	w.array_task = row->col[c++];
	w.step = row->col[c++];
	w.log = row->col[c++];
	w.pid = js_row_u64(row, c++);
	w.pid_start = js_row_opt(row, c++);
	w.job_start_us = js_row_time(row, c++);
	w.seq = js_row_u64(row, c++);
	w.slots = js_row_u64(row, c++);
	w.done = js_row_u64(row, c++);
	w.dead = js_row_u64(row, c++);
	w.lease_us = js_row_i64(row, c++);
	w.silent_us = js_row_i64(row, c++);
	w.age_us = js_row_i64(row, c++);
	w.by_script = js_row_u64(row, c++) != 0;
	w.running = js_row_u64(row, c++);
	w.suspicion = suspicion_at(row->col[c++], w.seq);
	find_longest(row->col[c], js_row_time(row, c + 1), &w);
	c += 2;
	if (w.by_script && row->col[c] != NULL) { /* one pop, one entry: it has run since */
		w.longest = js_row_u64(row, c);
		w.longest_us = w.age_us;
	}
	call->stopped = call->fn(call->ctx, &w) != 0;
}

int jobstack_workers(struct jobstack *handle, const char *stack, jobstack_worker_fn *fn, void *ctx,
		     struct jobstack_error *error)
{
	struct workers_call call = {fn, ctx, 0};
	struct js_stack s;
	int status = js_stack_find(handle, stack, &s, error);

	if (status != 0)
		return status;
	status = js_handle_ask(
		handle, take_worker_row, &call, error,
		"SELECT w.worker_id,w.node,w.host,w.boot,w.user,w.slurm_cluster,w.slurm_job,w.slurm_array_job,"
		"w.slurm_array_task,w.slurm_step,w.log,w.pid,w.pid_start,w.slurm_start,w.seq,w.slots,w.done,w.dead,"
		"w.lease_us,TIMESTAMPDIFF(MICROSECOND,w.beat,UTC_TIMESTAMP(6)),"
		"TIMESTAMPDIFF(MICROSECOND,w.started,UTC_TIMESTAMP(6)),w.kind,"
		"COALESCE(c.n,0),"
		"w.reason,w.running,UTC_TIMESTAMP(6),IF(w.kind=1,(SELECT IF(d.ids IS "
		"NULL,d.lo,CONV(LEFT(d.ids,10),16,10)) FROM claim d FORCE INDEX(PRIMARY) WHERE d.stack_id=w.stack_id "
		"AND d.worker_id=w.worker_id AND d.lo=d.hi LIMIT 1),NULL) "
		/* the claims in one go along the key: to ask for each of a thousand workers' takes thrice as long */
		"FROM worker w LEFT JOIN (SELECT worker_id,SUM(open) n FROM claim FORCE INDEX(PRIMARY) WHERE "
		"stack_id=%u GROUP BY worker_id) c ON c.worker_id=w.worker_id WHERE w.stack_id=%u AND w.ended IS NULL "
		"ORDER BY w.worker_id",
		s.id, s.id);
	return status == 0 && call.stopped ? JOBSTACK_ESTOPPED : status;
}
