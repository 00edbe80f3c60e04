/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The display.  Promises: a command or a heartbeat never waits for it; per entry it costs nothing that has to be
 * formatted, but for those that fail; names and last words are escaped.
 */
#include "worker/display.h"

#include "base/bar.h"
#include "base/clock.h"
#include "proc/proc.h"
#include "show/amount.h"
#include "show/term.h"
#include "show/text.h"
#include "show/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LONG_US (2 * JS_SECOND_US)  /* a command that runs for longer is named */
#define SPAN_US (10 * JS_SECOND_US) /* the rate is that of one or two spans, each of so much time... */
#define SPAN_N 50		    /* ... and so many files */
#define BAR_LEAST 7
#define NAME 256

/* All that is shown, read from the mailbox at one moment. */
struct frame {
	struct sight sight;
	uint64_t all, done, dead;
	size_t running;
	int64_t since_us; /* when the command began that has run longest; 0: none runs */
	char name[NAME];  /* of its entry */
	size_t name_len;
};

void display_begin(struct display *d, const struct config *config, struct mailbox *box)
{
	d->config = config;
	d->box = box;
	d->terminal = speaker_on_terminal();
	d->on = config->progress == CONFIG_ALWAYS ||
		(config->progress == CONFIG_AUTO && !config->quiet && (config->of_run || d->terminal));
}

/* ----------------------------------------------------------------------------------------------------- the picture */

/* Finds the command that has run longest; with the lock held. */
static void find_longest(const struct mailbox *box, struct frame *f)
{
	const struct jobstack_running *longest = NULL;
	const struct parcel *p;

	for (size_t i = 0; i < box->slots_n; i++)
		if (box->slots[i].entry != 0 && (longest == NULL || box->slots[i].started_us < longest->started_us))
			longest = &box->slots[i];
	if (longest == NULL)
		return;
	f->since_us = longest->started_us;
	STAILQ_FOREACH(p, &box->parcels, next)
	for (size_t i = 0; i < p->started; i++) {
		const struct jobstack_entry *e = jobstack_batch_entry(&p->batch, i);

		if (e->entry != longest->entry || e->attempt != longest->attempt)
			continue;
		f->name_len = e->datapath_len < NAME ? e->datapath_len : NAME;
		memcpy(f->name, e->datapath, f->name_len);
		return;
	}
}

/* Fills F.  Returns whether there is anything to show.  What the stack had done when it was last read is brought up to
 * date by what this worker has done since. */
static int read_mailbox(struct mailbox *box, struct frame *f)
{
	int going;

	*f = (struct frame){.all = 0};
	(void)pthread_mutex_lock(&box->lock);
	going = box->sight.at_us != 0 && !box->ended;
	f->sight = box->sight;
	f->done = box->sight.idle.done + box->done - box->sight.done;
	f->dead = box->sight.idle.dead + box->dead - box->sight.dead;
	f->running = box->running;
	f->all = f->done + f->dead + box->running + box->queued;
	if (f->all < box->sight.all)
		f->all = box->sight.all;
	if (going && f->running > 0)
		find_longest(box, f);
	(void)pthread_mutex_unlock(&box->lock);
	return going;
}

/* Returns how many files per second have ended, in the last one or two spans. */
static double measure_rate(struct display *d, uint64_t ended, int64_t now)
{
	if (d->from_us[0] == 0 || ended < d->from[1]) {
		d->from_us[0] = d->from_us[1] = now;
		d->from[0] = d->from[1] = ended;
	}
	if (now - d->from_us[1] >= SPAN_US && ended - d->from[1] >= SPAN_N) {
		d->from_us[0] = d->from_us[1];
		d->from[0] = d->from[1];
		d->from_us[1] = now;
		d->from[1] = ended;
	}
	return now > d->from_us[0] ? (double)(ended - d->from[0]) * 1e6 / (double)(now - d->from_us[0]) : 0;
}

/* Adds how many entries wait for a retry, the first one for WAIT_US. */
static void add_retry(struct js_buf *out, uint64_t n, int64_t wait_us)
{
	js_buf_printf(out, "%" PRIu64 " wait%s for the next try", n, n == 1 ? "s" : "");
	if (wait_us > 0)
		js_buf_printf(out, "%s in %" PRId64 " s", n == 1 ? "," : ", the first one",
			      (wait_us + JS_SECOND_US - 1) / JS_SECOND_US);
}

