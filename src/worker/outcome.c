/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Outcomes.  Promises: all output is kept before the outcome counts; if output can't be written, that is the worker's
 * fault, not the entry's.
 */
#include "worker/outcome.h"

#include "base/error.h"
#include "base/signal.h"
#include "worker/persistent.h"
#include "worker/results.h"
#include "worker/slot.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* What a command becomes that the worker has ended, by why it was ended.  A failed attempt counts against the
 * entry, an interrupted one does not; if the keeper was killed, the attempt counts as lost. */
static const struct {
	enum jobstack_verdict verdict;
	enum jobstack_cause cause;
	int always; /* also if the command exited with 0 after its TERM; else it is done then */
	const char *reason;
} by_ending[] = {
	[ENDING_TIMEOUT] = {JOBSTACK_FAILED, JOBSTACK_CAUSE_TIMEOUT, 1, ""}, /* says how long it ran */
	[ENDING_KILL] = {JOBSTACK_FAILED, JOBSTACK_CAUSE_KILLED, 1, ""},     /* says who asked for it */
	[ENDING_MUTE] = {JOBSTACK_FAILED, JOBSTACK_CAUSE_RESULT, 1,
			 "it closed its standard input or output without an answer, and did not end"},
	[ENDING_UNASKED] = {JOBSTACK_FAILED, JOBSTACK_CAUSE_RESULT, 1, "it answered before it had read the request"},
	[ENDING_KEEPER] = {JOBSTACK_LOST, JOBSTACK_CAUSE_WORKER, 0, ""},
	[ENDING_LEASE] = {JOBSTACK_INTERRUPTED, JOBSTACK_CAUSE_LEASE, 0, "the lease could not be kept"},
	[ENDING_DRAIN] = {JOBSTACK_INTERRUPTED, JOBSTACK_CAUSE_STOPPED, 0, "the worker was told to end by a signal"},
};

_Static_assert(sizeof(by_ending) / sizeof(by_ending[0]) == ENDING_UNASKED + 1, "each ending has a meaning");

/* Judges a command that the worker has ended because of ENDING. */
static void judge_ended(const struct commands *c, const struct slot *slot, enum ending ending, int64_t ended_us,
			struct jobstack_outcome *o, char reason[REASON_MAX])
{
	const char *words = by_ending[ending].reason;

	o->verdict = by_ending[ending].verdict;
	o->cause = by_ending[ending].cause;
	o->fatal = ending == ENDING_KILL;
	if (ending == ENDING_DRAIN) {
		o->loss = guard_never_fits(c->guard, slot->started_us, ended_us);
		if (o->loss || guard_is_over(c->guard, ended_us)) {
			o->cause = JOBSTACK_CAUSE_WALL_TIME;
			words = o->loss ? "wall time: the entry did not finish in the time of a whole job"
					: "wall time";
		}
	}
	if (ending == ENDING_TIMEOUT)
		(void)snprintf(reason, REASON_MAX, "timeout after %.6g s", (double)(ended_us - slot->started_us) / 1e6);
	else
		(void)snprintf(reason, REASON_MAX, "%s", ending == ENDING_KILL ? slot->killed : words);
}

/* Judges a command that failed by itself.  ANSWER: of a persistent command, or NULL. */
static void judge_failed(struct commands *c, const struct slot *slot, const struct js_reaped *r,
			 const struct js_persist_answer *answer, struct jobstack_outcome *o, char reason[REASON_MAX])
{
	o->verdict = r->exit_code == 75 ? JOBSTACK_INTERRUPTED : JOBSTACK_FAILED;
	o->later = r->exit_code == 75;
	o->cause = o->later ? JOBSTACK_CAUSE_DEFERRED : r->signal != 0 ? JOBSTACK_CAUSE_SIGNAL : JOBSTACK_CAUSE_EXIT;
	o->fatal = !o->later && config_is_fatal(c->config, r->exit_code);
	if (answer != NULL && answer->message[0] != '\0')
		(void)snprintf(reason, REASON_MAX, "%s%s", o->later ? DEFERRED : "", answer->message);
	else if (o->later)
		(void)snprintf(reason, REASON_MAX, DEFERRED "exit 75");
	else if (answer != NULL)
		(void)snprintf(reason, REASON_MAX, "failed %d", answer->code);
	else if ((r->signal == SIGKILL || r->exit_code == 128 + SIGKILL) && js_reap_was_oom(&c->oom, r)) {
		o->cause = JOBSTACK_CAUSE_MEMORY;
		(void)snprintf(reason, REASON_MAX, "out of memory");
	} else if (r->signal == 0 && slot->persistent != NULL) {
		o->cause = r->exit_code == 0 ? JOBSTACK_CAUSE_RESULT : o->cause;
		(void)snprintf(reason, REASON_MAX, "exit %d without an answer", r->exit_code);
	} else
		js_ending_words(reason, r->exit_code, r->signal);
}

