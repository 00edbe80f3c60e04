/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One slot.  Promises: a command that was never executed does not count as a failed attempt; all output is kept before
 * the outcome counts; if output can't be written, that is the worker's fault, not the entry's.
 */
#include "worker/slot.h"

#include "base/error.h"
#include "base/file.h"
#include "base/signal.h"
#include "worker/persistent.h"
#include "worker/speaker.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RESULT_NAME 200 /* of a result's path, so much is named */
/* Ticks of clocks, the way to the database, a process that is being killed. */
#define RESULT_SLACK_US (JS_SECOND_US / 5)

int slot_begin(struct slot *slot, uint32_t number, const char *dir, const struct config *config,
	       struct jobstack_error *error)
{
	extern char **environ;

	memset(slot, 0, sizeof(*slot));
	slot->number = number;
	JS_TRY(js_capture_new(&slot->capture, dir, error));
	/* output to the entry's own file is never cut */
	js_capture_limit(slot->capture, config->output != NULL ? 0 : config->output_limit,
			 config->error != NULL ? 0 : config->output_limit);
	JS_TRY(js_env_new(&slot->env, environ, error));
	if (config->as_array)
		js_env_as_array(slot->env);
	return config->persistent ? persistent_new(&slot->persistent, error) : 0;
}

int slot_is_free(const struct slot *slot)
{
	return slot->call == CALL_NONE && slot->pid == 0 && (slot->persistent == NULL || !slot->persistent->leaving);
}

pid_t slot_process(const struct slot *slot)
{
	return slot->persistent != NULL ? slot->persistent->process->pid : slot->pid;
}

void slot_end(struct slot *slot)
{
	js_capture_free(slot->capture);
	js_env_free(slot->env);
	js_buf_free(&slot->out_path);
	js_buf_free(&slot->err_path);
	js_buf_free(&slot->log_path);
	js_buf_free(&slot->result);
	js_template_words_free(&slot->words);
	persistent_free(slot->persistent);
}

static struct js_template_values values_of(const struct commands *c, const struct slot *slot)
{
	const struct jobstack_entry *e = slot->entry;

	return (struct js_template_values){e->datapath,	 e->datapath_len,  e->entry, e->attempt,
					   slot->number, c->config->stack, c->worker};
}

void slot_begin_outcome(const struct slot *slot, struct jobstack_outcome *o)
{
	*o = (struct jobstack_outcome)JOBSTACK_OUTCOME_INIT;
	o->entry = slot->entry->entry;
	o->attempt = slot->entry->attempt;
}

/* Opens the file that a template names; *FD is -1 without one. */
static int open_own_file(const struct js_template *template, const struct js_template_values *values,
			 struct js_buf *path, int *fd, struct jobstack_error *error)
{
	js_buf_reset(path);
	*fd = -1;
	if (template == NULL)
		return 0;
	JS_TRY(js_template_text(template, values, path));
	return js_capture_open(path->data, fd, error);
}

/* ST gets what a new file beside PATH is, so its time is the present.  0, or -1. */
static int make_file_beside(const char *path, struct stat *st)
{
	char *copy = strdup(path);
	int fd = copy == NULL ? -1 : js_capture_temporary(dirname(copy)), status = fd < 0 ? -1 : fstat(fd, st);

	js_file_close(&fd);
	free(copy);
	return status;
}

/* Whether the file PATH was modified after the entry's last attempt ended, so that the attempt has not left it as it
 * is.  No two clocks are compared: the time since that end is the database's, the age of the file that of the clock
 * which makes the times of files there.  If anything is in doubt, it was not. */
static int is_later_result(const char *path, const struct stat *file, int64_t last_end_us)
{
	int64_t since_us = jobstack_now_us() - last_end_us, age_us; /* first this: the file rather seems too old */
	struct stat now;

	if (make_file_beside(path, &now) != 0 || now.st_dev != file->st_dev)
		return 0;
	age_us = (now.st_mtim.tv_sec - file->st_mtim.tv_sec) * JS_SECOND_US +
		 (now.st_mtim.tv_nsec - file->st_mtim.tv_nsec) / 1000;
	/* some file systems count whole seconds */
	return age_us >= 0 && age_us + (now.st_mtim.tv_nsec == 0 ? JS_SECOND_US : RESULT_SLACK_US) < since_us;
}

