/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The recommendations of a report in words, and as a batch script.
 */
#include "show/report.h"

#include "base/clock.h"
#include "show/json.h"
#include "show/words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXCLUDED 8 /* nodes; more are not just bad nodes */

/* Appends the nodes on which attempts fail, as --exclude of sbatch takes them.  Appends nothing if there are none, or
 * too many to be just bad nodes. */
static void add_excluded(const struct figures_report *r, struct js_buf *out)
{
	static const char of_hosts[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
	const struct figures_tally *t = r->tally;
	size_t n = 0;

	for (size_t i = 0; i < t->node_n; i++)
		n += (size_t)t->node[i].fails;
	if (n > EXCLUDED || 2 * n > t->node_n)
		return;
	for (size_t i = 0; i < t->node_n; i++) { /* (a name comes from where the worker ran, and may be anything) */
		const char *name = t->node[i].name;

		if (t->node[i].fails && name[0] != '\0' && name[strspn(name, of_hosts)] == '\0')
			js_buf_printf(out, "%s%s", out->len > 0 ? "," : "", name);
	}
}

/* Appends a sentence to LIST. */
__attribute__((format(printf, 2, 3))) static void add_sentence(json_t *list, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	show_append(list, json_vsprintf(format, args));
	va_end(args);
}

static void describe_time(const struct figures_report *r, int64_t time_us, json_t *list)
{
	const struct figures_recommendation *a = &r->recommendation;

	add_sentence(list, "--time=%s  the longest entry took %s, p99 %s", show_sbatch_time(time_us).text,
		     show_took((double)a->longest_us).text, show_took((double)a->p99_us).text);
	add_sentence(list, "--timeout=%s  an option of jobstack-worker: stops commands that hang",
		     show_option_duration(a->timeout_us).text);
	if (r->tally->timeouts > 0)
		add_sentence(list, "%" PRIu64 " attempt%s ended by a timeout: how long they need is unknown",
			     r->tally->timeouts, show_plural(r->tally->timeouts));
}

static void describe_memory(const struct figures_report *r, json_t *list)
{
	const struct figures_recommendation *a = &r->recommendation;
	char over[80] = "";

	if (a->mem_kib == 0) {
		add_sentence(list, "--mem: unknown, because no attempt recorded its memory use");
		return;
	}
	if (a->mem_over > 0)
		(void)snprintf(over, sizeof(over), "; %" PRIu64 " attempt%s used more per slot", a->mem_over,
			       show_plural(a->mem_over));
	add_sentence(list, "--mem=%s  %" PRIu32 " slot%s with %s each%s", show_sbatch_size(a->mem_kib * a->slots).text,
		     a->slots, show_plural(a->slots), show_sbatch_size(a->mem_kib).text, over);
	if (r->tally->no_memory > 0)
		add_sentence(list, "%" PRIu64 " attempt%s ran out of memory and needed more than was measured",
			     r->tally->no_memory, show_plural(r->tally->no_memory));
}

/* Appends "12 to finish in 1 h, 2 in 8 h".  Returns how many numbers were added. */
static size_t add_worker_numbers(const struct figures_recommendation *a, struct js_buf *out)
{
	static const struct {
		int64_t us;
		const char *words;
	} span[] = {{3600 * JS_SECOND_US, "1 h"}, {8 * 3600 * JS_SECOND_US, "8 h"}, {24 * 3600 * JS_SECOND_US, "24 h"}};
	uint64_t n = figures_recommendation_workers(a, 600 * JS_SECOND_US);
	size_t added = 0;

	if (n == 1) {
		js_buf_printf(out, "1 takes about %s", show_whole(figures_recommendation_takes(a, 1)).text);
		return 1;
	}
	for (size_t i = 0; i < 3 && n != 1; i++) { /* if one worker is enough, it is enough for longer times, too */
		n = figures_recommendation_workers(a, span[i].us);
		if (n == 0)
			continue;
		js_buf_printf(out, "%s%" PRIu64 " %s %s", added > 0 ? ", " : "", n, added > 0 ? "in" : "to finish in",
			      span[i].words);
		added++;
	}
	return added;
}

/* N workers finish in the wanted time; 0: no number of workers can, or no time was given. */
static void describe_workers(const struct figures_report *r, uint64_t n, json_t *list)
{
	const struct figures_recommendation *a = &r->recommendation;
	const struct show_amount wanted = show_took((double)r->wanted_us);
	struct js_buf out = {0};

	if (r->wanted_us >= 0 && n == 0) {
		add_sentence(list, "workers: no number of workers can finish in %s: the longest entry takes that long",
			     wanted.text);
		return;
	}
	if (n > 0)
		js_buf_printf(&out, "%" PRIu64 " to finish in %s", n, wanted.text);
	else if (add_worker_numbers(a, &out) == 0)
		js_buf_str(&out, "--within D shows how many workers are needed to finish in D");
	add_sentence(list, "workers: %s (%" PRIu32 " slot%s each; %" PRIu64 " %s %s)", out.data != NULL ? out.data : "",
		     a->slots, show_plural(a->slots), SHOW_ENTRIES(a->entries), a->are_left ? "left" : "like these");
	js_buf_free(&out);
}

json_t *show_report_recommendations(const struct figures_report *r)
{
	const struct figures_recommendation *a = &r->recommendation;
	struct figures_recommendation request;
	struct js_buf nodes = {0};
	json_t *list = json_array();
	int64_t within_us;
	uint64_t n;

	if (!a->known) {
		add_sentence(list,
			     "no recommendation, because no entry is done: `jobstack list -s %s -t dead,failed` shows "
			     "what failed",
			     r->stack.name);
		return list;
	}
	n = figures_report_request(r, &request, &within_us);
	describe_time(r, request.time_us, list);
	describe_memory(r, list);
	add_excluded(r, &nodes);
	if (nodes.len > 0)
		add_sentence(list, "--exclude=%s  far more attempts fail there than elsewhere", nodes.data);
	js_buf_free(&nodes);
	if (a->cpus > 1)
		add_sentence(list, "--cpus-per-task=%" PRIu32 "  each slot keeps %" PRIu32 " CPUs busy",
			     a->cpus * a->slots, a->cpus);
	describe_workers(r, r->wanted_us >= 0 ? n : 0, list);
	if (a->few)
		add_sentence(list, "(based on only %" PRIu64 " done %s: allow a larger margin)",
			     SHOW_ENTRIES(r->tally->done_us.n));
	return list;
}

/* The batch script and the verdict list these options in the same words. */
uint64_t show_report_options(const struct figures_report *r, const char *between, struct js_buf *out)
{
	struct figures_recommendation a;
	struct js_buf nodes = {0};
	int64_t within_us;
	uint64_t n = figures_report_request(r, &a, &within_us);

	js_buf_printf(out, "--time=%s", show_sbatch_time(a.time_us).text);
	if (a.mem_kib > 0)
		js_buf_printf(out, "%s--mem=%s", between, show_sbatch_size(a.mem_kib * a.slots).text);
	js_buf_printf(out, "%s--cpus-per-task=%" PRIu32, between, a.slots * a.cpus);
	if (n > 0)
		js_buf_printf(out, "%s--array=1-%" PRIu64, between, n);
	add_excluded(r, &nodes);
	if (nodes.len > 0)
		js_buf_printf(out, "%s--exclude=%s", between, nodes.data);
	out->failed |= nodes.failed;
	js_buf_free(&nodes);
	return n;
}

void show_report_script(const struct figures_report *r, struct js_buf *out)
{
	const struct figures_recommendation *a = &r->recommendation;

	js_buf_printf(out, "#!/bin/bash\n#SBATCH --job-name=%s\n#SBATCH ", r->stack.name);
	(void)show_report_options(r, "\n#SBATCH ", out);
	/* srun needs the number again: since Slurm 22.05 a step does not inherit it from its job */
	js_buf_printf(out,
		      "\nsrun --cpus-per-task=%" PRIu32 " jobstack-worker -s %s --slots %" PRIu32
		      " --timeout %s -- COMMAND {}\n",
		      a->slots * a->cpus, r->stack.name, a->slots, show_option_duration(a->timeout_us).text);
}

/* What the jobs requested stands in the platforms of their workers, as words that exec writes.  The largest request
 * counts.  Memory per node is compared with what all slots of a worker use together, memory per CPU with one. */
void show_report_requested(const struct figures_report *r, struct js_buf *out)
{
	static const char *const line[2] = {"memory of the job, per node (MiB): ",
					    "memory of the job, per CPU (MiB): "};
	const struct figures_tally *t = r->tally;
	const struct js_sketch *s = t->peak_kib.n > 0 ? &t->peak_kib : &t->rss_kib;
	double mib[2] = {0, 0}, needed = 1024 * (double)js_sketch_quantile(s, 0.99);

	for (size_t i = 0; i < r->facts.n; i++)
		for (int k = 0; k < 2 && r->facts.at[i].f.kind == JOBSTACK_FACT_PLATFORM; k++) {
			const char *at = strstr(r->facts.at[i].f.text, line[k]);
			double one = at != NULL ? strtod(at + strlen(line[k]), NULL) : 0;

			mib[k] = one > mib[k] ? one : mib[k];
		}
	for (int k = 0; k < 2 && s->n > 0; k++) {
		unsigned slots = k == 0 && t->slots > 0 ? t->slots : 1;

		if (mib[k] <= 0)
			continue;
		js_buf_printf(out, "Requested: %s per %s. %u %s as large as the p99 %s %s, which is %.0f %% of it.",
			      show_size(mib[k] * 1048576).text, k == 0 ? "node" : "CPU", slots,
			      slots == 1 ? "attempt" : "attempts", slots == 1 ? "uses" : "use",
			      show_size(needed * slots).text, 100 * needed * slots / (mib[k] * 1048576));
		return;
	}
}
