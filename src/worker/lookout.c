/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the ledger sees of the rest of its stack, and what it decides by that: how long to wait after an empty claim,
 * whether other workers are dead, when to leave.
 */
#include "worker/lookout.h"

#include "base/clock.h"
#include "base/num.h"
#include "worker/neighbours.h"
#include "worker/speaker.h"

#include <string.h>

#define DRY_MIN_US (JS_SECOND_US / 10)
#define DRY_MAX_US (2 * JS_SECOND_US)
#define LOOKED_US (3 * JS_SECOND_US) /* what a look saw longer ago may have changed */
#define DISPLAY_US JS_SECOND_US	     /* how often the stack is read for the display, at first */

void lookout_note_claim(struct ledger *l, int dry)
{
	int64_t now = jobstack_now_us();

	if (!dry) {
		l->dry_until_us = l->dry_wait_us = l->idle_since_us = 0;
		return;
	}
	l->dry_wait_us = l->dry_wait_us == 0		   ? DRY_MIN_US
			 : 2 * l->dry_wait_us < DRY_MAX_US ? 2 * l->dry_wait_us
							   : DRY_MAX_US;
	l->dry_until_us = now + l->dry_wait_us / 2 + (int64_t)js_num_jitter(&l->jitter, (uint64_t)l->dry_wait_us);
}

void lookout_leave(struct ledger *l, enum leaving leaving, const char *why)
{
	(void)pthread_mutex_lock(&l->box->lock);
	mailbox_leave(l->box, leaving, why);
	(void)pthread_mutex_unlock(&l->box->lock);
}

/* Shows the display what was read of the stack.  No step is under way, so what this worker holds is claimed. */
static void note_sight(struct ledger *l)
{
	const struct jobstack_idle *i = &l->idle;
	struct mailbox *box = l->box;
	int first;

	(void)pthread_mutex_lock(&box->lock);
	first = box->sight.at_us == 0;
	box->sight = (struct sight){l->looked_us, *i, l->sent_done, l->sent_dead,
				    i->done + i->dead + i->ready + i->waiting + i->held + i->running + box->queued +
					    box->running + box->results_n};
	(void)pthread_mutex_unlock(&box->lock);
	if (first)
		display_announce(l->display);
}

int64_t lookout_next(const struct ledger *l)
{
	if (!l->display->on || l->looked_us == 0 || (l->idle.pushers == 0 && l->box->failed == l->box->dead))
		return INT64_MAX;
	return l->looked_us + DISPLAY_US + (l->looked_us - l->began_us) / 8;
}

int lookout_look(struct ledger *l)
{
	int status;

	outbox_ask(l->outbox, NULL, 0);
	l->idle = (struct jobstack_idle)JOBSTACK_IDLE_INIT;
	status = jobstack_worker_idle(l->worker, &l->idle, &l->error);
	l->looked_us = jobstack_now_us();
	l->looked_claimed = l->claimed;
	if (status == 0) {
		note_sight(l);
		neighbours_look(l);
	}
	if (status == 0 && l->idle.waiting > 0 && l->idle.next_due_us == 0) {
		status = jobstack_promote(l->worker, &l->error);
		l->dry_until_us = 0;
	}
	outbox_answered(l->outbox, 0);
	if (status == JOBSTACK_ENODB) { /* not a step: the next one will see whether the database is away */
		memset(&l->error, 0, sizeof(l->error));
		l->looked_us = 0; /* nothing was read */
		return 0;
	}
	return status;
}

/* Recovers entries of workers that are dead.  The keeper is asked for proofs that take long. */
static void watch_others(struct ledger *l)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	int status;

	outbox_ask(l->outbox, NULL, 0);
	status = js_watch_look(l->watch, &l->others, &error);
	outbox_answered(l->outbox, 0);
	if (status != 0 && l->others.failed == 0) { /* it is no step: the next one will tell */
		l->watch_us = jobstack_now_us() + JS_SECOND_US;
		l->others_us = 0; /* nobody was seen, which is no reason to leave */
		return;
	}
	l->others_us = jobstack_now_us();
	l->watch_us = l->others.next_us;
	if (l->others.confirm)
		keeper_ask(l->keeper);
	if (l->others.workers > 0) {
		(void)pthread_mutex_lock(&l->box->lock);
		l->dry_until_us = l->looked_us = 0; /* now there is something to claim */
		(void)pthread_mutex_unlock(&l->box->lock);
	}
}

