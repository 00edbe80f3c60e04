/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What becomes due at a moment.  Promises: a call that hangs keeps only its own slot busy, and is reported; a worker
 * that has to end does not wait for it, and then no command runs that this call would still have started.
 */
#include "worker/timers.h"

#include "base/num.h"
#include "worker/persistent_loop.h"
#include "worker/entries.h"
#include "worker/orphans.h"
#include "worker/slot.h"
#include "worker/speaker.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#define REPORT_US (10 * JS_SECOND_US)	    /* a call that takes longer is reported to hang */
#define LEAST_US JS_SECOND_US		    /* how long each call is waited for, also if the worker has to end */
#define END_EVERY_US (60 * JS_SECOND_US)    /* how often this worker asks at most when the job ends, */
#define END_PATIENCE_US (15 * JS_SECOND_US) /* and how long it waits for the answer */
#define TRIM_US (JS_SECOND_US / 10)	    /* output is trimmed so often... */
#define TRIM_SOON_US (JS_SECOND_US / 40)    /* ... and so often while a command prints much */

/* ---------------------------------------------------------------------------------------------- calls that hang */

int timers_any_call(const struct supervisor *s)
{
	for (size_t i = 0; i < s->box->slots_n; i++)
		if (s->slots[i].call != CALL_NONE)
			return 1;
	return 0;
}

/* Reports that the call of SLOT hangs, and names the file that it waits for if that is known. */
static void report_hang(const struct supervisor *s, const struct slot *slot, int64_t now)
{
	static const char *const what[] = {"", "start the command of", "keep the output of", "shorten the output of"};
	int in_log = slot->call == CALL_KEEP && !s->config->output_dash && slot->out_path.len == 0;

	speaker_say("slot %" PRIu32 " has waited for %" PRId64 " s to %s entry %" PRIu64
		    ": a file system does not answer (%s%s).  The slot stays busy until it does; the other slots "
		    "continue",
		    slot->number, (now - slot->hangs_us) / JS_SECOND_US, what[slot->call], slot->entry->entry,
		    slot->call != CALL_KEEP  ? "look for processes in state D"
		    : in_log		     ? "the output goes to "
		    : s->config->output_dash ? "standard output"
					     : slot->out_path.data,
		    in_log ? s->commands.log_dir : "");
}

/* Abandons the call of SLOT, since the worker has to end, and returns the entry.  First it makes sure that nothing runs
 * on the entry any more, or ever will:
 *
 *   CALL_START   a start that is under way is cancelled; the persistent process that may get the entry is killed
 *   CALL_KEEP    the command has ended already
 *   CALL_TRIM    the command must be collected first; until then this is called again
 *
 * The parcel is never freed (LEFT), since the hanging thread still reads the entry. */
static void abandon_call(struct supervisor *s, struct slot *slot, int64_t now)
{
	struct jobstack_outcome outcome;
	struct js_reaped reaped;

	if (slot->call == CALL_TRIM) { /* its command runs, and gets signals like others */
		if (js_reap_one(slot->pid, &reaped) != 0)
			return;
		slot->pid = 0;
		js_sampler_watch(s->commands.sampler, slot->number - 1, 0);
	}
	if (slot->call == CALL_START) {
		js_spawn_cancel(&slot->stop);
		(void)js_spawn_kill(slot->before, SIGKILL); /* a persistent command would still get the entry */
		slot->started_us = slot->hangs_us;
	}
	if (slot->call == CALL_KEEP && slot->persistent != NULL) /* it gets no more entries */
		(void)js_spawn_kill(slot_process(slot), SIGKILL);
	if (slot->call != CALL_KEEP)
		slot->ended_us = now;
	slot->abandoned = 1;
	loop_abandon_call(&s->loop);
	slot_begin_outcome(slot, &outcome);
	outcome.started_us = slot->started_us;
	outcome.ended_us = slot->ended_us;
	outcome.verdict = JOBSTACK_INTERRUPTED;
	outcome.cause = slot->call == CALL_START ? JOBSTACK_CAUSE_START : JOBSTACK_CAUSE_OUTPUT;
	outcome.reason = slot->call == CALL_START ? "its command could not be started: a file system does not answer"
						  : "its output could not be kept: a file system does not answer";
	(void)pthread_mutex_lock(&s->box->lock);
	slot->parcel->left++;	       /* the hanging thread still reads the entry: it is never freed */
	if (s->box->leaving == STAY) { /* the lease is over; should it come back, this slot could not be used */
		mailbox_leave(s->box, LEAVE_MACHINE, "the lease ended while a file system did not answer");
		mailbox_give_back(s->box);
	}
	(void)pthread_mutex_unlock(&s->box->lock);
	entries_post(s, slot, &outcome);
}

