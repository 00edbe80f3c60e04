/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Calls that may hang.  Promises: a call that hangs keeps its own slot busy and nothing else; it is said; a worker
 * that has to go goes without it, and then no command runs that this call would still have started.
 */
#define _GNU_SOURCE
#include "worker/aside.h"

#include "base/clock.h"
#include "worker/speaker.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#define SAID_US (10 * JS_SECOND_US) /* a call that takes so long is said to hang */
#define LEAST_US JS_SECOND_US	    /* so long each call is waited for, also when the worker has to go */

void aside_begin(struct supervisor *s, struct slot *slot, enum aside what)
{
	slot->before = what == ASIDE_START ? slot_process(slot) : 0;
	slot->aside_us = 0;
	slot->aside = what;
	relay_leave(&s->relay);
}

void aside_end(struct supervisor *s, struct slot *slot)
{
	relay_return(&s->relay);
	if (slot->abandoned)
		relay_park(&s->relay);
	slot->aside = ASIDE_NOT;
}

int aside_any(const struct supervisor *s)
{
	for (size_t i = 0; i < s->box->slots_n; i++)
		if (s->slots[i].aside != ASIDE_NOT)
			return 1;
	return 0;
}

static void say_hang(struct supervisor *s, const struct slot *slot, int64_t now)
{
	static const char *const what[] = {"", "start the command of", "keep the output of", "shorten the output of"};

	speaker_say(
		"slot %" PRIu32 " has waited for %" PRId64 " s to %s entry %" PRIu64
		": a file system does not answer (%s%s).  The slot stays busy until it does; the other slots continue",
		slot->number, (now - slot->aside_us) / JS_SECOND_US, what[slot->aside], slot->entry->entry,
		slot->aside != ASIDE_KEEP ? "look for processes in state D"
		: s->config->output_dash  ? "standard output"
		: slot->out_path.len > 0  ? slot->out_path.data
					  : "the output goes to ",
		slot->aside == ASIDE_KEEP && !s->config->output_dash && slot->out_path.len == 0 ? s->log_dir : "");
}

/* The worker goes, and the call has not returned: the entry goes back. */
static void abandon_call(struct supervisor *s, struct slot *slot, int64_t now)
{
	struct jobstack_outcome outcome;
	struct js_reaped reaped;

	if (slot->aside == ASIDE_TRIM) { /* its command runs, and gets signals like others */
		if (js_reap_one(slot->pid, &reaped) != 0)
			return;
		slot->pid = 0;
	}
	if (slot->aside == ASIDE_START) {
		js_spawn_cancel(&slot->stop);
		(void)js_spawn_kill(slot->before,
				    SIGKILL); /* a persistent command: it would still be handed the entry */
		slot->started_us = slot->aside_us;
	}
	if (slot->aside == ASIDE_KEEP && slot->persistent != NULL) /* it has no more entries to come */
		(void)js_spawn_kill(slot_process(slot), SIGKILL);
	if (slot->aside != ASIDE_KEEP)
		slot->ended_us = now;
	slot->abandoned = 1;
	relay_abandon(&s->relay);
	slot_begin_outcome(slot, &outcome);
	outcome.verdict = JOBSTACK_INTERRUPTED;
	outcome.reason = slot->aside == ASIDE_START ? "its command could not be started: a file system does not answer"
						    : "its output could not be kept: a file system does not answer";
	(void)pthread_mutex_lock(&s->box->lock);
	slot->parcel->left++;	       /* the hanging thread still reads the entry: it is never freed */
	if (s->box->leaving == STAY) { /* the lease is over.  Should it come back, this slot would still be of no use */
		mailbox_leave(s->box, LEAVE_MACHINE, "the lease ended while a file system did not answer");
		mailbox_give_back(s->box);
	}
	(void)pthread_mutex_unlock(&s->box->lock);
	supervisor_post(s, slot, &outcome);
}

int64_t aside_keep_time(struct supervisor *s, struct slot *slot, int64_t now, int64_t next)
{
	int64_t at = INT64_MAX;

	if (slot->abandoned)
		return next;
	if (slot->aside_us == 0) /* it hangs, or we would not see it: only then it is worth a look at the clock */
		slot->aside_us = now;
	if (!s->told_hang && now >= slot->aside_us + SAID_US) {
		say_hang(s, slot, now);
		s->told_hang = 1;
	} else if (!s->told_hang && slot->aside_us + SAID_US < next)
		next = slot->aside_us + SAID_US;
	if (s->draining)
		at = s->drain_at_us + s->config->grace_us;
	if (at < slot->aside_us + LEAST_US)
		at = slot->aside_us + LEAST_US;
	if (s->kill_by_us != 0 && s->kill_by_us < at)
		at = s->kill_by_us;
	if (s->lease_end_us < at)
		at = s->lease_end_us;
	if (now >= at) {
		abandon_call(s, slot, now);
		at = slot->abandoned ? INT64_MAX : now + JS_SECOND_US / 10;
	}
	return at < next ? at : next;
}

void aside_told(struct supervisor *s)
{

	if (s->told_hang && !aside_any(s)) {
		speaker_say("the file system answers again: all slots continue");
		s->told_hang = 0;
	}
}
