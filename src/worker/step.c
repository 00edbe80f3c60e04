/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The ledger's steps.  Promises: outcomes and the next claim go in one transaction; a step whose outcome is unknown is
 * repeated as it was until it is known, or the lease is over; what a step carried is written, or waits again.
 */
#include "worker/step.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/num.h"
#include "worker/defer.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------------------------------- when, and with what */

/* Returns whether the next claim is to get an entry from far behind in the queue (worker/suspicion.h).  To reach it,
 * the worker must claim many entries, which some settings forbid. */
static int goes_far(const struct ledger *l)
{
	return suspicion_goes_far(&l->db.box->suspicion) && !l->pace.limited && l->db.config->batch == 0 &&
	       l->db.config->max_entries == 0 && l->db.box->max_losses >= 2;
}

/* Plans what the next step would claim.  With the mailbox's lock held.  batching_plan knows how many entries are worth
 * claiming; what follows it are reasons to claim others, fewer or none: the worker leaves, the stack was just seen to
 * be empty, entries fail here in a row, no process can be created, --max-entries. */
static struct batching_plan plan_step(struct ledger *l, int64_t now)
{
	const struct mailbox *box = l->db.box;
	const struct batching b = {
		.now_us = now,
		.slot = box->slots,
		.slots = box->slots_n,
		.running = box->running,
		.queued = box->queued,
		.mean_us = box->mean_us,
		.step = l->pace.step,
		.finished = box->finished,
		.ready = l->survey.look.idle.ready,
		.workers = l->survey.look.at_us != 0 ? l->survey.look.idle.workers : 0,
		/* no process can be created: one entry to try with; other workers can start the rest */
		.most = box->starved || box->slow_until_us != 0 ? 1
			: l->db.config->batch != 0		? l->db.config->batch
								: JOBSTACK_POP_MAX,
		.limited = l->pace.limited,
		.no_ahead = box->max_losses < 2,
		.held = box->finished == l->pace.held,
	};
	struct batching_plan plan = batching_plan(&b);

	if (plan.claim > 0 && goes_far(l)) {
		plan.claim = JOBSTACK_POP_MAX;
		plan.fresh = 2;
	}
	/* a command that ends makes room below max-running; with max-starts no entry may wait for a slot */
	if (box->leaving != STAY || (now < l->survey.empty.until_us && !(l->pace.limited == 1 && box->results_n > 0)) ||
	    now < box->slow_until_us || ((box->starved || l->pace.limited > 1) && box->queued > 0))
		plan.claim = 0;
	if (l->db.config->max_entries != 0 && plan.claim > l->db.config->max_entries - l->pace.claimed)
		plan.claim = l->db.config->max_entries - l->pace.claimed;
	return plan;
}

/* Returns when the next heartbeat is due: about a third of the lease after the last step.  A worker that may not stay
 * connected sends them as if its lease had at most JS_OBSERVER_BEATS_US.  From the third an eighth is left out, and
 * each time a random part of up to a quarter, so that workers that began together don't send together for ever. */
static int64_t next_heartbeat(const struct ledger *l)
{
	int64_t lease = jobstack_worker_lease_us(l->db.worker);
	int64_t third = (l->connection.may_stay || lease < JS_OBSERVER_BEATS_US ? lease : JS_OBSERVER_BEATS_US) / 3;

	return l->heartbeat.last_us + third - third / 8 - (int64_t)((uint64_t)third / 1024 * l->heartbeat.jitter);
}

/* A step is due if a claim, a heartbeat, a look at other workers or a request to kill is due, or outcomes have waited
 * long enough.  Otherwise UNTIL becomes the earliest moment at which one of these can be true. */
