/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The recommendations of a report in words, and as lines of a batch script.
 */
#include "view/report.h"

#include "base/clock.h"
#include "view/words.h"

#include <inttypes.h>
#include <stdio.h>

#define MIB UINT64_C(1024) /* in KiB */

void view_sbatch_time(int64_t us, char text[32])
{
	int64_t s = us / JS_SECOND_US, days = s / 86400;

	if (days > 0)
		(void)snprintf(text, 32, "%" PRId64 "-%02d:%02d:00", days, (int)(s / 3600 % 24), (int)(s / 60 % 60));
	else
		(void)snprintf(text, 32, "%d:%02d:00", (int)(s / 3600), (int)(s / 60 % 60));
}

void view_option_duration(int64_t us, char text[32])
{
	int64_t s = us / JS_SECOND_US;

	if (s % 3600 == 0)
		(void)snprintf(text, 32, "%" PRId64 "h", s / 3600);
	else if (s % 60 == 0)
		(void)snprintf(text, 32, "%" PRId64 "m", s / 60);
	else
		(void)snprintf(text, 32, "%" PRId64 "s", s);
}

void view_sbatch_size(uint64_t kib, char text[32])
{
	if (kib % (1024 * MIB) == 0)
		(void)snprintf(text, 32, "%" PRIu64 "G", kib / 1024 / MIB);
	else
		(void)snprintf(text, 32, "%" PRIu64 "M", (kib + MIB - 1) / MIB);
}

static void add_option(struct js_buf *out, const char *name, const char *value)
{
	js_buf_printf(out, "  %s=%s  ", name, value);
}

static void memory_words(const struct insight_report *r, struct js_buf *out)
{
	const struct insight_advice *a = &r->advice;
	char each[32], all[32];

	if (a->mem_kib == 0) {
		js_buf_str(out, "  --mem: not known, for no attempt left word of its memory\n");
		return;
	}
	view_sbatch_size(a->mem_kib, each);
	view_sbatch_size(a->mem_kib * a->slots, all);
	add_option(out, "--mem", all);
	js_buf_printf(out, "%" PRIu32 " slot%s of %s", a->slots, view_plural(a->slots), each);
	if (a->mem_over > 0)
		js_buf_printf(out, "; %" PRIu64 " attempt%s took more than that", a->mem_over,
			      view_plural(a->mem_over));
	js_buf_char(out, '\n');
	if (r->tally->no_memory > 0)
		js_buf_printf(out,
			      "    %" PRIu64 " ended for want of memory, and would have taken more than was seen\n",
			      r->tally->no_memory);
}

static void time_words(const struct insight_report *r, struct js_buf *out)
{
	const struct insight_advice *a = &r->advice;
	char text[32];

	view_sbatch_time(a->time_us, text);
	add_option(out, "--time", text);
	js_buf_str(out, "the longest took ");
	view_took(out, (double)a->longest_us);
	js_buf_str(out, ", p99 ");
	view_took(out, (double)a->p99_us);
	js_buf_char(out, '\n');
	view_option_duration(a->timeout_us, text);
	add_option(out, "--timeout", text);
	js_buf_str(out, "ends what hangs (of jobstack-worker)\n");
	if (r->tally->timeouts > 0)
		js_buf_printf(out, "    %" PRIu64 " ended by a timeout: how long they would have taken was not seen\n",
			      r->tally->timeouts);
}

/* "12 for an hour, 2 for 8 h"; gives how many were told. */
static size_t workers_for(const struct insight_advice *a, struct js_buf *out)
{
	static const struct {
		int64_t us;
		const char *words;
	} span[] = {{3600 * JS_SECOND_US, "an hour"},
		    {8 * 3600 * JS_SECOND_US, "8 h"},
		    {24 * 3600 * JS_SECOND_US, "a day"}};
	uint64_t n = 0;
	size_t told = 0;

	for (size_t i = 0; i < 3 && n != 1; i++) { /* one is enough for what is longer, too */
		n = insight_advice_workers(a, span[i].us);
		if (n > 0)
			js_buf_printf(out, "%s%" PRIu64 " for %s", told++ > 0 ? ", " : "", n, span[i].words);
	}
	return told;
}

static void workers_words(const struct insight_report *r, struct js_buf *out)
{
	const struct insight_advice *a = &r->advice;
	uint64_t n = insight_report_workers(r);

	js_buf_str(out, "  workers: ");
	if (r->wanted_us >= 0 && n == 0) {
		js_buf_str(out, "no number of them does it in ");
		view_took(out, (double)r->wanted_us);
		js_buf_str(out, ": the longest entries take as long\n");
		return;
	}
	if (n > 0) {
		js_buf_printf(out, "%" PRIu64 " for ", n);
		view_took(out, (double)r->wanted_us);
	} else if (workers_for(a, out) == 0)
		js_buf_str(out, "--within D tells how many for a time of your choice");
	js_buf_printf(out, " (of %" PRIu32 " slot%s; %s %" PRIu64 ")\n", a->slots, view_plural(a->slots),
		      a->are_left ? "the entries that are left:" : "entries like these:", a->entries);
}

void view_report_advice(const struct insight_report *r, struct js_buf *out)
{
	const struct insight_advice *a = &r->advice;

	if (!a->known) {
		js_buf_str(out, "  nothing was done, so there is nothing to go by");
		js_buf_printf(out, ": see what failed with `jobstack list -s %s -t dead,failed`\n", r->stack.name);
		return;
	}
	time_words(r, out);
	memory_words(r, out);
	if (a->cpus > 1)
		js_buf_printf(out, "  --cpus-per-task=%" PRIu32 "  a slot keeps %" PRIu32 " processors busy\n",
			      a->cpus * a->slots, a->cpus);
	workers_words(r, out);
	if (a->few)
		js_buf_printf(out, "  (from %" PRIu64 " done entr%s only: leave more room)\n", r->tally->done_us.n,
			      r->tally->done_us.n == 1 ? "y" : "ies");
}

void view_report_slurm(const struct insight_report *r, struct js_buf *out)
{
	const struct insight_advice *a = &r->advice;
	char text[32];
	uint64_t n = insight_report_workers(r);

	js_buf_str(out, "#!/bin/bash\n");
	js_buf_printf(out, "#SBATCH --job-name=%s\n", r->stack.name);
	view_sbatch_time(a->time_us, text);
	js_buf_printf(out, "#SBATCH --time=%s\n#SBATCH --cpus-per-task=%" PRIu32 "\n", text, a->slots * a->cpus);
	if (a->mem_kib > 0) {
		view_sbatch_size(a->mem_kib * a->slots, text);
		js_buf_printf(out, "#SBATCH --mem=%s\n", text);
	}
	if (n > 0)
		js_buf_printf(out, "#SBATCH --array=1-%" PRIu64 "\n", n);
	view_option_duration(a->timeout_us, text);
	/* the number once more, since a step does not take it over from its job (Slurm 22.05 and later) */
	js_buf_printf(out,
		      "srun --cpus-per-task=%" PRIu32 " jobstack-worker -s %s --slots %" PRIu32
		      " --timeout %s -- COMMAND {}\n",
		      a->slots * a->cpus, r->stack.name, a->slots, text);
}