/* Judges by how the command ended, and by why the worker has ended it, if it has.  While the worker drains, a command
 * that did not succeed counts as interrupted, even if no TERM was sent to it: the signal that the worker got may have
 * gone to the whole job. */
static void judge_end(struct commands *c, const struct slot *slot, const struct js_reaped *r,
		      struct jobstack_outcome *o, char reason[REASON_MAX])
{
	const struct js_persist_answer *answer = slot->persistent != NULL ? slot->persistent->answer : NULL;
	enum ending ending = slot->ending == ENDING_NOT && c->draining ? ENDING_DRAIN : slot->ending;
	int done = r->exit_code == 0 && (slot->persistent == NULL || answer != NULL);

	if (slot->killed[0] != '\0' && !done) /* a request to kill it counts before all other reasons */
		ending = ENDING_KILL;

	o->exit_code = r->exit_code;
	o->signal = r->signal;
	reason[0] = '\0';
	if (ending != ENDING_NOT && (!done || by_ending[ending].always))
		judge_ended(c, slot, ending, r->ended_us, o, reason);
	else if (done)
		o->verdict = JOBSTACK_DONE;
	else
		judge_failed(c, slot, r, answer, o, reason);
}

static int64_t size_of_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (int64_t)st.st_size : 0;
}

/* Says in O where the output is.  PLACE: where the packed log has what went there.  A stream that --output or --error
 * has sent to a file of the entry's own is in that file from 0 to its end. */
static void fill_log_place(const struct commands *c, struct slot *slot, const struct js_packlog_place *place,
			   struct jobstack_outcome *o)
{
	if (!c->config->output_dash) { /* else nobody knows where the output went */
		if (place->number > 1 && js_packlog_path_of(c->log, place->number, &slot->log_path) == 0)
			o->log = slot->log_path.data;
		o->log_at = place->at;
		o->log_out = place->out;
		o->log_err = place->err;
	}
	if (slot->out_path.len > 0) { /* stdout has a file of its own, and nothing stands before stderr in the log */
		o->err_log = o->log;
		o->err_at = place->at;
		o->log = slot->out_path.data;
		o->log_at = 0;
		o->log_out = size_of_file(slot->out_path.data);
	}
	if (slot->err_path.len > 0) {
		o->err_log = slot->err_path.data;
		o->err_at = 0;
		o->log_err = size_of_file(slot->err_path.data);
	}
}

/* The end of stdout (WHICH 0) or stderr (1), wherever it was kept. */
static size_t tail_of_stream(const struct slot *slot, int which, char to[JS_KEPT_TAIL])
{
	const struct js_buf *own = which == 0 ? &slot->out_path : &slot->err_path;

	return own->len > 0 ? js_kept_tail_of(own->data, to) : js_capture_tail(slot->capture, which, to);
}

/* Keeps the output: in the entry's own files and the packed log.  With --output - KEPT is filled instead, and printed
 * by the caller later, when the outcome is certain.  Returns 0, or a negative code with ERROR. */
static int keep_output(struct commands *c, struct slot *slot, const struct js_reaped *r, struct jobstack_outcome *o,
		       struct js_kept kept[2], struct jobstack_error *error)
{
	struct js_template_values values = slot_values(c, slot);
	struct js_packlog_place place = {-1, 0, 0, 1};