/* Adds what the worker waits for, or which command has run longest. */
static void add_reason(struct js_buf *out, const struct frame *f, int64_t now)
{
	const struct jobstack_idle *idle = &f->sight.idle;

	if (f->since_us != 0 && now - f->since_us >= LONG_US) {
		js_buf_str(out, "longest: ");
		show_safe(out, f->name, f->name_len);
		js_buf_printf(out, " (%s)", show_duration(now - f->since_us).text);
	} else if (f->running > 0 || idle->ready > 0)
		return;
	else if (idle->state == JOBSTACK_PAUSED)
		js_buf_str(out, "the stack is paused");
	else if (idle->waiting > 0)
		add_retry(out, idle->waiting, idle->next_due_us - (now - f->sight.at_us));
	else if (idle->running > 0)
		js_buf_printf(out, "other workers run the last %" PRIu64, idle->running);
	else if (idle->pushers > 0)
		js_buf_str(out, "waiting for more names");
}

/* Adds the first line: how many files are done, have failed and run, how fast, and how long the rest will take. */
static void add_counts(struct display *d, struct js_buf *out, const struct frame *f, int64_t now, int colours)
{
	uint64_t ended = f->done + f->dead;
	double rate = measure_rate(d, ended, now);
	int64_t left = rate > 0 ? (int64_t)((double)(f->all - ended) * 1e6 / rate) : 0;
	const struct jobstack_pace pace = {sizeof(pace), rate, left, left, left, -1};
	char failed[40];

	js_buf_printf(out, "%" PRIu64 "/%" PRIu64 "%s done (%d %%)", f->done, f->all,
		      f->sight.idle.pushers > 0 ? "+" : "",
		      f->all > 0 ? (int)(100 * (double)f->done / (double)f->all) : 0);
	if (f->dead > 0) {
		(void)snprintf(failed, sizeof(failed), "%" PRIu64 " failed", f->dead);
		js_buf_str(out, ", ");
		show_paint(out, colours, SHOW_RED, failed);
	}
	js_buf_printf(out, ", %zu running", f->running);
	if (f->running > 0 && f->sight.idle.waiting > 0) /* else the second line says it */
		js_buf_printf(out, ", %" PRIu64 " to retry", f->sight.idle.waiting);
	if (rate > 0)
		js_buf_printf(out, ", %s", show_rate(rate, d->config->commands ? " commands" : " files").text);
	/* What is left has begun and takes longer than the others did: nobody knows how long.  If nothing can run now,
	 * the second line says what it waits for. */
	if (left > 0 && f->sight.idle.pushers == 0 && f->running + f->sight.idle.ready > 0 &&
	    (f->all - ended > f->running + f->sight.idle.waiting || f->since_us == 0 || now - f->since_us < LONG_US))
		js_buf_printf(out, ", %s left", show_eta(&pace).text);
}

/* Returns whether the terminal is ours to draw on.  Ctrl-Z stops the keeper, but not this process, which is in a
 * session of its own. */
static int is_foreground(void)
{
	struct js_proc keeper;

	return js_proc_read(getppid(), &keeper) != 0 || !keeper.stopped;
}

/* The bar gets what room the counts leave in the first line, if that is enough to be of use. */
int display_draw(void *ctx, unsigned columns, struct js_buf *text)
{
	struct js_buf counts = {0}, reason = {0};
	struct display *d = ctx;
	int64_t now = jobstack_now_us();
	unsigned width;
	struct frame f;

	if (columns > 0 && !is_foreground())
		return 0;
	if (!read_mailbox(d->box, &f))
		return 1;
	add_counts(d, &counts, &f, now, columns > 0 && show_colours(stderr));
	add_reason(&reason, &f, now);
	width = counts.failed ? columns : show_width(counts.data, counts.len) + 1;
	if (columns >= width + BAR_LEAST) {
		const struct js_bar bar = {f.all, f.done, f.running, f.dead};

		js_bar_draw(text, &bar, columns - width,
			    (js_bar_utf8() ? JS_BAR_UTF8 : 0) | (show_colours(stderr) ? JS_BAR_COLOURS : 0));
		js_buf_char(text, ' ');
	}
	js_buf_add(text, counts.data, counts.len);
	if (reason.len > 0) {
		js_buf_str(text, columns > 0 ? "\n" : ", ");
		js_buf_add(text, reason.data, reason.len);
	}
	js_buf_free(&counts);
	js_buf_free(&reason);
	return 1;
}

/* ------------------------------------------------------------------------------------------------------- the lines */

