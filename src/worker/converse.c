/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The supervisor's part with persistent commands.  Promises: only what its process did after it had read the
 * request counts for an entry; while entries are short, nothing is walked through, and nothing looked at, but what has
 * something to say.
 */
#define _GNU_SOURCE
#include "worker/converse.h"

#include "base/clock.h"
#include "base/error.h"
#include "worker/persistent.h"
#include "worker/speaker.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define OURS UINT32_MAX /* in an event: one of the supervisor's own descriptors */
#define EVENTS 64
#define NAP_US (JS_SECOND_US / 100)
#define DRAINS 64 /* reads of what a process that has ended left in its pipe */

static int watch_descriptor(int epoll, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = OURS};

	return fd < 0 ? 0 : epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

int converse_begin(struct supervisor *s, struct jobstack_error *error)
{
	s->all.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (s->all.epoll < 0 || watch_descriptor(s->all.epoll, s->signals) != 0 ||
	    watch_descriptor(s->all.epoll, s->box->event) != 0 || watch_descriptor(s->all.epoll, s->life) != 0 ||
	    watch_descriptor(s->all.epoll, s->leap) != 0)
		return js_error_set(error, JOBSTACK_EBUG, "epoll: %s", strerror(errno));
	return 0;
}

void converse_end(struct supervisor *s)
{
	if (s->all.epoll >= 0)
		(void)close(s->all.epoll);
	s->all.epoll = -1;
}

/* Sends a signal to the group of a process that is to end. */
static void terminate_process(struct persistent *p, int64_t now, int64_t grace_us)
{
	(void)js_spawn_kill(p->process->pid, SIGTERM);
	(void)js_spawn_kill(p->process->pid, SIGCONT);
	p->kill_at_us = now + grace_us;
}

/* The entry that SLOT runs has an answer. */
static void handle_answer(struct supervisor *s, struct slot *slot)
{
	struct persistent *p = slot->persistent;
	struct js_reaped r = {
		.pid = slot->pid, .exit_code = p->process->reader.answer.code, .ended_us = jobstack_now_us()};
	enum ending ending = slot->ending;
	int64_t kill_at = slot->kill_at_us;

	persistent_usage(slot, &r);
	p->answer = &p->process->reader.answer;
	supervisor_conclude(s, slot, &r);
	p->answer = NULL;
	if (ending != ENDING_NOT) { /* it has TERM already */
		persistent_leave(p, r.ended_us);
		p->kill_at_us = kill_at;
	} else if (s->config->recycle != 0 && p->process->answers >= s->config->recycle)
		persistent_leave(p, r.ended_us + s->config->grace_us);
}

/* Puts the entry back that SLOT runs: its process has not seen it. */
static void return_unread_entry(struct supervisor *s, struct slot *slot)
{
	persistent_drop_own(slot);
	(void)pthread_mutex_lock(&s->box->lock);
	s->box->slots[slot->number - 1].entry = 0;
	mailbox_untake(s->box, slot->parcel, slot->entry);
	(void)pthread_mutex_unlock(&s->box->lock);
	slot->persistent->process->asked = 0;
	slot->pid = 0;
}

/* An answer without a question, a second one, or one to a request that it has not read: what it says means nothing. */
static void handle_unasked_answer(struct supervisor *s, struct slot *slot)
{
	struct persistent *p = slot->persistent;
	int64_t now = jobstack_now_us();

	if (p->leaving || slot->ending != ENDING_NOT)
		return; /* it is on its way out */
	if (!s->told_unasked)
		speaker_say("slot %u: the command printed an answer that does not belong to a request (%s), and is "
			    "restarted: see docs/PERSISTENT.md (reported once)",
			    slot->number,
			    p->process->answers > 0 ? "perhaps a second answer for one entry"
						    : "printed before it had read a request");
	s->told_unasked = 1;
	if (slot->pid != 0 && p->process->answers > 0)
		return_unread_entry(s, slot);
	else if (slot->pid != 0) { /* it would never get further */
		struct js_reaped r = {.pid = slot->pid, .exit_code = -1, .ended_us = now};

		js_reap_unmeasured(&r);
		r.user_us = r.system_us = 0;
		slot->ending = ENDING_UNASKED;
		p->process->asked = 0;
		supervisor_conclude(s, slot, &r);
	}
	persistent_leave(p, now);
	terminate_process(p, now, s->config->grace_us);
}

/* Its standard output is closed: as a rule, because it ends. */
static void handle_closed_output(struct supervisor *s, struct slot *slot)
{
	struct persistent *p = slot->persistent;
	int64_t until = jobstack_now_us() + persistent_patience_us(s->config);

	if (slot->pid != 0)
		p->mute_at_us = until;
	else if (!p->leaving)
		persistent_leave(p, until);
}

