/* SPDX-License-Identifier: BSD-2-Clause
 *
 * How fast a stack is processed, and when it will be finished.  Promise: two questions by primary keys, the same at any
 * depth.
 *
 * The rate comes from the numbers of the entries.  Workers start fresh entries in the order of their numbers.  So if
 * entry X starts now, and entry X - D was started a time T ago, then D entries were started in T, and the rate is D/T.
 * Advantages:
 *
 *   - It counts entries and does not average durations.  An average of the entries that have ended would be too low,
 *     since the longest ones still run.  The time between two commands is included.
 *   - It looks at the last minutes only.  A pause an hour ago, or workers that came since, don't distort it.
 *   - Its error is known.  Of the D entries, at most as many as are claimed now have not ended.  That gives the range
 *     between the lowest and the highest rate.
 *
 * This does not work for retries and requeued entries (which are in lists), in a last-in-first-out stack, and at the
 * beginning, when few entries have started.  There the rate is the number of entries that the present workers have
 * ended, divided by the time that their slots have had.  This includes the time of entries that still run, so the
 * first ones to end don't make it look fast.
 */
#include "base/clock.h"
#include "queue/queue.h"

#include <math.h>

#define LEVELS 20		       /* distances looked at, each twice the one before */
#define FIRST UINT64_C(8)	       /* the first of them, in numbers of entries */
#define NEAR 3			       /* entries looked at per level: one of them may still run, or have been pruned */
#define RECENT_US (300 * JS_SECOND_US) /* the longest time that is measured over, if commands are short */
#define OLD_US (7200 * JS_SECOND_US)   /* the same if they are so long that no level began within RECENT_US */
#define SHORT_US (JS_SECOND_US / 2)    /* what began so short a time ago says nothing */

/* When entries at some distances from the head began.  The head is the highest number that was claimed fresh. */
struct probe {
	uint64_t head;
	int64_t ago_us[LEVELS]; /* how long ago the entry FIRST * 2^i before the head began; -1: not known */
	double took_us;		/* the time that the attempts which were read took, all together */
	unsigned ended;		/* how many they are */
};

static uint64_t level_distance(unsigned level)
{
	return FIRST << level;
}

/* Notes when an attempt began, for the level that its entry belongs to, if it belongs to one.  Of the NEAR entries of a
 * level the one that began first counts. */
static void take_start(void *ctx, const struct js_row *row)
{
	struct probe *p = ctx;
	uint64_t back;

	if (row == NULL) {
		for (unsigned i = 0; i < LEVELS; i++)
			p->ago_us[i] = -1;
		return;
	}
	p->took_us += (double)js_row_i64(row, 2);
	p->ended++;
	back = p->head - js_row_u64(row, 0);
	for (unsigned i = 0; i < LEVELS; i++)
		if (back >= level_distance(i) && back < level_distance(i) + NEAR && js_row_i64(row, 1) > p->ago_us[i])
			p->ago_us[i] = js_row_i64(row, 1);
}

/* Finds the highest number that was popped fresh and is still held, and when entries before it began.  Where only lists
 * and entries that have run before are claimed, and in a last-in-first-out stack, there is no such number: p->head is
 * 0, and no level is looked at. */
static int read_probe(struct jobstack *handle, uint64_t stack, struct probe *p, struct jobstack_error *error)
{
	struct js_sql sql = {0};

	take_start(p, NULL);
	/* the primary key of claim, of which there are a few rows per worker */
	JS_TRY(js_handle_ask_number(
		handle, &p->head, error,
		"SELECT MAX(c.hi) FROM claim c JOIN stack s USING(stack_id) WHERE c.stack_id=%u AND c.ids IS NULL "
		"AND c.attempt=1 AND s.popping_order<2",
		stack));
	/* the primary key of attempt, some eighty rows */
	js_sql_add(&sql,
		   "SELECT entry_id,TIMESTAMPDIFF(MICROSECOND,started,UTC_TIMESTAMP(6)),"
		   "TIMESTAMPDIFF(MICROSECOND,started,ended) FROM attempt "
		   "WHERE stack_id=%u AND attempt=1 AND started IS NOT NULL AND entry_id IN(0",
		   stack);
	for (uint64_t k = p->head > FIRST ? p->head - FIRST : 1; k <= p->head + FIRST; k++)
		js_sql_add(&sql, ",%u", k);
	for (unsigned i = 0; i < LEVELS && level_distance(i) + NEAR < p->head; i++)
		for (unsigned k = 0; k < NEAR; k++)
			js_sql_add(&sql, ",%u", p->head - level_distance(i) - k);
	js_sql_stmt(&sql, ")");
	return js_db_query(handle->db, &sql, take_start, p, error);
}

