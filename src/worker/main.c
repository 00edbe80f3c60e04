/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack-worker: claims entries, runs the command on each, closes each, until nothing is left.  This file makes the
 * keeper and the worker out of one process, prints what --dry-run and --help print, and gives the exit status.
 */
#include "base/error.h"
#include "base/file.h"
#include "exec/tree.h"
#include "worker/hints.h"
#include "worker/same_files.h"
#include "worker/recovery.h"
#include "worker/run.h"
#include "worker/speaker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Prints why the worker does not begin, with what to do about it.  Returns the exit status. */
static int print_failure(const struct config *config, const struct jobstack_error *error)
{
	speaker_say("%s%s", error->text, hints_of_error(config, error));
	return js_error_exit_status(error->code);
}

/* What the worker would run on an entry. */
static int print_command(void *ctx, const struct jobstack_item *item)
{
	const struct config *config = ctx;
	struct js_template_values v = {
		item->datapath.data, item->datapath.len, item->entry, item->attempt + 1, 1, config->stack, 0};
	char request[JS_PERSIST_REQUEST];
	struct js_buf line = {0};
	char *const *argv;
	int status = 0;

	if (config->last_field > 1 &&
	    js_template_fields(v.datapath, v.datapath_len, config->colsep.data) < config->last_field) {
		speaker_say("entry %llu would fail: it has no field {%u}", (unsigned long long)v.entry,
			    config->last_field);
		return 0;
	}
	if (config->persistent) { /* what the command would read */
		size_t len = js_persist_encode(request, v.entry, v.attempt, v.datapath, v.datapath_len);

		return fwrite(request, 1, len, stdout) == len ? 0 : -1;
	}
	argv = js_template_argv(config->template, &v);
	for (size_t i = 0; argv != NULL && argv[i] != NULL; i++) {
		if (i > 0)
			js_buf_char(&line, ' ');
		js_buf_shell_word(&line, argv[i], strlen(argv[i]));
	}
	if (line.failed || argv == NULL || puts(line.data) == EOF)
		status = -1;
	js_buf_free(&line);
	return status;
}

/* --dry-run: prints the commands of the next ten entries.  A stack that does not exist yet is no error if it would be
 * made. */
static int dry_run(const struct config *config, struct jobstack *handle, struct jobstack_error *error)
{
	struct jobstack_filter ready = JOBSTACK_FILTER_INIT;
	int status;

	ready.states = JOBSTACK_IS_READY;
	ready.limit = 10;
	status = jobstack_list(handle, config->stack, &ready, print_command, (void *)(uintptr_t)config, error);
	if (status == JOBSTACK_EMISSING && config->new_stack && error->server_errno == JOBSTACK_WHY_NO_STACK) {
		js_error_clear(error);
		return 0;
	}
	return status == 0 ? same_files_check(config, handle, error) : status;
}

/* What it would run on the names of standard input; the database is not asked. */
static int print_commands_for_names(const struct config *config)
{
	struct jobstack_item item = {.entry = 0};
	char *name = NULL;
	size_t room = 0;
	int status = 0;

	while (status == 0 && getdelim(&name, &room, '\0', stdin) > 0) {
		item.entry++;
		item.datapath = (struct jobstack_bytes){name, strlen(name)};
		status = print_command((void *)(uintptr_t)config, &item);
	}
	free(name);
	return status < 0 ? JOBSTACK_EBUG : 0;
}

/* Writes down why no worker begins, for those who look at the stack and not at the job's log. */
static void record_refusal(struct run *r, const struct jobstack_error *why)
{
	struct jobstack_error ignored = JOBSTACK_ERROR_INIT;
	struct jobstack_worker *worker = NULL;
	char reason[1500];

	if (r->config.dry_run || r->config.dry_names || r->ledger.db.worker != NULL || why->code == JOBSTACK_ENODB ||
	    (r->handle == NULL && recovery_connect(&r->config, 0, &r->handle, &ignored) != 0))
		return;
	(void)snprintf(reason, sizeof(reason), "%s%s", why->text, hints_of_error(&r->config, why));
	if (jobstack_worker_begin(r->handle, r->config.stack, &r->options, &worker, &ignored) == 0)
		(void)jobstack_worker_end(worker, NULL, 0, JOBSTACK_CAUSE_START, reason, &ignored);
	jobstack_worker_free(worker);
}

/* The worker proper. */
static int be_worker(struct run *r, int argc, char **argv, struct jobstack_error *error)
{
	int status = run_prepare(r, argc, argv, error);

	(void)js_tree_adopt();
	if (!r->config.dry_names)
		JS_THEN(status, recovery_connect(&r->config, r->config.connect_us, &r->handle, error));
	JS_THEN(status, r->config.dry_names ? print_commands_for_names(&r->config)
			: r->config.dry_run ? dry_run(&r->config, r->handle, error)
					    : run_work(r, error));
	if (error->code != 0) {
		status = print_failure(&r->config, error);
		record_refusal(r, error);
	}
	run_free(r);
	return status;
}

/* The keeper's look (keeper.h). */
static int look_for_dead_workers(const void *ctx)
{
	const struct run *r = ctx;

	return recovery_look(&r->config, r->keeper.page);
}

/* The worker with its keeper.  Returns their exit status. */
static int be_kept(struct run *r, int argc, char **argv, struct jobstack_error *error)
{
	struct keeper_end end;
	int status, split = keeper_split(&r->keeper, &status, error);

	if (split != 0)
		return split > 0 ? status : print_failure(&r->config, error);
	if (r->keeper.pid == 0)
		return be_worker(r, argc, argv, error);
	keeper_watch(&r->keeper, &end);
	speaker_begin(r->config.of_run ? "jobstack run" : "jobstack-worker", NULL,
		      NULL); /* the keeper ends soon, whether anybody reads its messages or not */
	if (end.hangs)
		speaker_say("the worker has finished, but its process can't end until a file system answers again");
	if (end.signal != 0)
		recovery_of_killed(&r->config, r->keeper.page, &end);
	status = end.signal != 0 ? 128 + end.signal : end.exit_code;
	if (speaker_end())
		_exit(status);
	return status;
}

/* Only the options are read before the keeper is made: it must stay small, and shares nothing with the worker but the
 * page. */
int main(int argc, char **argv)
{
	static struct run run; /* large */
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	char *text;
	int status;

	js_file_hold_streams();
	status = config_parse(&run.config, argc, argv, &text, &error);
	if (status == 1) {
		(void)fputs(text, stdout);
		free(text);
		return fflush(stdout) == 0 ? JS_EXIT_OK : JS_EXIT_BUG;
	}
	run.keeper.look = look_for_dead_workers;
	run.keeper.look_ctx = &run;
	if (status != 0)
		status = print_failure(&run.config, &error);
	else
		status = run.config.dry_run ? be_worker(&run, argc, argv, &error) : be_kept(&run, argc, argv, &error);
	config_free(&run.config);
	if (fflush(stdout) != 0 && status == 0)
		status = JS_EXIT_BUG;
	return status < 0 ? js_error_exit_status(status) : status;
}
