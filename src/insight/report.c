/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The figures of a report.
 */
#include "insight/report.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/num.h"
#include "insight/nodes.h"

#include <stdlib.h>

int insight_report_so_far(const struct insight_report *r)
{
	return insight_stack_left(&r->stack.s) > 0 && r->stack.s.state != JOBSTACK_CANCELLED;
}

uint64_t insight_report_workers(const struct insight_report *r)
{
	return r->wanted_us >= 0 ? insight_advice_workers(&r->advice, r->wanted_us) : 0;
}

size_t insight_report_histogram(const struct js_sketch *us, struct insight_bar bar[INSIGHT_BARS])
{
	static const int64_t s = JS_SECOND_US;
	const int64_t edge[INSIGHT_BARS + 1] = {0,	   1000,       2000,	   5000,	10000,	   20000,
						50000,	   100000,     200000,	   500000,	s,	   2 * s,
						5 * s,	   10 * s,     30 * s,	   60 * s,	120 * s,   300 * s,
						600 * s,   1800 * s,   3600 * s,   7200 * s,	18000 * s, 43200 * s,
						86400 * s, 172800 * s, 604800 * s, 2592000 * s, INT64_MAX};
	size_t n = 0;

	for (; n < INSIGHT_BARS && us->n > 0 && (uint64_t)edge[n] <= us->max; n++)
		bar[n] = (struct insight_bar){edge[n], edge[n + 1],
					      js_sketch_between(us, (uint64_t)edge[n], (uint64_t)edge[n + 1] - 1)};
	return n;
}

uint64_t insight_report_request(const struct insight_report *r, struct insight_advice *a, int64_t *within_us)
{
	static const int64_t minutes[] = {10, 60, 8 * 60, 24 * 60};
	uint64_t left = insight_report_so_far(r) ? insight_stack_left(&r->stack.s) : 0, workers = 0;

	*a = r->advice;
	*within_us = r->wanted_us;
	if (r->wanted_us >= 0)
		return insight_report_workers(r);
	for (size_t i = 0; i < 4 && (workers == 0 || workers > r->tally->node_n); i++) {
		*within_us = minutes[i] * 60 * JS_SECOND_US;
		insight_advice_make(a, r->tally, left, *within_us);
		workers = insight_advice_workers(a, *within_us);
	}
	if (workers == 0)
		*a = r->advice;
	return workers;
}

size_t insight_report_steps(const struct insight_report *r, struct insight_step *step, size_t n, int64_t *step_us)
{
	const struct jobstack_status *s = &r->stack.s;
	struct js_timeline l = r->tally->timeline;
	uint64_t all = s->pushed - s->moved, done = s->done + s->pruned, failed = 0, count = r->tally->n[JOBSTACK_DONE];
	size_t from, to;

	js_timeline_fit(&l, n);
	*step_us = l.step_us;
	if (js_timeline_range(&l, &from, &to) != 0)
		return 0;
	done -= count < done ? count : done; /* what was done before, or has no attempts any more */
	for (size_t i = from; i <= to; i++) {
		const uint64_t *c = l.count[i];
		double busy = (double)c[INSIGHT_BUSY] / (double)l.step_us;
		uint64_t rest, at_once = (uint64_t)(busy + .5);

		done += c[INSIGHT_DONE];
		failed += c[INSIGHT_FAILED];
		rest = all > done + failed ? all - done - failed : 0;
		step[i - from] = (struct insight_step){
			.from_us = (l.first + (int64_t)i) * l.step_us,
			.done = c[INSIGHT_DONE],
			.not_done = c[INSIGHT_NOT_DONE],
			.all_done = done,
			.failed = failed,
			.left = rest > at_once ? rest - at_once : 0,
			.at_work = rest > at_once ? at_once : rest,
			.running = busy,
			.workers = r->tally->worker_n < INSIGHT_WORKERS ? (double)c[INSIGHT_WORKER] / (double)l.step_us
									: -1,
		};
	}
	return to - from + 1;
}