/* Whether this worker has to stay, because no older one is alive and a retry will be due, or because another worker
 * with entries is silent.  A dead one may hold the only entries, and its lease may end long after --idle-timeout. */
static int must_stay(struct ledger *l, int64_t now)
{
	char left[64];

	if (l->idle.running == 0)
		return !l->others.elder && l->idle.waiting > 0 && l->idle.state == JOBSTACK_OPEN;
	if (l->others.elder || l->others.over_us == 0)
		return 0;
	js_num_duration_text(l->others.over_us > now ? l->others.over_us - now : 0, left, sizeof(left));
	if (l->told_us != l->idle_since_us && !l->config->quiet)
		speaker_say("%s: waiting for at most %s, until that lease is over, to run what it holds",
			    l->others.silent, left);
	l->told_us = l->idle_since_us;
	return 1;
}

/* Nothing runs and nothing was claimed: decides whether to leave. */
static void consider_leaving(struct ledger *l)
{
	const struct jobstack_idle *i = &l->idle;
	int64_t now = jobstack_now_us();

	if (l->idle_since_us == 0) { /* commands of others usually end soon after ours: look often at first */
		l->idle_since_us = now;
		l->dry_wait_us = 0;
		lookout_note_claim(l, 1);
		if (i->state == JOBSTACK_PAUSED && !l->config->quiet)
			speaker_say(i->failing ? "the stack is paused, because of its max-failures: `jobstack status "
						 "-s %s --why` says how to continue"
					       : "the stack is paused: `jobstack resume -s %s` continues it",
				    l->config->stack);
	}
	if (i->state == JOBSTACK_CANCELLED || i->state == JOBSTACK_DROPPING)
		lookout_leave(l, LEAVE_FINISHED,
			      i->state == JOBSTACK_CANCELLED ? "the stack is cancelled" : "the stack is being dropped");
	else if (l->config->of_run && i->state == JOBSTACK_PAUSED && i->failing)
		lookout_leave(l, LEAVE_HALTED, "the stack is paused");
	else if (i->ready + i->waiting + i->held + i->running + i->pushers == 0)
		lookout_leave(l, LEAVE_FINISHED, "nothing is left");
	else if (i->waiting > 0 && i->eldest && i->state == JOBSTACK_OPEN)
		return; /* a worker must be there when a retry is due */
	else if (i->running > 0 && i->eldest && l->others.still_us <= l->idle_since_us)
		return; /* or to notice that another worker died: live ones show it within a third of their lease */
	else if (now - l->idle_since_us < l->config->idle_us)
		return;
	else if (i->running + i->waiting > 0 && now - l->others_us > LOOKED_US)
		l->watch_us = now; /* first look who is there */
	else if (!must_stay(l, now))
		lookout_leave(l, LEAVE_IDLE,
			      i->state == JOBSTACK_PAUSED ? "the stack is paused"
							  : "nothing to do for the time of --idle-timeout");
}

int lookout_after_step(struct ledger *l, int64_t now, int due)
{
	int64_t look_us;
	int status = 0, idle;

	if (due)
		l->looked_us = 0;
	(void)pthread_mutex_lock(&l->box->lock);
	idle = l->box->queued == 0 && l->box->running == 0 && l->box->results_n == 0;
	look_us = batching_look_us(suspicion_asks(&l->box->suspicion) ? 0 : l->idle.ready, l->idle.workers,
				   l->claimed > l->looked_claimed ? l->claimed - l->looked_claimed : 0, l->box->slots_n,
				   l->box->mean_us);
	(void)pthread_mutex_unlock(&l->box->lock);
	if (now - l->looked_us >= look_us || (idle && l->dry_until_us != 0))
		status = lookout_look(l);
	if (status == 0 && now >= l->watch_us)
		watch_others(l);
	if (status == 0 && idle && l->config->max_entries != 0 && l->claimed >= l->config->max_entries)
		lookout_leave(l, LEAVE_ENOUGH, "--max-entries is reached");
	else if (status == 0 && idle && l->dry_until_us != 0 && l->looked_us != 0)
		consider_leaving(l);
	return status;
}
