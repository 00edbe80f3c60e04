/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How many entries to claim, and when.  See batching.h.
 */
#include "worker/batching.h"

#include "base/clock.h"

/* A worker waits LOOK_US between two looks at the stack, plus FAR_US for each worker of the stack.  So all workers
 * together look at most five times per second.  When few entries are left, it adds NEAR_US instead: at most fifty. */
#define LOOK_US JS_SECOND_US
#define FAR_US (JS_SECOND_US / 5)
#define NEAR_US (JS_SECOND_US / 50)

#define AHEAD_US 1e6			/* how much slot time to claim ahead of short commands */
#define FLUSH_US (JS_SECOND_US / 2)	/* how long an outcome of a short command waits for others at most */
#define LONG_US (JS_SECOND_US / 5)	/* outcomes of longer commands are written at once, or gathered: */
#define GATHER_STEPS 4			/* for so many steps' time, */
#define GATHER_US (2 * JS_SECOND_US)	/* and no longer than that */
#define LATE 4				/* a late step takes the mean and so many mean deviations */
#define NOTICEABLE 0.01			/* a slot that waits for this part of a command's time */
#define WAIT_US (30 * JS_SECOND_US)	/* the time over which waits are averaged, */
#define WAIT_FROM_US (5 * JS_SECOND_US) /* and at the start, when the first step counts too much */

/* How long a late step takes: few take longer. */
static double late_step_us(const struct batching *b)
{
	return b->step.mean_us + LATE * b->step.off_us;
}

/* Returns whether a slot that waits for a step would wait for a noticeable part of its command's time. */
static int is_step_slow(const struct batching *b)
{
	return late_step_us(b) > NOTICEABLE * b->mean_us;
}

/* How long the first outcome of a step waits for others. */
static int64_t gather_time(const struct batching *b)
{
	if (b->mean_us < LONG_US)
		return FLUSH_US;
	if (!is_step_slow(b))
		return 0;
	return b->step.mean_us < (double)GATHER_US / GATHER_STEPS ? (int64_t)(GATHER_STEPS * b->step.mean_us)
								  : GATHER_US;
}

/* Returns how many commands will probably end within HORIZON_US, if each takes the mean time.  *NEXT_US becomes the
 * moment when the next of the others will be that near its end, if that is earlier. */
static size_t count_ending(const struct batching *b, double horizon_us, int64_t *next_us)
{
	int64_t before = b->now_us - (int64_t)(b->mean_us - horizon_us);
	size_t n = 0;

	for (size_t i = 0; i < b->slots; i++) {
		if (b->slot[i].entry == 0)
			continue;
		if (b->slot[i].started_us <= before)
			n++;
		else if (b->now_us + (b->slot[i].started_us - before) < *next_us)
			*next_us = b->now_us + (b->slot[i].started_us - before);
	}
	return n;
}

/* Plans for long commands: claims what can start now, and what will start before a later step could bring it. */
static void plan_long(const struct batching *b, size_t share, struct batching_plan *plan)
{
	size_t free_slots = b->slots - b->running, want = free_slots, ahead;

	if (is_step_slow(b) && !b->no_ahead) {
		ahead = count_ending(b, (double)plan->gather_us + b->step.mean_us + late_step_us(b), &plan->look_us);
		want += ahead < share ? ahead : share;
	}
	if (b->queued >= want)
		return;
	plan->claim = want - b->queued;
	plan->due = free_slots > b->queued || (double)b->queued <= (double)b->slots * b->step.mean_us / b->mean_us;
}

/* Plans for short commands: claims a second's work.  A step is due when half of that is used up, so that claims are
 * large and few. */
static void plan_short(const struct batching *b, struct batching_plan *plan)
{
	double time = (double)plan->gather_us + 2 * b->step.mean_us; /* until a later step could bring more */
	double ahead =
		b->mean_us > 0 ? (time > AHEAD_US ? time : AHEAD_US) * (double)b->slots / b->mean_us : (double)b->slots;
	size_t free_slots = b->slots - b->running;
	size_t want = ahead < 1 ? 1 : ahead > 4 * JOBSTACK_POP_MAX ? (size_t)4 * JOBSTACK_POP_MAX : (size_t)ahead;

	if (want < free_slots)
		want = free_slots;
	plan->due = b->queued < want && (b->queued <= want / 2 || free_slots > b->queued);
	plan->claim = plan->due ? want - b->queued : 0;
}

