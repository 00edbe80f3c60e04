/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack-worker: claims entries, runs the command on each, closes each, until nothing is left.  This file sets the
 * keeper and the worker's two threads up, says what a person should know, and gives the exit status.
 */
#define _GNU_SOURCE
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/home.h"
#include "base/num.h"
#include "run/copy.h"
#include "run/tree.h"
#include "slurm/identity.h"
#include "worker/advice.h"
#include "worker/inherited.h"
#include "worker/keeper.h"
#include "worker/lease.h"
#include "worker/ledger.h"
#include "worker/persistent.h"
#include "worker/speaker.h"
#include "worker/supervisor.h"
#include "worker/tidy.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEASE_SLURM_US INT64_C(900000000)
#define LEASE_US INT64_C(300000000)
#define PATIENCE_US (10 * JS_SECOND_US)
#define BEGIN_US (120 * JS_SECOND_US) /* so long a stack whose row somebody holds is waited for */
#define CROWD_US (600 * JS_SECOND_US) /* while the server has no connection to spare */

/* Exit statuses beside the command's contract. */
enum { DONE_ITS_PART = 0, NO = 1, USAGE = 2, NODB = 69, BUG = 70, NOPERM = 77 };

static struct config config;
static struct keeper keeper;

/* One write a line: many workers may share the stream.  It may hang, and nobody else may need the stream's lock. */
static void write_line(const char *text)
{
	char line[2500];
	int len = snprintf(line, sizeof(line), "jobstack-worker: %s\n", text);

	(void)js_copy_bytes(line, (size_t)len, STDERR_FILENO, NULL);
}

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
	va_list args;
	char text[2400];

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (speaker_say(text) != 0)
		write_line(text);
}

static void print_log(void *ctx, enum jobstack_level level, const char *text)
{
	(void)ctx;
	if (level <= (config.verbose ? JOBSTACK_LOG_INFO : JOBSTACK_LOG_WARNING))
		say("%s", text);
}

static int status_of(int code)
{
	switch (code) {
	case JOBSTACK_ENODB:
	case JOBSTACK_ESCHEMA: return NODB;
	case JOBSTACK_EPERM: return NOPERM;
	case JOBSTACK_EUSAGE:
	case JOBSTACK_EMISSING:
	case JOBSTACK_EINPUT:
	case JOBSTACK_EFILE: return USAGE;
	case JOBSTACK_NOTHING:
	case JOBSTACK_ECONFLICT: return NO;
	default: return BUG;
	}
}

static int fail(const struct jobstack_error *error)
{
	say("%s%s", error->text, advice_remedy(&config, error));
	return status_of(error->code);
}

static const char *get(const char *name)
{
	return getenv(name);
}

/* Connects.  A server whose connections are all taken is waited for: a thousand workers may start in
 * the same second. */
static int open_handle(struct jobstack **handle, struct jobstack_error *error)
{
	struct jobstack_options options = JOBSTACK_OPTIONS_INIT;
	char file[PATH_MAX];

	options.defaults_file = js_home_option_file(config.defaults_file, get, file, sizeof(file));
	options.patience_us = PATIENCE_US;
	options.log = print_log;
	options.crowd_us = CROWD_US;
	return jobstack_open(handle, &options, error);
}

/* -------------------------------------------------------------------------------------------- the look at others */

static void tell_taken(void *ctx, const struct js_watch_case *found)
{
	char text[700];

	(void)ctx;
	if (config.quiet || (found->verdict != JS_WATCH_TAKEN && !(config.verbose && found->runs_here)))
		return;
	js_watch_words(found, text, sizeof(text));
	say("%s", text);
}

static void look_options(struct js_watch_options *options)
{
	memset(options, 0, sizeof(*options));
	options->self = keeper.page->worker;
	options->tell = tell_taken;
	options->log = config.verbose ? print_log : NULL; /* that Slurm does not answer is for people who ask */
	options->module_dir = getenv("JOBSTACK_MODULE_DIR");
	options->cluster = getenv("SLURM_CLUSTER_NAME");
}