int step_is_due(struct ledger *l, struct step *s, int64_t *until)
{
	struct mailbox *box = l->db.box;
	int64_t now = jobstack_now_us(), flush_at;
	const struct batching_plan plan = plan_step(l, now);

	s->nudged = box->nudged; /* then it is only a heartbeat: its answer always has the requests to kill */
	s->k = s->nudged ? 0 : plan.claim;
	s->fresh = plan.fresh;
	s->leaps = box->leaps;
	s->after_leap = s->leaps != box->leaps_settled;
	s->beat = now >= next_heartbeat(l) || now >= l->survey.others.next_us || s->after_leap || l->heartbeat.now;
	*until = next_heartbeat(l) < l->survey.others.next_us ? next_heartbeat(l) : l->survey.others.next_us;
	if ((s->k > 0 && plan.due) || s->beat || s->nudged)
		return 1;
	if (plan.look_us < *until)
		*until = plan.look_us;
	if (box->leaving == STAY && l->survey.empty.until_us > now && l->survey.empty.until_us < *until)
		*until = l->survey.empty.until_us;
	if (box->leaving == STAY && box->slow_until_us > now && box->slow_until_us < *until)
		*until = box->slow_until_us;
	/* wake when give_back_delayed (ledger.c) has something to do */
	if (box->queued > 0 && box->progress_us + LEDGER_STUCK_US < *until)
		*until = box->progress_us + LEDGER_STUCK_US > now ? box->progress_us + LEDGER_STUCK_US
								  : now + JS_SECOND_US / 5;
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

/* What a step carries leaves the mailbox, but stays in S until the step is settled, so that it can be sent again
 * exactly as it was.  All memory is allocated before anything is moved. */
int step_take(struct ledger *l, struct step *s)
{
	struct mailbox *box = l->db.box;
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
	s->start_us = box->start_us;
	s->running_n = 0;
	for (size_t i = 0; i < box->slots_n; i++)
		if (box->slots[i].entry != 0)
			s->running[s->running_n++] = box->slots[i];
	return 0;
}

/* After a step that failed for good: puts what it carried back into the mailbox. */
static void return_results(struct ledger *l, struct step *s)
{
	(void)pthread_mutex_lock(&l->db.box->lock);
	mailbox_put_back(l->db.box, s->results, s->n);
	(void)pthread_mutex_unlock(&l->db.box->lock);
	s->results = NULL;
	s->n = 0;
}

void step_free(struct step *s)
{
	result_free(s->results, s->n);
	free(s->outcomes);
	s->results = NULL;
	s->outcomes = NULL;
	s->n = 0;
}

/* ------------------------------------------------------------------------------------ after one that succeeded */

/* Records how long the step took, and how long slots waited for it. */
static void note_time(struct ledger *l, struct step *s)
{
	struct mailbox *box = l->db.box;
	struct batching_waited waited = {box->slots, box->slots_n, 0, s->k, s->batch.count, s->sent_us, s->answered_us};

	batching_note_step(&l->pace.step, s->answered_us - s->sent_us);
	(void)pthread_mutex_lock(&box->lock);
	s->finished = box->finished;
	waited.queued = box->queued;
	batching_note_wait(&l->pace.wait, &waited);
	(void)pthread_mutex_unlock(&box->lock);
}

/* Events are sent only now: an attempt that the database has not taken may still get another outcome. */
static void send_events(struct ledger *l, struct step *s)
{
	events_send(l->events, s->outcomes, s->n);
}

/* Moves the lease on, for the supervisor and for the keeper.  The lease is counted from the moment when the step was
 * first sent, not from its answer, because others count from when SEQ changed, which lies between the two.  So after a
 * late reply the next heartbeat is due sooner. */
static void renew_lease(struct ledger *l, struct step *s)
{
	int64_t deadline = jobstack_worker_deadline_us(l->db.worker);
	struct mailbox *box = l->db.box;

	l->heartbeat.last_us = deadline - jobstack_worker_lease_us(l->db.worker);
	l->heartbeat.jitter = (unsigned)js_num_jitter(&l->heartbeat.seed, 256);
	l->heartbeat.now = 0;
	connection_used(&l->connection);
	(void)pthread_mutex_lock(&box->lock);
	box->deadline_us = deadline;
	if (!l->db.config->finish_on_loss)
		l->keeper->page->deadline_us = deadline;
	if (s->after_leap)
		mailbox_wake_supervisor(box); /* entries that waited for this step may start */
	box->leaps_settled = s->leaps;
	(void)pthread_mutex_unlock(&box->lock);
}

/* Takes over what the step has read: the limits of the stack, and which commands are to be killed. */
static void adopt_policy(struct ledger *l, struct step *s)
{
	struct mailbox *box = l->db.box;

	l->pace.limited = s->report.limited;
	(void)pthread_mutex_lock(&box->lock);
	if (s->report.kills != NULL || box->kills != NULL) {
		free(box->kills);
		box->kills = s->report.kills == NULL ? NULL : strdup(s->report.kills);
		mailbox_wake_supervisor(box);
	}
	box->max_attempts = s->report.max_attempts;
	box->max_losses = s->report.max_losses;
	(void)pthread_mutex_unlock(&box->lock);
}

/* Counts what the step closed: from now on it is part of what a look at the stack counts.  Entries that went back don't
 * count for --max-entries. */
static void count_closed(struct ledger *l, struct step *s)
{
	for (size_t i = 0; i < s->n; i++) {
		l->pace.claimed -= s->outcomes[i].verdict == JOBSTACK_UNSTARTED;
		l->survey.done += s->outcomes[i].verdict == JOBSTACK_DONE;
		l->survey.dead += (uint64_t)s->results[i].is_dead;
	}
}

/* Notes a claim that got nothing.  If it wanted only fresh entries (never lost ones, since none can start now), the
 * worker does not try that again before a command has ended; else the stack is empty for a while. */
static void note_claim(struct ledger *l, struct step *s)
{
	if (s->k > 0 && s->fresh == 1 && s->batch.count == 0)
		l->pace.held = s->finished;
	else if (s->k > 0)
		survey_note_claim(&l->survey, s->batch.count == 0, s->report.next_start_us);
}

/* This comes before hand_over_claim, which returns the entries if this makes the worker leave. */
static void check_directory(struct ledger *l, struct step *s)
{
	claimed_check_directory(&l->db, &l->directory, s->report.cwd);
}

static void hand_over_claim(struct ledger *l, struct step *s)
{
	l->pace.claimed += s->batch.count;
	if (s->batch.count > 0)
		claimed_hand_over(&l->db, &s->batch, s->fresh > 1);
	else
		jobstack_batch_free(&s->batch);
}

/* Returns the entries that have not started if the stack is no longer open: it was paused, cancelled or dropped. */
static void heed_state(struct ledger *l, struct step *s)
{
	if (s->report.state == JOBSTACK_OPEN)
		return;
	(void)pthread_mutex_lock(&l->db.box->lock);
	if (l->db.box->queued > 0)
		mailbox_give_back(l->db.box);
	(void)pthread_mutex_unlock(&l->db.box->lock);
}

/* All that follows from a step that has succeeded.  The order matters: times are measured first; the lease is renewed
 * before anything that may take long; what was claimed is handed over after the checks that could return it; and the
 * stack's state is heeded last, so that it also returns what has just been handed over. */
static void (*const after_step[])(struct ledger *, struct step *) = {
	note_time,  send_events,     renew_lease,     adopt_policy, count_closed,
	note_claim, check_directory, hand_over_claim, heed_state,
};

/* ----------------------------------------------------------------------------------------------------------- steps */

/* Changes outcomes that depend on more than the attempt itself: an entry that was deferred too often has failed, and a
 * failure on a node that may be bad does not count.  This asks the database, so only the ledger thread can do it. */
static void judge_results(struct ledger *l, struct step *s)
{
	defer_limit(l->db.handle, l->db.config, l->db.box, s->results, s->outcomes, s->n);
	neighbours_judge(&l->neighbours, s->results, s->outcomes, s->n);
}

/* Finds out which packages the attempts imported.  It is noted in the results, too, from which the outcomes are made
 * again if the step fails. */
static void learn_packages(struct ledger *l, struct step *s)
{
	facts_of_packages(&l->facts, s->outcomes, s->n);
	for (size_t i = 0; i < s->n; i++)
		s->results[i].outcome.packages = s->outcomes[i].packages;
}

/* Sends the step, unchanged, until its outcome is known or database_repeats gives up. */
static int send_step(struct ledger *l, struct step *s)
{
	const struct jobstack_step step = {.size = sizeof(step),
					   .outcomes = s->outcomes,
					   .outcomes_n = s->n,
					   .claim = s->k,
					   .fresh = (size_t)s->fresh,
					   .running = s->running,
					   .running_n = s->running_n,
					   .step_us = (uint64_t)l->pace.step.mean_us,
					   .waiting = (uint64_t)(1000 * l->pace.wait.share),
					   .start_us = (uint64_t)s->start_us};
	int64_t since = jobstack_now_us();
	int status;

	do {
		s->sent_us = jobstack_now_us();
		status = jobstack_step(l->db.worker, &step, &s->batch, &s->report, &l->db.error);
		if (status == JOBSTACK_ENODB)
			js_observer_gap(l->survey.watch); /* silence during an outage proves nothing */
	} while (database_repeats(&l->db, status, since));
	s->answered_us = jobstack_now_us();
	return status;
}

/* The outbox knows the outcomes before the step is sent, for however long that takes; if the step fails for good, they
 * go back into the mailbox, and stay where they are in the outbox's order. */
int step_do(struct ledger *l, struct step *s)
{
	int status, told;

	s->batch = (struct jobstack_batch)JOBSTACK_BATCH_INIT;
	s->report = (struct jobstack_step_report)JOBSTACK_STEP_REPORT_INIT;
	judge_results(l, s);
	if (s->after_leap) /* this machine may have stood still: the connection may be dead, and the server's clock, as
			      it was known, is wrong */
		jobstack_disconnect(l->db.handle);
	learn_packages(l, s);
	outbox_ask(l->db.outbox, s->outcomes, s->n);
	/* before the step, so that no attempt refers to a fact that is not there */
	told = facts_store(&l->facts, l->db.worker, s->outcomes, s->n);
	js_error_clear(&l->db.error);
	status = send_step(l, s);
	if (status == 0 && told != 0) /* the database was away, and has come back during send_step */
		(void)facts_store(&l->facts, l->db.worker, s->outcomes, s->n);
	outbox_answered(l->db.outbox, status == 0 ? s->n : 0);
	if (status != 0) {
		return_results(l, s);
		return status;
	}
	for (size_t i = 0; i < sizeof(after_step) / sizeof(after_step[0]); i++)
		after_step[i](l, s);
	return 0;
}

/* The cause that a worker's row gets when it has left. */
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

/* Ends the row: as a worker that leaves, or, if the keeper was killed, as one that was killed: then entries without an
 * outcome count as lost, since their commands were killed. */
static int end_row(struct ledger *l, struct step *s)
{
	struct database *db = &l->db;
	unsigned char token[16];

	if (db->box->leaving != LEAVE_KEEPER)
		return jobstack_worker_end(db->worker, s->outcomes, s->n, cause_of_end(db->box), db->box->why,
					   &db->error);
	jobstack_worker_token(db->worker, token);
	return jobstack_replay(db->handle, db->config->stack, jobstack_worker_id(db->worker), token, s->outcomes, s->n,
			       JOBSTACK_CAUSE_WORKER, db->box->why, NULL, &db->error);
}

int step_end_row(struct ledger *l, struct step *s)
{
	int64_t since = jobstack_now_us();
	int status;

	judge_results(l, s);
	learn_packages(l, s);
	outbox_ask(l->db.outbox, s->outcomes, s->n);
	js_error_clear(&l->db.error);
	(void)facts_store(&l->facts, l->db.worker, s->outcomes, s->n);
	do
		status = end_row(l, s);
	while (database_repeats(&l->db, status, since));
	outbox_answered(l->db.outbox, status == 0 ? s->n : 0);
	if (status != 0) {
		return_results(l, s);
		return status;
	}
	events_send(l->events, s->outcomes, s->n);
	return 0;
}