struct batching_plan batching_plan(const struct batching *b)
{
	struct batching_plan plan = {0, 0, 0, gather_time(b), INT64_MAX};
	/* guided self-scheduling: the less is left, the smaller the claim */
	uint64_t share = b->workers > 1 ? b->ready / (2 * b->workers) : SIZE_MAX;
	size_t most = share < 1 ? 1 : share < b->most ? (size_t)share : b->most;

	if (b->finished == 0 || b->limited) { /* nothing is known, or nothing may be held: what can start now */
		plan.claim = b->slots - b->running > b->queued ? b->slots - b->running - b->queued : 0;
		plan.due = plan.claim > 0;
	} else if (b->mean_us >= AHEAD_US)
		plan_long(b, (size_t)share, &plan);
	else
		plan_short(b, &plan);
	if (plan.claim > most)
		plan.claim = most;
	plan.fresh = plan.claim > 0 && b->slots - b->running <= b->queued;
	if (plan.fresh && b->held)
		plan.claim = 0;
	return plan;
}

/* Near the end of the stack, what each worker adds to the time between looks is ten times shorter: the number of ready
 * entries then decides how many a worker may claim.  It is near when less is left per worker than this one has claimed
 * since its last look and two more claims. */
int64_t batching_look_us(uint64_t ready, uint64_t workers, uint64_t claimed, size_t slots, double mean_us)
{
	uint64_t enough = claimed + 2 * (mean_us >= AHEAD_US ? 2 * slots : JOBSTACK_POP_MAX);

	return LOOK_US + (int64_t)workers * (ready > workers * enough ? FAR_US : NEAR_US);
}

void batching_note_step(struct batching_step *step, int64_t took_us)
{
	double off = (double)took_us - step->mean_us;

	if (step->mean_us <= 0)
		*step = (struct batching_step){(double)took_us, (double)took_us / LATE};
	else {
		step->mean_us += off / 4;
		step->off_us += ((off < 0 ? -off : off) - step->off_us) / 4;
	}
}

/* Returns how much slot time passed since the last step that claimed, while slots waited for entries.  As many slots
 * count as the step brought entries for; if it brought all that it wanted, all slots that were free. */
static int64_t count_waited(const struct batching_wait *wait, const struct batching_waited *s)
{
	int64_t from = wait->was_short || wait->claimed_us == 0 ? s->sent_us : wait->claimed_us, waited = 0;
	size_t left = s->queued > 0 || s->claim == 0 ? 0 : s->got < s->claim ? s->got : s->slots;

	for (size_t i = 0; i < s->slots && left > 0; i++)
		if (s->slot[i].entry == 0 && s->slot[i].started_us < s->now_us) {
			waited += s->now_us - (s->slot[i].started_us > from ? s->slot[i].started_us : from);
			left--;
		}
	return waited;
}

/* A weighted mean over the last WAIT_US: what is known counts for OVER_US, the new interval for its length. */
void batching_note_wait(struct batching_wait *wait, const struct batching_waited *s)
{
	double past = wait->over_us < (double)WAIT_FROM_US ? (double)WAIT_FROM_US : wait->over_us;
	double time = (double)(s->now_us - (wait->at_us == 0 ? s->sent_us : wait->at_us));
	double waited = (double)count_waited(wait, s) / (double)s->slots;

	wait->at_us = s->now_us;
	if (s->claim > 0) {
		wait->claimed_us = s->now_us;
		wait->was_short = s->got < s->claim;
	}
	if (time <= 0)
		return;
	wait->share = (wait->share * past + waited) / (past + time);
	wait->share = wait->share > 1 ? 1 : wait->share;
	wait->over_us = wait->over_us + time < (double)WAIT_US ? wait->over_us + time : (double)WAIT_US;
}
