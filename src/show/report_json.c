/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The report as one JSON object.  Promise: text and page show nothing else, so they can't disagree.  Numbers are in
 * seconds, bytes and shares from 0 to 1, null if unknown; sentences are ready to be printed.
 */
#include "show/json.h"
#include "show/report.h"
#include "show/status.h"
#include "show/version.h"
#include "show/words.h"

#include <stdio.h>

#define HOURS 20 /* at most so many columns of the map of nodes */

/* Sets "done", "failed", "lost" and "interrupted" in O. */
static void set_outcomes(json_t *o, const uint64_t n[FIGURES_OUTCOMES])
{
	for (int v = 0; v < FIGURES_OUTCOMES; v++)
		SHOW_SET(o, KEY_COUNT(show_outcome_word(v), n[v]));
}

/* Sets the coefficients of variation of the time and of the bytes per second, and the mean of these. */
static void set_spreads(json_t *o, const struct figures_spread *took, const struct figures_spread *moved)
{
	double time_cv = figures_spread_cv(took), bytes_cv = figures_spread_cv(moved);

	SHOW_SET(o, KEY_REAL("time_cv", time_cv, time_cv >= 0), KEY_REAL("bytes_per_second", moved->mean, moved->n > 0),
		 KEY_REAL("bytes_cv", bytes_cv, bytes_cv >= 0));
}

static json_t *attempts_json(const struct figures_tally *t)
{
	json_t *o = SHOW_OBJECT(KEY_COUNT("all", figures_attempts(t->n)));

	set_outcomes(o, t->n);
	SHOW_SET(o, KEY_COUNT("entries", t->entries), KEY_SPAN("seconds", (int64_t)figures_time(t->us)),
		 KEY_COUNT("time_not_known", t->untimed));
	return o;
}

/* Sets what `--share` has left out: a list of words, and a sentence.  Both are null without it. */
static void set_left_out(json_t *o, const struct figures_share *share)
{
	json_t *list = share == NULL ? json_null() : json_array();
	struct js_buf words = {0};

	for (unsigned i = 0; i < FIGURES_SHARE_KINDS; i++) {
		if (!figures_share_hides(share, 1u << i))
			continue;
		show_append(list, json_string(figures_share_words[i]));
		js_buf_printf(&words, "%s%s%s", words.len > 0 ? ", " : "left out: ", figures_share_words[i],
			      1u << i == FIGURES_SHARE_PACKAGES ? " that the site does not list" : "");
	}
	if (share != NULL && words.len == 0)
		js_buf_str(&words, "nothing is left out");
	SHOW_SET(o, KEY_JSON("left_out", list), show_said_member("left_out_words", &words));
}

static json_t *users_json(const struct figures_tally *t)
{
	json_t *list = json_array();

	for (size_t i = 0; i < t->user_n; i++)
		SHOW_APPEND(list, KEY_TEXT("user", t->user[i]));
	return list;
}

json_t *show_histogram_json(const struct js_sketch *s)
{
	json_t *list = json_array();
	struct figures_bar bar[FIGURES_BARS];
	size_t n = figures_report_histogram(s, bar);

	for (size_t i = 0; i < n; i++)
		SHOW_APPEND(list, KEY_SPAN("from", bar[i].from),
			    KEY_SPAN("to", bar[i].to == INT64_MAX ? -1 : bar[i].to), KEY_COUNT("done", bar[i].n));
	return list;
}

