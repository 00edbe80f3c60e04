/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The ledger: claims ahead, writes outcomes in batches, sends heartbeats.  (When to leave: lookout.c.)
 * Promises: outcomes and the next claim go in one transaction; a step whose outcome is unknown is repeated as it was
 * until it is known, or the lease is over; what was claimed and not started goes back as soon as it is clear that it
 * will wait.
 */
#include "worker/ledger.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/num.h"
#include "worker/defer.h"
#include "worker/lookout.h"
#include "worker/neighbours.h"
#include "worker/speaker.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define STUCK_US (5 * JS_SECOND_US) /* if no command starts or ends in this time, what waits is returned */
/* How long a worker that has to end, with nothing running, waits for the database. */
#define GOING_US (10 * JS_SECOND_US)
#define REST_US (30 * JS_SECOND_US)	/* without a step for this time, the worker disconnects... */
#define REST_SOON_US (2 * JS_SECOND_US) /* ... or for this time, if commands take longer than: */
#define REST_LONG_US (5 * JS_SECOND_US)
#define CUTS_MOST 3 /* if so many idle connections in a row ended soon, none is kept for some time */
#define STAY_SHORT_US (600 * JS_SECOND_US)  /* soon */
#define STAY_AGAIN_US (3600 * JS_SECOND_US) /* for this time */
#define STAY_CHECK_US (30 * JS_SECOND_US)   /* how often a worker checks its idle connection */
#define STAY_ROOM 4 /* in each fourth check it asks the server how many connections are in use */

/* What the next step carries, taken from the mailbox under its lock. */
struct step {
	struct result *results;
	struct jobstack_outcome *outcomes;
	size_t n, k;
	int fresh; /* claim nothing that was lost before; 2: nor what is near, and only its farthest entry is to start
		    */
	struct jobstack_running running[SLOTS_MAX];
	size_t running_n;
	int beat, nudged;
	uint64_t leaps; /* the leaps of the wall clock that it follows */
	int after_leap; /* it is the first step after a leap */
};

/* Whether the next claim is for an entry far behind: it takes many, which is not allowed always. */
static int goes_far(const struct ledger *l)
{
	return suspicion_goes_far(&l->box->suspicion) && !l->limited && l->config->batch == 0 &&
	       l->config->max_entries == 0 && l->box->max_losses >= 2;
}

/* Fills in what the next step would claim, and when it is due. */
static struct batching_plan plan_step(struct ledger *l, int64_t now)
{
	const struct mailbox *box = l->box;
	const struct batching b = {
		.now_us = now,
		.slot = box->slots,
		.slots = box->slots_n,
		.running = box->running,
		.queued = box->queued,
		.mean_us = box->mean_us,
		.step = l->step,
		.finished = box->finished,
		.ready = l->idle.ready,
		.workers = l->looked_us != 0 ? l->idle.workers : 0,
		/* no process can be created: one entry to try with; other workers can start the rest */
		.most = box->starved || box->slow_until_us != 0 ? 1
			: l->config->batch != 0			? l->config->batch
								: JOBSTACK_POP_MAX,
		.limited = l->limited,
		.no_ahead = box->max_losses < 2,
		.held = box->finished == l->held,
	};
	struct batching_plan plan = batching_plan(&b);

	if (plan.claim > 0 && goes_far(l)) {
		plan.claim = JOBSTACK_POP_MAX;
		plan.fresh = 2;
	}
	/* a command that ends makes room below max-running */
	if (box->leaving != STAY || (now < l->dry_until_us && !(l->limited && box->results_n > 0)) ||
	    now < box->slow_until_us || (box->starved && box->queued > 0))
		plan.claim = 0;
	if (l->config->max_entries != 0 && plan.claim > l->config->max_entries - l->claimed)
		plan.claim = l->config->max_entries - l->claimed;
	return plan;
}

/* About a third of the lease (JS_WATCH_BEATS_US) after the last step, with a random part, so that workers don't beat
 * together. */
