/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The report as one object of JSON: all numbers of the text, in seconds and bytes, null for what is not known.
 */
#include "view/report.h"

#include "base/clock.h"
#include "cli/item.h"
#include "view/json.h"
#include "insight/snapshot.h"

#include <string.h>

/* Sets KEY to VALUE, which may be NULL for want of memory; the value is taken over.  What makes a value sets *BAD where
 * memory ran out. */
static int put(json_t *o, const char *key, json_t *value)
{
	return json_object_set_new(o, key, value);
}

static json_t *counts(const struct insight_report *r, int *bad)
{
	const struct jobstack_status *s = &r->stack.s;
	json_t *o = json_object();

	*bad |= view_json_count(o, "pushed", s->pushed) | view_json_count(o, "ready", s->ready);
	*bad |= view_json_count(o, "waiting", s->waiting) | view_json_count(o, "held", s->held);
	*bad |= view_json_count(o, "running", s->running) | view_json_count(o, "done", s->done) |
		view_json_count(o, "dead", s->dead);
	*bad |= view_json_count(o, "cancelled", s->cancelled) | view_json_count(o, "moved", s->moved);
	*bad |= view_json_count(o, "pruned", s->pruned);
	return o;
}

static int outcomes(json_t *o, const uint64_t n[INSIGHT_OUTCOMES])
{
	int bad = 0;

	for (int v = 0; v < INSIGHT_OUTCOMES; v++)
		bad |= view_json_count(o, view_outcome_word(v), n[v]);
	return bad;
}

static json_t *attempts(const struct insight_tally *t, int *bad)
{
	json_t *o = json_object();

	*bad |= view_json_count(o, "all", insight_tally_attempts(t));
	*bad |= outcomes(o, t->n);
	*bad |= view_json_count(o, "entries", t->entries);
	*bad |= view_json_seconds(o, "seconds", (int64_t)insight_tally_time(t));
	*bad |= view_json_count(o, "time_not_known", t->untimed);
	return o;
}

static json_t *users(const struct insight_tally *t, int *bad)
{
	json_t *list = json_array(), *one;

	for (size_t i = 0; i < t->user_n; i++) {
		one = json_object();
		*bad |= view_json_text(one, "user", t->user[i]);
		*bad |= json_array_append_new(list, one);
	}
	return list;
}

static json_t *histogram(const struct js_sketch *s, int *bad)
{
	json_t *list = json_array(), *one;

	for (int64_t low = 0, high; low < INT64_MAX && s->n > 0 && (uint64_t)low <= s->max; low = high) {
		high = insight_report_edge(low);
		one = json_object();
		*bad |= view_json_seconds(one, "from", low);
		*bad |= view_json_seconds(one, "to", high == INT64_MAX ? -1 : high);
		*bad |= view_json_count(one, "done", js_sketch_between(s, (uint64_t)low, (uint64_t)high - 1));
		*bad |= json_array_append_new(list, one);
	}
	return list;
}

static const struct {
	const char *name;
	double q;
} quantile[] = {{"min", 0}, {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"max", 1}};

static json_t *durations(const struct js_sketch *s, int *bad)
{
	json_t *o = json_object();

	*bad |= view_json_count(o, "done", s->n);
	for (size_t i = 0; i < sizeof(quantile) / sizeof(quantile[0]); i++)
		*bad |= view_json_seconds(o, quantile[i].name,
					  s->n > 0 ? (int64_t)js_sketch_quantile(s, quantile[i].q) : -1);
	*bad |= view_json_seconds(o, "mean", s->n > 0 ? (int64_t)js_sketch_mean(s) : -1);
	*bad |= put(o, "histogram", histogram(s, bad));
	return o;
}

static json_t *memory(const struct js_sketch *s, int *bad)
{
	json_t *o = json_object();

	*bad |= view_json_count(o, "attempts", s->n);
	for (size_t i = 0; i < sizeof(quantile) / sizeof(quantile[0]); i++)
		*bad |= view_json_int(o, quantile[i].name, 1024 * (int64_t)js_sketch_quantile(s, quantile[i].q),
				      s->n > 0);
	return o;
}

static json_t *throughput(struct js_timeline *l, int *bad)
{
	json_t *list = json_array(), *one;
	size_t from, to;

	js_timeline_fit(l, INSIGHT_REPORT_ROWS);
	if (js_timeline_range(l, &from, &to) != 0)
		return list;
	for (size_t i = from; i <= to; i++) {
		one = json_object();
		*bad |= view_json_time(one, "from", (l->first + (int64_t)i) * l->step_us);
		*bad |= view_json_seconds(one, "seconds", l->step_us);
		*bad |= view_json_count(one, "done", l->count[i][0]);
		*bad |= view_json_count(one, "not_done", l->count[i][1]);
		*bad |= json_array_append_new(list, one);
	}
	return list;
}

static json_t *nodes(const struct insight_tally *t, int *bad)
{
	json_t *list = json_array(), *one;

	for (size_t i = 0; i < t->node_n; i++) {
		const struct insight_tally_node *n = &t->node[i];
		double us = n->us[0] + n->us[1] + n->us[2] + n->us[3];

		one = json_object();
		*bad |= view_json_text(one, "node", n->name);
		*bad |= outcomes(one, n->n);
		*bad |= view_json_seconds(one, "mean_done", n->n[0] > 0 ? (int64_t)(n->us[0] / (double)n->n[0]) : -1);
		*bad |= view_json_seconds(one, "seconds", (int64_t)us);
		*bad |= view_json_count(one, "slots", n->slots);
		*bad |= view_json_real(one, "busy", us / (double)(n->last_us - n->first_us),
				       n->timed > 0 && n->last_us > n->first_us);
		*bad |= json_array_append_new(list, one);
	}
	return list;
}

