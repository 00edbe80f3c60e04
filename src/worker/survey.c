/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Looks at the stack and at other workers, and decides when to leave.  Promises: when a worker leaves, no entry remains
 * for which nobody waits; while the database is away, nothing is concluded about others.
 */
#include "worker/survey.h"

#include "base/clock.h"
#include "base/num.h"
#include "worker/batching.h"
#include "worker/speaker.h"

#include <string.h>

#define EMPTY_MIN_US (JS_SECOND_US / 10) /* the pause after a claim that got nothing, doubled each time up to: */
#define EMPTY_MAX_US (2 * JS_SECOND_US)
#define SPREAD_US (JS_SECOND_US / 40)
#define LOOKED_US (3 * JS_SECOND_US) /* what a look saw longer ago may have changed */
#define DISPLAY_US JS_SECOND_US	     /* how often the stack is read for the display, at first */

int survey_begin(struct survey *s, struct jobstack_error *error)
{
	s->jitter = jobstack_worker_id(s->db->worker) * 2654435761u + 88172645463325252u;
	s->began_us = jobstack_now_us();
	s->others.seen.still_us = INT64_MAX;
	return js_observer_new(&s->watch, s->db->handle, s->db->config->stack, &s->watch_options, error);
}

void survey_end(struct survey *s)
{
	js_observer_free(s->watch);
}

/* The random part keeps workers that found the stack empty together from asking together again.  Those that wait for
 * max_starts ask SPREAD_US apart, on average, however many they are, but at least four times per start. */
void survey_note_claim(struct survey *s, int empty, int64_t start_us)
{
	int64_t now = jobstack_now_us(), spread = start_us / 4 < SPREAD_US ? start_us / 4 + 1 : SPREAD_US;

	if (!empty)
		s->empty.until_us = s->empty.wait_us = s->idle_since_us = 0;
	s->empty.by_rate = start_us > 0;
	if (start_us > 0) {
		s->empty.until_us = now + (start_us < EMPTY_MAX_US ? start_us : EMPTY_MAX_US) +
				    (int64_t)js_num_jitter(&s->jitter, (s->look.idle.workers + 1) * (uint64_t)spread);
		return;
	}
	if (!empty)
		return;
	s->empty.wait_us = s->empty.wait_us == 0		 ? EMPTY_MIN_US
			   : 2 * s->empty.wait_us < EMPTY_MAX_US ? 2 * s->empty.wait_us
								 : EMPTY_MAX_US;
	s->empty.until_us = now + s->empty.wait_us / 2 + (int64_t)js_num_jitter(&s->jitter, (uint64_t)s->empty.wait_us);
}

/* Passes what was read of the stack to the display.  That does not count the entries that this worker holds, so they
 * are added here.  Every step that was sent has been answered, so none of them is counted twice. */
static void note_sight(struct survey *s)
{
	const struct jobstack_idle *i = &s->look.idle;
	struct mailbox *box = s->db->box;
	int first;

	(void)pthread_mutex_lock(&box->lock);
	first = box->sight.at_us == 0;
	box->sight = (struct sight){s->look.at_us, *i, s->done, s->dead,
				    i->done + i->dead + i->ready + i->waiting + i->held + i->running + box->queued +
					    box->running + box->results_n};
	(void)pthread_mutex_unlock(&box->lock);
	if (first)
		display_announce(s->display);
}

int64_t survey_next_us(const struct survey *s)
{
	if (!s->display->on || s->look.at_us == 0 ||
	    (s->look.idle.pushers == 0 && s->db->box->failed == s->db->box->dead))
		return INT64_MAX;
	return s->look.at_us + DISPLAY_US + (s->look.at_us - s->began_us) / 8;
}

/* Retries that are due become ready here: whoever looks first moves them (jobstack_promote), and then claims at once.
 */
int survey_look(struct survey *s, uint64_t claimed)
{
	int status;

	outbox_ask(s->db->outbox, NULL, 0);
	s->look.idle = (struct jobstack_idle)JOBSTACK_IDLE_INIT;
	status = jobstack_worker_idle(s->db->worker, &s->look.idle, &s->db->error);
	s->look.at_us = jobstack_now_us();
	s->look.claimed = claimed;
	if (status == 0) {
		note_sight(s);
		neighbours_look(s->neighbours, &s->look.idle);
	}
	if (status == 0 && s->look.idle.waiting > 0 && s->look.idle.next_due_us == 0) {
		status = jobstack_promote(s->db->worker, &s->db->error);
		s->empty.until_us = 0;
	}
	outbox_answered(s->db->outbox, 0);
	if (status ==
	    JOBSTACK_ENODB) { /* only a step is repeated: the next one will show whether the database is away */
		memset(&s->db->error, 0, sizeof(s->db->error));
		s->look.at_us = 0; /* nothing was read */
		return 0;
	}
	return status;
}

/* Looks at the other workers, and recovers the entries of dead ones.  Asks the keeper for the proofs that take long. */
static void watch_others(struct survey *s)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	int status;

	outbox_ask(s->db->outbox, NULL, 0);
	status = js_observer_look(s->watch, &s->others.seen, &error);
	outbox_answered(s->db->outbox, 0);
	if (status != 0 && s->others.seen.failed == 0) { /* the next step will show whether the database is away */
		s->others.next_us = jobstack_now_us() + JS_SECOND_US;
		s->others.at_us = 0; /* nobody was seen, which is no reason to leave */
		return;
	}
	s->others.at_us = jobstack_now_us();
	s->others.next_us = s->others.seen.next_us;
	if (s->others.seen.confirm)
		keeper_ask(s->keeper);
	if (s->others.seen.workers > 0) {
		(void)pthread_mutex_lock(&s->db->box->lock);
		s->empty.until_us = s->look.at_us = 0; /* now there is something to claim */
		(void)pthread_mutex_unlock(&s->db->box->lock);
	}
}

