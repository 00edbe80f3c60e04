/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The way of entries through the slots.  Promises: a command that was ended by a signal to the whole job does not count
 * as failed; if the lease can't be kept, commands are stopped before it ends; after a leap of the wall clock nothing
 * starts until a step has succeeded.
 */
#include "worker/entries.h"

#include "worker/orphans.h"
#include "worker/outcome.h"
#include "worker/slot.h"
#include "worker/speaker.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define LATER_US (JS_SECOND_US / 5)	/* the pause after no process could be created */
#define STARVED_US (30 * JS_SECOND_US)	/* how long a worker with nothing running waits for a process */
#define SETTLE_US JS_SECOND_US		/* what the ledger and the supervisor need at the end */
#define IMPATIENT_US (JS_SECOND_US / 4) /* two signals within this time count as one */
#define HINT_US (JS_SECOND_US / 10)	/* within this time a signal that ended a command reaches the worker, too */
#define HINT_KILL_US (3 * JS_SECOND_US / 10) /* the same for SIGKILL, after which there is nothing to read */

/* The slot is marked before the loop is released, so that a thread which takes the loop leaves the slot alone. */
void entries_begin_call(struct supervisor *s, struct slot *slot, enum call call)
{
	slot->before = call == CALL_START ? slot_process(slot) : 0;
	slot->hangs_us = 0;
	slot->call = call;
	loop_begin_call(&s->loop);
}

/* The loop is taken before anything else is looked at.  If the slot was abandoned meanwhile, the entry has its outcome
 * already, and this thread must not do anything more for it. */
void entries_end_call(struct supervisor *s, struct slot *slot)
{
	loop_end_call(&s->loop);
	if (slot->abandoned)
		loop_park_thread(&s->loop);
	slot->call = CALL_NONE;
}

/* ----------------------------------------------------------------------------------------------------- the lease */

/* TERM comes early enough for the grace and half a second more, but never before three quarters of the lease have
 * passed, or a short lease would leave no time for work. */
int64_t entries_outage_us(const struct config *config)
{
	return config->lease_us - earlier(config->grace_us + JS_SECOND_US / 2, config->lease_us / 4);
}

/* What decides until when commands may run:
 *
 *                                TERM                            KILL (lease_end_us)         starts
 *   the lease lasts              entries_outage_us after its     a tenth of a second before  until TERM would be sent
 *                                last renewal                    its end
 *   fenced                       now                             now                         none
 *   the database is lost         now                             a tenth before its end      none
 *   the keeper was killed        now                             now                         none
 *   --on-lease-loss finish       never                           never                       any time
 *   after a leap of the clock    as above                        as above                    none until a step succeeds
 */
int64_t entries_keep_lease(struct supervisor *s, int64_t now, enum ending *why)
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
	s->leave.lease_end_us = INT64_MAX;
	if (leaving == LEAVE_KEEPER) {
		s->leave.lease_end_us = until = now; /* somebody killed the keeper, and meant the worker */
	} else if (!s->config->finish_on_loss) {
		/* fenced: others have the entries already, so there is no grace */
		s->leave.lease_end_us = leaving == LEAVE_FENCED ? now : lease - JS_SECOND_US / 10;
		until = leaving >= LEAVE_FENCED ? now : lease - s->config->lease_us + entries_outage_us(s->config);
	}
	s->commands.bound.until_us = leapt ? 0 : until; /* also for a start that hangs, and continues later */
	return until;
}

int64_t entries_read_clocks(struct supervisor *s)
{
	int64_t now, wall = js_clock_ahead_us(&now), leap = wall - s->commands.bound.wall_us;
	struct parcel *p;

	if (leap >= JS_CLOCK_LEAP_US || leap <= -JS_CLOCK_LEAP_US) {
		s->commands.bound.until_us = 0; /* first this: a start that hangs may look at both in between */
		s->commands.bound.wall_us = wall;
		(void)pthread_mutex_lock(&s->box->lock);
		s->box->leaps++;
		STAILQ_FOREACH(p, &s->box->parcels, next)
		p->batch.start_by_us = p->batch.start_by_us != 0; /* if the machine stood still, it is late */
		mailbox_wake_ledger(s->box);
		(void)pthread_mutex_unlock(&s->box->lock);
	}
	return now;
}

/* ------------------------------------------------------------------------------------------------------- signals */

/* After Slurm's TERM its KILL follows when kill_wait_us is over.  SETTLE_US of that is kept for the last step, which
 * records the outcomes.  Both graces must fit into the rest (LEFT): the first gets at most a half of it, and the
 * second ends with it. */
