/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The observer: how long each worker has been silent by our own clock, and the recovery.  Promises: a silence begins
 * when the answer with a seq has come, and lasts until the next question is sent, never longer; every recovery is a
 * compare-and-set on the seq that was read before the proof was sought.
 */
#include "death/suspect.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/num.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCRIPT_WATCH_US (2 * JS_SECOND_US + JS_SECOND_US / 10) /* between the two checks of a script's pop */
#define SOONEST_US (JS_SECOND_US / 5)			       /* between two looks */
#define CONFIRM_EVERY_US (3 * JS_SECOND_US) /* how often the workers of a stack together make a confirming round */
#define FRESH_US                                                                                                       \
	(10 * JS_SECOND_US) /* a worker that is silent for longer may be dead: idle ones send heartbeats more often */
#define LEFT_US (20 * JS_SECOND_US) /* so often a look asks for claims of ended workers, too: damage leaves them */
#define CONFIRM_AT_LEAST_US (300 * JS_SECOND_US) /* how often each worker makes one at least */

/* What the observer remembers of a worker between two looks. */
struct memory {
	uint64_t worker, seq;
	int64_t lease_us, since_us; /* since when the seq is known not to have changed */
};

struct js_observer {
	struct jobstack *handle;
	char stack[JOBSTACK_STACK_MAX + 1];
	struct js_observer_options options;
	struct memory *seen; /* by ascending number */
	size_t n;
	int64_t looked_us;  /* when the last answer came; 0: no answer yet */
	int64_t confirm_us; /* when our next confirming round was planned; 0: not yet */
	int64_t left_us;    /* when it last looked for claims of ended workers */
	uint64_t jitter;    /* the state of its random numbers */
};

int js_observer_new(struct js_observer **out, struct jobstack *handle, const char *stack,
		    const struct js_observer_options *options, struct jobstack_error *error)
{
	struct js_observer *w = calloc(1, sizeof(*w));

	*out = w;
	if (w == NULL)
		return js_error_memory(error);
	w->handle = handle;
	(void)snprintf(w->stack, sizeof(w->stack), "%s", stack);
	w->options = *options;
	js_file_random(&w->jitter, sizeof(w->jitter));
	w->jitter |= 1;
	return 0;
}

void js_observer_gap(struct js_observer *w)
{
	free(w->seen);
	w->seen = NULL;
	w->n = 0;
	w->looked_us = 0;
}

void js_observer_free(struct js_observer *w)
{
	if (w != NULL)
		free(w->seen);
	free(w);
}

/* ------------------------------------------------------------------------------------------------------ in words */

static const char *entries_word(uint64_t n)
{
	return n == 1 ? "entry" : "entries";
}

void js_observer_words(const struct js_observer_case *c, char *text, size_t size)
{
	char silent[64], lease[64], held[64] = "";

	js_num_duration_text(c->silent_us, silent, sizeof(silent));
	js_num_duration_text(c->lease_us, lease, sizeof(lease));
	if (c->verdict == JS_OBSERVER_SUSPECT) {
		if (c->entries > 0)
			(void)snprintf(held, sizeof(held), "; it holds %" PRIu64 " %s", c->entries,
				       entries_word(c->entries));
		(void)snprintf(text, size, "worker %" PRIu64 " on %s has been silent for %s of its %s lease%s%s%s%s",
			       c->worker, c->node, silent, lease, c->by_script ? " (a script's pop)" : "",
			       c->hint != NULL ? ": " : "", c->hint != NULL ? c->hint : "", held);
		return;
	}
	(void)snprintf(text, size, "worker %" PRIu64 " on %s: %s: %" PRIu64 " %s %s", c->worker, c->node, c->reason,
		       c->entries, entries_word(c->entries),
		       c->verdict == JS_OBSERVER_WOULD ? "would be requeued" : "requeued");
}

/* Returns whether it is of the round's stack: others are recovered in passing. */
static int is_of_round(const struct js_round *round, const struct js_suspect *s)
{
	return strcmp(s->stack, round->stack) == 0;
}

/* Passes a worker of the round's stack to the caller. */
static void report_case(const struct js_round *round, const struct js_suspect *s, enum js_observer_verdict verdict,
			uint64_t entries)
{
	const struct js_observer_case found = {verdict,
					       s->worker,
					       entries,
					       s->silent_us,
					       s->lease_us,
					       s->by_script,
					       s->runs_here,
					       s->killable,
					       s->node,
					       s->reason[0] != '\0' ? s->reason : NULL,
					       s->hint[0] != '\0' ? s->hint : NULL,
					       s->cause != JOBSTACK_CAUSE_NONE ? s->cause : JOBSTACK_CAUSE_WORKER};

	if (round->options->report != NULL && is_of_round(round, s))
		round->options->report(round->options->report_ctx, &found);
}