static json_t *slowest(const struct insight_report *r, int *bad)
{
	json_t *list = json_array(), *one;

	for (size_t i = 0; i < r->tally->slow_n; i++) {
		const struct insight_tally_slow *s = &r->tally->slow[i];

		one = json_object();
		*bad |= view_json_count(one, "entry", s->entry);
		*bad |= view_json_bytes(one, "datapath", r->slow[i].data, r->slow[i].len);
		*bad |= view_json_count(one, "attempt", s->attempt);
		*bad |= view_json_text(one, "outcome", view_outcome_word(s->outcome));
		*bad |= view_json_seconds(one, "seconds", s->us);
		*bad |= view_json_text(one, "node", s->node);
		*bad |= json_array_append_new(list, one);
	}
	return list;
}

static json_t *wasted(const struct insight_tally *t, int *bad)
{
	double all = insight_tally_time(t);
	json_t *o = json_object(), *list = json_array(), *one;

	for (size_t i = 0; i < t->cause_n; i++) {
		const struct insight_tally_cause *c = &t->cause[i];

		one = json_object();
		*bad |= view_json_text(one, "outcome", view_outcome_word(c->outcome));
		*bad |= view_json_text(one, "cause", c->words);
		*bad |= view_json_count(one, "attempts", c->n);
		*bad |= view_json_seconds(one, "seconds", (int64_t)c->us);
		*bad |= view_json_real(one, "share", all > 0 ? c->us / all : 0, all > 0);
		*bad |= json_array_append_new(list, one);
	}
	*bad |= view_json_seconds(o, "seconds", (int64_t)(all - t->us[JOBSTACK_DONE]));
	*bad |= view_json_real(o, "share", all > 0 ? (all - t->us[JOBSTACK_DONE]) / all : 0, all > 0);
	*bad |= put(o, "causes", list);
	return o;
}

static json_t *used(const struct insight_tally *t, int *bad)
{
	json_t *o = json_object();

	*bad |= view_json_seconds(o, "cpu_seconds", t->cpu_n > 0 ? (int64_t)t->cpu_us : -1);
	*bad |= view_json_real(o, "cpu_share", t->cpu_us / t->cpu_of_us, t->cpu_of_us > 0);
	*bad |= put(o, "memory_bytes", memory(&t->rss_kib, bad));
	*bad |= view_json_int(o, "read_bytes", (int64_t)t->read_bytes, t->bytes_n > 0);
	*bad |= view_json_int(o, "write_bytes", (int64_t)t->write_bytes, t->bytes_n > 0);
	return o;
}

static json_t *next_run(const struct insight_report *r, int *bad)
{
	const struct insight_advice *a = &r->advice;
	uint64_t workers = r->wanted_us >= 0 ? insight_advice_workers(a, r->wanted_us) : 0;
	json_t *o;
	char text[32];

	if (!a->known)
		return json_null();
	o = json_object();
	insight_advice_time_text(a->time_us, text);
	*bad |= view_json_text(o, "time", text);
	*bad |= view_json_seconds(o, "time_seconds", a->time_us);
	*bad |= view_json_seconds(o, "timeout_seconds", a->timeout_us);
	*bad |= view_json_count(o, "slots", a->slots);
	*bad |= view_json_count(o, "cpus_per_slot", a->cpus);
	*bad |= view_json_int(o, "mem_bytes_per_slot", 1024 * (int64_t)a->mem_kib, a->mem_kib > 0);
	insight_advice_size_text(a->mem_kib * a->slots, text);
	*bad |= view_json_text(o, "mem", a->mem_kib > 0 ? text : NULL);
	*bad |= view_json_count(o, "entries", a->entries);
	*bad |= view_json_seconds(o, "slot_seconds", (int64_t)a->work_us);
	*bad |= view_json_seconds(o, "within_seconds", r->wanted_us);
	*bad |= view_json_int(o, "workers", (int64_t)workers, workers > 0);
	*bad |= put(o, "few", json_boolean(a->few));
	return o;
}

int view_report_json(struct insight_report *r, json_t *o)
{
	struct insight_tally *t = r->tally;
	int bad = view_json_text(o, "stack", r->stack.name);

	bad |= view_json_text(o, "state", view_stack_state(&r->stack.s));
	bad |= put(o, "so_far", json_boolean(insight_report_so_far(r)));
	bad |= put(o, "entries", counts(r, &bad));
	bad |= put(o, "attempts", attempts(t, &bad));
	bad |= put(o, "users", users(t, &bad));
	bad |= view_json_time(o, "from", t->first_us) | view_json_time(o, "to", t->last_us);
	bad |= put(o, "durations", durations(&t->done_us, &bad));
	bad |= put(o, "throughput", throughput(&t->timeline, &bad));
	bad |= put(o, "nodes", nodes(t, &bad));
	bad |= put(o, "slowest", slowest(r, &bad));
	bad |= put(o, "wasted", wasted(t, &bad));
	bad |= put(o, "failures", r->failures);
	r->failures = NULL;
	bad |= put(o, "used", used(t, &bad));
	return bad | put(o, "next", next_run(r, &bad));
}