static const struct {
	const char *name;
	double q;
} quantile[] = {{"min", 0}, {"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}, {"max", 1}};
#define QUANTILES (sizeof(quantile) / sizeof(quantile[0]))

/* Lists quantiles, mean and histogram of durations, in seconds. */
static json_t *durations_json(const struct js_sketch *s)
{
	json_t *o = SHOW_OBJECT(KEY_COUNT("done", s->n));

	for (size_t i = 0; i < QUANTILES; i++)
		SHOW_SET(o, KEY_SPAN(quantile[i].name, s->n > 0 ? (int64_t)js_sketch_quantile(s, quantile[i].q) : -1));
	SHOW_SET(o, KEY_SPAN("mean", s->n > 0 ? (int64_t)js_sketch_mean(s) : -1),
		 KEY_JSON("histogram", show_histogram_json(s)));
	return o;
}

/* Lists quantiles of memory, in bytes; the sketch has KiB. */
static json_t *memory_json(const struct js_sketch *s)
{
	json_t *o = SHOW_OBJECT(KEY_COUNT("attempts", s->n));

	for (size_t i = 0; i < QUANTILES; i++)
		SHOW_SET(o, KEY_INT(quantile[i].name, 1024 * (int64_t)js_sketch_quantile(s, quantile[i].q), s->n > 0));
	return o;
}

/* Lists the steps of time. */
static json_t *throughput_json(const struct figures_report *r)
{
	struct figures_step step[FIGURES_REPORT_STEPS];
	int64_t step_us;
	size_t n = figures_report_steps(r, step, &step_us);
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		SHOW_APPEND(list, KEY_TIME("from", step[i].from_us), KEY_SPAN("seconds", step_us),
			    KEY_COUNT("done", step[i].done), KEY_COUNT("not_done", step[i].not_done),
			    KEY_REAL("running", step[i].running, 1),
			    KEY_REAL("workers", step[i].workers, step[i].workers >= 0), KEY_COUNT("left", step[i].left),
			    KEY_COUNT("all_done", step[i].all_done), KEY_COUNT("last_failed", step[i].failed),
			    KEY_COUNT("at_work", step[i].at_work));
	return list;
}

/* Lists the nodes, those that stand out first. */
static json_t *nodes_json(const struct figures_tally *t)
{
	json_t *list = json_array();

	for (size_t i = 0; i < t->node_n; i++) {
		const struct figures_tally_node *n = &t->node[i];
		json_t *one = SHOW_OBJECT(KEY_TEXT("node", n->name), KEY_COUNT("attempts", figures_attempts(n->n)));

		set_outcomes(one, n->n);
		SHOW_SET(one, KEY_FLAG("fails", n->fails), KEY_FLAG("slow", n->slow),
			 KEY_SPAN("mean_done", n->n[0] > 0 ? (int64_t)(n->us[0] / (double)n->n[0]) : -1),
			 KEY_SPAN("seconds", (int64_t)figures_time(n->us)), KEY_COUNT("slots", n->slots),
			 KEY_REAL("busy", figures_node_busy(n), figures_node_busy(n) >= 0));
		set_spreads(one, &n->took, &n->moved);
		show_append(list, one);
	}
	return list;
}

/* Lists the hours of the day (UTC) in which done attempts began. */
static json_t *hours_json(const struct figures_tally *t)
{
	json_t *list = json_array();

	for (int i = 0; i < 24; i++) {
		json_t *one;

		if (t->took[i].n == 0)
			continue;
		one = SHOW_OBJECT(KEY_COUNT("hour", i), KEY_COUNT("done", t->took[i].n),
				  KEY_REAL("mean", t->took[i].mean / 1e6, 1));
		set_spreads(one, &t->took[i], &t->moved[i]);
		show_append(list, one);
	}
	return list;
}

/* Lists what attempts with each version of the program, or on each file system, did. */
static json_t *facts_json(const struct figures_report *r, enum jobstack_fact_kind kind)
{
	const struct figures_tally_fact *fact = kind == JOBSTACK_FACT_PROGRAM ? r->tally->program : r->tally->mount;
	json_t *list = json_array();
	double all = 0;

	for (size_t i = 0; i < FIGURES_FACTS; i++)
		all += fact[i].us;
	for (size_t i = 0; i < FIGURES_FACTS && fact[i].number != 0; i++) {
		const char *text = figures_facts_text(&r->facts, kind, fact[i].number);
		struct js_buf name = {0};
		json_t *one;

		if (kind == JOBSTACK_FACT_PROGRAM && text != NULL)
			show_version_short(&name, text);
		else
			js_buf_str(&name, text == NULL ? "?" : text);
		one = SHOW_OBJECT(
			show_said_member("name", &name), KEY_COUNT("attempts", fact[i].n),
			KEY_COUNT("not_done", fact[i].n - fact[i].done), KEY_SPAN("seconds", (int64_t)fact[i].us),
			KEY_REAL("share", figures_share(fact[i].us, all), all > 0), KEY_REAL("bytes", fact[i].bytes, 1),
			KEY_REAL("mean", fact[i].took.mean / 1e6, fact[i].took.n > 0));
		set_spreads(one, &fact[i].took, &fact[i].moved);
		show_append(list, one);
	}
	return list;
}

/* Lists how many attempts read and wrote how much: from so many bytes on.  Pairs of sizes without an attempt are left
 * out. */
static json_t *bytes_json(const struct figures_tally *t)
{
	json_t *list = json_array();

	for (unsigned r = 0; r < FIGURES_SIZES; r++)
		for (unsigned w = 0; w < FIGURES_SIZES; w++)
			if (t->bytes[r][w] > 0)
				SHOW_APPEND(list, KEY_COUNT("read_from", figures_size_from(r)),
					    KEY_COUNT("written_from", figures_size_from(w)),
					    KEY_COUNT("attempts", t->bytes[r][w]));
	return list;
}

/* Lists the shares of a node's slots that ran a command, in each step of BUSY from FIRST to LAST.  A node's own
 * timeline may have shorter steps: those within a step of BUSY are added up. */
static json_t *shares_json(const struct js_timeline *busy, const struct js_timeline *node, double slots, size_t first,
			   size_t last)
{
	double at_once[JS_TIMELINE_STEPS] = {0};
	json_t *list = json_array();
	size_t from, to;

	if (js_timeline_range(node, &from, &to) != 0)
		return list;
	for (size_t i = from; i <= to; i++) { /* a node's steps are as long, or parts of one */
		int64_t step = (node->first + (int64_t)i) * node->step_us / busy->step_us - busy->first;
		double *at = &at_once[step < (int64_t)first ? first : (size_t)step];

		if (step > (int64_t)last)
			continue;
		*at += (double)node->count[i][FIGURES_BUSY] / (double)busy->step_us;
		slots = *at > slots ? *at : slots;
	}
	for (size_t i = first; i <= last; i++)
		show_append(list, json_real(figures_share(at_once[i], slots)));
	return list;
}

/* Lists busy slots by node and time, for the nodes whose load was kept. */
static json_t *busy_json(const struct figures_tally *t)
{
	struct js_timeline busy = t->timeline;
	json_t *list = json_array();
	size_t first, last;

	js_timeline_fit(&busy, HOURS);
	if (js_timeline_range(&busy, &first, &last) != 0)
		return list;
	for (size_t k = 0; k < t->node_n; k++)
		if (t->node[k].heat > 0)
			SHOW_APPEND(list, KEY_TEXT("node", t->node[k].name),
				    KEY_TIME("from", (busy.first + (int64_t)first) * busy.step_us),
				    KEY_SPAN("seconds", busy.step_us),
				    KEY_JSON("shares",
					     shares_json(&busy, &t->heat[t->node[k].heat - 1],
							 t->node[k].slots > 0 ? t->node[k].slots : 1, first, last)));
	return list;
}

static json_t *packages_json(const struct figures_packages *all)
{
	json_t *list = json_array();

	for (size_t i = 0; i < all->n; i++)
		SHOW_APPEND(list, KEY_TEXT("package", all->at[i].name), KEY_TEXT("version", all->at[i].version),
			    KEY_COUNT("attempts", all->at[i].entries), KEY_COUNT("nodes", all->at[i].nodes));
	return list;
}

/* Lists the slowest attempts.  A datapath of length 0 was pruned or left out: it is null. */
static json_t *slowest_json(const struct figures_report *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->tally->slow_n; i++) {
		const struct figures_tally_slow *s = &r->tally->slow[i];

		SHOW_APPEND(list, KEY_COUNT("entry", s->entry), KEY_BYTES("datapath", r->slow[i].data, r->slow[i].len),
			    KEY_COUNT("attempt", s->attempt), KEY_TEXT("outcome", show_outcome_word(s->outcome)),
			    KEY_SPAN("seconds", s->us), KEY_TEXT("node", s->node));
	}
	return list;
}

/* Sums up the time of attempts that were not done, by cause. */
static json_t *wasted_json(const struct figures_tally *t)
{
	double all = figures_time(t->us), wasted = all - t->us[JOBSTACK_DONE];
	json_t *list = json_array();

	for (size_t i = 0; i < t->cause_n; i++) {
		const struct figures_tally_cause *c = &t->cause[i];

		SHOW_APPEND(list, KEY_TEXT("outcome", show_outcome_word(c->outcome)), KEY_TEXT("cause", c->words),
			    KEY_TEXT("how", show_report_cause(c).text), KEY_COUNT("attempts", c->n),
			    KEY_SPAN("seconds", (int64_t)c->us), KEY_REAL("share", figures_share(c->us, all), all > 0));
	}
	return SHOW_OBJECT(KEY_SPAN("seconds", (int64_t)wasted), KEY_REAL("share", figures_share(wasted, all), all > 0),
			   KEY_JSON("causes", list));
}

/* Sums up CPU time, memory and bytes, each over the attempts of which it is known. */
static json_t *used_json(const struct figures_report *r)
{
	const struct figures_tally *t = r->tally;
	struct js_buf requested = {0};

	show_report_requested(r, &requested);
	return SHOW_OBJECT(KEY_SPAN("cpu_seconds", t->cpu_n > 0 ? (int64_t)t->cpu_us : -1),
			   KEY_REAL("cpu_share", figures_share(t->cpu_us, t->cpu_of_us), t->cpu_of_us > 0),
			   KEY_JSON("memory_bytes", memory_json(&t->rss_kib)),
			   KEY_JSON("peak_bytes", memory_json(&t->peak_kib)), show_said_member("requested", &requested),
			   KEY_INT("read_bytes", (int64_t)t->read_bytes, t->bytes_n > 0),
			   KEY_INT("write_bytes", (int64_t)t->write_bytes, t->bytes_n > 0));
}

/* Returns what to request, as numbers and as a batch script.  There is no script if no number of workers can finish in
 * the time that was asked for. */
static json_t *next_json(const struct figures_report *r)
{
	struct figures_recommendation a;
	int64_t within_us;
	uint64_t workers = figures_report_request(r, &a, &within_us);
	const struct show_amount mem = show_sbatch_size(a.mem_kib * a.slots);
	struct js_buf script = {0};

	if (!a.known)
		return json_null();
	if (r->wanted_us < 0 || workers > 0)
		show_report_script(r, &script);
	return SHOW_OBJECT(KEY_TEXT("time", show_sbatch_time(a.time_us).text), KEY_SPAN("time_seconds", a.time_us),
			   KEY_SPAN("timeout_seconds", a.timeout_us), KEY_COUNT("slots", a.slots),
			   KEY_COUNT("cpus_per_slot", a.cpus),
			   KEY_INT("mem_bytes_per_slot", 1024 * (int64_t)a.mem_kib, a.mem_kib > 0),
			   KEY_TEXT("mem", a.mem_kib > 0 ? mem.text : NULL), KEY_COUNT("entries", a.entries),
			   KEY_SPAN("slot_seconds", (int64_t)a.work_us), KEY_SPAN("within_seconds", r->wanted_us),
			   KEY_INT("workers", (int64_t)workers, workers > 0), KEY_FLAG("few", a.few),
			   show_said_member("script", &script));
}

static json_t *verdict_json(const struct figures_report *r)
{
	struct js_buf summary = {0};

	show_report_verdict(r, &summary);
	return SHOW_OBJECT(show_said_member("summary", &summary), KEY_JSON("points", show_report_points(r)));
}

/* Returns why there are no figures; NULL: there are some. */
static const char *why_nothing(const struct figures_report *r, int some)
{
	if (figures_attempts(r->tally->n) > 0)
		return NULL;
	return some			? "no attempt has ended since the given time"
	       : r->stack.s.running > 0 ? "no attempt has ended yet: the first ones are running"
					: "nothing has run yet";
}

/* All members in the order in which the views show them; docs/DATA.md describes each. */
json_t *show_report_json(const struct figures_report *r)
{
	const struct figures_tally *t = r->tally;
	int some = r->since_us >= 0 || r->within_us >= 0;
	struct js_buf idle = {0}, methods = {0};
	json_t *o;

	if (r->idle.alone && (r->idle.last.ended_us >= 0 || r->idle.last.job_us >= 0))
		show_idle(&idle, &r->idle);
	show_report_methods(r, &methods);
	o = SHOW_OBJECT(
		KEY_TEXT("stack", r->stack.name), KEY_TEXT("state", show_stack_state(&r->stack.s)),
		KEY_FLAG("so_far", figures_report_so_far(r)), KEY_JSON("verdict", verdict_json(r)),
		show_said_member("idle", &idle), KEY_TEXT("nothing", why_nothing(r, some)),
		KEY_TEXT("restriction",
			 some ? "only attempts that ended since the given time are counted below" : NULL),
		KEY_JSON("entries", SHOW_OBJECT(KEY_COUNTS(&r->stack.s))), KEY_JSON("attempts", attempts_json(t)),
		KEY_JSON("users", users_json(t)), KEY_FLAG("more_users", t->more_users), KEY_TIME("from", t->first_us),
		KEY_TIME("to", t->last_us), KEY_SPAN("seconds", t->first_us >= 0 ? t->last_us - t->first_us : -1),
		KEY_JSON("durations", durations_json(&t->done_us)), KEY_JSON("throughput", throughput_json(r)),
		KEY_JSON("busy", busy_json(t)), KEY_JSON("nodes", nodes_json(t)), KEY_JSON("hours", hours_json(t)),
		KEY_JSON("file_systems", facts_json(r, JOBSTACK_FACT_MOUNT)),
		KEY_JSON("programs", facts_json(r, JOBSTACK_FACT_PROGRAM)), KEY_JSON("slowest", slowest_json(r)),
		KEY_JSON("wasted", wasted_json(t)), KEY_JSON("failures", show_failures_json(&r->failures)),
		KEY_JSON("used", used_json(r)), KEY_JSON("bytes", bytes_json(t)),
		KEY_JSON("packages", packages_json(&r->packages)), KEY_COUNT("more_packages", r->packages.more),
		KEY_JSON("advice", show_report_recommendations(r)), KEY_JSON("next", next_json(r)),
		show_said_member("methods", &methods));
	set_left_out(o, r->share);
	return o;
}
