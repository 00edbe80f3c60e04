/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack wait: returns when nothing is left to do.  Promise: it is kind to the database: it asks seldom while little
 * changes, not at the same moments as others that wait, and holds no connection in between.
 */
#include "cli/why.h"

#include "base/clock.h"
#include "show/json.h"
#include "show/amount.h"
#include "show/status.h"
#include "show/term.h"
#include "show/words.h"
#include "figures/stack.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_US (JS_SECOND_US / 4)
#define LONGEST_US (20 * JS_SECOND_US)
#define LAST_US (5 * JS_SECOND_US)    /* the last ones are running */
#define SHOWN_US (2 * JS_SECOND_US)   /* somebody looks at it */
#define RIDE_US (3600 * JS_SECOND_US) /* a database that is away is waited for that long */

#define ALONE_US (10 * JS_SECOND_US) /* after that long without a worker, it says so */

#define BAR 22
#define WIDE 70 /* a narrower terminal gets no bar */

struct waiting {
	struct cli *cli;
	int64_t began_us, until_us; /* until: INT64_MAX without a timeout */
	int64_t away_us;	    /* since when the database is away; 0: it is not */
	int64_t alone_us;	    /* since when nobody works there */
	struct jobstack_status last;
	struct jobstack_pace pace;
	struct cli_progress progress;
	char told[1024]; /* why nobody works there, as it was told */
	struct figures_idle idle;
	int told_paused, timed_out;
};

/* Prints how the wait has ended: the end was reached, the time is over, or nobody will work there.  Returns STATUS, or
 * CLI_BUG if it can't be printed. */
static int print_wait_result(struct waiting *w, int status)
{
	const struct jobstack_status *s = &w->last;

	cli_progress_end(&w->progress);
	if (w->cli->json)
		return CLI_PRINT(KEY_TEXT("stack", w->cli->stack), KEY_TEXT("state", show_stack_state(s)),
				 KEY_COUNT("pushed", s->pushed), KEY_COUNT("done", s->done), KEY_COUNT("dead", s->dead),
				 KEY_COUNT("cancelled", s->cancelled), KEY_COUNT("left", figures_stack_left(s)),
				 KEY_COUNT("pruned", s->pruned), KEY_SPAN("seconds", jobstack_now_us() - w->began_us),
				 KEY_FLAG("timed_out", w->timed_out)) == CLI_YES
			       ? status
			       : CLI_BUG;
	if (!w->cli->quiet)
		(void)printf("%s%s%" PRIu64 " done, %" PRIu64 " dead, %" PRIu64 " left%s\n",
			     w->cli->stacks_n > 1 ? w->cli->stack : "", w->cli->stacks_n > 1 ? ": " : "",
			     s->done + s->pruned, s->dead, figures_stack_left(s),
			     s->cancelled > 0 ? ", the rest cancelled" : "");
	(void)fflush(stdout);
	if (w->timed_out)
		cli_say(w->cli, "the --timeout is over: `jobstack status -s %s --why` explains what is left",
			w->cli->stack);
	else if (s->dead > 0 && !w->cli->quiet)
		cli_why_say(w->cli, "");
	return status;
}

static int64_t timeout_us = INT64_MAX, fail_idle_us = INT64_MAX;

/* Returns whether nobody will work on the stack.  That is certain only for what `jobstack submit` has started: Slurm
 * has no job of the stack any more, nothing was pushed since the last job was submitted, and if a worker came after
 * that, the last one was in a job.  Of workers that are started by hand nobody knows whether others will follow; for
 * them --fail-idle sets a time. */
static int is_given_up(const struct waiting *w)
{
	const struct figures_idle *i = &w->idle;

	return (!i->paused && jobstack_now_us() - w->alone_us >= fail_idle_us) ||
	       (i->live == 0 && i->last.job > 0 && i->last.pushed == w->last.pushed && w->last.pushers == 0 &&
		(!i->last.came || i->last.in_job));
}

/* Says why nobody works there, whenever that changes, and what helps, since a script would wait for ever.  A short gap
 * between two jobs is not worth a message, so it waits for ALONE_US.  Returns 1 if the wait is over. */
