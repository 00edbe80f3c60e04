/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Why nothing, or not more, of a stack runs.  Promises: each reason is one that is seen, not guessed; each has its
 * remedy, where there is one; Slurm is asked only where it seems to be.
 */
#include "cli/cli.h"
#include "cli/why.h"

#include "base/clock.h"
#include "show/json.h"
#include "show/amount.h"
#include "show/status.h"
#include "show/text.h"
#include "show/words.h"
#include "frame/remedy.h"
#include "slurm/query.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLURM_LIMIT_US (5 * JS_SECOND_US)
#define JOBS 21 /* the first is one that has ended */
#define SLOW_COMMIT_US 2000
#define BUSY 1.5 /* times as long as work takes on an idle server */

/* What is looked at, and where the reasons go. */
struct reasons {
	const struct figures_stack *stack;
	const struct jobstack_status *s;
	cli_found_fn *found;
	void *ctx;
	struct js_slurm_queued job[JOBS];
	int asked;		     /* Slurm was */
	size_t jobs;		     /* of Slurm that have not ended; the first JOBS - 1 are in JOB, from 1 on */
	struct jobstack_error slurm; /* why Slurm did not tell them */
};

/* One reason: a word for programs, the remedy (or NULL) with {stack} in it, and the words. */
__attribute__((format(printf, 4, 5))) static void add_reason(const struct reasons *r, const char *code,
							     const char *remedy, const char *format, ...)
{
	const struct js_remedy about = {.stack = r->stack->name};
	char words[5000];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	r->found(r->ctx, &(const struct cli_reason){r->stack->name, code, words,
						    remedy == NULL ? NULL : js_remedy_fill(remedy, &about)});
}

/* Adds that the stack is paused, cancelled or being dropped, and returns 1: then nothing can run.  PAUSED: what to do
 * about a pause, if not the usual. */
static int state_reasons(const struct reasons *r, const char *paused)
{
	const struct jobstack_status *s = r->s;
	struct js_buf note = {0};
	char why[600] = "";

	if (r->stack->note.len > 0) {
		show_safe(&note, r->stack->note.data, r->stack->note.len);
		(void)snprintf(why, sizeof(why), " (%s)", note.data != NULL ? note.data : "");
		js_buf_free(&note);
	}
	if (s->state == JOBSTACK_DROPPING)
		add_reason(r, "dropping", js_remedy_text(JOBSTACK_WHY_DROPPING), "it is being dropped");
	else if (s->state == JOBSTACK_CANCELLED)
		add_reason(r, "cancelled", js_remedy_text(JOBSTACK_WHY_CANCELLED),
			   "it is cancelled: %" PRIu64 " %s had not started%s", SHOW_ENTRIES(s->cancelled), why);
	else if (s->state == JOBSTACK_PAUSED && s->max_failures > 0 && s->dead >= (uint64_t)s->max_failures)
		add_reason(r, "max_failures", js_remedy_text(JOBSTACK_WHY_MAX_FAILURES),
			   "it is paused, because %" PRIu64 " %s dead and max-failures is %" PRId64 "%s", s->dead,
			   show_are(s->dead), s->max_failures, why);
	else if (s->state == JOBSTACK_PAUSED)
		add_reason(r, "paused",
			   paused != NULL ? paused : js_remedy_text(why[0] != '\0' ? JS_WHY_PAUSED_FOR : JS_WHY_PAUSED),
			   "it is paused%s", why);
	return s->state != JOBSTACK_OPEN;
}

/* Returns whether as many entries run as the stack's policy allows. */
static int is_full(const struct jobstack_status *s)
{
	return s->max_running > 0 && s->running >= (uint64_t)s->max_running;
}

/* Returns whether entries are ready, and slots free, but may not start yet. */
static int is_rated(const struct jobstack_status *s)
{
	return s->max_starts > 0 && s->ready > 0 && s->busy < s->slots && !is_full(s);
}