/* Returns whether this worker has to stay although it has been idle for --idle-timeout: because a retry will be due and
 * no older worker is there, or because another worker that holds entries is silent.  If that worker is dead, its
 * entries may be the only ones left, and nobody else might be there when its lease ends. */
static int must_stay(struct survey *s, int64_t now)
{
	char left[64];

	if (s->look.idle.running == 0)
		return !s->others.seen.elder && s->look.idle.waiting > 0 && s->look.idle.state == JOBSTACK_OPEN;
	if (s->others.seen.elder || s->others.seen.over_us == 0)
		return 0;
	js_num_duration_text(s->others.seen.over_us > now ? s->others.seen.over_us - now : 0, left, sizeof(left));
	if (s->told_us != s->idle_since_us && !s->db->config->quiet)
		speaker_say("%s: waiting for at most %s, until that lease is over, to run what it holds",
			    s->others.seen.silent, left);
	s->told_us = s->idle_since_us;
	return 1;
}

/* Decides whether to leave, when nothing runs here and nothing could be claimed.  The first that applies:
 *
 *   the stack is cancelled or being dropped                       leave
 *   `jobstack run`, and the stack was paused by its max-failures  leave
 *   nothing is ready, waiting, held, running or being pushed      leave
 *   entries are ready, and max_starts is why none could be claimed  stay
 *   retries wait in an open stack, and this is the oldest worker  stay, to be there when they are due
 *   this is the oldest worker, and one with entries is silent     stay, to notice its death: a live one sends a
 *   for as long as we are idle                                    heartbeat within a third of its lease
 *   idle for less than --idle-timeout                             stay
 *   what was seen of the other workers is old                     look at them first
 *   must_stay                                                     stay
 *   else                                                          leave
 */
static void consider_leaving(struct survey *s)
{
	const struct jobstack_idle *i = &s->look.idle;
	int64_t now = jobstack_now_us();

	if (s->empty.by_rate && i->ready > 0 && i->state == JOBSTACK_OPEN)
		return;
	if (s->idle_since_us == 0) { /* commands of others usually end soon after ours: look often at first */
		s->idle_since_us = now;
		s->empty.wait_us = 0;
		survey_note_claim(s, 1, -1);
		if (i->state == JOBSTACK_PAUSED && !s->db->config->quiet)
			speaker_say(i->failing ? "the stack is paused, because of its max-failures: `jobstack status "
						 "-s %s --why` says how to continue"
					       : "the stack is paused: `jobstack resume -s %s` continues it",
				    s->db->config->stack);
	}
	if (i->state == JOBSTACK_CANCELLED || i->state == JOBSTACK_DROPPING)
		database_leave(s->db, LEAVE_FINISHED,
			       i->state == JOBSTACK_CANCELLED ? "the stack is cancelled"
							      : "the stack is being dropped");
	else if (s->db->config->of_run && i->state == JOBSTACK_PAUSED && i->failing)
		database_leave(s->db, LEAVE_HALTED, "the stack is paused");
	else if (i->ready + i->waiting + i->held + i->running + i->pushers == 0)
		database_leave(s->db, LEAVE_FINISHED, "nothing is left");
	else if (i->waiting > 0 && i->eldest && i->state == JOBSTACK_OPEN)
		return; /* a worker must be there when a retry is due */
	else if (i->running > 0 && i->eldest && s->others.seen.still_us <= s->idle_since_us)
		return; /* or to notice that another worker died: live ones show it within a third of their lease */
	else if (now - s->idle_since_us < s->db->config->idle_us)
		return;
	else if (i->running + i->waiting > 0 && now - s->others.at_us > LOOKED_US)
		s->others.next_us = now; /* first look who is there */
	else if (!must_stay(s, now))
		database_leave(s->db, LEAVE_IDLE,
			       i->state == JOBSTACK_PAUSED ? "the stack is paused"
							   : "nothing to do for as long as --idle-timeout");
}

/* Looks are rare while work is plenty (batching_look_us).  A worker that has nothing to do looks after each step, as
 * its decision to leave depends on it. */
int survey_after_step(struct survey *s, int64_t now, uint64_t claimed, int due)
{
	int64_t look_us;
	int status = 0, idle, more;

	if (due)
		s->look.at_us = 0;
	(void)pthread_mutex_lock(&s->db->box->lock);
	idle = s->db->box->queued == 0 && s->db->box->running == 0 && s->db->box->results_n == 0;
	look_us = batching_look_us(suspicion_asks(&s->db->box->suspicion) ? 0 : s->look.idle.ready,
				   s->look.idle.workers, claimed > s->look.claimed ? claimed - s->look.claimed : 0,
				   s->db->box->slots_n, s->db->box->mean_us);
	(void)pthread_mutex_unlock(&s->db->box->lock);
	/* a worker that waits for max_starts need not look each time */
	more = s->empty.by_rate && s->look.idle.ready > claimed - s->look.claimed;
	if (now - s->look.at_us >= look_us || (idle && s->empty.until_us != 0 && !more))
		status = survey_look(s, claimed);
	if (status == 0 && now >= s->others.next_us)
		watch_others(s);
	if (status == 0 && idle && s->db->config->max_entries != 0 && claimed >= s->db->config->max_entries)
		database_leave(s->db, LEAVE_ENOUGH, "--max-entries is reached");
	else if (status == 0 && idle && s->empty.until_us != 0 && s->look.at_us != 0)
		consider_leaving(s);
	return status;
}
