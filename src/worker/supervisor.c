/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The supervisor.  Promises: it polls, and waits for nothing else; signals are read before ends are judged, so that a command
 * which fell to the same signal as we is not blamed for it; when the lease can't be kept the commands are stopped before it
 * is over.
 */
#define _GNU_SOURCE
#include "worker/supervisor.h"

#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define BREAKER 20
#define LATER_US (JS_SECOND_US / 5)
#define HINT_US (JS_SECOND_US / 10) /* how long after a command the signal that felled it may reach us too */

int supervisor_signals(void)
{
	static const int ours[] = {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1};
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		(void)sigaddset(&set, ours[i]);
	if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		return -1;
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void terminate(struct slot *slot, enum ending why, int64_t kill_at_us)
{
	if (slot->ending == ENDING_NOT)
		slot->ending = why;
	(void)js_spawn_kill(slot->pid, SIGTERM);
	(void)js_spawn_kill(slot->pid, SIGCONT); /* a stopped one must wake to end */
	slot->kill_at_us = kill_at_us > 0 ? kill_at_us : 1;
}

/* Reads what signals have come. */
static void read_signals(struct supervisor *s)
{
	struct signalfd_siginfo info;

	while (read(s->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		char why[128];

		if (info.ssi_signo == SIGCHLD)
			continue;
		if (s->draining) /* asked twice: no grace any more */
			s->drain_at_us = jobstack_now_us();
		else
			s->drain_at_us = jobstack_now_us() + s->config->grace_us;
		s->draining = 1;
		(void)snprintf(why, sizeof(why), "signal %u (%s)", info.ssi_signo, strsignal((int)info.ssi_signo));
		(void)pthread_mutex_lock(&s->box->lock);
		mailbox_leave(s->box, LEAVE_SIGNAL, why);
		mailbox_give_back(s->box);
		(void)pthread_mutex_unlock(&s->box->lock);
	}
}

/* Leaves for a fault of ours or of the command's; the entries in line go back. */
static void stop_for(struct supervisor *s, enum leaving leaving, const char *why)
{
	(void)pthread_mutex_lock(&s->box->lock);
	mailbox_leave(s->box, leaving, why);
	mailbox_give_back(s->box);
	(void)pthread_mutex_unlock(&s->box->lock);
}

/* The first twenty all failed: it is not the entries. */
static void watch_breaker(struct supervisor *s, const struct jobstack_outcome *o)
{
	if (o->verdict == JOBSTACK_DONE)
		s->breaker_off = 1;
	if (s->breaker_off || o->verdict != JOBSTACK_FAILED || ++s->failures_first < BREAKER)
		return;
	s->breaker_off = s->trip = 1;
	stop_for(s, LEAVE_BREAKER, "");
}

/* Counts an outcome and posts it, with the lock held. */
static void post(struct supervisor *s, struct parcel *parcel, const struct jobstack_outcome *o, const char *log)
{
	struct mailbox *box = s->box;

	if (o->verdict != JOBSTACK_UNSTARTED) {
		double took = o->ended_us > o->started_us ? (double)(o->ended_us - o->started_us) : 1;

		box->finished++;
		box->done += o->verdict == JOBSTACK_DONE;
		box->failed += o->verdict == JOBSTACK_FAILED;
		box->interrupted += o->verdict == JOBSTACK_INTERRUPTED;
		box->mean_us = box->mean_us <= 0 ? took : box->mean_us + (took - box->mean_us) / 16;
		box->progress_us = jobstack_now_us();
	}
	(void)mailbox_post(box, parcel, o, log); /* without memory: the row's end gives the entry back */
	if (box->results_n == 1 || box->results_n >= JOBSTACK_POP_MAX || (box->queued == 0 && box->running == 0) ||
	    box->leaving != STAY)
		mailbox_wake_ledger(box);
}

/* Starts what can be started. */
static void start(struct supervisor *s, struct slot *slot)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct mailbox *box = s->box;
	struct jobstack_outcome outcome;
	char reason[REASON_MAX] = "";
	struct jobstack_entry *entry;
	enum slot_start how;

	(void)pthread_mutex_lock(&box->lock);
	entry = box->leaving == STAY ? mailbox_take(box, &slot->parcel) : NULL;
	(void)pthread_mutex_unlock(&box->lock);
	if (entry == NULL)
		return;
	how = slot_start(&s->all, slot, entry, &outcome, reason, &error);
	(void)pthread_mutex_lock(&box->lock);
	if (how == SLOT_RUNS)
		box->slots[slot->number - 1] = (struct jobstack_running){entry->entry, entry->attempt, slot->started_us};
	else if (how == SLOT_LATER)
		mailbox_untake(box, slot->parcel, entry);
	else {
		box->running--;
		if (how == SLOT_BROKEN)
			outcome.verdict = JOBSTACK_UNSTARTED;
		post(s, slot->parcel, &outcome, NULL);
	}
	if (box->queued == 0 || box->queued == box->slots_n)
		mailbox_wake_ledger(box);
	(void)pthread_mutex_unlock(&box->lock);
	if (how == SLOT_LATER)
		s->later_us = jobstack_now_us() + LATER_US;
	else if (how == SLOT_BROKEN)
		stop_for(s, LEAVE_COMMAND, error.text);
	else if (how == SLOT_OUTCOME)
		watch_breaker(s, &outcome);
}

static void start_all(struct supervisor *s)
{
	for (size_t i = 0; i < s->box->slots_n && jobstack_now_us() >= s->later_us; i++)
		while (s->slots[i].pid == 0) {
			size_t queued;

			(void)pthread_mutex_lock(&s->box->lock);
			queued = s->box->leaving == STAY ? s->box->queued : 0;
			(void)pthread_mutex_unlock(&s->box->lock);
			if (queued == 0 || jobstack_now_us() < s->later_us)
				return;
			start(s, &s->slots[i]);
		}
}

/* One command has ended. */
static void finish(struct supervisor *s, struct slot *slot, const struct js_reaped *reaped)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct jobstack_outcome outcome;
	char reason[REASON_MAX];
	const char *log;
	int status;

	/* Slurm sends its signals to every process of a step, and the command may be quicker than we */
	if (!s->draining && slot->ending == ENDING_NOT && jobstack_now_us() - s->hinted_us > HINT_US && (reaped->signal == SIGTERM || reaped->exit_code == 128 + SIGTERM)) {
		struct pollfd p = {.fd = s->signals, .events = POLLIN};
		int64_t until = jobstack_now_us() + HINT_US;

		while (!s->draining && jobstack_now_us() < until)
			if (poll(&p, 1, (int)(HINT_US / 1000)) > 0)
				read_signals(s);
		s->hinted_us = jobstack_now_us(); /* for those that fell with it, too */
	}
	status = slot_finish(&s->all, slot, reaped, s->draining, &outcome, reason, &log, &error);
	(void)pthread_mutex_lock(&s->box->lock);
	s->box->slots[slot->number - 1].entry = 0;
	s->box->running--;
	post(s, slot->parcel, &outcome, log);
	(void)pthread_mutex_unlock(&s->box->lock);
	if (status != 0)
		stop_for(s, LEAVE_OUTPUT, error.text);
	watch_breaker(s, &outcome);
}