/* Adds why entries are not ready, or are ready and not handed out. */
static void line_reasons(const struct reasons *r)
{
	const struct jobstack_status *s = r->s;

	if (s->held > 0 && s->pushers > 0)
		add_reason(r, "held", NULL, "%" PRIu64 " %s held until the push --atomic is complete", s->held,
			   show_are(s->held));
	else if (s->held > 0)
		add_reason(r, "held",
			   "push them again with --unique, which first removes what the interrupted push left",
			   "%" PRIu64 " %s held by a push --atomic that was interrupted", s->held, show_are(s->held));
	if (s->waiting > 0 && s->next_due_us > 0)
		add_reason(r, "waiting", NULL, "%" PRIu64 " %s waiting for a retry; the next one is due at %s (in %s)",
			   s->waiting, show_are(s->waiting), show_second(js_clock_wall_us() + s->next_due_us).text,
			   show_duration(s->next_due_us).text);
	else if (s->waiting > 0)
		add_reason(r, "waiting", s->workers > 0 ? NULL : "a worker must run to start them",
			   "%" PRIu64 " %s due for a retry", s->waiting, show_are(s->waiting));
	if (s->ready > 0 && is_full(s))
		add_reason(r, "max_running",
			   "`jobstack set -s {stack} max-running=N` changes the limit, max-running=none removes it",
			   "%" PRIu64 " %s running, and max-running is %" PRId64, s->running, show_are(s->running),
			   s->max_running);
	if (is_rated(s))
		add_reason(r, "max_starts",
			   "`jobstack set -s {stack} max-starts=N/min` changes that, max-starts=none lifts the limit",
			   "starts are limited to %s", show_starts(s->max_starts, s->starts_us).text);
	if (s->ready > 0)
		return;
	if (s->running > 0)
		add_reason(r, "last", "`jobstack status -s {stack}` shows the workers",
			   "nothing is queued, and %" PRIu64 " still run%s", s->running, s->running == 1 ? "s" : "");
	else if (s->waiting + s->held == 0)
		add_reason(r, s->dead > 0 ? "only_dead" : "finished",
			   s->dead > 0 ? JS_REMEDY_DEAD : "`jobstack push -s {stack}` adds entries",
			   "no entry is left: %" PRIu64 " of %" PRIu64 " %s done", s->done, s->pushed,
			   show_are(s->done));
}

/* Adds what the stack's own numbers tell.  PAUSED is as above. */
static void count_reasons(const struct reasons *r, const char *paused)
{
	int closed = state_reasons(r, paused);

	if (r->s->pushers > 0)
		add_reason(r, "pushing", NULL, "a push is still running: more entries will come");
	if (!closed)
		line_reasons(r);
	else if (r->s->running > 0)
		add_reason(r, "running", NULL, "entries that have started continue: %" PRIu64 " %s running",
			   r->s->running, show_are(r->s->running));
}

void cli_why_counts(const struct figures_stack *stack, cli_found_fn *found, void *ctx)
{
	const struct reasons r = {.stack = stack, .s = &stack->s, .found = found, .ctx = ctx};

	count_reasons(&r, NULL);
}

/* Adds a reason as a line of text: the stack, what it is, and what to do about it. */
static void add_line(void *out, const struct cli_reason *why)
{
	js_buf_printf(out, "%s: %s%s%s\n", why->stack, why->text, why->remedy == NULL ? "" : ": ",
		      why->remedy == NULL ? "" : why->remedy);
}

/* Reads the stack once more: the caller's numbers are those of before its attempt. */
void cli_why_say(const struct cli *cli, const char *before)
{
	struct jobstack_error ignored = JOBSTACK_ERROR_INIT;
	struct figures_stack stack = {.cwd = {0}};
	struct js_buf lines = {0};

	if (figures_stack_read(cli->handle, cli->stack, &stack, &ignored) == 0)
		cli_why_counts(&stack, add_line, &lines);
	for (char *rest = lines.data, *one; (one = strsep(&rest, "\n")) != NULL && *one != '\0';)
		cli_tell(cli, "%s%s", before, one);
	figures_stack_free(&stack);
	js_buf_free(&lines);
}