	JS_TRY(slot->persistent != NULL ? persistent_keep_own(slot, error) : 0);
	if (c->config->output_dash && js_capture_look(slot->capture, kept) != 0)
		return js_error_file(error, "can't read a temporary file");
	if (!c->config->output_dash)
		JS_TRY(js_packlog_append(c->log, slot->capture, &values, r, r->ended_us + c->wall_us, &place, error));
	fill_log_place(c, slot, &place, o);
	if (o->verdict == JOBSTACK_FAILED || o->later) { /* the last deferral is a failure */
		o->err_tail.len = tail_of_stream(slot, 1, slot->err_tail);
		slot->err_tail[o->err_tail.len] = '\0';
		o->err_tail.data = slot->err_tail;
	}
	return 0;
}

/* With --shell, the last line on stderr may be one that we had bash write: which part of a pipeline failed.  Makes it
 * the reason, and cuts it off the end of the output. */
static void use_pipe_failure(const struct config *config, struct jobstack_outcome *o, char reason[REASON_MAX])
{
	static const char mark[] = JS_PIPELINE_FAILED;
	const char *text = o->err_tail.data, *line;
	size_t len = o->err_tail.len;

	if (!config->shell || len == 0 || o->cause != JOBSTACK_CAUSE_EXIT || text[len - 1] != '\n')
		return;
	line = memrchr(text, '\n', len - 1);
	line = line != NULL ? line + 1 : text;
	len = (size_t)(line - text);
	if (o->err_tail.len - len < sizeof(mark) || strncmp(line, mark, sizeof(mark) - 1) != 0)
		return;
	(void)snprintf(reason, REASON_MAX, "%.*s", (int)(o->err_tail.len - len - 1 - (sizeof("jobstack: ") - 1)),
		       line + sizeof("jobstack: ") - 1);
	o->err_tail.len = len;
}

/* Defers a failed entry if the end of its output, or a persistent command's answer, matches --defer-match. */
static void defer_if_matched(const struct config *config, const struct slot *slot, struct jobstack_outcome *o,
			     char reason[REASON_MAX])
{
	const struct js_persist_answer *answer = slot->persistent != NULL ? slot->persistent->answer : NULL;
	char text[JS_KEPT_TAIL + 1];
	regmatch_t at = {0, 0};
	int matched = 0;

	if (config->defer_match == NULL || o->verdict != JOBSTACK_FAILED || slot->ending != ENDING_NOT ||
	    slot->killed[0] != '\0')
		return;
	/* first the answer of a persistent command (2), then stderr (1), then stdout (0) */
	for (int which = answer != NULL ? 2 : 1; which >= 0 && !matched; which--) {
		size_t n = which == 2 ? (size_t)snprintf(text, sizeof(text), "%s", answer->message)
				      : tail_of_stream(slot, which, text);

		for (size_t i = 0; i < n; i++) /* a NUL would end the text for regexec */
			text[i] = text[i] == '\0' ? ' ' : text[i];
		text[n] = '\0';
		matched = regexec(&config->defer, text, 1, &at, 0) == 0;
	}
	if (!matched)
		return;
	o->verdict = JOBSTACK_INTERRUPTED;
	o->cause = JOBSTACK_CAUSE_DEFERRED;
	o->later = 1;
	o->fatal = 0;
	(void)snprintf(reason, REASON_MAX, DEFERRED "it printed \"%.*s\"",
		       (int)(at.rm_eo - at.rm_so < 150 ? at.rm_eo - at.rm_so : 150), text + at.rm_so);
}

/* Notes on which file system the datapath is.  Not every file system counts what is read from storage and written to
 * it.  On one that does not, a zero becomes "not known". */
static void note_mount(const struct commands *c, const struct slot *slot, struct jobstack_outcome *o)
{
	const struct jobstack_entry *e = slot->entry;
	int absolute = e->datapath_len > 0 && e->datapath[0] == '/';
	const char *path = absolute ? e->datapath : c->cwd;
	const struct js_mount *mount = js_mounts_of(&c->mounts, path, absolute ? e->datapath_len : strlen(path));

	o->mount = mount == NULL ? -1 : mount->number;
	if ((o->storage_read_bytes != 0 && o->storage_write_bytes != 0) || js_mount_is_counted(mount))
		return;
	o->storage_read_bytes -= o->storage_read_bytes == 0;
	o->storage_write_bytes -= o->storage_write_bytes == 0;
}