/* A rate in entries per second: the likely value, and the bounds that it is between. */
struct range {
	double low, middle, high;
};

/* Estimates the rate from the numbers of the entries.  The time is the longest within the last minutes.  If commands
 * take so long that there is none, it is the shortest one.  In either case the distance must be at least three times
 * what is claimed now: these entries may have begun or not, which is the error.  Returns 0, or -1 if no level will do.
 */
static int rate_by_numbers(const struct probe *p, const struct jobstack_status *s, struct range *r)
{
	int best = -1;

	for (int i = 0; i < LEVELS; i++) {
		if (p->ago_us[i] < SHORT_US || p->ago_us[i] > OLD_US || level_distance((unsigned)i) < 3 * s->running)
			continue;
		if (p->ago_us[i] <= RECENT_US || best < 0)
			best = i;
	}
	if (best < 0)
		return -1;
	r->high = (double)level_distance((unsigned)best) * 1e6 / (double)p->ago_us[best];
	r->low = r->high * (1 - (double)s->running / (double)level_distance((unsigned)best));
	r->middle = (r->low + r->high) / 2;
	return 0;
}

/* Estimates the rate from how many entries the present workers have ended, divided by their slots' time
 * (jobstack_status computes it).  The more have ended, the surer it is: two standard deviations of a count of N are 2 *
 * sqrt(N). Returns 0, or -1 if none has. */
static int rate_by_workers(const struct jobstack_status *s, struct range *r)
{
	double n = (double)s->ended;

	if (s->rate <= 0 || s->ended == 0)
		return -1;
	r->middle = s->rate;
	r->low = s->rate * n / (n + 2 * sqrt(n));
	r->high = s->rate * (1 + 2 / sqrt(n));
	return 0;
}

/* More than three hundred years are no prediction: -1, not known. */
static int64_t seconds_to_us(double seconds)
{
	return seconds > 1e10 ? -1 : (int64_t)(seconds * 1e6);
}

static int take_counts(void *ctx, const struct jobstack_status *s)
{
	*(struct jobstack_status *)ctx = *s;
	return 0;
}

/* Predicts how long the stack S goes on with LEFT entries, at the rates of R.  A retry that becomes due later than all
 * that prolongs it. */
static void predict_end(const struct jobstack_status *s, const struct range *r, uint64_t left,
			struct jobstack_pace *pace)
{
	/* when nothing is left to claim, the last entries still run: at most for as long as one takes, which is the
	 * number of slots at work divided by the rate */
	pace->eta_us = seconds_to_us((double)left / r->middle);
	pace->low_us = seconds_to_us((double)left / r->high);
	pace->high_us = seconds_to_us((double)left / r->low + (double)s->busy / r->middle);
	if (s->waiting > 0 && s->next_due_us > pace->eta_us && pace->eta_us >= 0) {
		pace->eta_us = s->next_due_us;
		pace->high_us = pace->high_us < s->next_due_us ? s->next_due_us : pace->high_us;
	}
}

int jobstack_pace(struct jobstack *handle, const char *stack, struct jobstack_pace *pace, struct jobstack_error *error)
{
	struct jobstack_pace found = JOBSTACK_PACE_INIT;
	struct jobstack_status s = {0};
	uint64_t left;
	struct probe p = {0};
	struct range r;
	int status = js_grow_begin(pace, &found, "jobstack_pace", error);

	JS_THEN(status, stack == NULL ? js_stack_check_name(stack, error)
				      : jobstack_status(handle, stack, take_counts, &s, error));
	left = s.ready + s.waiting + s.held + s.running;
	if (status == 0 && left == 0)
		found.eta_us = found.low_us = found.high_us = 0;
	else if (status == 0 && s.busy > 0) {
		status = read_probe(handle, s.stack_id, &p, error);
		if (status == 0 && (rate_by_numbers(&p, &s, &r) == 0 || rate_by_workers(&s, &r) == 0)) {
			found.rate = r.middle;
			found.each_us =
				p.ended > 0 ? (int64_t)(p.took_us / p.ended) : seconds_to_us((double)s.busy / r.middle);
			if (s.state == JOBSTACK_OPEN)
				predict_end(&s, &r, left, &found);
		}
	}
	if (status == 0)
		js_grow_out(pace, &found);
	return status;
}