void entries_drain(struct supervisor *s, int by_term, int64_t now)
{
	int64_t grace = s->config->grace_us, left = later(s->leave.kill_wait_us - SETTLE_US, SETTLE_US / 2);

	if (by_term && s->leave.kill_wait_us > 0) {
		grace = earlier(grace, left / 2);
		s->leave.kill_by_us = now + left;
	}
	s->leave.drain_at_us = now + grace;
	s->commands.draining = 1;
}

/* Does what a signal asks for.  SIGCHLD only wakes the loop.  SIGURG makes the ledger read requests to kill.  All
 * others ask the worker to end; a second SIGINT, later than IMPATIENT_US, skips the first grace. */
static void obey_signal(struct supervisor *s, const struct signalfd_siginfo *info)
{
	int again = s->commands.draining;
	int64_t now = jobstack_now_us();
	char why[128];

	if (info->ssi_signo == SIGCHLD)
		return;
	if (info->ssi_signo == SIGURG) { /* `jobstack kill` on this host */
		(void)pthread_mutex_lock(&s->box->lock);
		s->box->nudged = 1;
		mailbox_wake_ledger(s->box);
		(void)pthread_mutex_unlock(&s->box->lock);
		return;
	}
	if (!again)
		entries_drain(s, info->ssi_signo == SIGTERM, now);
	else if (info->ssi_signo == SIGINT && now - s->leave.interrupted_us > IMPATIENT_US)
		s->leave.drain_at_us = now; /* a person asks twice: no grace (Slurm always sends TERM twice) */
	if (info->ssi_signo == SIGINT && (!again || s->leave.drain_at_us == now))
		display_interrupted(s->display, again);
	if (info->ssi_signo == SIGINT)
		s->leave.interrupted_us = now;
	(void)snprintf(why, sizeof(why), "signal %u (%s)", info->ssi_signo,
		       info->ssi_signo == SIGUSR1 ? "the wall time of the job is nearly over"
						  : strsignal((int)info->ssi_signo));
	mailbox_stop(s->box, LEAVE_SIGNAL, why, info->ssi_signo);
}

void entries_read_signals(struct supervisor *s)
{
	struct signalfd_siginfo info[4];
	ssize_t n;

	do {
		n = read(s->signals, info, sizeof(info));
		for (ssize_t i = 0; i < n / (ssize_t)sizeof(info[0]); i++)
			obey_signal(s, &info[i]);
	} while (n == (ssize_t)sizeof(info));
}

/* Slurm sends its signals to every process of a step, and a command may end before the worker has read its own signal.
 * So if a command was ended by a signal that also ends workers, this waits a moment to see whether the worker gets it,
 * too: then the command was interrupted, and has not failed.  After a KILL by Slurm this process does not survive the
 * wait, so it is enough not to be quick: no failure is recorded.  Commands that end soon after such a wait need none of
 * their own. */
static void await_signal(struct supervisor *s, const struct slot *slot, const struct js_reaped *reaped)
{
	int number = reaped->signal != 0 ? reaped->signal : reaped->exit_code - 128;
	int by_kill = s->leave.kill_wait_us > 0 && number == SIGKILL;
	sigset_t ours;
	int64_t hint = by_kill ? HINT_KILL_US : HINT_US, until = jobstack_now_us() + hint;
	struct pollfd p = {.fd = s->signals, .events = POLLIN};

	if (s->commands.draining || slot->ending != ENDING_NOT || number <= 0 || until - s->hinted_us <= 2 * hint)
		return;
	keeper_signals(&ours);
	if (!by_kill && sigismember(&ours, number) != 1)
		return;
	do {
		if (poll(&p, 1, (int)later((until - jobstack_now_us() + 999) / 1000, 0)) > 0)
			entries_read_signals(s);
	} while (!s->commands.draining && jobstack_now_us() < until);
	s->hinted_us = jobstack_now_us(); /* this wait counts for other commands that the signal has ended, too */
}

/* ------------------------------------------------------------------------------------------------------ outcomes */

/* Counts OUTCOME in the run of failures, with the lock held.  Entries that a person had killed, or whose failure is due
 * to themselves alone (FATAL), say nothing about the node. */
static void suspect_node(struct mailbox *box, const struct slot *slot, const struct jobstack_outcome *o)
{
	int failed = o->verdict == JOBSTACK_FAILED;

	if (slot->killed[0] != '\0' || o->fatal || (!failed && o->verdict != JOBSTACK_DONE))
		return;
	suspicion_note(&box->suspicion, o->entry, slot->parcel->far, failed, o->started_us, jobstack_now_us());
	mailbox_slow_down(box);
	if (box->slow_until_us != 0 || suspicion_goes_far(&box->suspicion))
		mailbox_give_back(box);
}

