/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The supervisor.  Promises: its loop polls, and waits for nothing else, for what may hang is done aside
 * (worker/aside.h); signals are read before ends are judged, so that a command which fell to the same signal as we is
 * not blamed for it; when the lease can't be kept the commands are stopped before it is over.
 */
#define _GNU_SOURCE
#include "worker/supervisor.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/num.h"
#include "worker/aside.h"
#include "worker/converse.h"
#include "worker/lease.h"
#include "worker/persistent.h"
#include "worker/speaker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define BREAKER 20
#define LATER_US (JS_SECOND_US / 5)
#define STARVED_US (30 * JS_SECOND_US)	 /* so long a worker with nothing running waits for a process */
#define BLIND_US (JS_SECOND_US / 50)	 /* so often it is looked around when waiting has failed */
#define SETTLE_US JS_SECOND_US		 /* what the ledger and we need at the end */
#define IMPATIENT_US (JS_SECOND_US / 4)	 /* two signals closer together are one */
#define TRIM_US (JS_SECOND_US / 10)	 /* output is looked at so often... */
#define TRIM_SOON_US (JS_SECOND_US / 40) /* ... and so often while a command prints much */
#define HINT_KILL_US (3 * JS_SECOND_US / 10)
#define HINT_US (JS_SECOND_US / 10) /* how long after a command the signal that felled it may reach us too */