/* Looks for the file that --creates names; RETRY: it was there when an attempt may have died.  Returns 1: it is the
 * result; 0: it is not there; -1: it is there, but may be incomplete.  NAME gets its path, or the end of a long one. */
static int find_result(const struct commands *c, struct slot *slot, int retry, char name[RESULT_NAME])
{
	const struct js_template_values values = values_of(c, slot);
	struct js_buf *path = &slot->result;
	struct stat st;
	int found = -1; /* without memory */
	size_t cut;

	name[0] = '\0';
	js_buf_reset(path);
	if (js_template_text(c->config->creates, &values, path) == 0) {
		cut = path->len >= RESULT_NAME ? path->len + 1 - RESULT_NAME : 0;
		(void)snprintf(name, RESULT_NAME, "%s", path->data + cut);
		if (stat(path->data, &st) != 0)
			found = 0;
		else if (!retry ||
			 (!c->config->finish_on_loss && /* else a lost command may still write */
			  slot->entry->last_end_us != 0 && is_later_result(path->data, &st, slot->entry->last_end_us)))
			found = 1;
	}
	return found;
}

/* Whether the result of the entry is there already.  If so, there is an outcome. */
static int has_result(struct commands *c, struct slot *slot, struct jobstack_outcome *outcome)
{
	char name[RESULT_NAME];
	int found = find_result(c, slot, slot->entry->attempt > 1, name);

	if (found < 0 && !atomic_exchange(&c->told_old, 1))
		speaker_say("entry %" PRIu64 ": the --creates file %s is not newer than the last attempt, which may "
			    "have left it incomplete: the command runs again",
			    slot->entry->entry, name);
	if (found <= 0)
		return 0;
	(void)snprintf(slot->err_tail, REASON_MAX, "the --creates file was there already: %s", name);
	outcome->reason = slot->err_tail;
	return 1;
}

/* Whether DIR is where each node has a disk of its own: that it is full is no reason to stop the others. */
static int is_own_disk(const char *dir)
{
	static const char *const own[] = {"/tmp", "/dev/shm"};
	struct stat st, there;

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (stat(dir, &st) == 0 && stat(own[i], &there) == 0 && st.st_dev == there.st_dev)
			return 1;
	return 0;
}

/* Tries to write beside the file PATH. */
static int try_beside(const struct commands *c, const char *path, size_t len, struct jobstack_error *error)
{
	char dir[PATH_MAX];

	while (len > 0 && path[len - 1] != '/')
		len--;
	(void)snprintf(dir, sizeof(dir), "%.2000s/%.*s", path[0] == '/' ? "" : c->cwd, (int)len, path);
	return is_own_disk(dir) ? 0 : js_capture_full(NULL, dir, error);
}

/* Where the words of a failure speak of a full disk, or NULL. */
static const char *says_full(const char *said)
{
	const char *full = strstr(said, strerror(ENOSPC));

	return full != NULL ? full : strstr(said, strerror(EDQUOT));
}

/* Whether SAID, the words of a failure, speaks of a full disk, and nothing can be written beside a path in its line,
 * beside the entry's own files or in the working directory: words alone prove nothing.  Returns 0, or JOBSTACK_EFILE
 * with what was full in ERROR, if that was empty. */
static int find_full_results(const struct commands *c, const struct slot *slot, const char *said,
			     struct jobstack_error *error)
{
	static const char between[] = " \t\r\n'\"`:,;()[]<>=\xe2\x80\x98\x99"; /* the last four: GNU's quotes */
	const struct js_buf *own[] = {&slot->out_path, &slot->err_path, &slot->result};
	const char *full = says_full(said), *at, *end;
	int status = 0;

	if (full == NULL)
		return 0;
	for (at = full; at > said && at[-1] != '\n'; at--)
		;
	end = full + strcspn(full, "\n");
	for (size_t n; at < end && status == 0; at += n + (at[n] != '\0')) {
		n = strcspn(at, between);
		status = memchr(at, '/', n) != NULL ? try_beside(c, at, n, error) : 0;
	}
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]) && status == 0; i++)
		status = own[i]->len > 0 ? try_beside(c, own[i]->data, own[i]->len, error) : 0;
	return status != 0 ? status : try_beside(c, "", 0, error);
}