/* Counts an outcome of the entry in SLOT and posts it, with the lock held. */
static void post_outcome(const struct supervisor *s, const struct slot *slot, const struct jobstack_outcome *o)
{
	const struct jobstack_entry *entry = slot->entry;
	struct mailbox *box = s->box;
	int is_dead = mailbox_is_dead(box, entry, o);

	if (o->verdict != JOBSTACK_UNSTARTED) {
		double took = o->ended_us > o->started_us ? (double)(o->ended_us - o->started_us) : 1;

		box->finished++;
		box->done += o->verdict == JOBSTACK_DONE;
		box->failed += o->verdict == JOBSTACK_FAILED;
		box->interrupted += o->verdict == JOBSTACK_INTERRUPTED && !o->later;
		box->dead += (uint64_t)is_dead;
		if (o->verdict == JOBSTACK_FAILED)
			display_failed(s->display, entry, o, is_dead && !suspicion_spares(&box->suspicion, 1));
		if (o->verdict == JOBSTACK_DONE)
			guard_learn(&box->guard, (int64_t)took);
		box->mean_us = box->mean_us <= 0 ? took : box->mean_us + (took - box->mean_us) / 16;
		box->progress_us = jobstack_now_us();
	}
	/* a lost entry is not posted, and one for which there is no memory can't be: the end of the worker's row
	 * records the first as lost, and returns the second */
	if (o->verdict != JOBSTACK_LOST && mailbox_post(box, slot->parcel, o) == 0)
		box->results[box->results_n - 1].is_dead = is_dead;
	/* in all other cases the ledger has planned its next step by the first outcome already */
	if (box->results_n == 1 || box->results_n >= JOBSTACK_POP_MAX || (box->queued == 0 && box->running == 0) ||
	    box->leaving != STAY)
		mailbox_wake_ledger(box);
}

void entries_post(struct supervisor *s, struct slot *slot, const struct jobstack_outcome *outcome)
{
	(void)pthread_mutex_lock(&s->box->lock);
	mailbox_free_slot(s->box, slot->number - 1);
	s->box->running--;
	suspect_node(s->box, slot, outcome);
	post_outcome(s, slot, outcome);
	(void)pthread_mutex_unlock(&s->box->lock);
}

/* Judging touches no file, so only keeping the output has to be a call that may hang.  The process counts as gone
 * before the outcome is posted: from then on the slot is free. */
void entries_conclude(struct supervisor *s, struct slot *slot, const struct js_reaped *reaped)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct jobstack_outcome outcome;
	char reason[REASON_MAX];
	int status;

	outcome_judge(&s->commands, slot, reaped, &outcome, reason);
	entries_begin_call(s, slot, CALL_KEEP);
	status = outcome_keep(&s->commands, slot, reaped, &outcome, reason, &error);
	entries_end_call(s, slot);
	slot->pid = 0;
	entries_post(s, slot, &outcome);
	if (status > 0)
		mailbox_stop(s->box, LEAVE_PAUSING, error.text, 0);
	else if (status < 0)
		mailbox_stop(s->box, LEAVE_OUTPUT, error.text, 0);
}

/* Returns whether the keeper has killed commands since STARTED_US.  While it is at it, waits, for up to a second: the
 * moment of the kill is noted only afterwards. */
static int has_keeper_killed(const struct keeper *keeper, int64_t started_us)
{
	int64_t until = jobstack_now_us() + JS_SECOND_US;

	while (keeper->page->killing && jobstack_now_us() < until)
		js_clock_nap(JS_SECOND_US / 1000, NULL);
	return keeper->page->killed_us > started_us;
}

/* What the command has left is killed before its output is kept, since it could still write to it, and before its
 * outcome counts, since the entry may run elsewhere afterwards. */
void entries_finish(struct supervisor *s, struct slot *slot, const struct js_reaped *reaped)
{
	await_signal(s, slot, reaped);
	orphans_kill_of(&s->orphans, slot);
	if (slot->ending == ENDING_NOT && reaped->exit_code != 0 && has_keeper_killed(s->keeper, slot->started_us))
		slot->ending = ENDING_LEASE; /* the worker slept past its lease, so the keeper ended its commands */
	entries_conclude(s, slot, reaped);
}

/* -------------------------------------------------------------------------------------------------------- starts */

