/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack-worker: claims entries, runs the command on each, closes each, until nothing is left.  This file sets the two
 * threads up, says what a person should know, and gives the exit status.
 */
#define _GNU_SOURCE
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/home.h"
#include "base/num.h"
#include "slurm/identity.h"
#include "worker/ledger.h"
#include "worker/supervisor.h"

#include <errno.h>
#include <limits.h>
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
#define CROWD_TRIES 60 /* while the server has no connection to spare */

/* Exit statuses beside the command's contract. */
enum { DONE_ITS_PART = 0, NO = 1, USAGE = 2, NODB = 69, BUG = 70, NOPERM = 77 };

static struct config config;

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
	va_list args;
	char text[2400];

	/* one write a line: many workers may share the stream */
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	(void)fprintf(stderr, "jobstack-worker: %s\n", text);
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
	case JOBSTACK_ESCHEMA:
		return NODB;
	case JOBSTACK_EPERM:
		return NOPERM;
	case JOBSTACK_EUSAGE:
	case JOBSTACK_EMISSING:
	case JOBSTACK_EINPUT:
	case JOBSTACK_EFILE:
		return USAGE;
	case JOBSTACK_NOTHING:
	case JOBSTACK_ECONFLICT:
		return NO;
	default:
		return BUG;
	}
}

static int fail(const struct jobstack_error *error)
{
	const char *remedy = "";

	if (error->code == JOBSTACK_ESCHEMA)
		remedy = strstr(error->text, "newer") != NULL ? ": update jobstack here" : ": run `jobstack init`";
	else if (error->code == JOBSTACK_EMISSING && strstr(error->text, "stack") != NULL)
		remedy = ": push to it first, or name another with -s";
	else if (error->code == JOBSTACK_ENODB)
		remedy = ": is it reachable from this node? `jobstack server status` tells of a private one";
	say("%s%s", error->text, remedy);
	return status_of(error->code);
}

static const char *get(const char *name)
{
	return getenv(name);
}

/* Connects.  A server whose connections are all taken is waited for: a thousand workers may start in the same second. */
static int open_handle(struct jobstack **handle, struct jobstack_error *error)
{
	struct jobstack_options options = JOBSTACK_OPTIONS_INIT;
	char file[PATH_MAX];
	unsigned short dice;
	int status;

	options.defaults_file = js_home_option_file(config.defaults_file, get, file, sizeof(file));
	options.patience_us = PATIENCE_US;
	options.log = print_log;
	for (unsigned tries = 0;; tries++) {
		memset(error, 0, sizeof(*error));
		status = jobstack_open(handle, &options, error);
		if (status == 0 || tries >= CROWD_TRIES ||
		    (error->server_errno != 1040 && error->server_errno != 1203 && error->server_errno != 1226))
			return status;
		js_file_random(&dice, sizeof(dice));
		js_clock_nap(JS_SECOND_US / 4 + dice * 20, NULL);
	}
}

/* ------------------------------------------------------------------------------------------------------------- dry run */

static int print_command(void *ctx, const struct jobstack_item *item)
{
	struct js_template_values v = {item->datapath.data, item->datapath.len, item->entry, item->attempt + 1, 1, config.stack, 0};
	char *const *argv = js_template_argv(config.template, &v);

	(void)ctx;
	for (size_t i = 0; argv != NULL && argv[i] != NULL; i++) {
		if (i > 0)
			(void)putchar(' ');
		if (argv[i][0] != '\0' && strspn(argv[i], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%") ==
						  strlen(argv[i])) {
			(void)fputs(argv[i], stdout);
			continue;
		}
		(void)putchar('\'');
		for (const char *p = argv[i]; *p != '\0'; p++)
			(void)(*p == '\'' ? fputs("'\\''", stdout) : putchar(*p));
		(void)putchar('\'');
	}
	(void)putchar('\n');
	return 0;
}

static int dry_run(struct jobstack *handle, struct jobstack_error *error)
{
	struct jobstack_filter ready = JOBSTACK_FILTER_INIT;

	ready.states = JOBSTACK_IS_READY;
	ready.limit = 10;
	return jobstack_list(handle, config.stack, &ready, print_command, NULL, error);
}

/* ---------------------------------------------------------------------------------------------------------- the worker */

/* All that one run needs. */
struct run {
	struct jobstack *handle;
	struct js_slurm_identity identity;
	struct jobstack_worker_options options;
	struct mailbox box;
	struct supervisor supervisor;
	struct ledger ledger;
	struct slot slots[SLOTS_MAX];
	unsigned slots_n;
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
		(void)snprintf(r->log_dir, sizeof(r->log_dir), "%.3000s/%.1000s/%s", r->identity.cwd, config.log_dir, config.stack);
	(void)snprintf(r->log_name, sizeof(r->log_name), "%s%.64s%s%.200s-%ld-%08x.log", env->job != NULL ? "job" : "",
		       env->job != NULL ? env->job : "", env->job != NULL ? "-" : "", env->node, (long)getpid(), dice);
}

static int prepare(struct run *r, int argc, char **argv, struct jobstack_error *error)
{
	const char *tmp = getenv("TMPDIR"), *program;
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
	if (config.lease_us == 0)
		config.lease_us = r->identity.env.in_slurm ? LEASE_SLURM_US : LEASE_US;
	/* a command that can't be executed is told before anything is claimed */
	program = js_template_program(config.template);
	status = program == NULL ? 0 : js_spawn_resolve(program, getenv("PATH"), &r->supervisor.all.program, error);
	if (status == 0)
		status = js_spawn_new(&r->supervisor.all.spawn, getenv("PATH"), error);
	if (status == 0)
		status = js_packlog_new(&r->supervisor.all.log, r->log_dir, r->log_name, error);
	for (unsigned i = 0; status == 0 && i < r->slots_n; i++)
		status = slot_begin(&r->slots[i], i + 1, tmp != NULL && *tmp != '\0' ? tmp : "/tmp", error);
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
	char lease[64];

	if (config.quiet)
		return;
	js_num_duration_text(config.lease_us, lease, sizeof(lease));
	say("worker %llu on %s: stack \"%s\", %s, lease %s%s%s", (unsigned long long)jobstack_worker_id(r->ledger.worker),
	    r->identity.env.node, config.stack, r->slots_why, lease, config.output_dash ? "" : ", output in ",
	    config.output_dash ? "" : js_packlog_path(r->supervisor.all.log));
}

/* Runs the two threads to their end. */
static int run_threads(struct run *r, struct jobstack_error *error)
{
	pthread_t thread;
	int status;

	r->supervisor.config = &config;
	r->supervisor.box = &r->box;
	r->supervisor.slots = r->slots;
	r->supervisor.all.config = &config;
	r->supervisor.all.worker = jobstack_worker_id(r->ledger.worker);
	r->supervisor.all.wall_us = js_clock_wall_us() - js_clock_mono_us();
	js_reap_oom_begin(&r->supervisor.all.oom, "/proc/self");
	r->ledger.config = &config;
	r->ledger.box = &r->box;
	r->ledger.handle = r->handle;
	r->ledger.cwd = r->run_cwd;
	r->box.deadline_us = jobstack_worker_deadline_us(r->ledger.worker);
	if (pthread_create(&thread, NULL, ledger_main, &r->ledger) != 0)
		return js_error_set(error, JOBSTACK_EBUG, "no thread can be started");
	status = supervisor_run(&r->supervisor, error);
	(void)pthread_join(thread, NULL);
	js_reap_oom_end(&r->supervisor.all.oom);
	return status;
}

/* The breaker has tripped: nobody else should run into it either. */
static void trip(struct run *r)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;

	if (jobstack_pause(r->handle, config.stack, 1, &error) == 0)
		say("the first 20 entries of this worker all failed, so the stack \"%s\" is paused now: see `jobstack list -s %s -t failed` "
		    "and `jobstack logs`, mend what is wrong, then `jobstack resume -s %s`",
		    config.stack, config.stack, config.stack);
	else
		say("the first 20 entries of this worker all failed, but the stack could not be paused: %s", error.text);
}