/* Adds what is known of one of the workers without being proven. */
static void suspect_reason(const struct reasons *r, const struct figures_snapshot *l)
{
	struct js_buf text = {0};
	size_t i = 0;

	while (i < l->worker_n && l->worker[i].suspicion == NULL)
		i++;
	if (i == l->worker_n)
		return;
	js_buf_printf(&text, "worker %" PRIu64 " on ", l->worker[i].worker);
	show_safe(&text, figures_worker_place(&l->worker[i]), strlen(figures_worker_place(&l->worker[i])));
	js_buf_str(&text, ": ");
	show_safe(&text, l->worker[i].suspicion, strlen(l->worker[i].suspicion));
	add_reason(r, "suspect", "see `jobstack recover -s {stack} --dry-run`", "%s",
		   text.data != NULL ? text.data : "");
	js_buf_free(&text);
}

/* Adds why ready entries are not being started: there are no workers; their heartbeats or connections are missing; all
 * slots are busy; or their workers are about to end. */
static void worker_reasons(const struct reasons *r, const struct figures_snapshot *l)
{
	const struct jobstack_status *s = r->s;
	uint64_t alive = s->workers - s->silent;
	struct js_buf next = {0}, why = {0};

	if (s->silent > 0)
		add_reason(r, "silent",
			   "`jobstack recover -s {stack}` requeues the entries of those workers that are dead",
			   "%" PRIu64 " of %" PRIu64 " worker%s %s sent no heartbeat for longer than the lease",
			   s->silent, s->workers, show_plural(s->workers), s->silent == 1 ? "has" : "have");
	suspect_reason(r, l);
	if (alive > 0 && figures_missing_us(l) >= 0) {
		add_reason(r, "missing",
			   "`jobstack recover -s {stack}` checks, and requeues the entries of dead workers",
			   "no worker is connected to the database: its node or its job may have ended");
		return;
	}
	if (s->ready == 0 || s->state != JOBSTACK_OPEN || is_full(s) || is_rated(s))
		return;
	if (alive == 0 && r->jobs > 0)
		add_reason(r, "no_workers", NULL,
			   "%" PRIu64 " %s ready, and no%s worker is running yet, but Slurm has jobs for this stack",
			   s->ready, show_are(s->ready), s->workers > 0 ? " other" : "");
	else if (alive == 0) {
		struct figures_idle idle = l->idle;

		/* that Slurm shows no job is certain only for a start of this user's: it may hide the jobs of others */
		idle.live =
			r->asked && r->slurm.code == 0 && (idle.last.job == 0 || idle.last.user == geteuid()) ? 0 : -1;
		idle.queued[0] = '\0';
		(void)snprintf(idle.state, sizeof(idle.state), "%s",
			       r->job[0].job >= idle.last.job ? r->job[0].state : "");
		show_idle(&why, &idle);
		cli_idle_next(r->stack->name, &idle, &next);
		add_reason(r, "no_workers", next.data, "%" PRIu64 " %s ready, and %s", s->ready, show_are(s->ready),
			   s->workers > 0 ? "no other worker is running" : why.data);
		js_buf_free(&why);
		js_buf_free(&next);
	} else if (s->busy >= s->slots)
		add_reason(r, "busy", l->held_back ? NULL : "start more workers, or workers with more --slots",
			   "every slot is busy (%" PRIu64 " of %" PRIu64 " worker%s)", s->slots, s->workers,
			   show_plural(s->workers));
	else
		add_reason(r, "idle_slots", NULL,
			   "%" PRIu64 " of %" PRIu64 " slots are free: their workers start entries soon, wait after "
			   "failures, or end soon (a signal, the wall time)",
			   s->slots - s->busy, s->slots);
}