/* In a short-lived child of the keeper: takes back from those whose death can be proven. */
static int look_at_others(void)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_watch_options options;
	struct jobstack *handle = NULL;
	int status = open_handle(&handle, &error);

	look_options(&options);
	if (status == 0)
		status = js_watch_confirm(handle, config.stack, &options, NULL, &error);
	jobstack_free(handle);
	return status == 0 ? 0 : NO;
}

/* ------------------------------------------------------------------------------------------------------- dry run */

static int print_command(void *ctx, const struct jobstack_item *item)
{
	struct js_template_values v = {
		item->datapath.data, item->datapath.len, item->entry, item->attempt + 1, 1, config.stack, 0};
	char request[JS_PERSIST_REQUEST];
	struct js_buf line = {0};
	char *const *argv;
	int status = 0;

	(void)ctx;
	if (config.last_field > 1 &&
	    js_template_fields(v.datapath, v.datapath_len, config.colsep.data) < config.last_field) {
		say("entry %llu would fail: it has no field {%u}", (unsigned long long)v.entry, config.last_field);
		return 0;
	}
	if (config.persistent) { /* what the command would read */
		size_t len = js_persist_encode(request, v.entry, v.attempt, v.datapath, v.datapath_len);

		return fwrite(request, 1, len, stdout) == len ? 0 : -1;
	}
	argv = js_template_argv(config.template, &v);
	for (size_t i = 0; argv != NULL && argv[i] != NULL; i++) {
		if (i > 0)
			js_buf_char(&line, ' ');
		js_buf_shell_word(&line, argv[i]);
	}
	if (line.failed || argv == NULL || puts(line.data) == EOF)
		status = -1;
	js_buf_free(&line);
	return status;
}

static int dry_run(struct jobstack *handle, struct jobstack_error *error)
{
	struct jobstack_filter ready = JOBSTACK_FILTER_INIT;
	int status;

	ready.states = JOBSTACK_IS_READY;
	ready.limit = 10;
	status = jobstack_list(handle, config.stack, &ready, print_command, NULL, error);
	if (status == JOBSTACK_EMISSING && config.new_stack && error->server_errno == JOBSTACK_WHY_NO_STACK) {
		js_error_clear(error);
		return 0;
	}
	return status;
}

/* ---------------------------------------------------------------------------------------------------- the worker */

/* All that one run needs. */
struct run {
	struct jobstack *handle;
	struct js_slurm_identity identity;
	struct jobstack_worker_options options;
	struct mailbox box;
	struct supervisor supervisor;
	struct ledger ledger;
	struct outbox outbox;
	size_t waiting; /* outcomes that the database has not taken */
	struct slot slots[SLOTS_MAX];
	unsigned slots_n;
	struct guard guard; /* for the box */
	char slots_why[200], log_dir[PATH_MAX + JOBSTACK_STACK_MAX + 2], log_name[512], run_cwd[PATH_MAX];
	struct js_buf argv;
};

/* Where the packed output goes: a name that no other worker has. */
static void name_log(struct run *r)
{
	const struct js_slurm_env *env = &r->identity.env;
	uint32_t dice;

	js_file_random(&dice, sizeof(dice));
	if (config.log_dir[0] == '/')
		(void)snprintf(r->log_dir, sizeof(r->log_dir), "%.4000s/%s", config.log_dir, config.stack);
	else
		(void)snprintf(r->log_dir, sizeof(r->log_dir), "%.3000s/%.1000s/%s", r->identity.cwd, config.log_dir,
			       config.stack);
	(void)snprintf(r->log_name, sizeof(r->log_name), "%s%.64s%s%.200s-%ld-%08x", env->job != NULL ? "job" : "",
		       env->job != NULL ? env->job : "", env->job != NULL ? "-" : "", env->node, (long)getpid(), dice);
}

/* Whether the output can be kept, before anything is claimed. */
static int check_log_dir(const struct run *r, struct jobstack_error *error)
{
	if (config.output_dash || config.dry_run || (config.output != NULL && config.error != NULL) ||
	    js_file_can_make(r->log_dir) == 0)
		return 0;
	return js_error_set(
		error, JOBSTACK_EFILE,
		"the output can't be kept in %s: %s: --log-dir names another directory, --output another place",
		r->log_dir, strerror(errno));
}