/* Hears what SLOT's process has to say, and hands it the next entry.  Gives 1 if the supervisor is to look around. */
static int serve_slot(struct supervisor *s, struct slot *slot)
{
	struct persistent *p = slot->persistent;
	enum js_persist_event event;
	int around = 0;

	for (int from_pipe = 1; (event = js_persist_take(p->process, from_pipe)) != JS_PERSIST_NOTHING; from_pipe = 0) {
		if (event == JS_PERSIST_CLOSED) {
			handle_closed_output(s, slot);
			return 1;
		}
		if (event == JS_PERSIST_UNASKED) {
			handle_unasked_answer(s, slot);
			around = 1;
			continue;
		}
		around |= slot->entry->losses >= ALONE_LOSSES; /* the others were kept empty for it */
		handle_answer(s, slot);
	}
	if (slot_is_free(slot))
		(void)supervisor_fill(s, slot);
	return around || slot->pid == 0;
}

int converse(struct supervisor *s, int64_t until, struct jobstack_error *error)
{
	struct epoll_event events[EVENTS];
	unsigned round = s->rounds;
	int around = 0, n;

	while (!around) {
		int64_t now = jobstack_now_us(), wait = until > now ? (until - now + 999) / 1000 : 0;

		n = epoll_wait(s->all.epoll, events, EVENTS, wait > 10000 ? 10000 : (int)wait);
		if (n < 0 && errno != EINTR)
			return js_error_set(error, JOBSTACK_EBUG, "epoll_wait: %s", strerror(errno));
		around = n <= 0;
		for (int i = 0; i < n && s->rounds == round;
		     i++) { /* else the rest is old news, perhaps of other processes */
			uint32_t what = events[i].data.u32;

			if (what == OURS)
				around = 1;
			else if (s->slots[what & ~PERSISTENT_INPUT].aside !=
				 ASIDE_NOT) { /* a thread hangs: it has to wait, but not in a hurry */
				js_clock_nap(NAP_US, NULL);
				around = 1;
			} else if ((what & PERSISTENT_INPUT) != 0 && (events[i].events & EPOLLERR) != 0) {
				persistent_deaf(&s->all, &s->slots[what & ~PERSISTENT_INPUT]);
				around = 1; /* there is a time to be kept */
			} else if ((what & PERSISTENT_INPUT) != 0)
				persistent_send(&s->all, &s->slots[what & ~PERSISTENT_INPUT]);
			else
				around |= serve_slot(s, &s->slots[what]);
		}
		now = jobstack_now_us();
		if (s->config->timeout_us > 0 && now + s->config->timeout_us < until)
			until = now + s->config->timeout_us; /* of what was handed out just now */
		around |= now >= until || s->rounds != round;
	}
	return 0;
}

void converse_died(struct supervisor *s, struct slot *slot, struct js_reaped *reaped)
{
	struct persistent *p = slot->persistent;
	int unread, answers_before, was_killed = p->kill_at_us != 0;
	enum js_persist_event event;

	p->process->pid = 0; /* it is collected: its number may soon be another's, and what follows may hang */
	/* what it said before it ended; a process that it left behind may print on for ever */
	for (int i = 0; i < DRAINS; i++) {
		event = js_persist_take(p->process, 1);
		if (event == JS_PERSIST_ANSWERED)
			handle_answer(s, slot);
		else if (event == JS_PERSIST_CLOSED ||
			 (event == JS_PERSIST_NOTHING && !js_persist_has_more(p->process)))
			break;
	}
	unread = slot->pid != 0 && slot->ending == ENDING_NOT && p->process->answers > 0 &&
		 js_persist_is_unread(p->process, 1);
	answers_before = p->process->answers > 0;
	if (unread)
		return_unread_entry(s, slot);
	else if (slot->pid != 0)
		persistent_usage_of_end(slot, reaped);
	persistent_ended(p);
	if (slot->pid != 0)
		supervisor_finish(s, slot, reaped);
	else {
		orphans_kill(&s->orphans);
		if (s->config->verbose && !was_killed && (reaped->signal != 0 || reaped->exit_code != 0))
			speaker_say("slot %u: the command ended %s (%s %d): it is restarted for the next entry",
				    slot->number, answers_before ? "between two entries" : "before its first entry",
				    reaped->signal != 0 ? "signal" : "exit",
				    reaped->signal != 0 ? reaped->signal : reaped->exit_code);
	}
}

int64_t converse_keep_time(struct supervisor *s, struct slot *slot, int going, int64_t now, int64_t next)
{
	int64_t bound = s->kill_by_us != 0 && s->kill_by_us < s->lease_end_us ? s->kill_by_us : s->lease_end_us, at;
	struct persistent *p = slot->persistent;

	if (p->process->pid == 0 || slot->pid != 0)
		return next;
	if (going && !p->leaving)
		persistent_leave(p, now + s->config->grace_us);
	if (!p->leaving)
		return next;
	if (p->kill_at_us == 0 && now >= p->term_at_us)
		terminate_process(p, now, s->config->grace_us);
	at = p->kill_at_us != 0 ? p->kill_at_us : p->term_at_us;
	at = bound < at ? bound : at;
	if (now >= at) { /* TERM was sent just now at the latest */
		(void)js_spawn_kill(p->process->pid, SIGKILL);
		at = p->kill_at_us = now + JS_SECOND_US; /* again, if it has not helped */
	}
	return at < next ? at : next;
}
