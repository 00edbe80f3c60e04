/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The report as one JSON object: all numbers of the text, in seconds and bytes; null if unknown.
 */
#include "view/json.h"
#include "view/report.h"
#include "view/status.h"
#include "view/words.h"

static void set_outcomes(json_t *o, const uint64_t n[INSIGHT_OUTCOMES])
{
	for (int v = 0; v < INSIGHT_OUTCOMES; v++)
		VIEW_SET(o, KEY_COUNT(view_outcome_word(v), n[v]));
}

static json_t *attempts_json(const struct insight_tally *t)
{
	json_t *o = VIEW_OBJECT(KEY_COUNT("all", insight_attempts(t->n)));

	set_outcomes(o, t->n);
	VIEW_SET(o, KEY_COUNT("entries", t->entries), KEY_SPAN("seconds", (int64_t)insight_time(t->us)),
		 KEY_COUNT("time_not_known", t->untimed));
	return o;
}

/* NULL where nothing can be left out. */
static json_t *left_out_json(const struct insight_share *share)
{
	json_t *list = share == NULL ? json_null() : json_array();

	for (unsigned i = 0; i < INSIGHT_SHARE_KINDS; i++)
		if (insight_share_hides(share, 1u << i))
			(void)json_array_append_new(list, json_string(insight_share_words[i]));
	return list;
}

static json_t *users_json(const struct insight_tally *t)
{
	json_t *list = json_array();

	for (size_t i = 0; i < t->user_n; i++)
		VIEW_APPEND(list, KEY_TEXT("user", t->user[i]));
	return list;
}

json_t *view_histogram_json(const struct js_sketch *s)
{
	json_t *list = json_array();
	struct insight_bar bar[INSIGHT_BARS];
	size_t n = insight_report_histogram(s, bar);

	for (size_t i = 0; i < n; i++)
		VIEW_APPEND(list, KEY_SPAN("from", bar[i].from),
			    KEY_SPAN("to", bar[i].to == INT64_MAX ? -1 : bar[i].to), KEY_COUNT("done", bar[i].n));
	return list;
}

static const struct {
	const char *name;
	double q;
} quantile[] = {{"min", 0}, {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"max", 1}};
#define QUANTILES (sizeof(quantile) / sizeof(quantile[0]))

static json_t *durations_json(const struct js_sketch *s)
{
	json_t *o = VIEW_OBJECT(KEY_COUNT("done", s->n));

	for (size_t i = 0; i < QUANTILES; i++)
		VIEW_SET(o, KEY_SPAN(quantile[i].name, s->n > 0 ? (int64_t)js_sketch_quantile(s, quantile[i].q) : -1));
	VIEW_SET(o, KEY_SPAN("mean", s->n > 0 ? (int64_t)js_sketch_mean(s) : -1),
		 KEY_JSON("histogram", view_histogram_json(s)));
	return o;
}

static json_t *memory_json(const struct js_sketch *s)
{
	json_t *o = VIEW_OBJECT(KEY_COUNT("attempts", s->n));

	for (size_t i = 0; i < QUANTILES; i++)
		VIEW_SET(o, KEY_INT(quantile[i].name, 1024 * (int64_t)js_sketch_quantile(s, quantile[i].q), s->n > 0));
	return o;
}

static json_t *throughput_json(const struct insight_report *r)
{
	struct insight_step step[INSIGHT_REPORT_ROWS];
	int64_t step_us;
	size_t n = insight_report_steps(r, step, INSIGHT_REPORT_ROWS, &step_us);
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		VIEW_APPEND(list, KEY_TIME("from", step[i].from_us), KEY_SPAN("seconds", step_us),
			    KEY_COUNT("done", step[i].done), KEY_COUNT("not_done", step[i].not_done),
			    KEY_REAL("running", step[i].running, 1),
			    KEY_REAL("workers", step[i].workers, step[i].workers >= 0),
			    KEY_COUNT("left", step[i].left));
	return list;
}

static json_t *nodes_json(const struct insight_tally *t)
{
	json_t *list = json_array();

	for (size_t i = 0; i < t->node_n; i++) {
		const struct insight_tally_node *n = &t->node[i];
		json_t *one = VIEW_OBJECT(KEY_TEXT("node", n->name));

		set_outcomes(one, n->n);
		VIEW_SET(one, KEY_FLAG("fails", n->fails), KEY_FLAG("slow", n->slow),
			 KEY_SPAN("mean_done", n->n[0] > 0 ? (int64_t)(n->us[0] / (double)n->n[0]) : -1),
			 KEY_SPAN("seconds", (int64_t)insight_time(n->us)), KEY_COUNT("slots", n->slots),
			 KEY_REAL("busy", insight_node_busy(n), insight_node_busy(n) >= 0));
		view_append(list, one);
	}
	return list;
}