void outcome_judge(struct commands *c, struct slot *slot, const struct js_reaped *r, struct jobstack_outcome *o,
		   char reason[REASON_MAX])
{
	slot_begin_outcome(slot, o);
	o->started_us = slot->started_us;
	o->ended_us = slot->ended_us = r->ended_us;
#define USED(member, ...) o->member = r->member;
	JS_ATTEMPT_USAGE(USED)
	if (slot->persistent == NULL)
		js_sampler_take(c->sampler, slot->number - 1, o);
	o->program = slot->program;
	note_mount(c, slot, o);
	judge_end(c, slot, r, o, reason);
	o->reason = reason[0] == '\0' ? NULL : reason;
}

/* Finds out whether a full disk made the command fail.  STATUS: the result of keep_output.  Returns 0: none did; 1: the
 * disk of the command's results is full; negative: the output could not be kept, or its disk is full.  If a disk is
 * full, the outcome becomes an interruption, and the reason says why. */
static int find_full(const struct commands *c, const struct slot *slot, int status, struct jobstack_outcome *o,
		     char reason[REASON_MAX], struct jobstack_error *error)
{
	if (status != 0) /* its log may be on this node's own disk: that is no reason to stop the others */
		return status;
	if (o->verdict != JOBSTACK_FAILED || slot->ending != ENDING_NOT || slot->killed[0] != '\0')
		return 0;
	/* with a full disk under its output, the command's own words are lost, too */
	if ((slot->out_path.len == 0 || slot->err_path.len == 0) &&
	    (o->err_tail.len == 0 || results_say_full(slot->err_tail) != NULL || results_say_full(reason) != NULL))
		status = js_capture_full(slot->capture, NULL, error);
	if (status == 0 &&
	    (results_full(c, slot, slot->err_tail, error) != 0 || results_full(c, slot, reason, error) != 0))
		status = 1;
	if (status == 0)
		return 0;
	o->verdict = JOBSTACK_INTERRUPTED;
	o->cause = JOBSTACK_CAUSE_OUTPUT;
	o->fatal = 0;
	(void)snprintf(reason, REASON_MAX, "%.*s", REASON_MAX - 1, error->text);
	return status;
}

int outcome_keep(struct commands *c, struct slot *slot, const struct js_reaped *r, struct jobstack_outcome *o,
		 char reason[REASON_MAX], struct jobstack_error *error)
{
	struct js_template_values values = slot_values(c, slot);
	struct js_kept kept[2] = {{.fd = -1}, {.fd = -1}};
	char name[RESULTS_NAME];
	int status, full;

	if (o->verdict == JOBSTACK_DONE && c->config->creates != NULL && results_find(c, slot, &values, 0, name) == 0) {
		o->verdict = JOBSTACK_FAILED;
		o->cause = JOBSTACK_CAUSE_RESULT;
		(void)snprintf(reason, REASON_MAX, "exit 0, but the --creates file is missing: %s", name);
	}
	status = keep_output(c, slot, r, o, kept, error);
	use_pipe_failure(c->config, o, reason);
	if (status == 0)
		defer_if_matched(c->config, slot, o, reason);
	full = find_full(c, slot, status, o, reason, error);
	if (status == 0 && c->config->output_dash)
		status = printer_print(c->printer, slot->entry, kept, o, error);
	if (c->config->joblog != NULL)
		printer_log(c->printer, slot->entry, o, c->wall_us,
			    c->config->output_dash ? js_kept_len(&kept[0]) : later(o->log_out, 0),
			    js_template_argv_in(c->config->template, &values, &slot->words));
	if (slot->persistent != NULL)
		js_capture_next(slot->capture);
	if (status != 0) {
		o->verdict = JOBSTACK_INTERRUPTED;
		o->cause = JOBSTACK_CAUSE_OUTPUT;
		o->log_at = o->log_out = o->log_err = o->err_at = -1;
		(void)snprintf(reason, REASON_MAX, "its output could not be kept");
	}
	o->reason = reason[0] == '\0' ? NULL : reason;
	return full != 0 ? full : status;
}