/* Reports that the call of SLOT hangs, and abandons it when the worker can't stay any longer. */
static int64_t keep_call_time(struct supervisor *s, struct slot *slot, int64_t now)
{
	int64_t report_at, at;

	if (slot->abandoned)
		return INT64_MAX;
	if (slot->hangs_us == 0) /* another thread runs the loop, so the call hangs */
		slot->hangs_us = now;
	report_at = s->told_hang ? INT64_MAX : slot->hangs_us + REPORT_US;
	if (now >= report_at) {
		report_hang(s, slot, now);
		s->told_hang = 1;
		report_at = INT64_MAX;
	}
	at = s->commands.draining ? s->leave.drain_at_us + s->config->grace_us : INT64_MAX;
	at = earlier(later(at, slot->hangs_us + LEAST_US), earlier(s->leave.kill_by_us, s->leave.lease_end_us));
	if (now >= at) {
		abandon_call(s, slot, now);
		at = slot->abandoned ? INT64_MAX : now + JS_SECOND_US / 10;
	}
	return earlier(at, report_at);
}

/* Reports that no call hangs any more, if one was reported to hang. */
static void report_end_of_hang(struct supervisor *s)
{
	if (s->told_hang && !timers_any_call(s)) {
		speaker_say("the file system answers again: all slots continue");
		s->told_hang = 0;
	}
}

/* ----------------------------------------------------------------------------------------------------- commands */

/* Sends TERM to the command of SLOT, which has to end because of WHY, or because of an earlier reason. */
static void terminate_command(struct slot *slot, enum ending why, int64_t kill_at_us)
{
	if (slot->ending == ENDING_NOT)
		slot->ending = why;
	(void)js_spawn_kill(slot->pid, SIGTERM);
	(void)js_spawn_kill(slot->pid, SIGCONT); /* a stopped command must wake to end */
	slot->kill_at_us = later(kill_at_us, 1);
}

/* Sends TERM or KILL to a running command when it is due.  The earliest of four reasons counts: a request to kill it,
 * its timeout, a persistent command that does not answer any more, and the end of the worker (STOP_US, because of
 * STOP_WHY).  KILL follows after the grace, but not later than Slurm's KILL or the lease's end.  Returns when the next
 * is due. */
static int64_t keep_command_time(struct supervisor *s, struct slot *slot, int64_t now, int64_t stop_us,
				 enum ending stop_why)
{
	const struct persistent *p = slot->persistent;
	const struct {
		int64_t at;
		enum ending why;
	} reasons[] = {
		{slot->killed[0] != '\0' ? now : INT64_MAX, ENDING_KILL},
		{s->config->timeout_us > 0 ? slot->started_us + s->config->timeout_us : INT64_MAX, ENDING_TIMEOUT},
		{p != NULL && p->mute_at_us != 0 ? p->mute_at_us : INT64_MAX, ENDING_MUTE},
		{stop_us, stop_why}};
	size_t first = 0;

	if (slot->kill_at_us != 0) {
		if (s->leave.lease_end_us <=
		    now) /* an earlier TERM for another reason: its grace ends with the lease */
			slot->kill_at_us = earlier(slot->kill_at_us, now);
		if (now >= slot->kill_at_us) {
			(void)js_spawn_kill(slot->pid, SIGKILL);
			slot->kill_at_us = now + JS_SECOND_US; /* again, for a process that joins its group later */
		}
		return slot->kill_at_us;
	}
	for (size_t i = 1; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].at < reasons[first].at)
			first = i;
	if (now < reasons[first].at)
		return reasons[first].at;
	/* the lease's end does not wait for the grace */
	terminate_command(
		slot, reasons[first].why,
		earlier(s->leave.lease_end_us, earlier(now + s->config->grace_us, later(s->leave.kill_by_us, now))));
	return slot->kill_at_us;
}

/* Frees the disk space of output of SLOT's command that will not be kept.  Returns whether much is being printed. */
static int trim_slot(struct supervisor *s, struct slot *slot)
{
	int busy;

	entries_begin_call(s, slot, CALL_TRIM);
	busy = js_capture_trim(slot->capture);
	entries_end_call(s, slot);
	return busy;
}

/* Trims the output of running commands when that is due.  Returns when to do so again. */
static int64_t trim_outputs(struct supervisor *s, int64_t now)
{
	unsigned round = s->rounds;
	int busy = 0, running = 0;

	if (s->config->output_limit == 0 || (s->config->output != NULL && s->config->error != NULL))
		return INT64_MAX;
	if (now >= s->trim_at_us) {
		for (size_t i = 0; i < s->box->slots_n; i++)
			if (s->slots[i].call == CALL_NONE && s->slots[i].pid != 0 &&
			    now - s->slots[i].started_us >= TRIM_US)
				busy |= trim_slot(s, &s->slots[i]);
		s->trim_at_us = now + (busy ? TRIM_SOON_US : TRIM_US);
	}
	for (size_t i = 0; i < s->box->slots_n && !running; i++)
		running = s->slots[i].call == CALL_NONE && s->slots[i].pid != 0;
	if (s->rounds != round) /* a call hung, and something else may be due by now */
		return now;
	return running ? s->trim_at_us : INT64_MAX;
}

/* ---------------------------------------------------------------------------------------------------------- all */

/* Reads what the ledger has left for the supervisor.  Returns whether the worker leaves, and notes in the slots which
 * commands are to be killed. */
