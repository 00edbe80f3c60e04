/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The supervisor's part with persistent commands.  Promises: for an entry counts only what its process did after it had
 * read the request; while entries are short, only those slots are looked at whose process says something.
 */
#include "worker/persistent_loop.h"

#include "base/error.h"
#include "worker/entries.h"
#include "worker/orphans.h"
#include "worker/persistent.h"
#include "worker/slot.h"
#include "worker/speaker.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>

#define OURS UINT32_MAX /* in an event: one of the supervisor's own descriptors */
#define EVENTS 64
#define NAP_US (JS_SECOND_US / 100) /* the pause when an event has to wait for a call that hangs */
#define DRAINS 64		    /* how many times the pipe of a process that has ended is read at most */

int persistent_loop_begin(struct supervisor *s, struct jobstack_error *error)
{
	const int watched[] = {s->signals, s->box->event, s->life, s->leap};
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = OURS};
	int failed;

	s->commands.epoll = epoll_create1(EPOLL_CLOEXEC);
	failed = s->commands.epoll < 0;
	for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]) && !failed; i++)
		failed = watched[i] >= 0 && epoll_ctl(s->commands.epoll, EPOLL_CTL_ADD, watched[i], &event) != 0;
	return failed ? js_error_set(error, JOBSTACK_EBUG, "epoll: %s", strerror(errno)) : 0;
}

/* Sends TERM to the group of a process that has to end, and CONT, since a stopped process would not notice. */
static void terminate_process(struct persistent *p, int64_t now, int64_t grace_us)
{
	(void)js_spawn_kill(p->process->pid, SIGTERM);
	(void)js_spawn_kill(p->process->pid, SIGCONT);
	p->kill_at_us = now + grace_us;
}

/* Makes the outcome of the entry that SLOT runs of the answer.  The answer counts even if TERM was sent meanwhile; but
 * then the process gets no further entry, and its KILL stays due. */
static void handle_answer(struct supervisor *s, struct slot *slot)
{
	struct persistent *p = slot->persistent;
	struct js_reaped r = {
		.pid = slot->pid, .exit_code = p->process->reader.answer.code, .ended_us = jobstack_now_us()};
	enum ending ending = slot->ending;
	int64_t kill_at = slot->kill_at_us;

	persistent_usage(slot, &r);
	p->answer = &p->process->reader.answer;
	entries_conclude(s, slot, &r);
	p->answer = NULL;
	if (ending != ENDING_NOT) { /* TERM was sent already */
		persistent_leave(p, r.ended_us);
		p->kill_at_us = kill_at;
	} else if (s->config->recycle != 0 && p->process->answers >= s->config->recycle)
		persistent_leave(p, r.ended_us + s->config->grace_us);
}

/* Returns the entry that SLOT runs, because its process has not seen it.  So this costs no attempt, and the entry is
 * the first that the next process gets. */
static void return_unread_entry(struct supervisor *s, struct slot *slot)
{
	persistent_drop_own(slot);
	(void)pthread_mutex_lock(&s->box->lock);
	mailbox_free_slot(s->box, slot->number - 1);
	mailbox_untake(s->box, slot->parcel, slot->entry);
	(void)pthread_mutex_unlock(&s->box->lock);
	slot->persistent->process->asked = 0;
	slot->pid = 0;
}

/* Handles an answer without a request, a second answer, or one to a request that was not read.  From then on nobody
 * could tell to which entry an answer belongs, so the process is restarted.  What becomes of the entry that it has:
 *
 *   it has answered before   the answer was probably a second one for the last entry: this entry is returned
 *   it has never answered    the next process would do the same, for ever: this entry has failed
 */
static void handle_unasked_answer(struct supervisor *s, struct slot *slot)
{
	struct persistent *p = slot->persistent;
	int64_t now = jobstack_now_us();

	if (p->leaving || slot->ending != ENDING_NOT)
		return; /* it is being ended */
	if (!s->told_unasked)
		speaker_say("slot %u: the command printed an answer that does not belong to a request (%s), and is "
			    "restarted: see docs/LANGUAGES.md (reported once)",
			    slot->number,
			    p->process->answers > 0 ? "perhaps a second answer for one entry"
						    : "printed before it had read a request");
	s->told_unasked = 1;
	if (slot->pid != 0 && p->process->answers > 0)
		return_unread_entry(s, slot);
	else if (slot->pid != 0) { /* the next process would do the same */
		struct js_reaped r = {.pid = slot->pid, .exit_code = -1, .ended_us = now};

		js_reap_unmeasured(&r);
		r.user_us = r.system_us = 0;
		slot->ending = ENDING_UNASKED;
		p->process->asked = 0;
		entries_conclude(s, slot, &r);
	}
	persistent_leave(p, now);
	terminate_process(p, now, s->config->grace_us);
}

/* Handles the end of its standard output.  Usually the process ends, too, and is collected soon.  If it does not, it
 * gets TERM after a while, as it can't answer any more. */