int supervisor_signals(void)
{
	sigset_t set;

	keeper_signals(&set);
	(void)sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		return -1;
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void terminate_command(struct slot *slot, enum ending why, int64_t kill_at_us)
{
	if (slot->ending == ENDING_NOT)
		slot->ending = why;
	(void)js_spawn_kill(slot->pid, SIGTERM);
	(void)js_spawn_kill(slot->pid, SIGCONT); /* a stopped one must wake to end */
	slot->kill_at_us = kill_at_us > 0 ? kill_at_us : 1;
}

/* When running commands are to be ended.  Behind Slurm's TERM comes its KILL, by when the ledger must know what became
 * of them. */
static void plan_drain(struct supervisor *s, int by_term, int64_t now)
{
	int64_t grace = s->config->grace_us, left = s->kill_wait_us - SETTLE_US;

	if (by_term && s->kill_wait_us > 0) {
		left = left > SETTLE_US / 2 ? left : SETTLE_US / 2;
		grace = grace < left / 2 ? grace : left / 2;
		s->kill_by_us = now + left;
	}
	s->drain_at_us = now + grace;
}

/* Reads what signals have come. */
static void read_signals(struct supervisor *s)
{
	struct signalfd_siginfo info;

	while (read(s->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		int64_t now = jobstack_now_us();
		char why[128];

		if (info.ssi_signo == SIGCHLD)
			continue;
		if (!s->draining)
			plan_drain(s, info.ssi_signo == SIGTERM, now);
		else if (info.ssi_signo == SIGINT && now - s->interrupted_us > IMPATIENT_US)
			s->drain_at_us =
				now; /* a person who asks twice: no grace any more; Slurm always sends TERM twice */
		if (info.ssi_signo == SIGINT)
			s->interrupted_us = now;
		s->draining = 1;
		(void)snprintf(why, sizeof(why), "signal %u (%s)", info.ssi_signo, strsignal((int)info.ssi_signo));
		mailbox_stop(s->box, LEAVE_SIGNAL, why);
	}
}

/* The first twenty all failed: it is not the entries. */
static void watch_breaker(struct supervisor *s, const struct jobstack_outcome *o)
{
	if (o->verdict == JOBSTACK_DONE)
		s->breaker_off = 1;
	if (s->breaker_off || o->verdict != JOBSTACK_FAILED || ++s->failures_first < BREAKER)
		return;
	s->breaker_off = s->trip = 1;
	mailbox_stop(s->box, LEAVE_BREAKER, "");
}

/* Counts an outcome and posts it, with the lock held. */
static void post_outcome(struct supervisor *s, struct parcel *parcel, const struct jobstack_outcome *o)
{
	struct mailbox *box = s->box;

	if (o->verdict != JOBSTACK_UNSTARTED) {
		double took = o->ended_us > o->started_us ? (double)(o->ended_us - o->started_us) : 1;

		box->finished++;
		box->done += o->verdict == JOBSTACK_DONE;
		box->failed += o->verdict == JOBSTACK_FAILED;
		box->interrupted += o->verdict == JOBSTACK_INTERRUPTED;
		if (o->verdict == JOBSTACK_DONE)
			guard_learn(&box->guard, (int64_t)took);
		box->mean_us = box->mean_us <= 0 ? took : box->mean_us + (took - box->mean_us) / 16;
		box->progress_us = jobstack_now_us();
	}
	if (o->verdict != JOBSTACK_LOST)	    /* what is lost stays with the worker, whose end tells so */
		(void)mailbox_post(box, parcel, o); /* without memory: the row's end gives the entry back */
	if (box->results_n == 1 || box->results_n >= JOBSTACK_POP_MAX || (box->queued == 0 && box->running == 0) ||
	    box->leaving != STAY)
		mailbox_wake_ledger(box);
}

/* The machine gave no process for a command.  While others run, one will end and make room; with nothing running,
 * somebody else may have room.  A while without a try begins anew. */
static void note_starved(struct supervisor *s, size_t running, const char *why)
{
	int64_t now = jobstack_now_us();
	char text[1000];

	if (s->starved_us == 0 || running > 0 || now - s->later_us > STARVED_US / 3)
		s->starved_us = now;
	s->later_us = now + LATER_US;
	if (!s->told_starved)
		speaker_say("%s: %zu of %zu slots are busy, and the worker keeps trying", why, running,
			    s->box->slots_n);
	s->told_starved = 1;
	if (now - s->starved_us < STARVED_US)
		return;
	(void)snprintf(text, sizeof(text), "no command could be started for %d s: %.800s",
		       (int)(STARVED_US / JS_SECOND_US), why);
	mailbox_stop(s->box, LEAVE_MACHINE, text);
}

/* Starts what can be started. */
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
	box->alone = entry != NULL && entry->losses >= ALONE_LOSSES;
	(void)pthread_mutex_unlock(&box->lock);
	if (entry == NULL)
		return;
	slot->entry = entry;
	aside_begin(s, slot, ASIDE_START);
	how = slot_start(&s->all, slot, entry, &outcome, &error);
	aside_end(s, slot);
	if (how == SLOT_RUNS && slot->aside_us != 0) /* the start hung: that is not the command's time */
		slot->started_us = jobstack_now_us();
	(void)pthread_mutex_lock(&box->lock);
	if (how == SLOT_RUNS)
		box->slots[slot->number - 1] = (struct jobstack_running){sizeof(box->slots[0]), entry->entry,
									 entry->attempt, slot->started_us};
	else if (how == SLOT_LATER || how == SLOT_GONE)
		mailbox_untake(box, slot->parcel, entry);
	else {
		box->running--;
		if (how == SLOT_BROKEN)
			outcome.verdict = JOBSTACK_UNSTARTED;
		post_outcome(s, slot->parcel, &outcome);
	}
	if (box->queued == 0 || box->queued == box->slots_n)
		mailbox_wake_ledger(box);
	box->starved = how == SLOT_LATER;
	running = box->running;
	(void)pthread_mutex_unlock(&box->lock);
	if (how == SLOT_RUNS)
		s->starved_us = 0;
	if (how == SLOT_LATER)
		note_starved(s, running, error.text);
	else if (how == SLOT_BROKEN)
		mailbox_stop_for(s->box, LEAVE_COMMAND, &error);
	else if (how == SLOT_OUTCOME)
		watch_breaker(s, &outcome);
}

int supervisor_fill(struct supervisor *s, struct slot *slot)
{
	while (slot_is_free(slot)) {
		int64_t now = lease_watch_clocks(s);
		int may;

		(void)pthread_mutex_lock(&s->box->lock);
		may = mailbox_may_start(s->box);
		(void)pthread_mutex_unlock(&s->box->lock);
		if (!may || !lease_is_ours(s, now) || now < s->later_us)
			return 0;
		start_entry(s, slot);
	}
	return 1;
}

static void start_all(struct supervisor *s)
{
	for (size_t i = 0; i < s->box->slots_n && jobstack_now_us() >= s->later_us; i++)
		if (!supervisor_fill(s, &s->slots[i]))
			return;
}

/* Has the keeper killed commands since STARTED? */
static int keeper_killed(const struct keeper *keeper, int64_t started_us)
{
	int64_t until = jobstack_now_us() + JS_SECOND_US;

	while (keeper->page->killing && jobstack_now_us() < until)
		js_clock_nap(JS_SECOND_US / 1000, NULL);
	return keeper->page->killed_us > started_us;
}

/* Slurm sends its signals to every process of a step, and the command may be quicker than we: before a command that
 * fell to TERM is blamed for it, we look whether the signal is for us as well.  Behind a KILL by Slurm there is nothing
 * to be looked at any more, if it is for us: not to be quick is enough. */
static void await_signal(struct supervisor *s, const struct slot *slot, const struct js_reaped *reaped)
{
	int by_term = reaped->signal == SIGTERM || reaped->exit_code == 128 + SIGTERM;
	int by_kill = s->kill_wait_us > 0 && (reaped->signal == SIGKILL || reaped->exit_code == 128 + SIGKILL);
	int64_t hint = by_kill ? HINT_KILL_US : HINT_US, until = jobstack_now_us() + hint;
	struct pollfd p = {.fd = s->signals, .events = POLLIN};

	if (s->draining || slot->ending != ENDING_NOT || !(by_term || by_kill) || until - s->hinted_us <= 2 * hint)
		return;
	while (!s->draining && jobstack_now_us() < until)
		if (poll(&p, 1, (int)((until - jobstack_now_us() + 999) / 1000)) > 0)
			read_signals(s);
	s->hinted_us = jobstack_now_us(); /* for those that fell with it, too */
}

void supervisor_post(struct supervisor *s, struct slot *slot, const struct jobstack_outcome *outcome)
{
	(void)pthread_mutex_lock(&s->box->lock);
	s->box->slots[slot->number - 1].entry = 0;
	s->box->running--;
	post_outcome(s, slot->parcel, outcome);
	(void)pthread_mutex_unlock(&s->box->lock);
}

void supervisor_conclude(struct supervisor *s, struct slot *slot, const struct js_reaped *reaped)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct jobstack_outcome outcome;
	char reason[REASON_MAX];
	int status;

	slot_judge(&s->all, slot, reaped, s->draining, &outcome, reason);
	aside_begin(s, slot, ASIDE_KEEP);
	status = slot_keep(&s->all, slot, reaped, &outcome, reason, &error);
	aside_end(s, slot);
	slot->pid = 0;
	supervisor_post(s, slot, &outcome);
	if (status != 0)
		mailbox_stop(s->box, LEAVE_OUTPUT, error.text);
	watch_breaker(s, &outcome);
}