/* Only the ledger calls this, after a look at the stack, so SIGHT does not change meanwhile. */
void display_announce(struct display *d)
{
	const struct sight *sight = &d->box->sight;
	uint64_t left = sight->all - sight->idle.done - sight->idle.dead;
	const char *what = d->config->commands ? "command" : "file";

	if (d->config->quiet)
		return;
	if (left == 0)
		speaker_say("stack \"%s\": nothing is left to do", d->config->stack);
	else if (left == sight->all)
		speaker_say("stack \"%s\": %" PRIu64 " %s%s%s, %zu at a time", d->config->stack, left, what,
			    show_plural(left), sight->idle.pushers > 0 ? " so far" : "", d->box->slots_n);
	else
		speaker_say("stack \"%s\": %" PRIu64 " of %" PRIu64 " %ss %s left, %zu at a time", d->config->stack,
			    left, sight->all, what, show_are(left), d->box->slots_n);
}

/* Failures for good are shown while they happen, or, without the display, the first few in the summary.  Of failures
 * that will be tried again only an entry's first one is shown, and only on a terminal. */
void display_failed(struct display *d, const struct jobstack_entry *e, const struct jobstack_outcome *o, int dead)
{
	struct js_buf text = {0}, line = {0};

	if (dead ? d->failures_n >= DISPLAY_FAILURES && !d->on : !d->on || !d->terminal || e->fails > 0)
		return;
	show_failed(&text, e->datapath, e->datapath_len, o->reason, o->err_tail.data, o->err_tail.len);
	if (dead && d->failures_n++ < DISPLAY_FAILURES)
		js_buf_printf(&d->failures, "%s\n", text.data != NULL ? text.data : "");
	if (d->on) {
		show_paint(&line, d->terminal && show_colours(stderr), dead ? SHOW_RED : SHOW_YELLOW,
			   dead ? "failed" : "failed, will be tried again");
		js_buf_printf(&line, ": %s", text.data != NULL ? text.data : "");
		if (o->started_us > 0 && o->ended_us > o->started_us)
			js_buf_printf(&line, " after %s", show_took((double)(o->ended_us - o->started_us)).text);
		speaker_put(&line);
	}
	js_buf_free(&text);
	js_buf_free(&line);
}

/* Says what happens to the commands, what another Ctrl-C does, and how to continue. */
void display_interrupted(const struct display *d, int again)
{
	size_t running;

	if (d->config->quiet)
		return;
	(void)pthread_mutex_lock(&d->box->lock);
	running = d->box->running;
	(void)pthread_mutex_unlock(&d->box->lock);
	if (running == 0)
		speaker_say("interrupted: no command is running");
	else if (again)
		speaker_say("ending %zu command%s", running, show_plural(running));
	else
		speaker_say("interrupted: %zu command%s %s running, and may continue for %s; Ctrl-C again ends %s now",
			    running, show_plural(running), show_are(running), show_duration(d->config->grace_us).text,
			    running == 1 ? "it" : "them");
	if (!again && d->config->of_run)
		speaker_say("nothing is lost: the same command line continues, and so does `jobstack run -s %s`",
			    d->config->stack);
	else if (!again)
		speaker_say("nothing is lost: the same command line continues");
}

/* Under `jobstack run` that command prints the summary, so here only what it can't know is said. */
void display_summary(struct display *d, int64_t took_us, const char *why)
{
	const struct mailbox *b = d->box;
	char attempts[64] = "", interrupted[64] = "";

	if (d->config->quiet)
		return;
	if (b->failed > b->dead)
		(void)snprintf(attempts, sizeof(attempts), " (%" PRIu64 " attempt%s failed)", b->failed,
			       show_plural(b->failed));
	if (b->interrupted > 0)
		(void)snprintf(interrupted, sizeof(interrupted), ", %" PRIu64 " interrupted", b->interrupted);
	if (!d->config->of_run || d->config->verbose)
		speaker_say("%" PRIu64 " %s%s done, %" PRIu64 " failed%s in %s%s%s%s", b->done,
			    d->config->commands ? "command" : "file", show_plural(b->done), b->dead, interrupted,
			    show_duration(took_us).text, attempts, why[0] != '\0' ? ": " : "", why);
	if (!d->config->of_run && b->dead > 0) {
		for (char *line = d->failures.data; line != NULL && *line != '\0' && !d->on;
		     line = strchr(line, '\n') + 1)
			speaker_say("failed: %.*s", (int)strcspn(line, "\n"), line);
		speaker_say(
			"`jobstack list -s %s -t dead` lists what failed, `jobstack requeue -s %s` puts it back in the "
			"queue",
			d->config->stack, d->config->stack);
	}
	if (d->config->of_run && b->leaving > LEAVE_HALTED && b->leaving != LEAVE_SIGNAL && why[0] != '\0')
		speaker_say("%s", why);
}