/* Adds what fails most often. */
static void failing_reason(const struct reasons *r, const struct figures_snapshot *l)
{
	const struct figures_failure *f = &l->failures.group[0];
	const char *example = f->f.various ? "" : f->example;
	struct js_buf text = {0};

	if (l->failures.n == 0)
		return;
	show_safe_words(&text, f->reason);
	js_buf_str(&text, f->reason[0] != '\0' && example[0] != '\0' ? ": " : "");
	show_safe_words(&text, example);
	add_reason(r, "failing", NULL, "%" PRIu64 " %s: %s%s%s (`jobstack logs -s %s %" PRIu64 "` shows its output)",
		   f->f.count, l->failures_all ? "of the last attempts" : "of the dead entries",
		   show_failure_how(&f->f).text, text.len > 0 ? ": " : "", text.len > 0 ? text.data : "",
		   r->stack->name, f->f.entry);
	js_buf_free(&text);
}

static void job_reason(const struct reasons *r, const struct js_slurm_queued *job)
{
	const struct show_amount when = show_second(job->pending && job->start_us > 0 ? job->start_us : -1);
	char words[400];

	js_slurm_queued_words(job, words, sizeof(words));
	add_reason(r, job->pending ? "slurm_pending" : "slurm_running", NULL, "%s%s%s", words,
		   when.text[0] != '\0' ? ", expected to start at " : "", when.text);
}

/* ---------------------------------------------------------------------------------------- the server is the reason */

#define FEWER                                                                                                          \
	"start a server of your own (`jobstack server start`), or let workers need fewer steps: fewer workers with "   \
	"more --slots each, and entries with more work each"
#define IF_SLOW "if `jobstack doctor` finds its disk slow, "
#define FASTER_LOG "put InnoDB's log on a faster disk; or " FEWER
#define FASTER_BINLOG                                                                                                  \
	"put the binary log on a faster disk, or set sync_binlog=0 (then a crash of the server's host can lose "       \
	"outcomes); or " FEWER

/* A long commit alone does not show that the disk is slow: the thread that commits may wait for a processor.  Therefore
 * "if the disk is slow" stands in the remedy, unless the caller has measured the disk. */
const char *cli_why_server(const struct figures_server *s, int64_t commit_us, int slow_disk, char *words, size_t size)
{
	static const struct {
		const char *words, *remedy, *slow;
	} cause[] = {
		[FIGURES_NOTHING] = {"no commit waits for a disk", FEWER, FEWER},
		[FIGURES_LOG] = {"innodb_flush_log_at_trx_commit=1", IF_SLOW FASTER_LOG, FASTER_LOG},
		[FIGURES_BINLOG] = {"binary log with sync_binlog=1", IF_SLOW FASTER_BINLOG, FASTER_BINLOG},
		[FIGURES_REPLICA] = {"each commit waits for a replica, semi-synchronous replication", FEWER, FEWER},
		[FIGURES_CLUSTER] = {"each commit waits for the other servers of the cluster", FEWER, FEWER},
	};
	const enum figures_commit commit = figures_server_commit(s);
	const double slowdown = figures_server_number(s, "cpu.slowdown", 0);
	int waits = commit_us >= SLOW_COMMIT_US, on_disk = commit == FIGURES_LOG || commit == FIGURES_BINLOG;
	char busy[80] = "";

	if (slowdown >= BUSY)
		(void)snprintf(busy, sizeof(busy), "the server's CPU is busy: work takes %.1f times as long", slowdown);
	if (waits)
		(void)snprintf(words, size, "%s%s%s%s", cause[commit].words,
			       slow_disk && on_disk ? " on a slow disk" : "", busy[0] != '\0' ? "; " : "", busy);
	else if (busy[0] != '\0')
		(void)snprintf(words, size, "%s", busy);
	else
		(void)snprintf(words, size, "commits are quick; a round trip takes %s",
			       show_took(figures_server_number(s, "roundtrip_us", 0)).text);
	return !waits ? FEWER : slow_disk ? cause[commit].slow : cause[commit].remedy;
}

const char *cli_why_steps(const struct figures_steps *s, char *words, size_t size)
{
	char cause[300];
	const char *remedy = cli_why_server(&s->server, s->commit_us, 0, cause, sizeof(cause));

	(void)snprintf(words, size,
		       "slots wait for the database for %s of their time: a worker's step takes %s, the commit in it "
		       "%s (%s)",
		       show_percent(s->waiting).text, show_took((double)s->us).text,
		       show_took((double)s->commit_us).text, cause);
	return remedy;
}