static int64_t next_heartbeat(const struct ledger *l)
{
	int64_t lease = jobstack_worker_lease_us(l->worker);
	int64_t third = (l->in_job || lease < JS_WATCH_BEATS_US ? lease : JS_WATCH_BEATS_US) / 3;

	return l->last_us + third - third / 8 - (int64_t)((uint64_t)third / 1024 * l->beat_jitter);
}

/* Decides, with the lock held, whether a step is due; 0 and *UNTIL if not. */
static int step_is_due(struct ledger *l, struct step *s, int64_t *until)
{
	struct mailbox *box = l->box;
	int64_t now = jobstack_now_us(), flush_at;
	const struct batching_plan plan = plan_step(l, now);

	s->nudged = box->nudged; /* a bare heartbeat, since that always brings the requests to kill */
	s->k = s->nudged ? 0 : plan.claim;
	s->fresh = plan.fresh;
	s->leaps = box->leaps;
	s->after_leap = s->leaps != box->leaps_settled;
	s->beat = now >= next_heartbeat(l) || now >= l->watch_us || s->after_leap || l->beat_now;
	*until = next_heartbeat(l) < l->watch_us ? next_heartbeat(l) : l->watch_us;
	if ((s->k > 0 && plan.due) || s->beat || s->nudged)
		return 1;
	if (plan.look_us < *until)
		*until = plan.look_us;
	if (box->leaving == STAY && l->dry_until_us > now && l->dry_until_us < *until)
		*until = l->dry_until_us;
	if (box->leaving == STAY && box->slow_until_us > now && box->slow_until_us < *until)
		*until = box->slow_until_us;
	if (box->queued > 0 && box->progress_us + STUCK_US < *until)
		*until = box->progress_us + STUCK_US > now ? box->progress_us + STUCK_US : now + JS_SECOND_US / 5;
	if (box->results_n == 0)
		return 0;
	flush_at = box->oldest_us + plan.gather_us;
	if (box->results_n >= JOBSTACK_POP_MAX || box->leaving != STAY || now >= flush_at ||
	    (box->queued == 0 && box->running == 0))
		return 1;
	if (flush_at < *until)
		*until = flush_at;
	return 0;
}

/* Moves the outcomes out of the mailbox, the oldest first.  After an outage there may be more than one step can carry.
 */
static int take_results(struct ledger *l, struct step *s)
{
	struct mailbox *box = l->box;
	size_t n = s->nudged ? 0 : box->results_n < JOBSTACK_POP_MAX ? box->results_n : JOBSTACK_POP_MAX;
	size_t rest = box->results_n - n;
	struct result *left = rest == 0 ? NULL : malloc(rest * sizeof(*left));

	s->outcomes = n == 0 ? NULL : calloc(n, sizeof(*s->outcomes));
	if ((n > 0 && s->outcomes == NULL) || (rest > 0 && left == NULL)) {
		free(s->outcomes);
		free(left);
		s->outcomes = NULL;
		return -1;
	}
	if (rest > 0)
		memcpy(left, box->results + n, rest * sizeof(*left));
	s->results = box->results;
	s->n = n;
	box->results = left;
	box->results_n = box->results_room = rest;
	for (size_t i = 0; i < n; i++)
		s->outcomes[i] = result_outcome(&s->results[i]);
	box->nudged = 0;
	if (!s->nudged) { /* after an outage, not all of them */
		l->sent_done = box->done;
		l->sent_dead = box->dead;
	}
	s->running_n = 0;
	for (size_t i = 0; i < box->slots_n; i++)
		if (box->slots[i].entry != 0)
			s->running[s->running_n++] = box->slots[i];
	return 0;
}

/* After a step that failed for good: what it carried still waits. */
static void return_results(struct ledger *l, struct step *s)
{
	(void)pthread_mutex_lock(&l->box->lock);
	mailbox_put_back(l->box, s->results, s->n);
	(void)pthread_mutex_unlock(&l->box->lock);
	s->results = NULL;
	s->n = 0;
}

static void step_free(struct step *s)
{
	result_free(s->results, s->n);
	free(s->outcomes);
	s->results = NULL;
	s->outcomes = NULL;
	s->n = 0;
}