static int watch_idle(struct waiting *w)
{
	struct jobstack_error ignored = JOBSTACK_ERROR_INIT;
	const struct figures_idle *i = &w->idle;
	struct js_buf why = {0}, next = {0};
	char now[sizeof(w->told)];

	if ((w->last.state != JOBSTACK_OPEN && w->last.state != JOBSTACK_PAUSED) || w->last.workers > w->last.silent) {
		w->alone_us = jobstack_now_us();
		w->told[0] = '\0';
	}
	if (jobstack_now_us() - w->alone_us < (fail_idle_us < ALONE_US ? fail_idle_us : ALONE_US) ||
	    figures_idle_read(w->cli->handle, w->cli->stack, &w->last, &w->idle, &ignored) != 0 || !i->alone)
		return 0;
	cli_idle_ask(w->cli, w->cli->stack, &w->idle);
	/* what the message depends on, but for the times in it, which change with each look */
	(void)snprintf(now, sizeof(now), "%d %" PRIu64 " %s %s %s %s", i->last.came, i->last.job, i->node, i->reason,
		       i->queued, i->state);
	show_idle(&why, i);
	cli_idle_next(w->cli->stack, i, &next);
	if (strcmp(now, w->told) != 0 && why.data != NULL && next.data != NULL) {
		cli_progress_end(&w->progress);
		cli_tell(w->cli, "%s: %" PRIu64 " left, but %s: %s", w->cli->stack, figures_stack_left(&w->last),
			 why.data, next.data);
		memcpy(w->told, now, sizeof(now));
	}
	js_buf_free(&why);
	js_buf_free(&next);
	return is_given_up(w);
}

static void show_wait(struct waiting *w)
{
	const struct jobstack_status *s = &w->last;
	const struct js_bar counts = figures_stack_bar(s);
	struct js_buf bar = {0};

	if (s->state == JOBSTACK_PAUSED && !w->told_paused && !w->cli->quiet) {
		cli_progress_end(&w->progress);
		cli_why_say(w->cli, "");
	}
	w->told_paused = s->state == JOBSTACK_PAUSED;
	if (!cli_progress_due(&w->progress))
		return;
	if (show_columns(stderr) >= WIDE)
		js_bar_draw(&bar, &counts, BAR, js_bar_utf8() ? JS_BAR_UTF8 : 0);
	cli_progress(&w->progress, "%s%s%s, %" PRIu64 " left, %" PRIu64 " running%s%s%s%s",
		     bar.data != NULL ? bar.data : "", bar.data != NULL ? " " : "",
		     show_percent(figures_stack_share(s)).text, figures_stack_left(s), s->busy,
		     w->pace.rate > 0 ? ", " : "", w->pace.rate > 0 ? show_rate(w->pace.rate, " files").text : "",
		     w->pace.eta_us > 0 ? ", ends in about " : "", w->pace.eta_us > 0 ? show_eta(&w->pace).text : "");
	js_buf_free(&bar);
}

/* Reads the stack once.  A database that is away is no error for an hour: a wait in a script outlives the restart of a
 * server. */
static int read_stack(struct waiting *w)
{
	struct jobstack_status now;
	int status = cli_read_status(w->cli, &now);

	if (status == 0) {
		w->last = now;
		w->away_us = 0;
		if (w->last.state == JOBSTACK_DROPPING) /* it is as good as gone */
			status = js_error_set(&w->cli->error, JOBSTACK_EMISSING, "the stack \"%s\" is being dropped",
					      w->cli->stack);
		else if (!figures_stack_is_over(&w->last) && (w->progress.on || !w->progress.begun))
			status = jobstack_pace(w->cli->handle, w->cli->stack, &w->pace, &w->cli->error);
	}
	if (status != JOBSTACK_ENODB || cli_stop != 0)
		return status;
	if (w->away_us == 0) {
		w->away_us = jobstack_now_us();
		cli_progress_end(&w->progress);
		cli_say(w->cli, "%s: still trying", w->cli->error.text);
	} else if (jobstack_now_us() - w->away_us > RIDE_US)
		return status;
	js_error_clear(&w->cli->error);
	return 0;
}