/* ----------------------------------------------------------------------------------------------------- recovery */

static int check_stop(const struct js_round *round)
{
	if (round->options->stop == NULL || *round->options->stop == 0)
		return 0;
	return js_error_set(round->error, JOBSTACK_ESTOPPED, "stopped");
}

/* Decides what follows from a recovery that failed with STATUS.  Returns 0 if the others can be tried.  The error of
 * one in the round's stack is returned at the end; one in another stack is forgotten, since that stack may have been
 * dropped. */
static int pass_failure(const struct js_round *round, int is_of_round, int status)
{
	if (status == JOBSTACK_ENODB || status == JOBSTACK_ESTOPPED)
		return status;
	if (is_of_round)
		round->result->failed = status;
	else if (round->result->failed == 0)
		js_error_clear(round->error);
	return 0;
}

static void note_recovery(const struct js_round *round, const struct js_suspect *s, uint64_t taken)
{
	round->result->entries += taken;
	round->result->workers++;
	report_case(round, s, round->options->dry_run ? JS_OBSERVER_WOULD : JS_OBSERVER_TAKEN, taken);
}

/* Recovers the entries of a worker that is proven dead.  Returns 0 also if it has sent a heartbeat, or another worker
 * was quicker. */
static int recover_worker(const struct js_round *round, const struct js_suspect *s)
{
	uint64_t taken = s->running;
	int status = check_stop(round);

	if (status == 0 && !round->options->dry_run)
		status = jobstack_recover(round->handle, s->stack, s->worker, s->seq,
					  s->cause != JOBSTACK_CAUSE_NONE ? s->cause : JOBSTACK_CAUSE_WORKER, s->reason,
					  &taken, round->error);
	if (status == JOBSTACK_NOTHING || (status == 0 && !is_of_round(round, s)))
		return 0;
	if (status != 0)
		return pass_failure(round, is_of_round(round, s), status);
	round->result->others--;
	note_recovery(round, s, taken);
	return 0;
}

/* Reports a worker that is not proven dead, and stores with it what is known. */
static int report_suspect(const struct js_round *round, const struct js_suspect *s)
{
	int status;

	if ((js_suspect_is(s) || s->command != 0) && is_of_round(round, s)) {
		round->result->suspects++;
		report_case(round, s, JS_OBSERVER_SUSPECT, s->running);
	}
	if (s->hint[0] == '\0' || s->command != 0 || round->options->dry_run || strcmp(s->hint, s->noted) == 0)
		return 0;
	status = jobstack_suspect(round->handle, s->stack, s->worker, s->seq, s->cause, s->hint, round->error);
	return status == JOBSTACK_NOTHING ? 0 : status;
}

/* Recovers the workers that are proven dead, or with LAST reports the others. */
static int settle_workers(const struct js_round *round, struct js_suspects *all, int last)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < all->n; i++) {
		struct js_suspect *s = &all->at[i];

		if (s->settled || (s->reason[0] == '\0') != last)
			continue;
		s->settled = 1;
		status = last ? report_suspect(round, s) : recover_worker(round, s);
		if (status < 0 && last && !is_of_round(round, s))
			status = pass_failure(round, 0, status);
	}
	return status;
}

/* Recovers claims that ended workers have left, which only damage can cause. */
static int recover_left(const struct js_round *round)
{
	struct js_suspect s = {.node = "?", .reason = "it has ended, but left a claim behind"};
	uint64_t taken, before;
	int status = 0;

	(void)snprintf(s.stack, sizeof(s.stack), "%s", round->stack);
	while (status == 0) {
		before = s.worker;
		JS_TRY(check_stop(round));
		status = jobstack_recover_left(round->handle, round->stack, round->options->dry_run, &s.worker, &taken,
					       round->error);
		if (status < 0 && s.worker != before) /* else not even the next one is known */
			status = pass_failure(round, 1, status);
		else if (status == 0)
			note_recovery(round, &s, taken);
	}
	return status == JOBSTACK_NOTHING ? 0 : status;
}

/* Seeks one proof, again if it says so, and recovers the dead. */
static int seek_proof(const struct js_round *round, js_death_proof_fn *proof, struct js_suspects *all)
{
	int status;

	do {
		if (all->again_us > 0)
			js_clock_nap(all->again_us, round->options->stop);
		all->again_us = 0;
		status = proof(round, all);
		JS_THEN(status, settle_workers(round, all, 0));
	} while (status == 0 && all->again_us > 0);
	return status;
}

