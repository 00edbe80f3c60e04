/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The mailbox.  Promise: an entry that came in leaves as exactly one outcome.
 */
#include "worker/mailbox.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* The condition variable goes by the monotonic clock, so that a wall clock that is set delays no heartbeat. */
int mailbox_begin(struct mailbox *box, size_t slots, struct jobstack_error *error)
{
	memset(box, 0, sizeof(*box));
	STAILQ_INIT(&box->parcels);
	box->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	box->slots = calloc(slots, sizeof(*box->slots));
	box->slots_n = slots;
	box->start_us = JOBSTACK_START_LEAST;
	if (box->event < 0 || box->slots == NULL || pthread_mutex_init(&box->lock, NULL) != 0 ||
	    js_clock_cond_init(&box->wake) != 0)
		return js_error_set(error, JOBSTACK_EBUG, "can't set up the worker's threads: %s", strerror(errno));
	return 0;
}

void result_free(struct result *results, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(results[i].texts);
	free(results);
}

struct jobstack_outcome result_outcome(const struct result *result)
{
	struct jobstack_outcome outcome = result->outcome;

	outcome.reason = result->reason[0] == '\0' ? NULL : result->reason;
	return outcome;
}

/* The results that come back are older than those in the mailbox, so they go before them. */
void mailbox_put_back(struct mailbox *box, struct result *results, size_t n)
{
	struct result *all = n == 0 ? NULL : realloc(results, (n + box->results_n) * sizeof(*all));

	if (all == NULL) { /* or no memory: a spool may have them */
		result_free(results, n);
		return;
	}
	if (box->results_n > 0)
		memcpy(all + n, box->results, box->results_n * sizeof(*all));
	free(box->results);
	box->results = all;
	box->results_n += n;
	box->results_room = box->results_n;
}

/* Frees a parcel: no entry of it waits, runs or is without an outcome. */
static void drop_parcel(struct mailbox *box, struct parcel *parcel)
{
	STAILQ_REMOVE(&box->parcels, parcel, parcel, next);
	jobstack_batch_free(&parcel->batch);
	free(parcel->refused);
	free(parcel);
}

void mailbox_end(struct mailbox *box)
{
	while (!STAILQ_EMPTY(&box->parcels))
		drop_parcel(box, STAILQ_FIRST(&box->parcels));
	result_free(box->results, box->results_n);
	free(box->slots);
	free(box->kills);
	(void)close(box->event);
	(void)pthread_cond_destroy(&box->wake);
	(void)pthread_mutex_destroy(&box->lock);
}

void mailbox_wake_ledger(struct mailbox *box)
{
	(void)pthread_cond_signal(&box->wake);
}

void mailbox_wake_supervisor(struct mailbox *box)
{
	uint64_t one = 1;

	if (write(box->event, &one, sizeof(one)) < 0)
		return; /* the counter is full, so the supervisor will wake anyway */
}

/* Each round of the supervisor's loop calls this, so the usual case takes no lock.  mailbox_had_round sets ROUND_ASKED
 * before it wakes the supervisor, so the round that follows sees it. */
void mailbox_note_round(struct mailbox *box)
{
	atomic_store(&box->round_us, jobstack_now_us());
	if (!atomic_load(&box->round_asked))
		return;
	(void)pthread_mutex_lock(&box->lock);
	atomic_store(&box->round_asked, 0);
	mailbox_wake_ledger(box);
	(void)pthread_mutex_unlock(&box->lock);
}

int mailbox_had_round(struct mailbox *box, int64_t longest_us)
{
	if (jobstack_now_us() - atomic_load(&box->round_us) <= longest_us)
		return 1;

	atomic_store(&box->round_asked, 1);
	mailbox_wake_supervisor(box);
	return 0;
}

/* The first reason stays, except that stronger ones replace it: when commands must end at once, or when the database is
 * gone, so that outcomes may not be delivered. */
void mailbox_leave(struct mailbox *box, enum leaving leaving, const char *why)
{
	int stronger = leaving == LEAVE_KEEPER || leaving == LEAVE_FENCED; /* the commands must end at once */

	/* outcomes that can't be delivered matter more than an ordinary end */
	if (box->leaving == STAY || (stronger && box->leaving < leaving) ||
	    (leaving == LEAVE_DATABASE && box->leaving <= LEAVE_SIGNAL)) {
		box->leaving = leaving;
		(void)snprintf(box->why, sizeof(box->why), "%s", why);
	}
	mailbox_wake_ledger(box);
	mailbox_wake_supervisor(box);
}