/* Returns how long to pause before the next look: half as long again each time, so that the wait is at most half as
 * long again as the work.  Near the end, and where somebody looks at it, the longest pause is shorter.  The caller adds
 * chance to it, so that many who wait do not ask at the same moment. */
static int64_t next_pause(const struct waiting *w, int64_t pause)
{
	int64_t longest = w->progress.on ? SHOWN_US
			  : w->last.workers == w->last.silent || w->last.ready + w->last.waiting + w->last.held == 0
				  ? LAST_US
				  : LONGEST_US,
		speaks = w->alone_us + ALONE_US - jobstack_now_us(); /* until then it need not */

	pause += pause / 2;
	if (w->last.workers == w->last.silent && speaks > 0 && speaks + FIRST_US < longest)
		longest = speaks + FIRST_US;
	return pause > longest ? longest : pause;
}

static int take_fail_idle(struct cli *cli, void *us, int key, const char *arg)
{
	*(int64_t *)us = ALONE_US;
	return *arg == '\0' ? 0 : cli_take(cli, CLI_TIME(us, 0, "a duration such as 90, 15m or 2h"), key, arg);
}

static const struct js_opt table[] = {
	CLI_OPTS_STACKS,
	{0, "timeout", "D", "wait at most D (90, 15m, 2h); the exit status is 124 if work is left by then",
	 CLI_TIME(&timeout_us, 0, "a duration such as 90, 15m or 2h")},
	{0, "fail-idle", "[D]", "end with status 3 if no worker was there for D (default 10s)",
	 CLI_BY(take_fail_idle, &fail_idle_us)},
	CLI_OPTS_REST};

/* Called for each stack.  --timeout is for all of them together, so its clock starts with the first.  Between two looks
 * the connection is closed: many who wait would else use up the server's connections. */
static int wait_for_end(struct cli *cli)
{
	static struct waiting w;
	static int64_t began_us; /* of the first stack: --timeout is for all */
	int64_t pause = FIRST_US;

	w = (struct waiting){.cli = cli, .pace = JOBSTACK_PACE_INIT, .progress = {.cli = cli}};
	w.began_us = w.alone_us = jobstack_now_us();
	began_us = began_us > 0 ? began_us : w.began_us;
	w.until_us = timeout_us == INT64_MAX ? INT64_MAX : began_us + timeout_us;
	srandom((unsigned)(w.began_us ^ getpid()));
	while (read_stack(&w) == 0) {
		if (w.away_us == 0 && figures_stack_is_over(&w.last))
			return print_wait_result(&w, w.last.dead == 0 && w.last.cancelled == 0 ? CLI_YES : CLI_NO);
		w.timed_out = jobstack_now_us() >= w.until_us;
		if (w.timed_out)
			return print_wait_result(&w, CLI_TIMEOUT);
		if (w.away_us == 0 && watch_idle(&w))
			return print_wait_result(&w, CLI_IDLE);
		show_wait(&w);
		pause = next_pause(&w, pause);
		if (pause >= JS_SECOND_US)
			jobstack_disconnect(cli->handle);
		for (int64_t until = jobstack_now_us() + pause * 3 / 4 + random() % (pause / 2); cli_stop == 0;) {
			int64_t now = jobstack_now_us(), end = until < w.until_us ? until : w.until_us;

			if (now >= end)
				break;
			js_clock_nap(end - now, &cli_stop);
		}
		if (cli_stop != 0)
			break;
	}
	cli_progress_end(&w.progress);
	return cli_stop != 0 ? CLI_NO : cli_fail(cli);
}

static const char about[] =
	"Waits until nothing in the stacks is left to do, and no push to them is running. Ends with 0 if all entries "
	"are done,\n1 if any is dead or cancelled, 3 if entries are left but all jobs of `jobstack submit` are over "
	"and no worker\nruns, 124 if that takes longer than --timeout.";
static const char notes[] = "  jobstack wait mystack --timeout 12h && ./collect.sh";
static const struct js_opts opts = {"jobstack wait", "[STACK...] [OPTIONS]", about, table, notes, 0};
const struct cli_frame cli_wait = {&opts, "", CLI_DIES | CLI_EACH | CLI_LOOKS, 0, NULL, wait_for_end};