/* The proofs, in the order in which they are sought.  The process table comes first: it costs nobody else anything, and
 * shows which workers live, about which Slurm need not be asked. */
static js_death_proof_fn *const proofs[] = {js_death_by_process, js_death_by_slurm};

int js_observer_confirm(struct jobstack *handle, const char *stack, const struct js_observer_options *options,
			struct js_observer_result *result, struct jobstack_error *error)
{
	struct js_observer_result unused;
	struct js_round round = {handle, stack, options, result != NULL ? result : &unused, error};
	struct js_suspects all;
	int status = 0;

	memset(round.result, 0, sizeof(*round.result));
	JS_TRY(js_suspects_read(&round, &all));
	round.result->others = all.n;
	for (size_t i = 0; status == 0 && i < sizeof(proofs) / sizeof(proofs[0]); i++)
		status = seek_proof(&round, proofs[i], &all);
	JS_THEN(status, settle_workers(&round, &all, 1));
	JS_THEN(status, recover_left(&round));
	js_suspects_free(&all);
	return status == 0 ? round.result->failed : status;
}

/* ------------------------------------------------------------------------------------------------------- silence */

/* Fills TO, what is remembered of the worker S from now on.  Its silence is counted from the moment that was remembered
 * before, if its seq and lease are the same and the looks followed each other closely enough.  Else it begins at
 * NOW_US, when the answer with this seq had come.  Both lists ascend by number, so *AT only moves forward. */
static void remember_worker(const struct js_observer *w, const struct js_suspect *s, size_t *at, int64_t now_us,
			    struct memory *to)
{
	const struct memory *old;

	*to = (struct memory){s->worker, s->seq, s->lease_us, now_us};
	while (*at < w->n && w->seen[*at].worker < s->worker)
		(*at)++;
	old = *at < w->n && w->seen[*at].worker == s->worker ? &w->seen[*at] : NULL;
	if (old == NULL || old->seq != s->seq || old->lease_us != s->lease_us)
		return;
	if (s->by_script || now_us - w->looked_us <= s->lease_us / 3)
		to->since_us = old->since_us;
}

/* Returns whether S was silent for long enough, and gives it the reason.  The time that was watched ends when the last
 * question was sent (SENT_US), not when its answer came: a heartbeat in between would not be in the answer. */
static int prove_silence(const struct memory *m, struct js_suspect *s, int64_t sent_us)
{
	int64_t watched = sent_us - m->since_us, silent = s->silent_us > watched ? s->silent_us : watched;

	if (s->by_script ? watched < SCRIPT_WATCH_US || s->silent_us <= s->lease_us : watched < s->lease_us)
		return 0;
	s->cause = s->noted_cause;
	if (s->noted[0] != '\0')
		(void)snprintf(s->reason, sizeof(s->reason), "%.200s: silent for %" PRId64 " s", s->noted,
			       silent / JS_SECOND_US);
	else
		(void)snprintf(s->reason, sizeof(s->reason), "silent for %" PRId64 " s, longer than its lease",
			       silent / JS_SECOND_US);
	return 1;
}

/* Returns when S must be looked at again: before the gap would be so long that its watch begins anew, and when its
 * lease is over. */
static int64_t next_look(const struct memory *m, const struct js_suspect *s, int64_t now_us)
{
	int64_t over = m->since_us + (s->by_script ? SCRIPT_WATCH_US : s->lease_us), next = now_us + s->lease_us / 4;

	if (s->by_script) /* it may be renewed, and isn't over before its lease is */
		next = now_us + (s->silent_us > s->lease_us ? SCRIPT_WATCH_US : s->lease_us - s->silent_us);
	else if (over > now_us && over < next)
		next = over;
	return next > now_us + SOONEST_US ? next : now_us + SOONEST_US;
}

/* Notes what S means for a worker that has nothing to do and may end: whether an older worker is there, and when the
 * entries of a worker will be recovered that is silent for longer than a live one would be, watched since SINCE_US. */
static void note_other(const struct js_observer *w, const struct js_suspect *s, int64_t since_us,
		       struct js_observer_result *result)
{
	int64_t lease_us = s->job == 0 && s->lease_us > JS_OBSERVER_BEATS_US ? JS_OBSERVER_BEATS_US : s->lease_us;
	const struct js_observer_case found = {JS_OBSERVER_SUSPECT, s->worker,	 s->running,
					       s->silent_us,	    s->lease_us, .node = s->node};

	if (s->by_script)
		return;
	if (s->silent_us <= lease_us / 2)
		result->elder |= s->silent_us <= FRESH_US && s->worker < w->options.self;
	else if (s->running > 0 && since_us + s->lease_us > result->over_us) {
		result->over_us = since_us + s->lease_us;
		js_observer_words(&found, result->silent, sizeof(result->silent));
	}
}