/* One command has ended. */
void supervisor_finish(struct supervisor *s, struct slot *slot, const struct js_reaped *reaped)
{
	await_signal(s, slot, reaped);
	orphans_kill_of(&s->orphans, slot);
	if (slot->ending == ENDING_NOT && reaped->exit_code != 0 && keeper_killed(s->keeper, slot->started_us))
		slot->ending = ENDING_LEASE; /* we slept past our lease, and the keeper did what we should have done */
	supervisor_conclude(s, slot, reaped);
}

/* The process of SLOT was collected. */
static void conclude_process(struct supervisor *s, struct slot *slot, struct js_reaped *reaped)
{
	if (slot->persistent != NULL)
		converse_died(s, slot, reaped);
	else
		supervisor_finish(s, slot, reaped);
}

static void collect_commands(struct supervisor *s)
{
	struct js_reaped reaped;

	while (!aside_any(s) && js_reap_next(&reaped) == 0)
		for (size_t i = 0; i < s->box->slots_n; i++)
			if (slot_process(&s->slots[i]) == reaped.pid) {
				conclude_process(s, &s->slots[i], &reaped);
				break;
			}
	/* a thread hangs: what it starts is collected when its number is known */
	for (size_t i = 0; aside_any(s) && i < s->box->slots_n; i++)
		if (s->slots[i].aside == ASIDE_NOT && slot_process(&s->slots[i]) != 0 &&
		    js_reap_one(slot_process(&s->slots[i]), &reaped) == 0)
			conclude_process(s, &s->slots[i], &reaped);
}