static int read_mailbox(struct supervisor *s)
{
	int leaves;

	(void)pthread_mutex_lock(&s->box->lock);
	leaves = s->box->leaving != STAY;
	for (size_t i = 0; s->box->kills != NULL && i < s->box->slots_n; i++) {
		const struct jobstack_running *runs = &s->box->slots[i];

		if (runs->entry != 0 && s->slots[i].call != CALL_KEEP)
			(void)jobstack_kill_wanted(s->box->kills, runs->entry, runs->attempt, s->slots[i].killed);
	}
	(void)pthread_mutex_unlock(&s->box->lock);
	return leaves;
}

/* What keeps a slot busy decides what can be due for it: a call, a running command, or a persistent process without an
 * entry.  During CALL_START and CALL_KEEP there is no process that may be signalled. */
int64_t timers_run(struct supervisor *s)
{
	int64_t now = jobstack_now_us(), next = now + 10 * JS_SECOND_US, lease_stop, stop;
	enum ending why = ENDING_DRAIN, lease_why;
	int going = read_mailbox(s);

	stop = s->commands.draining ? s->leave.drain_at_us : INT64_MAX;
	lease_stop = entries_keep_lease(s, now, &lease_why);
	if (s->leave.lease_end_us > now)
		next = earlier(next, s->leave.lease_end_us);
	if (lease_stop < stop) {
		stop = lease_stop;
		why = lease_why;
	}
	for (size_t i = 0; i < s->box->slots_n; i++) {
		struct slot *slot = &s->slots[i];

		if (slot->call != CALL_NONE)
			next = earlier(next, keep_call_time(s, slot, now));
		if (slot->call != CALL_START && slot->call != CALL_KEEP && slot->pid != 0)
			next = earlier(next, keep_command_time(s, slot, now, stop, why));
		else if (slot->call == CALL_NONE && slot->persistent != NULL && slot->pid == 0)
			next = earlier(next, persistent_loop_keep_time(s, slot, going, now));
	}
	report_end_of_hang(s);
	next = earlier(next, trim_outputs(s, now));
	if (s->starts.later_us > now)
		next = earlier(next, s->starts.later_us);
	if (s->orphans.next_us != 0 && s->orphans.next_us <= now)
		orphans_kill(&s->orphans);
	return s->orphans.next_us != 0 ? earlier(next, s->orphans.next_us) : next;
}

/* Asks once more when the job ends, before its last minutes are given up: its time limit may have been changed.  The
 * keeper asks, since Slurm may take long to answer.  Returns 1 while the answer is awaited. */
static int ask_job_end(struct supervisor *s, int64_t now)
{
	struct keeper_page *page = s->keeper->page;

	if (s->leave.end_asked_us == 0 || now - s->leave.end_asked_us >= END_EVERY_US) {
		s->leave.end_asked_us = now;
		page->job_end_us = KEEPER_ASKED;
		keeper_ask(s->keeper);
	}
	return page->job_end_us == KEEPER_ASKED && now - s->leave.end_asked_us < END_PATIENCE_US;
}

/* With the mailbox's lock held: reads the answer, if it has come, and returns by how much the job ends later than was
 * known before. */
static int64_t read_job_end(struct supervisor *s)
{
	int64_t known = s->box->guard.end_us, end = s->keeper->page->job_end_us;

	if (end <= 0)
		return 0;
	s->keeper->page->job_end_us = 0;
	s->box->guard.end_us = end;
	return end - known;
}

/* Nothing starts any more when the time that is left is shorter than an entry needs (worker/guard.h).  Before the
 * worker leaves for that, Slurm is asked once more, and until its answer the slots just stay empty. */
int64_t timers_watch_job_end(struct supervisor *s)
{
	int64_t closes, end, need = 0, gained, now = jobstack_now_us();
	char left_text[64], need_text[64], why[300];
	int stay;

	(void)pthread_mutex_lock(&s->box->lock);
	stay = s->box->leaving == STAY;
	gained = stay ? read_job_end(s) : 0;
	end = s->box->guard.end_us;
	closes = guard_closes_us(&s->box->guard);
	if (closes <= now)
		need = guard_need_us(&s->box->guard);
	(void)pthread_mutex_unlock(&s->box->lock);
	if (!stay || (closes > now && gained <= JS_SECOND_US))
		return stay ? closes : INT64_MAX;
	js_num_duration_text(later(end - now, 0), left_text, sizeof(left_text));
	if (gained > JS_SECOND_US && !s->config->quiet)
		speaker_say("the job ends in %s now: its time limit was changed", left_text);
	if (closes > now)
		return closes;
	if (ask_job_end(s, now))
		return now + JS_SECOND_US / 10;
	js_num_duration_text(need, need_text, sizeof(need_text));
	(void)snprintf(
		why, sizeof(why),
		need > 0 ? "the job ends in %s, and 95 %% of the entries take up to %s: no more entries are started"
			 : "the job ends in %s: no more entries are started",
		left_text, need_text);
	mailbox_stop(s->box, LEAVE_TIME, why, 0);
	return INT64_MAX;
}