static void handle_closed_output(struct supervisor *s, struct slot *slot)
{
	struct persistent *p = slot->persistent;
	int64_t until = jobstack_now_us() + persistent_patience_us(s->config);

	if (slot->pid != 0)
		p->mute_at_us = until;
	else if (!p->leaving)
		persistent_leave(p, until);
}

/* Reads what SLOT's process says, and hands it the next entry.  It reads from the pipe once, and then goes on with what
 * was read.  Returns 1 if the supervisor has to check all slots. */
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
		around |= slot->entry->losses >= ALONE_LOSSES; /* the other slots were kept empty for it */
		handle_answer(s, slot);
	}
	if (slot_is_free(slot))
		(void)entries_fill(s, slot);
	return around || slot->pid == 0;
}

/* An event names a slot by its number.  A thread that hung in a call may return from it within this loop, after other
 * threads have run rounds of the supervisor (ROUNDS has changed).  Then the rest of EVENTS is old: a slot may have a
 * new process by now, of which these events say nothing.  epoll reports again what is still true. */
int persistent_loop_serve(struct supervisor *s, int64_t until, struct jobstack_error *error)
{
	struct epoll_event events[EVENTS];
	unsigned round = s->rounds;
	int around = 0, n;

	while (!around) {
		int64_t now = jobstack_now_us(), wait = until > now ? (until - now + 999) / 1000 : 0;

		n = epoll_wait(s->commands.epoll, events, EVENTS, wait > 10000 ? 10000 : (int)wait);
		if (n < 0 && errno != EINTR)
			return js_error_set(error, JOBSTACK_EBUG, "epoll_wait: %s", strerror(errno));
		around = n <= 0;
		for (int i = 0; i < n && s->rounds == round;
		     i++) { /* else the rest is old, perhaps of other processes */
			uint32_t what = events[i].data.u32;
			struct slot *slot = what == OURS ? NULL : &s->slots[what & ~PERSISTENT_INPUT];

			if (slot == NULL)
				around = 1;
			else if (slot->call != CALL_NONE) { /* a thread hangs: the event has to wait */
				js_clock_nap(NAP_US, NULL);
				around = 1;
			} else if ((what & PERSISTENT_INPUT) != 0 && (events[i].events & EPOLLERR) != 0) {
				persistent_deaf(&s->commands, slot);
				around = 1; /* there is a new time limit */
			} else if ((what & PERSISTENT_INPUT) != 0)
				persistent_send(&s->commands, slot);
			else
				around |= serve_slot(s, slot);
		}
		now = jobstack_now_us();
		if (s->config->timeout_us > 0 && now + s->config->timeout_us < until)
			until = now + s->config->timeout_us; /* for the entries that were handed out just now */
		around |= now >= until || s->rounds != round;
	}
	return 0;
}

/* The process of SLOT has ended.  What it has said before is read first: an answer to the entry counts.  If there is
 * none, and the process, which has answered before, had read nothing of the request, the entry never began and is
 * returned.  In all other cases the entry ended with the process. */
void persistent_loop_ended(struct supervisor *s, struct slot *slot, struct js_reaped *reaped)
{
	struct persistent *p = slot->persistent;
	int unread, answers_before, was_killed = p->kill_at_us != 0;
	enum js_persist_event event;

	p->process->pid = 0; /* another process may get the number, and what follows may hang */
	/* not without end: a process that it left behind has the pipe, too, and may print for ever */
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
		entries_finish(s, slot, reaped);
	else {
		orphans_kill(&s->orphans);
		if (s->config->verbose && !was_killed && (reaped->signal != 0 || reaped->exit_code != 0))
			speaker_say("slot %u: the command ended %s (%s %d): it is restarted for the next entry",
				    slot->number, answers_before ? "between two entries" : "before its first entry",
				    reaped->signal != 0 ? "signal" : "exit",
				    reaped->signal != 0 ? reaped->signal : reaped->exit_code);
	}
}

int64_t persistent_loop_keep_time(struct supervisor *s, struct slot *slot, int going, int64_t now)
{
	struct persistent *p = slot->persistent;
	int64_t at;

	if (going && !p->leaving && p->process->pid != 0)
		persistent_leave(p, now + s->config->grace_us);
	if (!p->leaving || p->process->pid == 0)
		return INT64_MAX;
	if (p->kill_at_us == 0 && now >= p->term_at_us)
		terminate_process(p, now, s->config->grace_us);
	at = p->kill_at_us != 0 ? p->kill_at_us : p->term_at_us;
	at = earlier(at, earlier(s->leave.kill_by_us, s->leave.lease_end_us));
	if (now >= at) { /* at the end of the lease, or just before Slurm's KILL, perhaps without a TERM before */
		(void)js_spawn_kill(p->process->pid, SIGKILL);
		at = p->kill_at_us = now + JS_SECOND_US; /* again, if it has not helped */
	}
	return at;
}
