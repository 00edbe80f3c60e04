/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The supervisor's loop.  Promises: it waits for nothing but events, since what may hang is done while another thread
 * can take the loop (worker/loop.h); signals are read before ends are judged, so that a command which was ended by the
 * same signal as the worker does not count as failed.
 */
#include "worker/supervisor.h"

#include "base/error.h"
#include "base/file.h"
#include "exec/tree.h"
#include "worker/persistent_loop.h"
#include "worker/entries.h"
#include "worker/orphans.h"
#include "worker/slot.h"
#include "worker/timers.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define BLIND_US (JS_SECOND_US / 50) /* how often everything is checked if waiting has failed */

int supervisor_signals(void)
{
	sigset_t set;

	keeper_signals(&set);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigaddset(&set, SIGURG);
	if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
		return -1;
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Starts entries in all free slots, until no entry may start or no process can be created. */
static void fill_slots(struct supervisor *s)
{
	for (size_t i = 0; i < s->box->slots_n && jobstack_now_us() >= s->starts.later_us; i++)
		if (!entries_fill(s, &s->slots[i]))
			return;
}

/* Handles the end of the process of SLOT. */
static void conclude_process(struct supervisor *s, struct slot *slot, struct js_reaped *reaped)
{
	if (slot->persistent != NULL)
		persistent_loop_ended(s, slot, reaped);
	else
		entries_finish(s, slot, reaped);
}

/* Collects processes that have ended.  A child that belongs to no slot is an orphan, and is ignored here. */
static void collect_commands(struct supervisor *s)
{
	struct js_reaped reaped;

	while (!timers_any_call(s) && js_reap_next(&reaped) == 0)
		for (size_t i = 0; i < s->box->slots_n; i++)
			if (slot_process(&s->slots[i]) == reaped.pid) {
				conclude_process(s, &s->slots[i], &reaped);
				break;
			}
	/* A call is under way in another thread, which may just be starting a process whose number nobody knows yet. If
	 * that were collected as some child, its end would be lost.  So only known processes are collected, one by one.
	 */
	for (size_t i = 0; timers_any_call(s) && i < s->box->slots_n; i++)
		if (s->slots[i].call == CALL_NONE && slot_process(&s->slots[i]) != 0 &&
		    js_reap_one(slot_process(&s->slots[i]), &reaped) == 0)
			conclude_process(s, &s->slots[i], &reaped);
}

/* Notices that the keeper was killed.  Whoever killed it meant the worker, so the worker ends. */
static void watch_keeper(struct supervisor *s)
{
	char byte;

	if (s->life < 0 || read(s->life, &byte, 1) != 0)
		return;
	if (s->commands.epoll >= 0) /* else it would report this for ever */
		(void)epoll_ctl(s->commands.epoll, EPOLL_CTL_DEL, s->life, NULL);
	s->life = -1;
	mailbox_stop(s->box, LEAVE_KEEPER, "the worker ended, because the process that watches over it was killed", 0);
}

/* Returns whether the loop is over: the ledger has ended, and in no slot there is a process or a call, except for calls
 * that were abandoned. */
static int has_all_ended(struct supervisor *s)
{
	int ended;

	(void)pthread_mutex_lock(&s->box->lock);
	ended = s->box->ended;
	(void)pthread_mutex_unlock(&s->box->lock);
	for (size_t i = 0; ended && i < s->box->slots_n; i++)
		ended = s->slots[i].abandoned || (s->slots[i].call == CALL_NONE && slot_process(&s->slots[i]) == 0);
	return ended;
}

/* The worker can't wait for events any more: it ends as if a signal had asked it to, and checks everything by the clock
 * until all commands have ended. */
static void leave_blind(struct supervisor *s, const struct jobstack_error *error)
{
	if (!s->commands.draining)
		entries_drain(s, 0, jobstack_now_us());
	mailbox_stop(s->box, LEAVE_MACHINE, error->text, 0);
	js_clock_nap(BLIND_US, NULL);
}

/* Waits for any event, until NEXT.  The four descriptors: signals, the mailbox, the keeper's pipe, leaps of the wall
 * clock.  With persistent commands their pipes are waited for, too (persistent_loop_serve), and then all four are read
 * in any case.
 */
static void wait_for_any(struct supervisor *s, int64_t next)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	/* if poll fails, REVENTS stays as it is set here, and these are read */
	struct pollfd polls[4] = {{.fd = s->signals, .events = POLLIN},
				  {.fd = s->box->event, .events = POLLIN, .revents = POLLIN},
				  {.fd = s->life, .events = POLLIN, .revents = POLLIN},
				  {.fd = s->leap, .events = POLLIN, .revents = POLLIN}};
	int64_t wait = later(earlier((next - jobstack_now_us() + 999) / 1000, 10000), 0);
	uint64_t count;

	if (s->config->persistent)
		(void)persistent_loop_serve(s, next, &error);
	else if (poll(polls, 4, (int)wait) < 0 && errno != EINTR)
		(void)js_error_set(&error, JOBSTACK_EBUG, "poll: %s", strerror(errno));
	if (error.code != 0)
		leave_blind(s, &error);
	if (polls[2].revents != 0)
		watch_keeper(s);
	while (polls[1].revents != 0 && read(s->box->event, &count, sizeof(count)) > 0)
		;
	if (polls[3].revents != 0 &&
	    js_clock_leap_read(s->leap)) { /* suspended, perhaps: the ledger's wait by CLOCK_MONOTONIC is too long */
		(void)pthread_mutex_lock(&s->box->lock);
		mailbox_wake_ledger(s->box);
		(void)pthread_mutex_unlock(&s->box->lock);
	}
}