static int read_attempts(struct jobstack *handle, const char *name, struct insight_report *r, struct insight_pass *pass,
			 struct jobstack_error *error)
{
	struct jobstack_export_options o = JOBSTACK_EXPORT_OPTIONS_INIT;

	o.since_us = r->since_us;
	o.within_us = r->within_us;
	o.no_datapath = 1;
	JS_TRY(insight_tally_read(handle, name, &o, pass, error));
	insight_nodes_judge(r->tally);
	insight_tally_end(r->tally);
	js_timeline_fit(&r->tally->timeline, INSIGHT_REPORT_STEPS);
	return 0;
}

static int keep_slowest_datapath(void *ctx, const struct jobstack_item *item)
{
	struct insight_report *r = ctx;

	for (size_t i = 0; i < r->tally->slow_n; i++)
		if (r->tally->slow[i].entry == item->entry && r->slow[i].len == 0)
			js_buf_add(&r->slow[i], item->datapath.data, item->datapath.len);
	return 0;
}

/* Only the slowest attempts need datapaths, so the pass over all attempts reads none. */
static int read_slowest_datapaths(struct jobstack *handle, const char *name, struct insight_report *r,
				  struct jobstack_error *error)
{
	uint64_t entry[INSIGHT_SLOWEST];

	for (size_t i = 0; i < r->tally->slow_n; i++)
		entry[i] = r->tally->slow[i].entry;
	qsort(entry, r->tally->slow_n, sizeof(entry[0]), js_num_order);
	return jobstack_datapaths(handle, name, entry, r->tally->slow_n, keep_slowest_datapath, r, error);
}

/* Called last, so that no view can show what is left out. */
static int leave_out(const struct insight_share *share, struct insight_report *r, struct jobstack_error *error)
{
	for (size_t i = 0; i < INSIGHT_SLOWEST && insight_share_hides(share, INSIGHT_SHARE_DATAPATHS); i++)
		js_buf_free(&r->slow[i]);
	if (insight_share_hides(share, INSIGHT_SHARE_DATAPATHS))
		js_buf_free(&r->stack.cwd);
	if (insight_share_hides(share, INSIGHT_SHARE_MESSAGES))
		js_buf_free(&r->stack.note);
	if (insight_share_hides(share, INSIGHT_SHARE_USERS)) {
		r->tally->user_n = 0;
		r->tally->more_users = 0;
	}
	insight_share_failures(share, &r->failures);
	return insight_share_facts(share, &r->facts) == 0 ? 0 : js_error_memory(error);
}

int insight_report_read(struct jobstack *handle, const char *name, struct insight_report *r,
			insight_progress_fn *progress, void *ctx, struct jobstack_error *error)
{
	struct insight_pass pass = {r->tally = insight_tally_new(), progress, ctx};
	int status = r->tally == NULL ? js_error_memory(error) : insight_stack_read(handle, name, &r->stack, error);

	JS_THEN(status, read_attempts(handle, name, r, &pass, error));
	JS_THEN(status, read_slowest_datapaths(handle, name, r, error));
	JS_THEN(status, insight_facts_read(&r->facts, handle, name, error));
	JS_THEN(status, insight_packages_read(&r->packages, handle, name, r->share, error));
	if (status == 0 && insight_report_so_far(r))
		status = jobstack_pace(handle, name, &r->pace, error);
	if (status == 0 && r->share == NULL)
		status = insight_idle_read(handle, name, &r->stack.s, &r->idle, error);
	if (status == 0 && r->stack.s.dead > 0)
		status = insight_failures_read(handle, name, NULL, &r->failures, error);
	JS_THEN(status, leave_out(r->share, r, error));
	if (status == 0)
		insight_advice_make(&r->advice, r->tally,
				    insight_report_so_far(r) ? insight_stack_left(&r->stack.s) : 0, r->wanted_us);
	return status;
}

void insight_report_free(struct insight_report *r)
{
	insight_tally_free(r->tally);
	insight_stack_free(&r->stack);
	insight_facts_free(&r->facts);
	for (size_t i = 0; i < INSIGHT_SLOWEST; i++)
		js_buf_free(&r->slow[i]);
}
