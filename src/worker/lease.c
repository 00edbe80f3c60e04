/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The supervisor's side of the lease.  Promises: when it can't be kept, commands are stopped before it is over; nothing
 * starts while a leap of the wall clock says that this machine may have stood still, until a step has told.
 */
#include "worker/lease.h"

#include "base/clock.h"

int64_t lease_outage_us(const struct config *config)
{
	int64_t margin = config->grace_us + JS_SECOND_US / 2, quarter = config->lease_us / 4;

	return config->lease_us - (margin < quarter ? margin : quarter);
}

int64_t lease_keep(struct supervisor *s, int64_t now, enum ending *why)
{
	int64_t lease, until = INT64_MAX;
	enum leaving leaving;
	int leapt;

	(void)pthread_mutex_lock(&s->box->lock);
	lease = s->box->deadline_us;
	leaving = s->box->leaving;
	leapt = s->box->leaps != s->box->leaps_settled;
	(void)pthread_mutex_unlock(&s->box->lock);
	*why = leaving == LEAVE_KEEPER ? ENDING_KEEPER : ENDING_LEASE;
	s->lease_end_us = INT64_MAX;
	if (leaving == LEAVE_KEEPER) {
		s->lease_end_us = until = now; /* we were killed, and only look alive */
	} else if (!s->config->finish_on_loss) {
		/* fenced: others have the entries already, so there is no grace */
		s->lease_end_us = leaving == LEAVE_FENCED ? now : lease - JS_SECOND_US / 10;
		until = leaving >= LEAVE_FENCED ? now : lease - s->config->lease_us + lease_outage_us(s->config);
	}
	s->all.bound.until_us = leapt ? 0 : until; /* also for a start that hangs, and goes on later */
	return until;
}

int64_t lease_watch_clocks(struct supervisor *s)
{
	int64_t now = jobstack_now_us(), wall = js_clock_wall_us() - now, leap = wall - s->all.bound.wall_us;

	if (leap >= JS_CLOCK_LEAP_US || leap <= -JS_CLOCK_LEAP_US) {
		s->all.bound.until_us = 0; /* before the other: nothing starts until a step has told */
		s->all.bound.wall_us = wall;
		(void)pthread_mutex_lock(&s->box->lock);
		s->box->leaps++;
		mailbox_wake_ledger(s->box);
		(void)pthread_mutex_unlock(&s->box->lock);
	}
	return now;
}

int lease_is_ours(struct supervisor *s, int64_t now)
{
	enum ending why;

	return now < lease_keep(s, now, &why);
}