/* No process could be created for a command.  While others run, one will end and make another start possible, so the
 * worker only waits.  With nothing running for STARVED_US it leaves, since another machine may do better.  That time
 * begins again if no start was tried for a third of it. */
static void note_starved(struct supervisor *s, size_t running, const char *why)
{
	int64_t now = jobstack_now_us();
	char text[1000];

	if (s->starts.starved_us == 0 || running > 0 || now - s->starts.later_us > STARVED_US / 3)
		s->starts.starved_us = now;
	s->starts.later_us = now + LATER_US;
	if (!s->starts.told_starved)
		speaker_say(
			"%s: only %zu of %zu slots are in use; the worker keeps trying to start commands in the others",
			why, running, s->box->slots_n);
	s->starts.told_starved = 1;
	if (now - s->starts.starved_us < STARVED_US)
		return;
	(void)snprintf(text, sizeof(text), "no command could be started for %d s: %.800s",
		       (int)(STARVED_US / JS_SECOND_US), why);
	mailbox_stop(s->box, LEAVE_MACHINE, text, 0);
}

/* Starts the next entry of the mailbox in SLOT, if one still may start.  The entry counts as running from mailbox_take
 * on, and what became of its start is settled with the lock held: it runs; it goes back into the mailbox (LATER, GONE);
 * it has an outcome; or it goes back to the queue and the worker leaves (BROKEN, FULL). */
static void start_entry(struct supervisor *s, struct slot *slot)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct mailbox *box = s->box;
	struct jobstack_outcome outcome;
	const struct jobstack_entry *entry;
	enum slot_start how;
	size_t running;

	(void)pthread_mutex_lock(&box->lock);
	entry = mailbox_may_start(box) ? mailbox_take(box, &slot->parcel) : NULL;
	if (entry != NULL && !mailbox_is_in_time(box, slot->parcel, entry))
		entry = NULL;
	slot->killed[0] = '\0';
	if (entry != NULL)
		(void)jobstack_kill_wanted(box->kills, entry->entry, entry->attempt, slot->killed);
	box->alone = entry != NULL && entry->losses >= ALONE_LOSSES;
	if (entry != NULL) {
		printer_start(s->commands.printer, entry);
		mailbox_slow_down(box);
	}
	(void)pthread_mutex_unlock(&box->lock);
	if (entry == NULL)
		return;
	slot->entry = entry;
	entries_begin_call(s, slot, CALL_START);
	how = slot_start(&s->commands, slot, &outcome, &error);
	entries_end_call(s, slot);
	if (how == SLOT_RUNS && slot->hangs_us != 0) /* the start hung: that is not the command's time */
		slot->started_us = jobstack_now_us();
	(void)pthread_mutex_lock(&box->lock);
	if (how == SLOT_RUNS)
		box->slots[slot->number - 1] = (struct jobstack_running){sizeof(box->slots[0]), entry->entry,
									 entry->attempt, slot->started_us};
	else if (how == SLOT_LATER || how == SLOT_GONE)
		mailbox_untake(box, slot->parcel, entry);
	else {
		box->running--;
		if (how == SLOT_BROKEN || how == SLOT_FULL)
			outcome.verdict = JOBSTACK_UNSTARTED;
		if (how == SLOT_OUTCOME)
			printer_skip(s->commands.printer, entry);
		post_outcome(s, slot, &outcome);
	}
	if (box->queued == 0 || box->queued == box->slots_n)
		mailbox_wake_ledger(box);
	box->starved = how == SLOT_LATER;
	running = box->running;
	(void)pthread_mutex_unlock(&box->lock);
	if (how == SLOT_RUNS)
		s->starts.starved_us = 0;
	if (how == SLOT_LATER)
		note_starved(s, running, error.text);
	else if (how == SLOT_BROKEN)
		mailbox_stop(s->box, LEAVE_COMMAND, error.text, error.server_errno);
	else if (how == SLOT_FULL)
		mailbox_stop(s->box, LEAVE_PAUSING, error.text, 0);
}

int entries_fill(struct supervisor *s, struct slot *slot)
{
	while (slot_is_free(slot)) {
		int64_t now = entries_read_clocks(s);
		enum ending why;
		int may;

		(void)pthread_mutex_lock(&s->box->lock);
		may = mailbox_may_start(s->box);
		(void)pthread_mutex_unlock(&s->box->lock);
		/* clocks and lease are read anew for each start: the machine may have slept without any event */
		if (!may || now >= entries_keep_lease(s, now, &why) || now < s->starts.later_us)
			return 0;
		start_entry(s, slot);
	}
	return 1;
}
