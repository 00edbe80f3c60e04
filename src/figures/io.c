/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The ten findings.  What concerns attempts comes from the tally, what concerns files from a sample.  Promise: memory
 * does not grow with their number.
 */
#include "figures/io.h"

#include "base/array.h"
#include "base/error.h"
#include "figures/facts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LARGEST 0x1p62	/* of a sum that is converted */
#define LEAST_IN_HOUR 5 /* attempts, for an hour to count */

struct interval {
	int64_t from, to;
};

/* What the sample of files shows.  SEQUENCES counts rows of runs of one kind on a file, IN_SEQUENCES the runs in them:
 * at 0 of runs that mostly read, at 1 of runs that mostly write. */
struct sample {
	uint64_t files, kind[FIGURES_KINDS], shared, chained;
	uint64_t sequences[2], in_sequences[2];	     /* of reading and of writing runs */
	struct js_sketch gaps_us, bytes_cv, took_cv; /* cv: in millionths */
	struct interval *done;
	size_t done_n, done_capacity;
	int failed;
};

static void put_number(struct figures_finding *f, const char *name, double value)
{
	f->number[f->n].name = name;
	f->number[f->n++].value = value;
}

/* Goes through the runs on one file, in the order of time: who used it, how long after the run before, and whether one
 * stack wrote what another one then read (CHAINED).  A gap counts only after a run that was done: a retry of a failure
 * is no new use. */
static void sample_reuse(struct sample *s, const struct jobstack_file *file)
{
	double read = 0, written = 0;
	const char *writer = NULL;
	int shared = 0, chained = 0, last = -1;

	for (size_t i = 0; i < file->n; i++) {
		const struct jobstack_run *run = &file->run[i];
		int kind = figures_kind(run->read_bytes, run->write_bytes);
		int way = run->read_bytes < run->write_bytes;

		shared |= run->stack != file->run[0].stack;
		/* RUN[-1] is the run before, in the order of their starts */
		if (i > 0 && run[-1].outcome == JOBSTACK_DONE && run->started_us >= 0 && run[-1].started_us >= 0)
			js_sketch_add(&s->gaps_us, run->started_us - run[-1].started_us);
		if (kind < 0)
			continue;
		read += (double)run->read_bytes;
		written += (double)run->write_bytes;
		s->sequences[way] += way != last;
		s->in_sequences[way]++;
		last = way;
		if (kind == FIGURES_WRITES && writer == NULL)
			writer = run->stack;
		chained |= kind == FIGURES_READS && writer != NULL && run->stack != writer;
	}
	if (last >= 0)
		s->kind[figures_kind((int64_t)fmin(read, LARGEST), (int64_t)fmin(written, LARGEST))]++;
	s->files++;
	s->shared += (uint64_t)shared;
	s->chained += (uint64_t)chained;
}

/* Called for each file of the sample.  The variation on one file is added as a single value, in millionths, because
 * sketches hold integers. */
static int sample_file(void *ctx, const struct jobstack_file *file)
{
	struct figures_spread bytes = {0}, took = {0};
	struct sample *s = ctx;

	sample_reuse(s, file);
	for (size_t i = 0; i < file->n && !s->failed; i++) {
		const struct jobstack_run *run = &file->run[i];

		if (run->outcome != JOBSTACK_DONE || run->started_us < 0 || run->ended_us <= run->started_us)
			continue;
		figures_spread_add(&took, (double)(run->ended_us - run->started_us));
		if (run->read_bytes >= 0 && run->write_bytes >= 0)
			figures_spread_add(&bytes, (double)run->read_bytes + (double)run->write_bytes);
		s->failed = js_array_grow(&s->done, &s->done_capacity, s->done_n + 1, sizeof(*s->done)) != 0;
		if (!s->failed)
			s->done[s->done_n++] = (struct interval){run->started_us, run->ended_us};
	}
	if (figures_spread_cv(&took) >= 0)
		js_sketch_add(&s->took_cv, llround(figures_spread_cv(&took) * 1e6));
	if (figures_spread_cv(&bytes) >= 0)
		js_sketch_add(&s->bytes_cv, llround(figures_spread_cv(&bytes) * 1e6));
	return s->failed;
}

static double sketch_quantile(const struct js_sketch *s, double q, double unit)
{
	return s->n == 0 ? -1 : (double)js_sketch_quantile(s, q) / unit;
}

static double share_of(uint64_t part, uint64_t whole)
{
	return whole == 0 ? -1 : (double)part / (double)whole;
}