/* The summary and the exit status. */
static int conclude(struct run *r, int64_t took_us)
{
	const struct mailbox *b = &r->box;
	char took[64];

	js_num_duration_text(took_us, took, sizeof(took));
	if (r->supervisor.trip)
		trip(r);
	if (b->leaving == LEAVE_COMMAND || b->leaving == LEAVE_OUTPUT || b->leaving == LEAVE_ELSEWHERE)
		say("%s: the entries went back, nobody was charged", b->why);
	else if (b->leaving == LEAVE_FENCED || b->leaving == LEAVE_DATABASE)
		say("%s%s", b->why, b->leaving == LEAVE_DATABASE ? ": what ran is left to its lease and will be run again" : "");
	if (!config.quiet)
		say("%llu done, %llu failed, %llu interrupted in %s%s%s", (unsigned long long)b->done, (unsigned long long)b->failed,
		    (unsigned long long)b->interrupted, took, b->leaving < LEAVE_COMMAND && b->why[0] != '\0' ? ": " : "",
		    b->leaving < LEAVE_COMMAND ? b->why : "");
	switch (b->leaving) {
	case LEAVE_COMMAND:
	case LEAVE_OUTPUT:
	case LEAVE_ELSEWHERE:
		return USAGE;
	case LEAVE_BREAKER:
	case LEAVE_FENCED:
		return NO;
	case LEAVE_DATABASE:
		return status_of(r->ledger.error.code);
	default:
		return config.strict && b->failed > 0 ? NO : DONE_ITS_PART;
	}
}

static int work(struct run *r, struct jobstack_error *error)
{
	int64_t began = js_clock_mono_us();
	int status;

	r->supervisor.signals = supervisor_signals();
	if (r->supervisor.signals < 0)
		return js_error_set(error, JOBSTACK_EBUG, "signalfd: %s", strerror(errno));
	status = mailbox_begin(&r->box, r->slots_n, error);
	if (status == 0)
		status = jobstack_worker_begin(r->handle, config.stack, &r->options, &r->ledger.worker, error);
	if (status != 0)
		return status;
	announce(r);
	status = run_threads(r, error);
	if (status == 0)
		status = conclude(r, js_clock_mono_us() - began);
	jobstack_worker_free(r->ledger.worker);
	mailbox_end(&r->box);
	return status;
}

int main(int argc, char **argv)
{
	static struct run r;
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
	if (status == 0)
		status = prepare(&r, argc, argv, &error);
	if (status == 0)
		status = open_handle(&r.handle, &error);
	if (status == 0)
		status = config.dry_run ? dry_run(r.handle, &error) : work(&r, &error);
	if (error.code != 0)
		status = fail(&error);
	jobstack_free(r.handle);
	for (unsigned i = 0; i < r.slots_n; i++)
		slot_end(&r.slots[i]);
	js_packlog_free(r.supervisor.all.log);
	js_spawn_free(r.supervisor.all.spawn);
	js_buf_free(&r.supervisor.all.program);
	js_buf_free(&r.argv);
	config_free(&config);
	if (fflush(stdout) != 0 && status == 0)
		status = BUG;
	return status < 0 ? status_of(status) : status;
}