/* Sends what is due to one running command; gives the moment of the next thing. */
static int64_t keep_command_time(struct supervisor *s, struct slot *slot, int64_t now, int64_t stop_us,
				 enum ending stop_why, int64_t next)
{
	int64_t term_at = INT64_MAX;
	enum ending why = ENDING_NOT;

	if (slot->kill_at_us != 0) {
		/* a TERM for another reason may still wait out its grace: the lease's end does not */
		if (s->lease_end_us < slot->kill_at_us)
			slot->kill_at_us = s->lease_end_us > now ? slot->kill_at_us : now;
		if (now >= slot->kill_at_us) {
			(void)js_spawn_kill(slot->pid, SIGKILL);
			slot->kill_at_us =
				now + JS_SECOND_US; /* again, if it has not helped: a new member of its group */
		}
		return slot->kill_at_us < next ? slot->kill_at_us : next;
	}
	if (s->config->timeout_us > 0) {
		term_at = slot->started_us + s->config->timeout_us;
		why = ENDING_TIMEOUT;
	}
	if (slot->persistent != NULL && slot->persistent->mute_at_us != 0 && slot->persistent->mute_at_us < term_at) {
		term_at = slot->persistent->mute_at_us;
		why = ENDING_MUTE;
	}
	if (stop_us < term_at) {
		term_at = stop_us;
		why = stop_why;
	}
	if (now >= term_at) {
		int64_t kill_at = now + s->config->grace_us;

		if (s->kill_by_us != 0 && s->kill_by_us < kill_at)
			kill_at = s->kill_by_us > now ? s->kill_by_us : now;
		/* the lease's end does not wait for the grace */
		terminate_command(slot, why, s->lease_end_us < kill_at ? s->lease_end_us : kill_at);
		term_at = slot->kill_at_us;
	}
	return term_at < next ? term_at : next;
}

static int trim_slot(struct supervisor *s, struct slot *slot)
{
	int busy;

	aside_begin(s, slot, ASIDE_TRIM);
	busy = js_capture_trim(slot->capture);
	aside_end(s, slot);
	return busy;
}

/* Output that will not be kept gives its room back, of commands that have run for a while; soon again while there is
 * much. */
static int64_t trim_outputs(struct supervisor *s, int64_t now, int64_t next)
{
	unsigned round = s->rounds;
	int busy = 0, running = 0;

	if (s->config->output_limit == 0 || (s->config->output != NULL && s->config->error != NULL))
		return next;
	if (now >= s->trim_at_us) {
		for (size_t i = 0; i < s->box->slots_n; i++)
			if (s->slots[i].aside == ASIDE_NOT && s->slots[i].pid != 0 &&
			    now - s->slots[i].started_us >= TRIM_US)
				busy |= trim_slot(s, &s->slots[i]);
		s->trim_at_us = now + (busy ? TRIM_SOON_US : TRIM_US);
	}
	for (size_t i = 0; i < s->box->slots_n && !running; i++)
		running = s->slots[i].aside == ASIDE_NOT && s->slots[i].pid != 0;
	if (s->rounds != round) /* it hung: there are things to be done that NEXT does not know of */
		return now;
	return running && s->trim_at_us < next ? s->trim_at_us : next;
}