static int prepare(struct run *r, int argc, char **argv, struct jobstack_error *error)
{
	const char *tmp = getenv("TMPDIR"), *program, *doubt;
	struct jobstack_error unknown = JOBSTACK_ERROR_INIT;
	int status;

	r->options = (struct jobstack_worker_options)JOBSTACK_WORKER_OPTIONS_INIT;
	js_slurm_identify(&r->identity, &r->options);
	name_log(r);
	if (config.chdir != NULL && chdir(config.chdir) != 0)
		return js_error_set(error, JOBSTACK_EFILE, "--chdir %s: %s", config.chdir, strerror(errno));
	if (getcwd(r->run_cwd, sizeof(r->run_cwd)) == NULL)
		return js_error_set(error, JOBSTACK_EFILE, "the working directory: %s", strerror(errno));
	r->slots_n = config.slots;
	if (r->slots_n == 0)
		r->slots_n = js_slurm_slots(&r->identity.env, js_slurm_cpus(), r->slots_why, sizeof(r->slots_why));
	else
		(void)snprintf(r->slots_why, sizeof(r->slots_why), "%u slots", r->slots_n);
	if (r->slots_n > SLOTS_MAX)
		r->slots_n = SLOTS_MAX;
	if (config.persistent)
		persistent_raise_files(r->slots_n);
	if (config.lease_us == 0)
		config.lease_us = r->identity.env.in_slurm ? LEASE_SLURM_US : LEASE_US;
	r->supervisor.kill_wait_us = guard_ask(&r->guard, &config, &r->identity.env, getenv("JOBSTACK_MODULE_DIR"),
					       &r->options.job_start_us, &unknown);
	if (unknown.code != 0 && !config.quiet)
		say("Slurm does not say when this job ends (%s): nothing guards against starting what will not finish",
		    unknown.text);
	/* a command that can't be executed is told before anything is claimed */
	program = js_template_program(config.template);
	status = program == NULL ? 0 : js_spawn_resolve(program, getenv("PATH"), &r->supervisor.all.program, error);
	if (status == 0)
		status = check_log_dir(r, error);
	doubt = status == 0 && !config.quiet ? advice_doubt(&config) : NULL;
	if (doubt != NULL)
		say("%s", doubt);
	if (status == 0)
		status = js_spawn_new(&r->supervisor.all.spawn, getenv("PATH"), error);
	if (status == 0)
		status = js_packlog_new(&r->supervisor.all.log, r->log_dir, r->log_name, config.log_size, error);
	for (unsigned i = 0; status == 0 && i < r->slots_n; i++)
		status = slot_begin(&r->slots[i], i + 1, tmp != NULL && *tmp != '\0' ? tmp : "/tmp", &config, error);
	for (int i = 0; i < argc; i++)
		js_buf_add(&r->argv, argv[i], strlen(argv[i]) + 1);
	r->options.lease_us = config.lease_us;
	r->options.slots = r->slots_n;
	r->options.log = status == 0 && !config.output_dash ? js_packlog_path(r->supervisor.all.log) : NULL;
	r->options.argv = (struct jobstack_bytes){r->argv.data, r->argv.len > 60000 ? 60000 : r->argv.len};
	r->options.cwd = r->run_cwd;
	return status;
}

static void announce(const struct run *r)
{
	char lease[64], outage[64], end[64] = "";

	if (config.quiet)
		return;
	js_num_duration_text(config.lease_us, lease, sizeof(lease));
	js_num_duration_text(lease_outage_us(&config), outage, sizeof(outage));
	if (r->guard.end_us != 0)
		js_num_duration_text(r->guard.end_us - js_clock_mono_us(), end, sizeof(end));
	say("worker %llu on %s: stack \"%s\", %s, lease %s, rides out up to %s without the database%s%s%s%s",
	    (unsigned long long)jobstack_worker_id(r->ledger.worker), r->identity.env.node, config.stack, r->slots_why,
	    lease, outage, end[0] != '\0' ? ", the job ends in " : "", end, config.output_dash ? "" : ", output in ",
	    config.output_dash ? "" : js_packlog_path(r->supervisor.all.log));
	if (config.finish_on_loss)
		say("--on-lease-loss finish: commands are not stopped when the lease is lost, so an entry may run "
		    "twice at once");
}