/* Plans this worker's next confirming round.  FRESH: how many workers have sent a heartbeat lately, this one included.
 * The pause grows with their number and has a random part, so that all together make one round in three seconds.
 * WANTED: another worker is missed, or only a confirming round can tell whether its command still runs. */
static void plan_confirm(struct js_observer *w, uint64_t fresh, int64_t now_us, int wanted,
			 struct js_observer_result *result)
{
	int64_t every = CONFIRM_EVERY_US * (int64_t)(fresh < 100 ? fresh : 100);

	if (every > CONFIRM_AT_LEAST_US)
		every = CONFIRM_AT_LEAST_US;
	result->confirm = wanted && w->confirm_us != 0 && now_us >= w->confirm_us;
	if (now_us >= w->confirm_us)
		w->confirm_us = 0;
	/* sooner than planned if others have left */
	if (w->confirm_us == 0 || w->confirm_us > now_us + every * 3 / 2)
		w->confirm_us = now_us + every / 2 + (int64_t)js_num_jitter(&w->jitter, (uint64_t)every);
	if (result->others > 0 && w->confirm_us < result->next_us)
		result->next_us = w->confirm_us;
}

/* Compares ALL workers, as they are now, with what is remembered of them.  The new memory replaces the old one first,
 * since a recovery that fails may end the loop. */
static int judge_silence(struct js_observer *w, const struct js_round *round, struct js_suspects *all, int64_t sent_us,
			 int64_t now_us)
{
	struct memory *seen = calloc(all->n + 1, sizeof(*seen));
	uint64_t fresh = 1;
	int status = 0, wanted = 0;
	size_t at = 0;

	if (seen == NULL)
		return js_error_memory(round->error);
	round->result->others = all->n;
	for (size_t i = 0; i < all->n; i++)
		remember_worker(w, &all->at[i], &at, now_us, &seen[i]);
	free(w->seen);
	w->seen = seen;
	w->n = all->n;
	w->looked_us = now_us;
	for (size_t i = 0; status == 0 && i < all->n; i++) {
		struct js_suspect *s = &all->at[i];
		int64_t next = next_look(&seen[i], s, now_us);
		int over = prove_silence(&seen[i], s, sent_us);

		if (over && !js_observer_runs_here(s)) {
			status = recover_worker(round, s);
			continue;
		}
		if (!over)
			note_other(w, s, seen[i].since_us, round->result);
		s->reason[0] = '\0';
		if (js_suspect_is(s) || s->runs_here) {
			round->result->suspects++;
			if (!s->runs_here)
				memcpy(s->hint, s->noted, sizeof(s->hint));
			report_case(round, s, JS_OBSERVER_SUSPECT, s->running);
		}
		if (next < round->result->next_us)
			round->result->next_us = next;
		if (!s->by_script && now_us + s->lease_us / 3 < round->result->latest_us)
			round->result->latest_us = now_us + s->lease_us / 3;
		if (!s->by_script && s->running > 0 && seen[i].since_us < round->result->still_us)
			round->result->still_us = seen[i].since_us;
		fresh += !s->by_script && s->silent_us <= FRESH_US;
		wanted |= s->runs_here || js_suspect_is_missed(s) ||
			  /* a script's pop in a job neither sends heartbeats nor is connected: now and then */
			  (s->by_script && s->job != 0 && js_num_jitter(&w->jitter, 20) == 0);
	}
	plan_confirm(w, fresh, now_us, wanted, round->result);
	return status;
}

/* SENT is read before the query and the other moment after it: a silence is never counted longer than it was. */
int js_observer_look(struct js_observer *w, struct js_observer_result *result, struct jobstack_error *error)
{
	struct js_observer_result unused;
	struct js_round round = {w->handle, w->stack, &w->options, result != NULL ? result : &unused, error};
	struct js_suspects all;
	int64_t sent = jobstack_now_us();
	int status;

	memset(round.result, 0, sizeof(*round.result));
	round.result->next_us = sent + CONFIRM_AT_LEAST_US;
	round.result->latest_us = round.result->still_us = INT64_MAX;
	status = js_suspects_read(&round, &all);
	if (status == 0) {
		status = judge_silence(w, &round, &all, sent, jobstack_now_us());
		js_suspects_free(&all);
	}
	if (status == 0 && sent - w->left_us >= LEFT_US) {
		w->left_us = sent;
		status = recover_left(&round);
	}
	if (status != 0)
		js_observer_gap(w);
	return status == 0 ? round.result->failed : status;
}