/* All timers; gives the moment to wake at. */
static int64_t keep_all_times(struct supervisor *s)
{
	int64_t now = jobstack_now_us(), next = now + 10 * JS_SECOND_US, stop = INT64_MAX, last;
	enum ending why = ENDING_DRAIN, lease_why;
	int going;

	(void)pthread_mutex_lock(&s->box->lock);
	going = s->box->leaving != STAY;
	(void)pthread_mutex_unlock(&s->box->lock);
	if (s->draining)
		stop = s->drain_at_us;
	last = lease_keep(s, now, &lease_why);
	if (s->lease_end_us > now && s->lease_end_us < next)
		next = s->lease_end_us;
	if (last < stop) {
		stop = last;
		why = lease_why;
	}
	for (size_t i = 0; i < s->box->slots_n; i++) {
		struct slot *slot = &s->slots[i];

		if (slot->aside != ASIDE_NOT)
			next = aside_keep_time(s, slot, now, next);
		if (slot->aside != ASIDE_START && slot->aside != ASIDE_KEEP && slot->pid != 0)
			next = keep_command_time(s, slot, now, stop, why, next);
		else if (slot->aside == ASIDE_NOT && slot->persistent != NULL)
			next = converse_keep_time(s, slot, going, now, next);
	}
	aside_told(s);
	next = trim_outputs(s, now, next);
	if (s->later_us > now && s->later_us < next)
		next = s->later_us;
	if (s->orphans.at_us != 0 && s->orphans.at_us <= now)
		orphans_kill(&s->orphans);
	if (s->orphans.at_us != 0 && s->orphans.at_us < next)
		next = s->orphans.at_us;
	return next;
}

/* The job ends soon: nothing is started any more that would not finish.  Gives the moment to look again. */
static int64_t watch_time(struct supervisor *s)
{
	int64_t closes, end, need = 0, now = jobstack_now_us();
	char left_text[64], need_text[64], why[300];
	int stay;

	(void)pthread_mutex_lock(&s->box->lock);
	stay = s->box->leaving == STAY;
	end = s->box->guard.end_us;
	closes = guard_closes_us(&s->box->guard);
	if (closes <= now)
		need = guard_need_us(&s->box->guard);
	(void)pthread_mutex_unlock(&s->box->lock);
	if (!stay || closes > now)
		return stay ? closes : INT64_MAX;
	js_num_duration_text(end > now ? end - now : 0, left_text, sizeof(left_text));
	js_num_duration_text(need, need_text, sizeof(need_text));
	(void)snprintf(why, sizeof(why),
		       need > 0 ? "the job ends in %s, and entries take up to %s (95 of 100): nothing more is started"
				: "the job ends in %s: nothing more is started",
		       left_text, need_text);
	mailbox_stop(s->box, LEAVE_TIME, why);
	return INT64_MAX;
}

/* The keeper was killed: whoever did it meant us. */
static void watch_keeper(struct supervisor *s)
{
	char byte;

	if (s->life < 0 || read(s->life, &byte, 1) != 0)
		return;
	if (s->all.epoll >= 0) /* it would tell so for ever */
		(void)epoll_ctl(s->all.epoll, EPOLL_CTL_DEL, s->life, NULL);
	s->life = -1;
	mailbox_stop(s->box, LEAVE_KEEPER, "the worker was killed (its keeper is gone)");
}