/* Outcomes wait beside the packed log when the database is away. */
static int begin_outbox(struct run *r, struct jobstack_error *error)
{
	struct outbox *o = &r->outbox;

	o->box = &r->box;
	o->page = keeper.page;
	o->log = print_log;
	(void)snprintf(o->head.stack, sizeof(o->head.stack), "%s", config.stack);
	o->head.worker = jobstack_worker_id(r->ledger.worker);
	o->head.lease_us = config.lease_us;
	jobstack_worker_token(r->ledger.worker, o->head.token);
	outbox_places(o, r->log_dir, r->log_name, getenv("TMPDIR"));
	r->ledger.outbox = o;
	return outbox_begin(o, error);
}

/* What waits at the end: is it late, or can it be delivered later?  Returns 1 if it has been told why
 * the worker ended. */
static int conclude_outbox(struct run *r)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	size_t late = 0;
	int may_settle = r->box.leaving == LEAVE_FENCED && !r->outbox.stuck;
	int status = may_settle ? outbox_settle(&r->outbox, r->handle, &late, &error) : JOBSTACK_NOTHING;
	const char *path = outbox_path(&r->outbox);

	if (status == 0 && late > 0)
		say("%zu outcomes came too late, and don't count", late);
	if (status == JOBSTACK_ECONFLICT && late > 0)
		say("%zu outcomes of this worker can't be delivered%s%s: `jobstack check -s %s --logs %s` lists what "
		    "the database has forgotten",
		    late, path == NULL ? "" : ", and are kept in ", path == NULL ? "" : path, config.stack,
		    config.log_dir);
	if (status == 0 || status == JOBSTACK_ECONFLICT)
		return 0;
	if (r->waiting > 0 && r->outbox.stuck)
		say("%zu outcomes could neither be delivered nor written, because a file system does not answer: their "
		    "entries will run again",
		    r->waiting);
	if (r->waiting == 0 || path == NULL)
		return 0;
	if (r->box.why[0] != '\0' && r->box.leaving != LEAVE_FENCED)
		say("%s", r->box.why);
	say("%zu outcomes could not be delivered: they are in %s: `jobstack close --replay %s` delivers them when the "
	    "database is back",
	    r->waiting, path, path);
	return 1;
}

/* Runs the two threads to their end. */
static int run_threads(struct run *r, struct jobstack_error *error)
{
	pthread_t thread;
	int status, failed;

	r->supervisor.config = &config;
	r->supervisor.box = &r->box;
	r->supervisor.slots = r->slots;
	r->supervisor.log = print_log;
	r->supervisor.log_dir = r->log_dir;
	r->supervisor.all.config = &config;
	r->supervisor.all.worker = jobstack_worker_id(r->ledger.worker);
	r->supervisor.all.wall_us = js_clock_wall_us() - js_clock_mono_us();
	js_reap_oom_begin(&r->supervisor.all.oom, "/proc/self");
	r->ledger.config = &config;
	r->ledger.box = &r->box;
	r->ledger.handle = r->handle;
	r->ledger.cwd = r->run_cwd;
	r->ledger.say = config.quiet ? NULL : say;
	look_options(&r->ledger.watch_options);
	r->ledger.watch_options.self = jobstack_worker_id(r->ledger.worker);
	r->ledger.keeper = r->supervisor.keeper = &keeper;
	r->supervisor.life = keeper.life;
	r->box.deadline_us = jobstack_worker_deadline_us(r->ledger.worker);
	if (!config.finish_on_loss)
		keeper.page->deadline_us = r->box.deadline_us;
	jobstack_worker_token(r->ledger.worker, keeper.page->token);
	keeper.page->lease_us = config.lease_us;
	keeper.page->worker = jobstack_worker_id(r->ledger.worker);
	status = begin_outbox(r, error);
	if (status != 0)
		return status;
	failed = pthread_create(&thread, NULL, ledger_main, &r->ledger);
	if (failed != 0) {
		(void)outbox_end(&r->outbox);
		return js_error_set(error, JOBSTACK_EBUG, "no thread can be started: %s",
				    js_error_process_words(failed));
	}
	supervisor_run(&r->supervisor);
	(void)pthread_join(thread, NULL);
	keeper.page->deadline_us = INT64_MAX; /* no command is left */
	r->waiting = outbox_end(&r->outbox);
	js_reap_oom_end(&r->supervisor.all.oom);
	return 0;
}

