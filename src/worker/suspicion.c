/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Whether a worker's node is bad.  See suspicion.h.
 */
#include "worker/suspicion.h"

#include "base/clock.h"

#include <stddef.h>
#include <string.h>

#define SPARE 3	      /* from this many failures in a row on they cost no attempt; before a first success, from 1 on */
#define SLOW 8	      /* after this many failures in a row the worker slows down: */
#define WAIT_US 50000 /* it waits this long before the next start, doubled with each failure up to WAIT_MOST_US */
#define WAIT_MOST_US (2 * JS_SECOND_US)
#define DONE_LEAST 3		     /* so many entries must have been done elsewhere */
#define CONFIRMED 3		     /* so many failures confirm that */
#define CHANCE 1e-12		     /* that a good node fails so often in a row */
#define FAR 10			     /* if nobody succeeds: after 10 failures, 10 entries from far behind */
#define FAR_US JS_SECOND_US	     /* time between two of those, if there are workers on other nodes */
#define BEGIN_US (10 * JS_SECOND_US) /* for this long, workers on other nodes are assumed to succeed */
#define FIRST 20		     /* with fewer failures in a row the stack is never paused */

/* A success ends the run of failures: all that is known of it is forgotten, which is everything from N on in the
 * struct.  An entry that fails again counts once, so that a few bad entries never look like many. */
void suspicion_note(struct suspicion *s, uint64_t entry, int far, int failed, int64_t started_us, int64_t now_us)
{
	if (!failed) {
		memset((char *)s + offsetof(struct suspicion, n), 0, sizeof(*s) - offsetof(struct suspicion, n));
		s->succeeded = 1;
		return;
	}
	if (s->n == 0) {
		s->since_us = now_us;
		s->works = 1;
	}
	s->confirmed += s->bad_us != 0 && started_us >= s->bad_us;
	for (unsigned i = 0; i < s->n; i++)
		if (s->entry[i] == entry)
			return;
	if (s->n == SUSPICION_MOST)
		return;
	s->entry[s->n++] = entry;
	s->far += far != 0;
}

/* Only when nobody succeeds: then it has to be found out whether a block of files is bad or the command. */
int suspicion_goes_far(const struct suspicion *s)
{
	return s->looked && !s->works && s->n >= FAR && s->far < FAR;
}

/* Returns whether other nodes work on the stack, as far as is known: before the first look there may be some. */
static int has_others(const struct suspicion *s)
{
	return !s->looked || s->others > 0;
}

int64_t suspicion_wait_us(const struct suspicion *s)
{
	int64_t us = WAIT_US;

	if (s->n < SLOW || !has_others(s))
		return 0;
	if (!s->works)
		return suspicion_goes_far(s) ? FAR_US : WAIT_US;
	for (unsigned i = SLOW; i < s->n && us < WAIT_MOST_US; i++)
		us *= 2;
	return us < WAIT_MOST_US ? us : WAIT_MOST_US;
}

int suspicion_asks(const struct suspicion *s)
{
	return s->n >= (s->succeeded ? SPARE : 1);
}

/* Success by anybody in the second half of this run of failures counts. */
void suspicion_see(struct suspicion *s, unsigned others, unsigned busy, uint64_t done, uint64_t tried, int64_t now_us)
{
	if (done > s->done)
		s->done_us = now_us;
	if (!s->looked) {
		s->done_us = s->since_us;
		s->done_first = done;
		s->tried_first = tried;
	}
	s->looked = 1;
	s->others = others;
	s->done = done;
	s->tried = tried;
	s->works = busy > 0 || 2 * (now_us - s->done_us) <= now_us - s->since_us ||
		   (others > 0 && now_us - s->since_us < BEGIN_US);
}

/* Workers that fail end their commands again and again; a command that has run for a quarter of this run of failures,
 * or of its worker's life, may well end with success. */
int suspicion_may_work(const struct suspicion *s, int64_t age_us, int64_t command_us, int64_t now_us)
{
	int64_t run_us = now_us - s->since_us;

	return command_us > 0 && 4 * command_us > (age_us < run_us ? age_us : run_us);
}

/* Without other nodes nobody could do the entry better, so its failure counts. */
int suspicion_spares(const struct suspicion *s, int sure)
{
	return suspicion_asks(s) && has_others(s) && (s->looked || !sure);
}

/* An entry that failed on two other nodes is bad itself.  With fewer nodes than that, all others must have failed. */
int suspicion_costs(const struct suspicion *s, unsigned nodes)
{
	return nodes >= 2 || nodes >= s->others;
}

/* The share of failures elsewhere is estimated with one more success and failure than were seen (Laplace's rule). */
int suspicion_is_bad(struct suspicion *s, unsigned found, unsigned failed, int64_t now_us)
{
	double share = (failed + 1.0) / (found + failed + 2.0), chance = 1;

	for (unsigned i = 0; i < s->n && found >= DONE_LEAST && chance >= CHANCE; i++) /* it only falls */
		chance *= share;
	if (found < DONE_LEAST || chance >= CHANCE)
		s->bad_us = s->confirmed = 0;
	else if (s->bad_us == 0)
		s->bad_us = now_us;
	return s->confirmed >= CONFIRMED;
}

/* The stack is paused if nobody works with success, at least FIRST entries failed in a row, and one of these holds:
 *
 *   the run is as long as the longest block of bad entries that is tolerated
 *   nothing was done since the first look, and as many more entries wait for a retry or are dead
 *   nothing was done since the first look, this worker never had success, and FAR entries from far behind failed,
 *     too, or twice as many failed as are left */
int suspicion_is_hopeless(const struct suspicion *s, uint64_t ready)
{
	int none_done = s->done == s->done_first; /* since the first look */

	return s->looked && !s->works && s->n >= FIRST &&
	       (s->n >= SUSPICION_MOST || (none_done && s->tried >= s->tried_first + SUSPICION_MOST) ||
		(none_done && !s->succeeded && (s->far >= FAR || s->n >= 2 * ready)));
}