/* Several threads may be in this function, but only one at a time runs its loop (worker/loop.h).  The order in a round:
 * first the clocks, since all that follows depends on the lease; then signals, before the ends of commands are judged,
 * so that a command which the same signal ended was interrupted; then ends, which free slots for the starts; then
 * starts; and last what is due by the clock. */
static int run_supervisor_loop(void *ctx)
{
	struct supervisor *s = ctx;

	for (;;) {
		int64_t next, closes;

		loop_next_round(&s->loop);
		s->rounds++;
		mailbox_note_round(s->box);
		(void)entries_read_clocks(s);
		entries_read_signals(s);
		collect_commands(s);
		if (has_all_ended(s)) { /* checked after collecting: no event follows the last command's end */
			if (s->orphans.next_us != 0) /* the keeper may be gone */
				orphans_kill(&s->orphans);
			return 0;
		}
		closes = timers_watch_job_end(s);
		fill_slots(s);
		next = timers_run(s);
		wait_for_any(s, earlier(closes, next));
	}
}

static void nudge_loop(void *ctx)
{
	mailbox_wake_supervisor(((struct supervisor *)ctx)->box);
}

/* If no thread can be made, or no epoll, the worker still ends in order: the loop runs in this thread, or by the clock
 * alone. */
void supervisor_run(struct supervisor *s)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;

	s->commands.epoll = -1;
	s->leap = js_clock_leap_open();
	s->commands.bound.wall_us = s->commands.wall_us;
	s->leave.kill_by_us = INT64_MAX;
	s->orphans.children = js_tree_open();
	if (s->config->persistent && persistent_loop_begin(s, &error) != 0)
		leave_blind(s, &error);
	s->loop.run = run_supervisor_loop;
	s->loop.nudge = nudge_loop;
	s->loop.ctx = s;
	if (loop_run(&s->loop, &error) != 0) /* no thread: the loop runs in this one, and waits for a hanging call */
		(void)run_supervisor_loop(s);
	if (supervisor_hangs(s))
		return;
	js_file_close(&s->commands.epoll);
	js_file_close(&s->leap);
	js_file_close(&s->orphans.children);
}

int supervisor_hangs(const struct supervisor *s)
{
	for (size_t i = 0; i < s->box->slots_n; i++)
		if (s->slots[i].abandoned)
			return 1;
	return 0;
}