/* Runs an ordinary command.  Its output goes to OWN, or is captured where that is -1. */
static enum slot_start start_command(struct commands *c, struct slot *slot, const struct js_template_values *values,
				     const int own[2], struct jobstack_outcome *outcome, struct jobstack_error *error)
{
	char *const *argv = js_template_argv_in(c->config->template, values, &slot->words);
	char *const *envp = js_env_for(slot->env, values);
	int out, err;
	int64_t program;
	pid_t pid;

	if (argv == NULL || envp == NULL) {
		(void)js_error_memory(error);
		return SLOT_LATER;
	}
	if (js_capture_begin(slot->capture, &out, &err, error) != 0)
		return SLOT_BROKEN;
	program = js_program_look(c->version);
	js_packages_start(c->packages, slot->number - 1, values->entry, values->attempt);
	pid = js_spawn_start(c->spawn, c->program.len > 0 ? c->program.data : NULL, argv, envp,
			     own[0] >= 0 ? own[0] : out, own[1] >= 0 ? own[1] : err);
	if (pid == -E2BIG) {
		outcome->verdict = JOBSTACK_FAILED;
		outcome->cause = JOBSTACK_CAUSE_START;
		outcome->fatal = 1;
		outcome->reason = "not run: its arguments are too long";
		return SLOT_OUTCOME;
	}
	/* the entry chooses the program, and it is not a whole command line in quotes: so the worker can run others */
	if (pid < 0 && js_spawn_is_command(-pid) && js_template_program(c->config->template) == NULL &&
	    strchr(c->config->command[0], ' ') == NULL) {
		js_spawn_error(argv[0], -pid, error);
		(void)snprintf(slot->err_tail, sizeof(slot->err_tail), "%s", error->text);
		outcome->verdict = JOBSTACK_FAILED;
		outcome->cause = JOBSTACK_CAUSE_START;
		outcome->reason = slot->err_tail;
		return SLOT_OUTCOME;
	}
	if (pid == -ETIME) /* the clocks leapt, or the lease is over: the supervisor looks again */
		return SLOT_GONE;
	if (pid < 0) {
		js_spawn_error(argv[0], -pid, error);
		return js_spawn_is_command(-pid) ? SLOT_BROKEN : SLOT_LATER;
	}
	slot->pid = pid;
	slot->program = program;
	js_sampler_watch(c->sampler, slot->number - 1, pid);
	return SLOT_RUNS;
}

/* Whether the entry has the fields that the templates need.  If not, there is an outcome. */
static int has_fields(const struct config *config, struct slot *slot, struct jobstack_outcome *outcome)
{
	const struct jobstack_entry *entry = slot->entry;
	unsigned n = config->last_field <= 1
			     ? 1
			     : js_template_fields(entry->datapath, entry->datapath_len, config->colsep.data);

	if (n >= config->last_field)
		return 1;
	(void)snprintf(slot->err_tail, sizeof(slot->err_tail), "not run: it has %u %s, but the command needs {%u}", n,
		       n == 1 ? "field" : "fields", config->last_field);
	outcome->verdict = JOBSTACK_FAILED;
	outcome->cause = JOBSTACK_CAUSE_START;
	outcome->fatal = 1; /* its fields will not change */
	outcome->reason = slot->err_tail;
	return 0;
}

enum slot_start slot_start(struct commands *c, struct slot *slot, struct jobstack_outcome *outcome,
			   struct jobstack_error *error)
{
	struct js_template_values values = values_of(c, slot);
	int own[2] = {-1, -1};
	enum slot_start how;

	js_spawn_use_stop(&slot->stop);
	js_spawn_bind(&c->bound);
	slot_begin_outcome(slot, outcome);
	outcome->started_us = jobstack_now_us();
	outcome->reason = slot->killed[0] != '\0' ? slot->killed : mailbox_refusal(slot->parcel, slot->entry);
	if (outcome->reason != NULL) {
		outcome->verdict = JOBSTACK_FAILED;
		outcome->cause = slot->killed[0] != '\0' ? JOBSTACK_CAUSE_KILLED : JOBSTACK_CAUSE_START;
		outcome->fatal = 1;
		return SLOT_OUTCOME;
	}
	if (!has_fields(c->config, slot, outcome))
		return SLOT_OUTCOME;
	if (c->config->creates != NULL && has_result(c, slot, outcome))
		return SLOT_OUTCOME;
	if (open_own_file(c->config->output, &values, &slot->out_path, &own[0], error) != 0 ||
	    open_own_file(c->config->error, &values, &slot->err_path, &own[1], error) != 0)
		how = find_full_results(c, slot, error->text, error) != 0 ? SLOT_FULL : SLOT_BROKEN;
	else
		how = slot->persistent != NULL ? persistent_ask(c, slot, &values, own, error)
					       : start_command(c, slot, &values, own, outcome, error);
	for (int i = 0; i < 2 && (how != SLOT_RUNS || slot->persistent == NULL); i++)
		js_file_close(&own[i]); /* a persistent command's are filled, and closed, when it has answered */
	if (how != SLOT_RUNS)
		return how;
	slot->started_us = outcome->started_us;
	slot->kill_at_us = 0;
	slot->ending = ENDING_NOT;
	return SLOT_RUNS;
}