/* Relative names belong to the directory where they were pushed. */
static int check_stack_directory(struct ledger *l, const char *cwd)
{
	struct stat a, b;
	char why[1000];

	if (cwd == NULL || l->config->chdir != NULL || strcmp(cwd, l->cwd) == 0 || strcmp(cwd, l->same_cwd) == 0)
		return 0;
	if (stat(cwd, &a) == 0 && stat(".", &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino) {
		/* remembered: the file system may hang later, and heartbeats must not wait for it */
		(void)snprintf(l->same_cwd, sizeof(l->same_cwd), "%s", cwd);
		return 0;
	}
	(void)snprintf(
		why, sizeof(why),
		"the names in the stack \"%s\" are relative to %.400s, but this worker runs in %.300s: start the "
		"worker in the directory of the names, or give that directory with --chdir",
		l->config->stack, cwd, l->cwd);
	mailbox_stop(l->box, LEAVE_ELSEWHERE, why, 0);
	return 1;
}

/* Whether the database has been away for too long. */
static int is_outage_too_long(struct ledger *l, int64_t since)
{
	int64_t now = jobstack_now_us();
	int going;

	(void)pthread_mutex_lock(&l->box->lock);
	going = l->box->leaving == LEAVE_SIGNAL && l->box->running == 0;
	(void)pthread_mutex_unlock(&l->box->lock);
	return now >= jobstack_worker_deadline_us(l->worker) || (going && now - since >= GOING_US);
}

/* Whether a call that gave STATUS is to be repeated, since the database is away.  Then it waits a moment. */
static int repeats_call(struct ledger *l, int status, int64_t since)
{
	if (status != JOBSTACK_ENODB || is_outage_too_long(l, since))
		return 0;
	js_error_clear(&l->error);
	js_clock_nap(JS_SECOND_US / 4, NULL);
	return 1;
}

/* Whether lines of the database account ACCOUNT, "bob@%", may run. */
static int is_allowed(const struct config *config, const char *account)
{
	const char *host = strrchr(account, '@');
	size_t len = host != NULL ? (size_t)(host - account) : strlen(account);

	for (size_t i = 0; i < config->allowed_n; i++)
		if (strcmp(config->allowed[i], account) == 0 ||
		    (strlen(config->allowed[i]) == len && strncmp(config->allowed[i], account, len) == 0))
			return 1;
	return 0;
}

/* --commands: notes in P which lines of its batch must not run, because another account pushed them.  0, or negative.
 */
static int refuse_lines_of_others(struct ledger *l, struct parcel *p)
{
	char account[256] = "";
	uint64_t first = 0, last = 0; /* the entries that ACCOUNT has pushed; "": ours */
	int64_t since = jobstack_now_us();
	size_t refused = 0;
	int status;

	p->refused = calloc(p->batch.count, sizeof(*p->refused));
	if (p->refused == NULL)
		return js_error_memory(&l->error);
	for (size_t i = 0; i < p->batch.count; i++) {
		uint64_t entry = jobstack_batch_entry(&p->batch, i)->entry;

		if (entry < first || entry > last) {
			do
				status = jobstack_pushed_by(l->handle, l->config->stack, entry, account, &last,
							    &l->error);
			while (repeats_call(l, status, since));
			first = entry;
			if (status < 0)
				return status;
			if (status == JOBSTACK_NOTHING)
				(void)snprintf(account, sizeof(account), "unknown");
		}
		if (account[0] == '\0' || is_allowed(l->config, account))
			continue;
		(void)snprintf(p->refused[i], REASON_MAX, "not run: pushed by %.90s; --allow-user %.*s runs it",
			       account, (int)strcspn(account, "@"), account);
		for (char *c = p->refused[i]; *c != '\0'; c++)
			*c = (char)((unsigned char)*c < ' ' || *c == 127 ? '?' : *c);
		if (refused++ == 0)
			speaker_say("entry %" PRIu64 ": %s", entry, p->refused[i]);
	}
	return 0;
}

/* When the last attempts of a batch's entries ended: what --creates names may be left of them. */
static int learn_last_ends(struct ledger *l, const struct jobstack_batch *batch)
{
	int64_t since = jobstack_now_us();
	int status;

	do
		status = jobstack_worker_last_ends(l->worker, batch, &l->error);
	while (repeats_call(l, status, since));
	return status;
}

/* Hands the claimed entries to the supervisor; FAR: only the farthest, and the others go back. */
static void hand_over_batch(struct ledger *l, struct jobstack_batch *batch, int far)
{
	struct parcel *p = calloc(1, sizeof(*p));
	struct mailbox *box = l->box;

	if (p == NULL) {
		jobstack_batch_free(batch); /* the end of the worker's row returns the entries */
		return;
	}
	p->batch = *batch;
	p->left = batch->count;
	if ((l->config->commands && refuse_lines_of_others(l, p) != 0) ||
	    (l->config->creates != NULL && learn_last_ends(l, &p->batch) != 0))
		mailbox_stop(box, LEAVE_MACHINE, l->error.text, 0); /* which returns them */
	l->claimed += batch->count;
	(void)pthread_mutex_lock(&box->lock);
	STAILQ_INSERT_TAIL(&box->parcels, p, next);
	box->queued += batch->count;
	box->progress_us = jobstack_now_us();
	if (box->leaving != STAY)
		mailbox_give_back(box);
	else if (far)
		mailbox_keep_farthest(box, p);
	mailbox_wake_supervisor(box);
	(void)pthread_mutex_unlock(&box->lock);
}

/* Does the step, again and again until its outcome is known or the lease is over.  0, 1 fenced, or negative. */
static int do_step(struct ledger *l, struct step *s, struct jobstack_step_report *report)
{
	struct jobstack_batch batch = JOBSTACK_BATCH_INIT;
	struct jobstack_step step = JOBSTACK_STEP_INIT;
	int64_t since = jobstack_now_us(), sent;
	struct batching_waited waited;
	uint64_t finished;
	int status;

	if (s->after_leap) /* the connection may be dead, and what it knows of the server's clock is wrong */
		jobstack_disconnect(l->handle);
	facts_of_packages(&l->facts, s->outcomes, s->n);
	outbox_ask(l->outbox, s->outcomes, s->n);
	facts_tell(&l->facts, l->worker, s->outcomes, s->n);
	step.outcomes = s->outcomes;
	step.outcomes_n = s->n;
	step.claim = s->k;
	step.fresh = (size_t)s->fresh;
	step.running = s->running;
	step.running_n = s->running_n;
	step.step_us = (uint64_t)l->step.mean_us;
	step.waiting = (uint64_t)(1000 * l->wait.share);
	js_error_clear(&l->error);
	do {
		sent = jobstack_now_us();
		status = jobstack_step(l->worker, &step, &batch, report, &l->error);
		if (status == JOBSTACK_ENODB)
			js_watch_gap(l->watch); /* silence during an outage proves nothing */
	} while (repeats_call(l, status, since));
	outbox_answered(l->outbox, status == 0 ? s->n : 0);
	if (status != 0) {
		return_results(l, s);
		return status;
	}
	waited =
		(struct batching_waited){l->box->slots, l->box->slots_n, 0, s->k, batch.count, sent, jobstack_now_us()};
	batching_note_step(&l->step, waited.now_us - sent);
	events_tell(l->events, s->outcomes, s->n);
	/* from there the lease is counted: after a late reply, the next heartbeat is due sooner */
	l->last_us = jobstack_worker_deadline_us(l->worker) - jobstack_worker_lease_us(l->worker);
	l->beat_jitter = (unsigned)js_num_jitter(&l->jitter, 256);
	l->rested = l->yielded = l->beat_now = 0;
	(void)pthread_mutex_lock(&l->box->lock);
	l->box->deadline_us = jobstack_worker_deadline_us(l->worker);
	if (s->after_leap)
		mailbox_wake_supervisor(l->box); /* entries that waited for this step may start */
	l->box->leaps_settled = s->leaps;
	if (report->kills != NULL || l->box->kills != NULL) {
		free(l->box->kills);
		l->box->kills = report->kills == NULL ? NULL : strdup(report->kills);
		mailbox_wake_supervisor(l->box);
	}
	l->box->max_attempts = report->max_attempts;
	l->box->max_losses = report->max_losses;
	finished = l->box->finished;
	waited.queued = l->box->queued;
	batching_note_wait(&l->wait, &waited);
	if (!l->config->finish_on_loss)
		l->keeper->page->deadline_us = l->box->deadline_us;
	(void)pthread_mutex_unlock(&l->box->lock);
	for (size_t i = 0; i < s->n; i++)
		l->claimed -= s->outcomes[i].verdict == JOBSTACK_UNSTARTED;
	l->limited = report->limited;
	if (s->k > 0 && s->fresh == 1 && batch.count == 0)
		l->held = finished;
	else if (s->k > 0)
		lookout_note_claim(l, batch.count == 0);
	(void)check_stack_directory(l, report->cwd); /* before the entries are handed over, which then returns them */
	if (batch.count > 0)
		hand_over_batch(l, &batch, s->fresh > 1);
	else
		jobstack_batch_free(&batch);
	if (report->state != JOBSTACK_OPEN) { /* entries that have not started are returned */
		(void)pthread_mutex_lock(&l->box->lock);
		if (l->box->queued > 0)
			mailbox_give_back(l->box);
		(void)pthread_mutex_unlock(&l->box->lock);
	}
	return 0;
}

/* What the history says about outcomes. */
static void judge_results(struct ledger *l, struct step *s)
{
	defer_limit(l->handle, l->config, l->box, s->results, s->outcomes, s->n);
	if (s->n > 0 && neighbours_unknown(l))
		(void)lookout_look(l);
	neighbours_judge(l, s->results, s->outcomes, s->n);
}

/* One round: a step, and what follows from it. */
static int do_round(struct ledger *l, struct step *s)
{
	struct jobstack_step_report report = JOBSTACK_STEP_REPORT_INIT;
	int64_t now = jobstack_now_us();

	judge_results(l, s);
	JS_TRY(do_step(l, s, &report));
	return lookout_after_step(l, now, report.due);
}

/* How long to stay connected without a step. */
static int64_t connection_idle_limit(const struct ledger *l)
{
	const struct mailbox *box = l->box;

	return box->running > 0 && (box->finished == 0 || box->mean_us >= REST_LONG_US) ? REST_SOON_US : REST_US;
}

/* When keep_connection is to be called next. */
static int64_t next_connection_check(const struct ledger *l)
{
	if (!l->yielded)
		return 0;
	if (l->stays)
		return l->stay_check_us;
	return l->rested ? INT64_MAX : l->last_us + connection_idle_limit(l);
}

/* As jobstack_worker_stay. */
static int look_at_connection(struct ledger *l)
{
	struct jobstack_error ignored = JOBSTACK_ERROR_INIT;
	int status;

	if (!l->in_job || jobstack_now_us() < l->stay_from_us)
		return JOBSTACK_NOTHING;
	outbox_ask(l->outbox, NULL, 0);
	status = jobstack_worker_stay(l->worker, &ignored);
	if (status == 0 && l->stays && ++l->checks % STAY_ROOM == 0) /* it looks whether there is room still */
		jobstack_disconnect_if_crowded(l->handle);
	outbox_answered(l->outbox, 0);
	return status;
}

/* The connection that was to stay was ended.  Others ask about this worker now, so a heartbeat is due. */
static void note_cut(struct ledger *l)
{
	int64_t now = jobstack_now_us();

	l->beat_now = 1;
	l->cut = now - l->stay_since_us > STAY_SHORT_US ? 0 : l->cut + 1;
	if (l->cut < CUTS_MOST)
		return;
	l->cut = 0; /* something here ends idle connections, and that would go on all the time */
	l->stay_from_us = now + STAY_AGAIN_US;
}

/* Closes the idle connection when others need it, or when it was idle for long.  In a Slurm job it stays if the server
 * has room: there its end tells others at once that this worker is gone. */
static void keep_connection(struct ledger *l)
{
	int stayed = l->stays, status = JOBSTACK_NOTHING;

	if (!l->yielded)
		jobstack_disconnect_if_crowded(l->handle);
	if (!l->yielded || l->stays) {
		status = look_at_connection(l);
		l->stays = status == 0;
	}
	if (l->stays && !stayed)
		l->stay_since_us = jobstack_now_us();
	if (stayed && status < 0)
		note_cut(l);
	if (l->yielded && !l->stays) {
		l->rested = 1;
		jobstack_disconnect(l->handle);
	}
	l->yielded = 1;
	l->stay_check_us = jobstack_now_us() + STAY_CHECK_US;
}

/* Waits, with the lock held, until UNTIL or a wake. */
static void wait_for_ledger_work(struct ledger *l, int64_t until)
{
	int64_t check_us = next_connection_check(l);
	struct timespec t = js_clock_deadline(check_us < until ? check_us : until);

	if (check_us > jobstack_now_us()) {
		(void)pthread_cond_timedwait(&l->box->wake, &l->box->lock, &t);
		return;
	}
	(void)pthread_mutex_unlock(&l->box->lock); /* it may take a while */
	keep_connection(l);
	(void)pthread_mutex_lock(&l->box->lock);
	/* and check again: a wake may have been missed */
}

/* Returns entries that wait for commands which take longer than expected. */
static void give_back_delayed(struct ledger *l)
{
	struct mailbox *box = l->box;

	if (box->queued > 0 && jobstack_now_us() - box->progress_us >= STUCK_US) {
		box->mean_us = box->mean_us > STUCK_US ? box->mean_us : STUCK_US;
		l->held = box->finished;
		mailbox_give_back(box);
	}
}

/* The loop, until the worker leaves and everything that ran has ended. */
static int work_through(struct ledger *l)
{
	struct step s = {.results = NULL};
	struct mailbox *box = l->box;
	int status = 0, stepping, looking, over;
	int64_t until;

	while (status == 0) {
		(void)pthread_mutex_lock(&box->lock);
		give_back_delayed(l);
		over = box->leaving != STAY && box->queued == 0 && box->running == 0 &&
		       box->results_n <= JOBSTACK_POP_MAX;
		stepping = !over && step_is_due(l, &s, &until);
		if (stepping && !mailbox_had_round(box, jobstack_worker_lease_us(l->worker) / 3)) {
			stepping = 0; /* a heartbeat would keep the entries of commands that nobody looks after */
			until = jobstack_now_us() + JS_SECOND_US;
		}
		looking = !over && !stepping && jobstack_now_us() >= lookout_next(l);
		if (!over && !stepping && !looking)
			wait_for_ledger_work(l, until < lookout_next(l) ? until : lookout_next(l));
		else if (stepping && take_results(l, &s) != 0)
			stepping = 0;
		(void)pthread_mutex_unlock(&box->lock);
		if (over)
			break;
		if (looking)
			status = lookout_look(l);
		if (!stepping)
			continue;
		status = do_round(l, &s);
		step_free(&s);
	}
	return status;
}

static enum jobstack_cause cause_of_end(const struct mailbox *box)
{
	switch (box->leaving) {
	case LEAVE_HALTED:
	case LEAVE_PAUSING: return JOBSTACK_CAUSE_PAUSED;
	case LEAVE_TIME: return JOBSTACK_CAUSE_WALL_TIME;
	case LEAVE_SIGNAL: return box->why_number == SIGUSR1 ? JOBSTACK_CAUSE_WALL_TIME : JOBSTACK_CAUSE_STOPPED;
	case LEAVE_COMMAND: return JOBSTACK_CAUSE_START;
	case LEAVE_OUTPUT: return JOBSTACK_CAUSE_OUTPUT;
	case LEAVE_NODE: return JOBSTACK_CAUSE_NODE;
	case LEAVE_ELSEWHERE:
	case LEAVE_MACHINE: return JOBSTACK_CAUSE_OTHER;
	case LEAVE_KEEPER: return JOBSTACK_CAUSE_WORKER;
	case LEAVE_FENCED:
	case LEAVE_DATABASE: return JOBSTACK_CAUSE_LEASE;
	default: return JOBSTACK_CAUSE_NONE;
	}
}

/* Ends the worker's row: as of a worker that leaves or, if its keeper was killed, as of one that was killed. */
static int end_row(struct ledger *l, struct step *s)
{
	unsigned char token[16];

	if (l->box->leaving != LEAVE_KEEPER)
		return jobstack_worker_end(l->worker, s->outcomes, s->n, cause_of_end(l->box), l->box->why, &l->error);
	jobstack_worker_token(l->worker, token);
	return jobstack_replay(l->handle, l->config->stack, jobstack_worker_id(l->worker), token, s->outcomes, s->n,
			       JOBSTACK_CAUSE_WORKER, l->box->why, NULL, &l->error);
}

/* Ends the row, with the last outcomes. */
static int end_worker(struct ledger *l)
{
	struct step s = {.results = NULL};
	int64_t since = jobstack_now_us();
	int status;

	(void)pthread_mutex_lock(&l->box->lock);
	status = take_results(l, &s);
	(void)pthread_mutex_unlock(&l->box->lock);
	if (status == 0)
		judge_results(l, &s);
	facts_of_packages(&l->facts, s.outcomes, s.n);
	outbox_ask(l->outbox, s.outcomes, s.n);
	js_error_clear(&l->error);
	if (status == 0) {
		facts_tell(&l->facts, l->worker, s.outcomes, s.n);
		do
			status = end_row(l, &s);
		while (repeats_call(l, status, since));
	}
	outbox_answered(l->outbox, status == 0 ? s.n : 0);
	if (status != 0)
		return_results(l, &s);
	else
		events_tell(l->events, s.outcomes, s.n);
	step_free(&s);
	return status;
}

/* Reads how long entries took in other workers: the guard needs it before the first start. */
static int learn_durations(struct ledger *l)
{
	int64_t us[GUARD_SAMPLE], since = jobstack_now_us();
	size_t n;
	int status;

	if (l->box->guard.end_us == 0)
		return 0;
	do
		status = jobstack_worker_durations(l->worker, us, GUARD_SAMPLE, &n, &l->error);
	while (repeats_call(l, status, since));
	if (status != 0)
		return status;
	(void)pthread_mutex_lock(&l->box->lock);
	for (size_t i = n; i > 0; i--) /* the oldest first, since it is forgotten first */
		guard_learn(&l->box->guard, us[i - 1]);
	mailbox_wake_supervisor(l->box);
	(void)pthread_mutex_unlock(&l->box->lock);
	return 0;
}

void *ledger_main(void *arg)
{
	struct ledger *l = arg;
	struct step first = {.results = NULL};
	int status;

	l->jitter = jobstack_worker_id(l->worker) * 2654435761u + 88172645463325252u;
	l->last_us = l->began_us = jobstack_now_us();
	l->others.still_us = INT64_MAX;
	status = js_watch_new(&l->watch, l->handle, l->config->stack, &l->watch_options, &l->error);
	JS_THEN(status, learn_durations(l));
	JS_THEN(status, do_round(l, &first)); /* a heartbeat before the first claim, to check the working directory */
	l->looked_us = 0;
	JS_THEN(status, work_through(l));
	JS_THEN(status, end_worker(l));
	if (status >= 0 || status == JOBSTACK_ECONFLICT)
		l->keeper->page->worker = 0; /* there are no entries left to recover */
	if (status == JOBSTACK_NOTHING)
		lookout_leave(l, LEAVE_FENCED, "the lease was lost: other workers have this worker's entries now");
	else if (status == JOBSTACK_ECONFLICT) /* a restored database: others may have its entries */
		lookout_leave(l, LEAVE_FENCED, l->error.text);
	else if (status != 0)
		lookout_leave(l, LEAVE_DATABASE, l->error.text);
	if (status != 0)
		outbox_gave_up(l->outbox);
	js_watch_free(l->watch);
	(void)pthread_mutex_lock(&l->box->lock);
	l->box->ended = 1;
	mailbox_wake_supervisor(l->box);
	(void)pthread_mutex_unlock(&l->box->lock);
	return NULL;
}