/* The breaker has tripped: nobody else should run into it either. */
static void trip(struct run *r)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;

	if (jobstack_set_state(r->handle, config.stack, JOBSTACK_PAUSED, "the first 20 entries of a worker all failed",
			       &error) == 0)
		say("the first 20 entries of this worker all failed, so the stack \"%s\" is paused now: see `jobstack "
		    "list -s %s -t failed` and `jobstack logs`, mend what is wrong, then `jobstack resume -s %s`",
		    config.stack, config.stack, config.stack);
	else
		say("the first 20 entries of this worker all failed, but the stack could not be paused: %s",
		    error.text);
}

/* Somebody's session may hold the stack's row, which a birth looks at, for long: it is waited for, as in any step. */
static int begin_worker(struct run *r, struct jobstack_error *error)
{
	struct pollfd told = {.fd = r->supervisor.signals, .events = POLLIN};
	int64_t until = js_clock_mono_us() + BEGIN_US;
	int status;

	for (;;) {
		status = jobstack_worker_begin(r->handle, config.stack, &r->options, &r->ledger.worker, error);
		if (status != JOBSTACK_ENODB || (error->server_errno != 1205 && error->server_errno != 1213) ||
		    js_clock_mono_us() >= until || poll(&told, 1, 0) > 0) /* it is told to go */
			return status;
		memset(error, 0, sizeof(*error));
	}
}

/* The summary and the exit status. */
static int conclude(struct run *r, int64_t took_us)
{
	const struct mailbox *b = &r->box;
	char took[64];

	js_num_duration_text(took_us, took, sizeof(took));
	if (r->supervisor.trip)
		trip(r);
	if (b->leaving == LEAVE_FENCED)
		say("%s", b->why);
	if (conclude_outbox(r)) {
		/* it has been told */
	} else if (b->leaving == LEAVE_COMMAND || b->leaving == LEAVE_OUTPUT || b->leaving == LEAVE_ELSEWHERE)
		say("%s%s: the entries went back, nobody was charged", b->why, advice_command(&config, b->why_number));
	else if (b->leaving == LEAVE_MACHINE)
		say("%s: the entries are back in the queue; this does not count as a failed attempt", b->why);
	else if (b->leaving == LEAVE_KEEPER)
		say("%s", b->why);
	else if (b->leaving == LEAVE_DATABASE)
		say("%s: what ran is left to its lease and will be run again", b->why);
	if (!config.quiet)
		say("%llu done, %llu failed, %llu interrupted in %s%s%s", (unsigned long long)b->done,
		    (unsigned long long)b->failed, (unsigned long long)b->interrupted, took,
		    b->leaving < LEAVE_COMMAND && b->why[0] != '\0' ? ": " : "",
		    b->leaving < LEAVE_COMMAND ? b->why : "");
	switch (b->leaving) {
	case LEAVE_COMMAND:
	case LEAVE_OUTPUT:
	case LEAVE_ELSEWHERE: return USAGE;
	case LEAVE_MACHINE: return BUG;
	case LEAVE_BREAKER:
	case LEAVE_KEEPER:
	case LEAVE_FENCED: return NO;
	case LEAVE_DATABASE: return status_of(r->ledger.error.code);
	default: return config.strict && b->failed > 0 ? NO : DONE_ITS_PART;
	}
}