/* The outcome of a command that the worker ended, or lost. */
static const struct {
	enum jobstack_verdict verdict;
	enum jobstack_cause cause;
	int always; /* even if the command exited with 0 */
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

/* It failed, and the worker has not ended it.  ANSWER: of a persistent command, or NULL. */
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

static void judge_end(struct commands *c, const struct slot *slot, const struct js_reaped *r,
		      struct jobstack_outcome *o, char reason[REASON_MAX])
{
	const struct js_persist_answer *answer = slot->persistent != NULL ? slot->persistent->answer : NULL;
	enum ending ending = slot->ending == ENDING_NOT && c->draining ? ENDING_DRAIN : slot->ending;
	int done = r->exit_code == 0 && (slot->persistent == NULL || answer != NULL);

	if (slot->killed[0] != '\0' && !done) /* whatever else ended it */
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

/* Says where the output is; PLACE: in the packed log. */
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

/* KEPT is filled with --output -; printing it comes later. */
static int keep_output(struct commands *c, struct slot *slot, const struct js_reaped *r, struct jobstack_outcome *o,
		       struct js_kept kept[2], struct jobstack_error *error)
{
	struct js_template_values values = values_of(c, slot);
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

/* Makes the reason of what a script in bash wrote last about its pipeline.  The end of its output then stops before it.
 */
static void take_pipe_failure(const struct config *config, struct jobstack_outcome *o, char reason[REASON_MAX])
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

/* The file system of the datapath.  Where nothing was read from storage, or written, it may not count that. */
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

void slot_judge(struct commands *c, struct slot *slot, const struct js_reaped *r, struct jobstack_outcome *o,
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

/* Whether a disk is full: that of the results (1), or that of the captured output (negative).  STATUS: of what kept the
 * output.  If it was kept, the reason says so. */
static int find_full(const struct commands *c, const struct slot *slot, int status, struct jobstack_outcome *o,
		     char reason[REASON_MAX], struct jobstack_error *error)
{
	if (status != 0) /* its log may be on this node's own disk: that is no reason to stop the others */
		return status;
	if (o->verdict != JOBSTACK_FAILED || slot->ending != ENDING_NOT || slot->killed[0] != '\0')
		return 0;
	/* with a full disk under its output, the command's own words are lost, too */
	if ((slot->out_path.len == 0 || slot->err_path.len == 0) &&
	    (o->err_tail.len == 0 || says_full(slot->err_tail) != NULL || says_full(reason) != NULL))
		status = js_capture_full(slot->capture, NULL, error);
	if (status == 0 &&
	    (find_full_results(c, slot, slot->err_tail, error) != 0 || find_full_results(c, slot, reason, error) != 0))
		status = 1;
	if (status == 0)
		return 0;
	o->verdict = JOBSTACK_INTERRUPTED;
	o->cause = JOBSTACK_CAUSE_OUTPUT;
	o->fatal = 0;
	(void)snprintf(reason, REASON_MAX, "%.*s", REASON_MAX - 1, error->text);
	return status;
}

int slot_keep(struct commands *c, struct slot *slot, const struct js_reaped *r, struct jobstack_outcome *o,
	      char reason[REASON_MAX], struct jobstack_error *error)
{
	struct js_template_values values = values_of(c, slot);
	struct js_kept kept[2] = {{.fd = -1}, {.fd = -1}};
	char name[RESULT_NAME];
	int status, full;

	if (o->verdict == JOBSTACK_DONE && c->config->creates != NULL && find_result(c, slot, 0, name) == 0) {
		o->verdict = JOBSTACK_FAILED;
		o->cause = JOBSTACK_CAUSE_RESULT;
		(void)snprintf(reason, REASON_MAX, "exit 0, but the --creates file is missing: %s", name);
	}
	status = keep_output(c, slot, r, o, kept, error);
	take_pipe_failure(c->config, o, reason);
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