/* Findings 1, 2 and 6: what attempts and files read and write. */
static void find_bytes(struct figures_finding *f, const struct figures_tally *t, const struct sample *s)
{
	uint64_t n = t->kind[FIGURES_READS] + t->kind[FIGURES_WRITES] + t->kind[FIGURES_BOTH],
		 files = s->kind[FIGURES_READS] + s->kind[FIGURES_WRITES] + s->kind[FIGURES_BOTH];

	if (n == 0)
		f[0].why = f[1].why = f[5].why = "no attempt is known to have read or written at least 64 KiB";
	else if (t->kind[FIGURES_BOTH] == n)
		f[5].why = "no attempt is read-heavy or write-heavy";
	put_number(&f[0], "attempts", (double)n);
	for (int k = 0; k < FIGURES_KINDS; k++)
		put_number(&f[0], ((const char *const[]){"read_heavy", "write_heavy", "both"})[k],
			   share_of(t->kind[k], n));
	for (int k = 0; k < FIGURES_KINDS; k++)
		put_number(&f[0], ((const char *const[]){"files_read_heavy", "files_write_heavy", "files_both"})[k],
			   share_of(s->kind[k], files));
	put_number(&f[1], "only_read", share_of(t->one_way[FIGURES_READS], n));
	put_number(&f[1], "only_written", share_of(t->one_way[FIGURES_WRITES], n));
	put_number(&f[5], "read_median", sketch_quantile(&t->kind_bytes[FIGURES_READS], .5, 1));
	put_number(&f[5], "read_p95", sketch_quantile(&t->kind_bytes[FIGURES_READS], .95, 1));
	put_number(&f[5], "written_median", sketch_quantile(&t->kind_bytes[FIGURES_WRITES], .5, 1));
	put_number(&f[5], "written_p95", sketch_quantile(&t->kind_bytes[FIGURES_WRITES], .95, 1));
}

/* Findings 3, 4, 5 and 10: how files are used again, by the same stack and by others. */
static void find_reuse(struct figures_finding *f, const struct sample *s, size_t stacks)
{
	if (s->gaps_us.n == 0)
		f[2].why = "no file has two runs that were done (retries of a failure don't count)";
	put_number(&f[2], "intervals", (double)s->gaps_us.n);
	put_number(&f[2], "median", sketch_quantile(&s->gaps_us, .5, 1e6));
	put_number(&f[2], "p90", sketch_quantile(&s->gaps_us, .9, 1e6));
	if (s->gaps_us.n == 0 || s->sequences[0] + s->sequences[1] == 0)
		f[3].why = "no file has two done runs that moved at least 64 KiB";
	put_number(&f[3], "reading", share_of(s->in_sequences[0], s->sequences[0]));
	put_number(&f[3], "writing", share_of(s->in_sequences[1], s->sequences[1]));
	if (stacks < 2 || s->files == 0)
		f[4].why = s->files == 0 ? "no file was processed"
					 : "only one stack was given. Name all that share files, such as `jobstack "
					   "report --io A B`";
	put_number(&f[4], "shared", share_of(s->shared, s->files));
	put_number(&f[4], "written_then_read", share_of(s->chained, s->files));
	if (s->took_cv.n == 0)
		f[9].why = "no file has two runs that were done";
	put_number(&f[9], "files", (double)s->took_cv.n);
	put_number(&f[9], "bytes_variation", sketch_quantile(&s->bytes_cv, .5, 1e6));
	put_number(&f[9], "time_variation", sketch_quantile(&s->took_cv, .5, 1e6));
}