static void collect(struct supervisor *s)
{
	struct js_reaped reaped;

	while (js_reap_next(&reaped) == 0)
		for (size_t i = 0; i < s->box->slots_n; i++)
			if (s->slots[i].pid == reaped.pid) {
				finish(s, &s->slots[i], &reaped);
				break;
			}
}

/* Sends what is due to one running command; gives the moment of the next thing. */
static int64_t keep_time(struct supervisor *s, struct slot *slot, int64_t now, int64_t stop_us, enum ending stop_why,
			 int64_t next)
{
	int64_t term_at = INT64_MAX;
	enum ending why = ENDING_NOT;

	if (slot->kill_at_us != 0) {
		/* a TERM for another reason may still wait out its grace: the lease's end does not */
		if (!s->config->finish_on_loss && s->lease_end_us < slot->kill_at_us)
			slot->kill_at_us = s->lease_end_us > now ? slot->kill_at_us : now;
		if (now >= slot->kill_at_us) {
			(void)js_spawn_kill(slot->pid, SIGKILL);
			slot->kill_at_us = now + JS_SECOND_US; /* again, if it has not helped: a new member of its group */
		}
		return slot->kill_at_us < next ? slot->kill_at_us : next;
	}
	if (s->config->timeout_us > 0) {
		term_at = slot->started_us + s->config->timeout_us;
		why = ENDING_TIMEOUT;
	}
	if (stop_us < term_at) {
		term_at = stop_us;
		why = stop_why;
	}
	if (now >= term_at) {
		int64_t kill_at = now + s->config->grace_us;

		/* the lease's end does not wait for the grace */
		terminate(slot, why, why == ENDING_LEASE && s->lease_end_us < kill_at ? s->lease_end_us : kill_at);
		term_at = slot->kill_at_us;
	}
	return term_at < next ? term_at : next;
}