static void steps_reason(const struct reasons *r, const struct figures_steps *s, json_t *o)
{
	char words[500];
	const char *remedy = cli_why_steps(s, words, sizeof(words));

	add_reason(r, "slow_steps", remedy, "%s", words);
	if (o != NULL)
		SHOW_SET(o, KEY_SPAN("step_seconds", s->us), KEY_SPAN("commit_seconds", s->commit_us),
			 KEY_REAL("waiting_share", s->waiting, 1));
}

/* Asks Slurm whether it has jobs for the stack. */
static void ask_slurm(struct reasons *r)
{
	struct js_slurm_where where = {getenv("JOBSTACK_MODULE_DIR"), SLURM_LIMIT_US, NULL};

	r->asked = 1;
	if (js_slurm_queued(&where, (uint32_t)geteuid(), r->stack->name, r->job, JOBS, &r->jobs, &r->slurm) != 0)
		r->jobs = 0;
}

/* Adds what Slurm says of the stack's jobs: those that wait, and, if the stack has no worker, those that run without
 * one. */
static void slurm_reasons(const struct reasons *r, json_t *o)
{
	uint64_t more = r->jobs >= JOBS ? r->jobs - JOBS + 1 : 0;

	if (r->slurm.code != 0) {
		if (r->slurm.code != JOBSTACK_EMISSING) /* without the module there is nothing to tell */
			add_reason(r, "slurm_silent", NULL, "can't query Slurm: %s", r->slurm.text);
		return;
	}
	for (size_t i = 1; i <= r->jobs && i < JOBS; i++)
		if (r->job[i].pending || r->s->workers == 0)
			job_reason(r, &r->job[i]);
	if (more > 0)
		add_reason(r, "slurm_more", NULL, "%" PRIu64 " more Slurm jobs of this stack: see squeue --me", more);
	if (o != NULL)
		SHOW_SET(o, KEY_COUNT("slurm_jobs", r->jobs));
}

/* Adds all reasons, in the order in which a person would look for them.  Slurm is asked before the workers are judged,
 * because jobs that wait explain why there are none. */
static void collect_reasons(struct reasons *r, const struct figures_snapshot *l, json_t *o)
{
	const struct jobstack_status *s = r->s;
	struct figures_idle paused = l->idle;
	struct js_buf next = {0};
	int slurm = figures_stack_left(s) + s->cancelled > 0 && js_slurm_is_here();

	paused.paused = 1;
	if (s->workers == 0)
		cli_idle_next(r->stack->name, &paused, &next);
	count_reasons(r, next.data);
	js_buf_free(&next);
	if (slurm)
		ask_slurm(r);
	worker_reasons(r, l);
	if (l->held_back)
		steps_reason(r, &l->steps, o);
	failing_reason(r, l);
	if (s->dead > 0)
		add_reason(r, "dead", JS_REMEDY_DEAD, "%" PRIu64 " %s dead", s->dead, show_are(s->dead));
	if (slurm)
		slurm_reasons(r, o);
}

void cli_why_text(const struct figures_snapshot *l, const struct figures_seen *seen, struct js_buf *out)
{
	struct reasons r = {.stack = &seen->stack, .s = &seen->stack.s, .found = add_line, .ctx = out};

	collect_reasons(&r, l, NULL);
}

static void add_object(void *list, const struct cli_reason *why)
{
	SHOW_APPEND(list, KEY_TEXT("why", why->code), KEY_TEXT("text", why->text), KEY_TEXT("remedy", why->remedy));
}

json_t *cli_why_json(const struct figures_snapshot *l, const struct figures_seen *seen)
{
	json_t *list = json_array(), *o = SHOW_OBJECT(KEY_TEXT("stack", seen->stack.name),
						      KEY_TEXT("state", show_stack_state(&seen->stack.s)));
	struct reasons r = {.stack = &seen->stack, .s = &seen->stack.s, .found = add_object, .ctx = list};

	if (list != NULL)
		collect_reasons(&r, l, o);
	SHOW_SET(o, KEY_JSON("why", list));
	return o;
}
