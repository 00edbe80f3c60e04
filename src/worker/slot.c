/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One slot: starting its command.  Promise: a command that was never executed does not count as a failed attempt,
 * unless it could never be executed on this entry.
 */
#include "worker/slot.h"

#include "base/error.h"
#include "base/file.h"
#include "worker/persistent.h"
#include "worker/results.h"
#include "worker/speaker.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

struct js_template_values slot_values(const struct commands *c, const struct slot *slot)
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

/* Returns whether the result of the entry is there already.  Then OUTCOME is done: the command need not run. */
static int has_result(struct commands *c, struct slot *slot, const struct js_template_values *values,
		      struct jobstack_outcome *outcome)
{
	char name[RESULTS_NAME];
	int found = results_find(c, slot, values, slot->entry->attempt > 1, name);

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
	/* the arguments are the entry's name and the command: no other worker could start it */
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
	if (pid == -ETIME) /* the clocks leapt, the lease is over, or it is late: the supervisor looks again */
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

/* Returns whether the entry has the fields that the templates need.  If not, it has failed for good. */
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

/* What needs no process comes first: a request to kill the entry, a refusal, missing fields, a result that is there
 * already.  The entry's own files are opened before the command starts, so that a full disk or a wrong path costs no
 * attempt. */
enum slot_start slot_start(struct commands *c, struct slot *slot, struct jobstack_outcome *outcome,
			   struct jobstack_error *error)
{
	struct js_template_values values = slot_values(c, slot);
	int own[2] = {-1, -1};
	enum slot_start how;

	slot->stop.by_us = slot->parcel->batch.start_by_us;
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
	if (c->config->creates != NULL && has_result(c, slot, &values, outcome))
		return SLOT_OUTCOME;
	if (open_own_file(c->config->output, &values, &slot->out_path, &own[0], error) != 0 ||
	    open_own_file(c->config->error, &values, &slot->err_path, &own[1], error) != 0)
		how = results_full(c, slot, error->text, error) != 0 ? SLOT_FULL : SLOT_BROKEN;
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