/* Parcels are in the order of claims, so entries start in the order in which they were popped. */
const struct jobstack_entry *mailbox_take(struct mailbox *box, struct parcel **out)
{
	for (struct parcel *p = STAILQ_FIRST(&box->parcels); p != NULL; p = STAILQ_NEXT(p, next))
		if (p->started < p->batch.count) {
			*out = p;
			box->queued--;
			box->running++;
			return jobstack_batch_entry(&p->batch, p->started++);
		}
	return NULL;
}

void mailbox_free_slot(struct mailbox *box, size_t slot)
{
	box->slots[slot] = (struct jobstack_running){sizeof(box->slots[slot]), 0, 0, jobstack_now_us()};
}

/* The database decides this again by the same numbers when it takes the outcome.  Here it is for the display, and for
 * what is printed in order. */
int mailbox_is_dead(const struct mailbox *box, const struct jobstack_entry *e, const struct jobstack_outcome *o)
{
	if (o->verdict == JOBSTACK_INTERRUPTED)
		return o->loss && e->losses + 1 >= box->max_losses;
	return o->verdict == JOBSTACK_FAILED && (o->fatal || e->fails + 1 >= box->max_attempts);
}

void mailbox_slow_down(struct mailbox *box)
{
	int64_t wait = suspicion_wait_us(&box->suspicion);

	box->slow_until_us = wait > 0 ? jobstack_now_us() + wait : 0;
}

/* The next entry to start is the first of the first parcel that has one left.  An entry that was lost twice starts only
 * if nothing else runs. */
int mailbox_may_start(const struct mailbox *box)
{
	if (box->leaving != STAY || box->queued == 0 || box->leaps != box->leaps_settled ||
	    (box->alone && box->running > 0) ||
	    (box->guard.end_us != 0 && jobstack_now_us() >= guard_closes_us(&box->guard)))
		return 0;
	for (const struct parcel *p = STAILQ_FIRST(&box->parcels); p != NULL; p = STAILQ_NEXT(p, next))
		if (p->started < p->batch.count)
			return box->running == 0 || jobstack_batch_entry(&p->batch, p->started)->losses < ALONE_LOSSES;
	return 0;
}

/* Puts LEN bytes behind *TO, with a NUL, and moves it on. */
static const void *put_text(char **to, const void *text, size_t len)
{
	char *at = *to;

	memcpy(at, text, len);
	at[len] = '\0';
	*to += len + 1;
	return at;
}

/* All texts share one allocation.  Without memory the outcome goes on without them, as it matters more than its words.
 */
void result_copy(struct result *r, const struct jobstack_outcome *outcome)
{
	struct jobstack_outcome *o = &r->outcome;
	size_t log, err_log;
	char *to = NULL;

	*o = *outcome;
	(void)snprintf(r->reason, sizeof(r->reason), "%s", outcome->reason == NULL ? "" : outcome->reason);
	log = o->log == NULL ? 0 : strlen(o->log);
	err_log = o->err_log == NULL ? 0 : strlen(o->err_log);
	if (o->log != NULL || o->err_log != NULL || o->err_tail.len > 0)
		to = malloc(log + err_log + o->err_tail.len + 3);
	r->texts = to;
	o->log = to == NULL || o->log == NULL ? NULL : put_text(&to, o->log, log);
	o->err_log = to == NULL || o->err_log == NULL ? NULL : put_text(&to, o->err_log, err_log);
	o->err_tail.data = to == NULL || o->err_tail.len == 0 ? NULL : put_text(&to, o->err_tail.data, o->err_tail.len);
	if (to == NULL)
		o->err_tail.len = 0;
}

int mailbox_post(struct mailbox *box, struct parcel *parcel, const struct jobstack_outcome *outcome)
{
	struct result *r;

	if (js_array_grow(&box->results, &box->results_room, box->results_n + 1, sizeof(*r)) != 0)
		return -1;
	if (box->results_n == 0)
		box->oldest_us = jobstack_now_us();
	r = &box->results[box->results_n++];
	result_copy(r, outcome);
	r->is_dead = 0;
	if (--parcel->left == 0)
		drop_parcel(box, parcel);
	return 0;
}

