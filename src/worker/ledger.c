/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The ledger's loop: claims ahead, writes outcomes in batches, sends heartbeats.  What a step carries, and what follows
 * from it, is in step.c; when to leave is decided in survey.c.  Promise: what was claimed and not started goes back as
 * soon as it is clear that it will wait.
 */
#include "worker/ledger.h"

#include "base/clock.h"
#include "base/error.h"
#include "worker/step.h"

/* Waits, with the lock held, until UNTIL or until somebody wakes this thread.  If it is time for connection_check,
 * calls that instead of waiting. */
static void wait_for_ledger_work(struct ledger *l, int64_t until)
{
	struct mailbox *box = l->db.box;
	int64_t check_us = connection_next_us(&l->connection, l->heartbeat.last_us);
	struct timespec t = js_clock_deadline(check_us < until ? check_us : until);

	if (check_us > jobstack_now_us()) {
		(void)pthread_cond_timedwait(&box->wake, &box->lock, &t);
		return;
	}
	(void)pthread_mutex_unlock(&box->lock); /* it may take a while */
	l->heartbeat.now |= connection_check(&l->connection);
	(void)pthread_mutex_lock(&box->lock);
	/* and check again: a wake may have been missed */
}

/* Returns claimed entries to the stack if the commands before them take longer than expected. */
static void give_back_delayed(struct ledger *l)
{
	struct mailbox *box = l->db.box;

	if (box->queued > 0 && jobstack_now_us() - box->progress_us >= LEDGER_STUCK_US) {
		box->mean_us = box->mean_us > LEDGER_STUCK_US ? box->mean_us : LEDGER_STUCK_US;
		l->pace.held = box->finished;
		mailbox_give_back(box);
	}
}

/* Does one step, and then decides by what it showed of the stack whether to look at it more closely. */
static int do_round(struct ledger *l, struct step *s)
{
	int64_t now = jobstack_now_us();

	JS_TRY(step_do(l, s));
	return survey_after_step(&l->survey, now, l->pace.claimed, s->report.due);
}

/* The loop, until the worker leaves and everything that ran has ended.  In each round it does the first of these that
 * is due: end, a step, a look at the stack (the survey), wait.  It decides with the mailbox's lock held, and does
 * what may take long without it. */
static int work_through(struct ledger *l)
{
	struct step s = {.results = NULL};
	struct mailbox *box = l->db.box;
	int status = 0, stepping, looking, over, judging, looked = 0;
	int64_t until;

	while (status == 0) {
		(void)pthread_mutex_lock(&box->lock);
		give_back_delayed(l);
		/* the last outcomes go with the end of the row, if one step can carry them */
		over = box->leaving != STAY && box->queued == 0 && box->running == 0 &&
		       box->results_n <= JOBSTACK_POP_MAX;
		stepping = !over && step_is_due(l, &s, &until);
		if (stepping && !mailbox_had_round(box, jobstack_worker_lease_us(l->db.worker) / 3)) {
			stepping = 0; /* a heartbeat would keep the entries of commands that nobody looks after */
			until = jobstack_now_us() + JS_SECOND_US;
		}
		/* Whether these failures count depends on what other nodes do.  That is looked at before the outcomes
		 * leave the mailbox, since a look tells the outbox that the ledger holds none. */
		judging = (stepping || over) && !looked && box->results_n > 0 && neighbours_are_unknown(&l->neighbours);
		if (judging)
			stepping = over = 0;
		looked |= judging;
		looking = judging || (!over && !stepping && jobstack_now_us() >= survey_next_us(&l->survey));
		if (!over && !stepping && !looking)
			wait_for_ledger_work(l,
					     until < survey_next_us(&l->survey) ? until : survey_next_us(&l->survey));
		else if (stepping && step_take(l, &s) != 0)
			stepping = 0;
		(void)pthread_mutex_unlock(&box->lock);
		if (over)
			break;
		if (looking)
			status = survey_look(&l->survey, l->pace.claimed);
		if (!stepping)
			continue;
		status = do_round(l, &s);
		step_free(&s);
		looked = 0;
	}
	return status;
}

/* Ends the worker's row, with the last outcomes. */
static int end_worker(struct ledger *l)
{
	struct step s = {.results = NULL};
	int status;

	(void)pthread_mutex_lock(&l->db.box->lock);
	status = step_take(l, &s);
	(void)pthread_mutex_unlock(&l->db.box->lock);
	JS_THEN(status, step_end_row(l, &s));
	step_free(&s);
	return status;
}

/* Reads how long entries took in other workers: the guard needs it before the first start. */
static int learn_durations(struct ledger *l)
{
	int64_t us[GUARD_SAMPLE], since = jobstack_now_us();
	size_t n;
	int status;

	if (l->db.box->guard.end_us == 0)
		return 0;
	do
		status = jobstack_worker_durations(l->db.worker, us, GUARD_SAMPLE, &n, &l->db.error);
	while (database_repeats(&l->db, status, since));
	if (status != 0)
		return status;
	(void)pthread_mutex_lock(&l->db.box->lock);
	for (size_t i = n; i > 0; i--) /* the oldest first, since it is forgotten first */
		guard_learn(&l->db.box->guard, us[i - 1]);
	mailbox_wake_supervisor(l->db.box);
	(void)pthread_mutex_unlock(&l->db.box->lock);
	return 0;
}

/* Reports to the supervisor that this thread has ended, and why the worker leaves.  STATUS: of the loop; 1: fenced.
 * ECONFLICT: the database has forgotten the worker.  In these cases, and if all went well, the worker holds no entries:
 * if it is killed from now on, the keeper has nothing to recover. */
static void report_end(struct ledger *l, int status)
{
	struct database *db = &l->db;

	if (status >= 0 || status == JOBSTACK_ECONFLICT)
		l->keeper->page->worker = 0;
	if (status == JOBSTACK_NOTHING)
		database_leave(db, LEAVE_FENCED, "the lease was lost: other workers have this worker's entries now");
	else if (status == JOBSTACK_ECONFLICT) /* a restored database: others may have its entries */
		database_leave(db, LEAVE_FENCED, db->error.text);
	else if (status != 0)
		database_leave(db, LEAVE_DATABASE, db->error.text);
	if (status != 0)
		outbox_gave_up(db->outbox);
	(void)pthread_mutex_lock(&db->box->lock);
	db->box->ended = 1;
	mailbox_wake_supervisor(db->box);
	(void)pthread_mutex_unlock(&db->box->lock);
}

void ledger_connect(struct ledger *l)
{
	l->connection.db = l->neighbours.db = l->survey.db = &l->db;
	l->survey.neighbours = &l->neighbours;
	l->survey.keeper = l->keeper;
}

/* The first step is only a heartbeat: its answer says in which directory the stack's relative names are meant, and
 * nothing is claimed before that is compared. */
void *ledger_main(void *arg)
{
	struct ledger *l = arg;
	struct step first = {.results = NULL};
	int status;

	l->heartbeat.seed = jobstack_worker_id(l->db.worker) * 2654435761u + 88172645463325252u;
	l->heartbeat.last_us = jobstack_now_us();
	status = survey_begin(&l->survey, &l->db.error);
	JS_THEN(status, learn_durations(l));
	JS_THEN(status, do_round(l, &first)); /* a heartbeat before the first claim, to check the working directory */
	l->survey.look.at_us = 0;
	JS_THEN(status, work_through(l));
	JS_THEN(status, end_worker(l));
	survey_end(&l->survey);
	report_end(l, status);
	return NULL;
}