/* All timers; gives the moment to wake at. */
static int64_t keep_times(struct supervisor *s)
{
	int64_t now = jobstack_now_us(), next = now + 10 * JS_SECOND_US, stop = INT64_MAX, lease;
	enum ending why = ENDING_DRAIN;
	int gone, fenced;

	(void)pthread_mutex_lock(&s->box->lock);
	lease = s->box->deadline_us;
	gone = s->box->leaving >= LEAVE_FENCED;
	fenced = s->box->leaving == LEAVE_FENCED;
	(void)pthread_mutex_unlock(&s->box->lock);
	if (s->draining)
		stop = s->drain_at_us;
	if (!s->config->finish_on_loss) {
		int64_t margin = s->config->grace_us + JS_SECOND_US / 2, quarter = s->config->lease_us / 4;
		int64_t last = gone ? now : lease - (margin < quarter ? margin : quarter);

		/* fenced: others have the entries already, so there is no grace */
		s->lease_end_us = fenced ? now : lease - JS_SECOND_US / 10;
		if (s->lease_end_us > now && s->lease_end_us < next)
			next = s->lease_end_us;
		if (last < stop) {
			stop = last;
			why = ENDING_LEASE;
		}
	}
	for (size_t i = 0; i < s->box->slots_n; i++)
		if (s->slots[i].pid != 0)
			next = keep_time(s, &s->slots[i], now, stop, why, next);
	if (s->later_us > now && s->later_us < next)
		next = s->later_us;
	return next;
}

static int over(struct supervisor *s)
{
	int ended;

	(void)pthread_mutex_lock(&s->box->lock);
	ended = s->box->ended;
	(void)pthread_mutex_unlock(&s->box->lock);
	for (size_t i = 0; ended && i < s->box->slots_n; i++)
		ended = s->slots[i].pid == 0;
	return ended;
}

int supervisor_run(struct supervisor *s, struct jobstack_error *error)
{
	struct pollfd polls[2] = {{.fd = s->signals, .events = POLLIN}, {.fd = s->box->event, .events = POLLIN}};
	uint64_t count;

	while (!over(s)) {
		int64_t next, wait;

		read_signals(s);
		collect(s);
		start_all(s);
		next = keep_times(s);
		wait = (next - jobstack_now_us() + 999) / 1000;
		if (poll(polls, 2, wait < 0 ? 0 : wait > 10000 ? 10000 : (int)wait) < 0 && errno != EINTR)
			return js_error_set(error, JOBSTACK_EBUG, "poll: %s", strerror(errno));
		while (read(s->box->event, &count, sizeof(count)) > 0)
			;
	}
	return 0;
}