/* Posts an entry that has not started as returned, or, if somebody wants it killed, as failed.  Without memory returns
 * -1: then the entry goes back when the worker ends (jobstack_worker_end). */
static int post_unstarted(struct mailbox *box, struct parcel *parcel, const struct jobstack_entry *entry)
{
	struct jobstack_outcome back = JOBSTACK_OUTCOME_INIT;
	char why[JOBSTACK_KILL_REASON];

	back.verdict = JOBSTACK_UNSTARTED;
	back.entry = entry->entry;
	back.attempt = entry->attempt;
	if (jobstack_kill_wanted(box->kills, entry->entry, entry->attempt, why)) {
		back.verdict = JOBSTACK_FAILED;
		back.cause = JOBSTACK_CAUSE_KILLED;
		back.fatal = 1;
		back.reason = why;
		back.started_us = back.ended_us = jobstack_now_us();
		box->failed++;
		box->dead++;
	}
	if (mailbox_post(box, parcel, &back) != 0)
		return -1;
	box->results[box->results_n - 1].is_dead = back.verdict == JOBSTACK_FAILED;
	return 0;
}

const char *mailbox_refusal(const struct parcel *p, const struct jobstack_entry *entry)
{
	for (size_t i = 0; p->refused != NULL && i < p->batch.count; i++)
		if (jobstack_batch_entry(&p->batch, i) == entry)
			return p->refused[i][0] != '\0' ? p->refused[i] : NULL;
	return NULL;
}

/* If the entry is the last one taken from its parcel, the parcel's counter just goes back by one.  If others were taken
 * or returned since, it can't take its place again, and goes back to the queue. */
void mailbox_untake(struct mailbox *box, struct parcel *parcel, const struct jobstack_entry *entry)
{
	box->running--;
	if (box->leaving == STAY && entry == jobstack_batch_entry(&parcel->batch, parcel->started - 1)) {
		parcel->started--;
		box->queued++;
		return;
	}
	(void)post_unstarted(box, parcel, entry);
	mailbox_wake_ledger(box);
}

void mailbox_keep_farthest(struct mailbox *box, struct parcel *p)
{
	size_t last = p->batch.count - 1;
	size_t kept = jobstack_batch_entry(&p->batch, last)->entry > box->suspicion.entry[0] ? last : 0;

	box->queued -= last;
	for (size_t i = 0; i <= last; i++)
		if (i != kept && post_unstarted(box, p, jobstack_batch_entry(&p->batch, i)) != 0)
			break;
	p->far = 1;
	p->started = kept;
	p->batch.count = kept + 1;
}

int mailbox_is_in_time(struct mailbox *box, struct parcel *p, const struct jobstack_entry *entry)
{
	if (p->batch.start_by_us == 0 || jobstack_now_us() < p->batch.start_by_us) {
		box->start_us -= (box->start_us - JOBSTACK_START_LEAST) / 64;
		return 1;
	}
	box->start_us = 2 * box->start_us < JOBSTACK_START_MOST ? 2 * box->start_us : JOBSTACK_START_MOST;
	box->running--;
	(void)post_unstarted(box, p, entry);
	mailbox_wake_ledger(box);
	return 0;
}

/* Without memory it stops: the rest goes back when the worker's row ends. */
void mailbox_give_back(struct mailbox *box)
{
	const struct jobstack_entry *entry;
	struct parcel *parcel;

	while ((entry = mailbox_take(box, &parcel)) != NULL) {
		box->running--;
		if (post_unstarted(box, parcel, entry) != 0)
			break;
	}
	mailbox_wake_ledger(box);
}

/* NUMBER belongs to the reason, so it is kept only if this reason became that of the worker. */
void mailbox_stop(struct mailbox *box, enum leaving leaving, const char *why, unsigned number)
{
	enum leaving before;

	(void)pthread_mutex_lock(&box->lock);
	before = box->leaving;
	mailbox_leave(box, leaving, why);
	if (box->leaving != before)
		box->why_number = number;
	mailbox_give_back(box);
	(void)pthread_mutex_unlock(&box->lock);
}