static json_t *slowest_json(const struct insight_report *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->tally->slow_n; i++) {
		const struct insight_tally_slow *s = &r->tally->slow[i];

		VIEW_APPEND(list, KEY_COUNT("entry", s->entry), KEY_BYTES("datapath", r->slow[i].data, r->slow[i].len),
			    KEY_COUNT("attempt", s->attempt), KEY_TEXT("outcome", view_outcome_word(s->outcome)),
			    KEY_SPAN("seconds", s->us), KEY_TEXT("node", s->node));
	}
	return list;
}

static json_t *wasted_json(const struct insight_tally *t)
{
	double all = insight_time(t->us), wasted = all - t->us[JOBSTACK_DONE];
	json_t *list = json_array();

	for (size_t i = 0; i < t->cause_n; i++) {
		const struct insight_tally_cause *c = &t->cause[i];

		VIEW_APPEND(list, KEY_TEXT("outcome", view_outcome_word(c->outcome)), KEY_TEXT("cause", c->words),
			    KEY_COUNT("attempts", c->n), KEY_SPAN("seconds", (int64_t)c->us),
			    KEY_REAL("share", insight_share(c->us, all), all > 0));
	}
	return VIEW_OBJECT(KEY_SPAN("seconds", (int64_t)wasted), KEY_REAL("share", insight_share(wasted, all), all > 0),
			   KEY_JSON("causes", list));
}

static json_t *used_json(const struct insight_tally *t)
{
	return VIEW_OBJECT(KEY_SPAN("cpu_seconds", t->cpu_n > 0 ? (int64_t)t->cpu_us : -1),
			   KEY_REAL("cpu_share", insight_share(t->cpu_us, t->cpu_of_us), t->cpu_of_us > 0),
			   KEY_JSON("memory_bytes", memory_json(&t->rss_kib)),
			   KEY_INT("read_bytes", (int64_t)t->read_bytes, t->bytes_n > 0),
			   KEY_INT("write_bytes", (int64_t)t->write_bytes, t->bytes_n > 0));
}

static json_t *next_json(const struct insight_report *r)
{
	const struct insight_advice *a = &r->advice;
	uint64_t workers = insight_report_workers(r);
	const struct view_amount mem = view_sbatch_size(a->mem_kib * a->slots);

	if (!a->known)
		return json_null();
	return VIEW_OBJECT(KEY_TEXT("time", view_sbatch_time(a->time_us).text), KEY_SPAN("time_seconds", a->time_us),
			   KEY_SPAN("timeout_seconds", a->timeout_us), KEY_COUNT("slots", a->slots),
			   KEY_COUNT("cpus_per_slot", a->cpus),
			   KEY_INT("mem_bytes_per_slot", 1024 * (int64_t)a->mem_kib, a->mem_kib > 0),
			   KEY_TEXT("mem", a->mem_kib > 0 ? mem.text : NULL), KEY_COUNT("entries", a->entries),
			   KEY_SPAN("slot_seconds", (int64_t)a->work_us), KEY_SPAN("within_seconds", r->wanted_us),
			   KEY_INT("workers", (int64_t)workers, workers > 0), KEY_FLAG("few", a->few));
}

json_t *view_report_json(const struct insight_report *r)
{
	const struct insight_tally *t = r->tally;

	return VIEW_OBJECT(
		KEY_TEXT("stack", r->stack.name), KEY_TEXT("state", view_stack_state(&r->stack.s)),
		KEY_FLAG("so_far", insight_report_so_far(r)), KEY_JSON("entries", VIEW_OBJECT(KEY_COUNTS(&r->stack.s))),
		KEY_JSON("attempts", attempts_json(t)), KEY_JSON("users", users_json(t)), KEY_TIME("from", t->first_us),
		KEY_TIME("to", t->last_us), KEY_JSON("durations", durations_json(&t->done_us)),
		KEY_JSON("throughput", throughput_json(r)), KEY_JSON("nodes", nodes_json(t)),
		KEY_JSON("slowest", slowest_json(r)), KEY_JSON("wasted", wasted_json(t)),
		KEY_JSON("failures", view_failures_json(&r->failures)), KEY_JSON("used", used_json(t)),
		KEY_JSON("next", next_json(r)), KEY_JSON("left_out", left_out_json(r->share)));
}