static int has_all_ended(struct supervisor *s)
{
	int ended;

	(void)pthread_mutex_lock(&s->box->lock);
	ended = s->box->ended;
	(void)pthread_mutex_unlock(&s->box->lock);
	for (size_t i = 0; ended && i < s->box->slots_n; i++)
		ended = s->slots[i].abandoned || (s->slots[i].aside == ASIDE_NOT && slot_process(&s->slots[i]) == 0);
	return ended;
}

/* The worker can't wait for its commands any more: it leaves as if it had been told to, and looks around by the clock
 * until all has ended. */
static void leave_blind(struct supervisor *s, const struct jobstack_error *error)
{
	if (!s->draining)
		plan_drain(s, 0, jobstack_now_us());
	s->draining = 1;
	mailbox_stop(s->box, LEAVE_MACHINE, error->text);
	js_clock_nap(BLIND_US, NULL);
}

/* Waits for whatever comes, until NEXT. */
static void wait_for_any(struct supervisor *s, int64_t next)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct pollfd polls[4] = {{.fd = s->signals, .events = POLLIN},
				  {.fd = s->box->event, .events = POLLIN},
				  {.fd = s->life, .events = POLLIN},
				  {.fd = s->leap, .events = POLLIN}};
	int64_t wait = (next - jobstack_now_us() + 999) / 1000;
	uint64_t count;

	if (s->config->persistent)
		(void)converse(s, next, &error);
	else if (poll(polls, 4, wait < 0 ? 0 : wait > 10000 ? 10000 : (int)wait) < 0 && errno != EINTR)
		(void)js_error_set(&error, JOBSTACK_EBUG, "poll: %s", strerror(errno));
	if (error.code != 0)
		leave_blind(s, &error);
	while (read(s->box->event, &count, sizeof(count)) > 0)
		;
	if (js_clock_leap_read(s->leap)) { /* suspended, perhaps: a wait by CLOCK_MONOTONIC does not know */
		(void)pthread_mutex_lock(&s->box->lock);
		mailbox_wake_ledger(s->box);
		(void)pthread_mutex_unlock(&s->box->lock);
	}
}

/* The loop.  More than one thread may be in it; one of them runs. */
static int run_supervisor_loop(void *ctx)
{
	struct supervisor *s = ctx;

	for (;;) {
		int64_t next, closes;

		relay_next_round(&s->relay);
		s->rounds++;
		mailbox_note_round(s->box);
		(void)lease_watch_clocks(s);
		watch_keeper(s);
		read_signals(s);
		collect_commands(s);
		if (has_all_ended(
			    s)) { /* looked at after the last command was taken in: nothing would wake us any more */
			if (s->orphans.at_us != 0) /* the keeper may be gone */
				orphans_kill(&s->orphans);
			return 0;
		}
		closes = watch_time(s);
		start_all(s);
		next = keep_all_times(s);
		wait_for_any(s, closes < next ? closes : next);
	}
}

static void nudge_loop(void *ctx)
{
	mailbox_wake_supervisor(((struct supervisor *)ctx)->box);
}

void supervisor_run(struct supervisor *s)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;

	s->all.epoll = -1;
	s->leap = js_clock_leap_open();
	s->all.bound.wall_us = s->all.wall_us;
	orphans_begin(&s->orphans, &s->all, s->slots, s->box->slots_n);
	if (s->config->persistent && converse_begin(s, &error) != 0)
		leave_blind(s, &error);
	s->relay.loop = run_supervisor_loop;
	s->relay.nudge = nudge_loop;
	s->relay.ctx = s;
	if (relay_run(&s->relay, &error) !=
	    0) /* no thread can be started: the loop runs in this one, and a call that hangs holds it up */
		(void)run_supervisor_loop(s);
	if (supervisor_hangs(s))
		return;
	converse_end(s);
	orphans_end(&s->orphans);
	if (s->leap >= 0)
		(void)close(s->leap);
}

int supervisor_hangs(const struct supervisor *s)
{
	for (size_t i = 0; i < s->box->slots_n; i++)
		if (s->slots[i].abandoned)
			return 1;
	return 0;
}