static int compare_starts(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

/* Finding 8.  A group is made of the attempts that began before the first of the group ended.  Of each group of two or
 * more the variation of their times is taken, and then the mean over the groups; it is compared with that over all
 * attempts. */
static void find_together(struct figures_finding *f, struct sample *s)
{
	struct figures_spread all = {0}, groups = {0};

	if (s->done_n > 0)
		qsort(s->done, s->done_n, sizeof(*s->done), compare_starts);
	for (size_t at = 0, next; at < s->done_n; at = next) {
		struct figures_spread took = {0};

		for (next = at; next < s->done_n && (next == at || s->done[next].from < s->done[at].to); next++) {
			figures_spread_add(&took, (double)(s->done[next].to - s->done[next].from));
			figures_spread_add(&all, (double)(s->done[next].to - s->done[next].from));
		}
		if (took.n > 1)
			figures_spread_add(&groups, figures_spread_cv(&took));
	}
	if (groups.n == 0)
		f->why = "no two attempts of the sample ran at the same time";
	put_number(f, "groups", (double)groups.n);
	put_number(f, "variation", groups.n > 0 ? groups.mean : -1);
	put_number(f, "variation_of_all", figures_spread_cv(&all));
}

/* Finding 9.  The correlation (Pearson's) is that of an hour's mean with its variation, over the hours with enough
 * attempts. */
static void find_hours(struct figures_finding *f, const struct figures_tally *t)
{
	struct figures_spread mean = {0}, cv = {0};
	int fast = -1, slow = -1;
	double products = 0;

	for (int h = 0; h < 24; h++) {
		if (t->took[h].n < LEAST_IN_HOUR)
			continue;
		figures_spread_add(&mean, t->took[h].mean);
		figures_spread_add(&cv, figures_spread_cv(&t->took[h]));
		fast = fast < 0 || t->took[h].mean < t->took[fast].mean ? h : fast;
		slow = slow < 0 || t->took[h].mean > t->took[slow].mean ? h : slow;
	}
	for (int h = 0; h < 24; h++)
		if (t->took[h].n >= LEAST_IN_HOUR)
			products += (t->took[h].mean - mean.mean) * (figures_spread_cv(&t->took[h]) - cv.mean);
	if (mean.n < 3) {
		f->why = "done attempts began in fewer than three hours of the day";
		return;
	}
	put_number(f, "fastest_hour", fast);
	put_number(f, "fastest_mean", t->took[fast].mean / 1e6);
	put_number(f, "slowest_hour", slow);
	put_number(f, "slowest_mean", t->took[slow].mean / 1e6);
	put_number(f, "variation", cv.mean);
	put_number(f, "correlation",
		   mean.squares > 0 && cv.squares > 0 ? products / sqrt(mean.squares * cv.squares) : 0);
}

/* Finding 7.  A file system has the same number in each stack, so the tally adds its attempts of all stacks; but its
 * name must be looked for in the facts of each stack. */
static int find_mounts(struct jobstack *handle, struct figures_io *io, const struct figures_tally *t,
		       struct jobstack_error *error)
{
	struct figures_finding *f = &io->finding[6];
	size_t n = 0, least = 0, most = 0;
	int status = 0;

	for (; n < FIGURES_FACTS && t->mount[n].number != 0; n++) {
		least = t->mount[n].bytes < t->mount[least].bytes ? n : least;
		most = t->mount[n].bytes > t->mount[most].bytes ? n : most;
	}
	if (n < 2)
		f->why = n == 0 ? "no attempt's file system is known" : "all attempts used one file system";
	put_number(f, "file_systems", (double)n);
	put_number(f, "least", t->mount[least].bytes);
	put_number(f, "most", t->mount[most].bytes);
	for (size_t i = 0; i < io->stacks_n && status == 0 && n > 1; i++) {
		struct figures_facts facts = {.n = 0};

		status = figures_facts_read(&facts, handle, io->stacks[i], error);
		for (int k = 0; k < 2; k++) {
			const char *text =
				figures_facts_text(&facts, JOBSTACK_FACT_MOUNT, t->mount[k == 0 ? least : most].number);

			if (text != NULL)
				(void)snprintf(io->mount[k], FIGURES_WORDS, "%s", text);
			figures_share_mount(io->shared, io->mount[k]);
		}
		figures_facts_free(&facts);
	}
	return status;
}

/* The index of files is brought up to date first.  An account that may only read can't do that; then files that were
 * pushed later are missing, which the caller says. */
int figures_io_read(struct jobstack *handle, struct figures_io *io, figures_progress_fn *progress, void *ctx,
		    struct jobstack_error *error)
{
	struct figures_pass pass = {io->tally == NULL ? figures_tally_new() : NULL, progress, ctx};
	const struct figures_tally *tally = io->tally == NULL ? pass.tally : io->tally;
	struct jobstack_export_options all = JOBSTACK_EXPORT_OPTIONS_INIT;
	struct jobstack_files_options some = JOBSTACK_FILES_OPTIONS_INIT;
	struct sample *s = calloc(1, sizeof(*s));
	int status = s == NULL || tally == NULL ? js_error_memory(error) : 0;

	all.no_datapath = 1;
	for (size_t i = 0; i < io->stacks_n && status == 0 && pass.tally != NULL; i++)
		status = figures_tally_read(handle, io->stacks[i], &all, &pass, error);
	some.stacks = io->stacks;
	some.stacks_n = io->stacks_n;
	some.most = FIGURES_IO_SAMPLE;
	JS_THEN(status, jobstack_index(handle, NULL, NULL, error));
	if (status == JOBSTACK_EPERM && s != NULL) { /* an account that may only read */
		js_error_clear(error);
		io->unindexed = 1;
		status = 0;
	}
	JS_THEN(status, jobstack_files(handle, &some, sample_file, s, &io->share, error));
	if (s != NULL && s->failed) {
		js_error_clear(error);
		status = js_error_memory(error);
	}
	if (status == 0) {
		io->files = s->files;
		io->gaps_us = s->gaps_us;
		find_bytes(io->finding, tally, s);
		find_reuse(io->finding, s, io->stacks_n);
		find_together(&io->finding[7], s);
		find_hours(&io->finding[8], tally);
		status = find_mounts(handle, io, tally, error);
	}
	figures_tally_free(pass.tally);
	free(s != NULL ? s->done : NULL);
	free(s);
	return status;
}