static int work(struct run *r, struct jobstack_error *error)
{
	struct jobstack_error ignored = JOBSTACK_ERROR_INIT;
	int64_t began = js_clock_mono_us();
	int status;

	r->supervisor.signals = supervisor_signals();
	if (r->supervisor.signals < 0)
		return js_error_set(error, JOBSTACK_EBUG, "signalfd: %s", strerror(errno));
	(void)speaker_begin(write_line); /* if not: who says something writes it */
	js_spawn_look_signals(r->supervisor.all.spawn);
	status = mailbox_begin(&r->box, r->slots_n, error);
	r->box.guard = r->guard;
	r->supervisor.all.guard = &r->box.guard;
	if (status == 0)
		status = begin_worker(r, error);
	if (status != 0) {
		(void)speaker_end();
		return status;
	}
	announce(r);
	status = run_threads(r, error);
	if (status == 0)
		status = conclude(r, js_clock_mono_us() - began);
	else if (jobstack_worker_end(r->ledger.worker, NULL, 0, error->text, &ignored) == 0)
		keeper.page->worker = 0; /* it was born, and has claimed nothing */
	/* a thread sits in a call: nothing may be freed under it */
	if (speaker_end() || r->outbox.stuck || supervisor_hangs(&r->supervisor)) {
		keeper.page->status = status < 0 ? status_of(status) : status;
		keeper.page->left_us = js_clock_mono_us();
		_exit(keeper.page->status);
	}
	outbox_free(&r->outbox);
	jobstack_worker_free(r->ledger.worker);
	mailbox_end(&r->box);
	return status;
}

/* The worker proper. */
static int be_worker(int argc, char **argv, struct jobstack_error *error)
{
	static struct run r;
	int status = prepare(&r, argc, argv, error);

	(void)js_tree_adopt();
	if (status == 0)
		status = open_handle(&r.handle, error);
	if (status == 0)
		status = config.dry_run ? dry_run(r.handle, error) : work(&r, error);
	if (error->code != 0)
		status = fail(error);
	jobstack_free(r.handle);
	for (unsigned i = 0; i < r.slots_n; i++)
		slot_end(&r.slots[i]);
	js_packlog_free(r.supervisor.all.log);
	js_spawn_free(r.supervisor.all.spawn);
	js_buf_free(&r.supervisor.all.program);
	js_buf_free(&r.argv);
	return status;
}

/* ---------------------------------------------------------------------------------------------------- the keeper */

/* The worker was killed: says so, and takes back. */
static int conclude_killed(const struct keeper_end *end)
{
	struct tidying t = {keeper.page, config.stack, NULL, open_handle, say, 0, 0};
	char text[TIDY_WORDS];

	tidy_killed(&t, end, text);
	say("%s", text);
	return 128 + end->signal;
}

/* The worker with its keeper, and with a process before both if this one has children already.  Gives their exit
 * status. */
static int be_kept(int argc, char **argv, struct jobstack_error *error)
{
	struct keeper_end end;
	int status, split = inherited_part(&status, error);

	if (split > 0)
		return status;
	if (split == 0)
		split = keeper_split(&keeper, error);
	if (split < 0)
		return fail(error);
	if (keeper.pid == 0)
		return be_worker(argc, argv, error);
	keeper_watch(&keeper, &end);
	(void)speaker_begin(write_line); /* what is left of us is to end, whether anybody reads what we say or not */
	if (end.hangs)
		say("the worker has finished, but its process can't end until a file system answers again");
	status = end.signal != 0 ? conclude_killed(&end) : end.exit_code;
	if (speaker_end())
		_exit(status);
	return status;
}

int main(int argc, char **argv)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	char *text;
	int status;

	js_file_hold_streams();
	status = config_parse(&config, argc, argv, &text, &error);
	if (status == 1) {
		(void)fputs(text, stdout);
		free(text);
		return fflush(stdout) == 0 ? 0 : BUG;
	}
	keeper.look = look_at_others;
	if (status != 0)
		status = fail(&error);
	else
		status = config.dry_run ? be_worker(argc, argv, &error) : be_kept(argc, argv, &error);
	config_free(&config);
	if (fflush(stdout) != 0 && status == 0)
		status = BUG;
	return status < 0 ? status_of(status) : status;
}
