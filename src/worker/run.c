/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One run of the worker proper.  Promise: what can be wrong with the command, its output and its directory is found out
 * before anything is claimed.
 */
#include "worker/run.h"

#include "base/error.h"
#include "base/file.h"
#include "base/num.h"
#include "proc/child.h"
#include "exec/platform.h"
#include "slurm/query.h"
#include "show/words.h"
#include "worker/hints.h"
#include "worker/entries.h"
#include "worker/neighbours.h"
#include "worker/persistent.h"
#include "worker/recovery.h"
#include "worker/slot.h"
#include "worker/speaker.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NODE_CHECK_US (120 * JS_SECOND_US)
#define LEASE_SLURM_US INT64_C(900000000)
#define LEASE_US INT64_C(300000000)

/* -------------------------------------------------------------------------------------------------- preparation */

/* Where the output of commands is captured: $TMPDIR if it is there, else /tmp. */
static const char *temporary_directory(void)
{
	const char *tmp = getenv("TMPDIR");

	return tmp != NULL && access(tmp, F_OK) == 0 ? tmp : "/tmp";
}

/* The place of the packed output: a name that no other worker has. */
static void name_packed_log(struct run *r)
{
	const struct js_slurm_env *env = &r->identity.env;
	char random[9], job[80] = "";

	js_file_random_hex(random, 8);
	if (r->config.log_dir[0] == '/')
		(void)snprintf(r->log_dir, sizeof(r->log_dir), "%.4000s/%s", r->config.log_dir, r->config.stack);
	else
		(void)snprintf(r->log_dir, sizeof(r->log_dir), "%.3000s/%.1000s/%s", r->identity.cwd, r->config.log_dir,
			       r->config.stack);
	if (env->job != NULL)
		(void)snprintf(job, sizeof(job), "job%.64s-", env->job);
	(void)snprintf(r->log_name, sizeof(r->log_name), "%s%.200s-%ld-%s", job, env->node, (long)getpid(), random);
}

/* Checks that output can be kept, before anything is claimed; with --output - or files for both streams no log is
 * needed. */
static int check_log_dir(const struct run *r, struct jobstack_error *error)
{
	if (r->config.output_dash || r->config.dry_run || (r->config.output != NULL && r->config.error != NULL) ||
	    js_file_can_make(r->log_dir) == 0)
		return 0;
	return js_error_set(
		error, JOBSTACK_EFILE,
		"can't keep the output in %s: %s: choose another directory with --log-dir, or files with --output",
		r->log_dir, strerror(errno));
}

/* Enters --chdir, if it was given, and notes the directory in which the commands run. */
static int enter_run_directory(struct run *r, struct jobstack_error *error)
{
	const char *dir = r->config.chdir;

	if (dir != NULL && chdir(dir) != 0)
		return js_error_file(error, "--chdir %s", dir);
	if (getcwd(r->run_cwd, sizeof(r->run_cwd)) == NULL)
		return js_error_file(error, "the working directory");
	return 0;
}

/* On a host that may be a login node a worker takes fewer slots than there are CPUs, since others work there, too. */
static void choose_slots(struct run *r)
{
	const struct js_slurm_env *env = &r->identity.env;
	int is_login = env->cpus_per_task < 0 && (js_slurm_is_here() || js_child_is_in_path("srun"));
	unsigned cpus = js_slurm_cpus();

	r->slots_n = (unsigned)r->config.slots;
	if (r->slots_n == 0) {
		r->slots_n = js_slurm_slots(env, cpus, is_login, r->slots_why, sizeof(r->slots_why));
		if (r->slots_n < cpus && is_login && !env->in_slurm && !r->config.quiet && !r->config.dry_run)
			speaker_say("%u slots for %u CPUs, because this may be a login node (Slurm is installed, and "
				    "this is not a job): -j N sets another number",
				    r->slots_n, cpus);
	} else
		(void)snprintf(r->slots_why, sizeof(r->slots_why), "%u slots", r->slots_n);
	if (r->slots_n > SLOTS_MAX)
		r->slots_n = SLOTS_MAX;
	if (r->config.persistent)
		persistent_raise_files(r->slots_n);
}

/* Finds out when the Slurm job ends.  Without an answer the worker works all the same, and says what may happen. */
static void ask_job_end(struct run *r)
{
	const struct js_budget budget = recovery_budget(&r->config, r->handle);
	struct jobstack_error unknown = JOBSTACK_ERROR_INIT;

	r->supervisor.leave.kill_wait_us =
		guard_ask(&r->guard, &r->config, &r->identity.env, &budget, &r->options.job_start_us, &unknown);
	if (unknown.code != 0 && !r->config.quiet)
		speaker_say("Slurm does not say when this job ends (%s): entries may start that can't finish in time",
			    unknown.text);
}

/* Checks that the command can be executed, and its output kept. */
static int check_command(struct run *r, struct jobstack_error *error)
{
	const char *program = js_template_program(r->config.template), *doubt;

	if (program != NULL)
		JS_TRY(js_spawn_resolve(program, getenv("PATH"), &r->supervisor.commands.program, error));
	JS_TRY(check_log_dir(r, error));
	doubt = r->config.quiet ? NULL : hints_of_line(&r->config);
	if (doubt != NULL)
		speaker_say("%s", doubt);
	return 0;
}

/* Makes what starts commands and keeps their output. */
static int make_slots(struct run *r, struct jobstack_error *error)
{
	JS_TRY(js_spawn_new(&r->supervisor.commands.spawn, getenv("PATH"), error));
	JS_TRY(js_packlog_new(&r->supervisor.commands.log, r->log_dir, r->log_name, r->config.log_size, error));
	js_platform_describe(r->supervisor.commands.program.data, &r->platform); /* it shows the job's memory */
	js_slurm_share(&r->identity.env, r->options.step, r->slots_n);
	for (unsigned i = 0; i < r->slots_n; i++)
		JS_TRY(slot_begin(&r->slots[i], i + 1, temporary_directory(), &r->config, error));
	return 0;
}

/* Fills the options with what the database records of this worker. */
static void describe_worker(struct run *r, int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		js_buf_add(&r->argv, argv[i], strlen(argv[i]) + 1);
	r->options.lease_us = r->config.lease_us;
	r->options.slots = r->slots_n;
	r->options.log = r->config.output_dash ? NULL : js_packlog_path(r->supervisor.commands.log);
	r->options.argv = (struct jobstack_bytes){r->argv.data, r->argv.len > 60000 ? 60000 : r->argv.len};
	r->options.cwd = r->run_cwd;
	r->ledger.facts.platform_number = r->options.platform =
		r->platform.failed ? -1 : (int64_t)(js_num_hash(JS_NUM_HASH, r->platform.data, r->platform.len) >> 1);
	r->ledger.facts.platform = r->platform.data;
}

/* Which version of the program runs. */
static int find_version(struct run *r, struct jobstack_error *error)
{
	const struct config *c = &r->config;
	const struct js_program_code code = {c->code, c->code_n, c->code_version};

	return js_program_begin(&r->supervisor.commands.version, c->command, c->words, c->shell, r->run_cwd, &code,
				error);
}

/* A script for a job array would take the same file for each entry. */
static int refuse_array_script(const struct run *r, struct jobstack_error *error)
{
	struct js_buf text = {0};
	char *rest, *line;

	hints_of_array(&r->config, r->supervisor.commands.version, &text);
	rest = text.len > 0 ? text.data : NULL;
	while ((line = strsep(&rest, "\n")) != NULL && *line != '\0')
		speaker_say("%s", line);
	js_buf_free(&text);
	return line == NULL ? 0
			    : js_error_set(error, JOBSTACK_EUSAGE,
					   "nothing was run: end your command line as in one of the two lines above");
}

/* The order: who this is, which names the log; then the directory, in which everything else is looked for; then whether
 * the command can run; and only then what needs memory and files. */
int run_prepare(struct run *r, int argc, char **argv, struct jobstack_error *error)
{
	r->options = (struct jobstack_worker_options)JOBSTACK_WORKER_OPTIONS_INIT;
	js_slurm_identify(&r->identity, &r->options);
	name_packed_log(r);
	JS_TRY(printer_begin(&r->printer, &r->config, &r->box, temporary_directory(), r->identity.env.node, error));
	JS_TRY(enter_run_directory(r, error));
	choose_slots(r);
	if (r->config.lease_us == 0)
		r->config.lease_us = r->identity.env.in_slurm ? LEASE_SLURM_US : LEASE_US;
	JS_TRY(check_command(r, error));
	JS_TRY(make_slots(r, error));
	JS_TRY(find_version(r, error));
	JS_TRY(refuse_array_script(r, error));
	describe_worker(r, argc, argv);
	return 0;
}

/* NULL and zeroes are harmless everywhere, so this also frees what was only partly prepared. */
void run_free(struct run *r)
{
	jobstack_free(r->handle);
	for (unsigned i = 0; i < r->slots_n; i++)
		slot_end(&r->slots[i]);
	js_packlog_free(r->supervisor.commands.log);
	js_spawn_free(r->supervisor.commands.spawn);
	js_program_free(r->supervisor.commands.version);
	js_buf_free(&r->supervisor.commands.program);
	js_buf_free(&r->platform);
	facts_free(&r->ledger.facts);
	js_buf_free(&r->argv);
}

/* ----------------------------------------------------------------------------------------------------- the work */

/* --verbose: says who this worker is, and how long it can go on without the database. */
static void announce_worker(const struct run *r)
{
	char lease[64], outage[64], end[64] = "";

	if (!r->config.verbose)
		return;
	js_num_duration_text(r->config.lease_us, lease, sizeof(lease));
	js_num_duration_text(entries_outage_us(&r->config), outage, sizeof(outage));
	if (r->guard.end_us != 0)
		js_num_duration_text(r->guard.end_us - js_clock_mono_us(), end, sizeof(end));
	speaker_say(
		"worker %llu on %s: stack \"%s\", %s, lease %s, can continue for up to %s without the database%s%s%s%s",
		(unsigned long long)jobstack_worker_id(r->ledger.db.worker), r->identity.env.node, r->config.stack,
		r->slots_why, lease, outage, end[0] != '\0' ? ", the job ends in " : "", end,
		r->config.output_dash ? "" : ", output in ",
		r->config.output_dash ? "" : js_packlog_path(r->supervisor.commands.log));
}

static void warn_of_loss(const struct run *r)
{
	if (r->config.finish_on_loss && !r->config.quiet)
		speaker_say("--on-lease-loss finish: commands are not stopped when the lease is lost, so an entry may "
			    "run twice at once");
}

/* Outcomes wait beside the packed log when the database is away. */
static int begin_outbox(struct run *r, struct jobstack_error *error)
{
	struct outbox *o = &r->outbox;

	o->box = &r->box;
	o->page = r->keeper.page;
	(void)snprintf(o->head.stack, sizeof(o->head.stack), "%s", r->config.stack);
	o->head.worker = jobstack_worker_id(r->ledger.db.worker);
	o->head.lease_us = r->config.lease_us;
	jobstack_worker_token(r->ledger.db.worker, o->head.token);
	outbox_places(o, r->log_dir, r->log_name, getenv("TMPDIR"));
	r->ledger.db.outbox = o;
	return outbox_begin(o, error);
}

/* What becomes of outcomes that wait at the end.  Returns 1 if the reason of the end was printed. */
static int settle_outbox(struct run *r)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	size_t late = 0;
	int may_settle = r->box.leaving == LEAVE_FENCED && !r->outbox.stuck;
	int status = may_settle ? outbox_settle(&r->outbox, r->handle, &late, &error) : JOBSTACK_NOTHING;
	const char *path = outbox_path(&r->outbox);

	if (status == 0 && late > 0)
		speaker_say("%zu outcome%s did not count, because the entries had been requeued before", late,
			    late == 1 ? "" : "s");
	if (status == JOBSTACK_ECONFLICT && late > 0)
		speaker_say("%zu outcomes of this worker can't be delivered%s%s: `jobstack check -s %s --logs %s` "
			    "lists what the database has forgotten",
			    late, path == NULL ? "" : ", and are kept in ", path == NULL ? "" : path, r->config.stack,
			    r->config.log_dir);
	if (status == 0 || status == JOBSTACK_ECONFLICT)
		return 0;
	if (r->waiting > 0 && r->outbox.stuck)
		speaker_say("%zu outcomes could neither be delivered nor written, because a file system does not "
			    "answer: their entries will run again",
			    r->waiting);
	if (r->waiting == 0 || path == NULL)
		return 0;
	if (r->box.why[0] != '\0' && r->box.leaving != LEAVE_FENCED)
		speaker_say("%s", r->box.why);
	speaker_say("%zu outcomes could not be delivered: they are in %s: `jobstack close --replay %s` delivers them "
		    "when the database is back",
		    r->waiting, path, path);
	return 1;
}

/* Gives supervisor, ledger and keeper what they need of each other. */
static void connect_threads(struct run *r)
{
	struct supervisor *s = &r->supervisor;
	struct ledger *l = &r->ledger;
	int64_t now;

	s->config = s->commands.config = &r->config;
	s->box = l->db.box = &r->box;
	s->keeper = l->keeper = &r->keeper;
	s->display = l->survey.display = &r->display;
	s->slots = r->slots;
	s->life = r->keeper.life;
	s->commands.guard = &r->box.guard;
	s->orphans.commands = &s->commands;
	s->orphans.slots = r->slots;
	s->orphans.slots_n = r->box.slots_n;
	s->commands.cwd = l->directory.run = r->run_cwd;
	s->commands.log_dir = r->log_dir;
	s->commands.worker = jobstack_worker_id(l->db.worker);
	s->commands.printer = &r->printer;
	s->commands.wall_us = js_clock_ahead_us(&now);
	js_reap_oom_begin(&s->commands.oom, "/proc/self");
	(void)js_mounts_read(&s->commands.mounts, "/proc/self/mounts");
	l->connection.may_stay = r->identity.env.in_slurm;
	l->facts.version = s->commands.version;
	l->facts.mounts = &s->commands.mounts;
	l->survey.watch_options = recovery_options(&r->config, s->commands.worker);
	ledger_connect(l);
	r->box.deadline_us = jobstack_worker_deadline_us(l->db.worker);
	if (!r->config.finish_on_loss)
		r->keeper.page->deadline_us = r->box.deadline_us;
	jobstack_worker_token(l->db.worker, r->keeper.page->token);
	r->keeper.page->lease_us = r->config.lease_us;
	/* last: from now on the keeper recovers the entries of a worker that was killed */
	r->keeper.page->worker = s->commands.worker;
}

static const char *site_file(const struct run *r)
{
	return r->config.site_path != NULL && *r->config.site_path != '\0' ? r->config.site_path : JS_SITE_FILE;
}

/* Begins --events.  A relative path is one in the directory where the worker was started, not in that of the commands.
 */
static int begin_events(struct run *r, struct jobstack_error *error)
{
	const struct js_slurm_env *e = &r->identity.env;
	const struct events_source source = {.stack = r->config.stack,
					     .node = e->node,
					     .cluster = e->cluster,
					     .job = e->job,
					     .array_job = e->array_job,
					     .array_task = e->array_task,
					     .program = r->supervisor.commands.program.data,
					     .packages = r->supervisor.commands.packages,
					     .site = r->config.events_by_site ? &r->config.site : NULL,
					     .worker = r->supervisor.commands.worker,
					     .wall_us = r->supervisor.commands.wall_us};

	if (r->config.site_error.code != 0 && !r->config.quiet)
		speaker_say("the site's file is ignored (%s)", r->config.site_error.text);
	if (r->config.events == NULL)
		return 0;
	if (r->config.events[0] != '/' && strcmp(r->config.events, "syslog") != 0)
		(void)snprintf(r->events, sizeof(r->events), "%s/%s", r->identity.cwd, r->config.events);
	else
		(void)snprintf(r->events, sizeof(r->events), "%s", r->config.events);
	if (!r->config.quiet)
		speaker_say("an event for each attempt goes to %s%s%s%s", r->events,
			    r->config.events_by_site ? ", because " : "", r->config.events_by_site ? site_file(r) : "",
			    r->config.events_by_site ? " says so (`export JOBSTACK_EVENTS=` switches this off)" : "");
	r->ledger.events = events_begin(r->events, &source, error);
	return r->ledger.events == NULL ? error->code : 0;
}

/* Commands run with or without it. */
static void begin_packages(struct run *r)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_packages *p = NULL;
	char hook[4096];
	int status;

	if (!r->config.packages || r->config.persistent)
		return;
	(void)snprintf(hook, sizeof(hook), "%s/jobstack_packages/sitecustomize.py",
		       js_child_data_dir("shims", JS_SHIMS_DIR, JS_SHIMS_SOURCE_DIR));
	status = js_packages_begin(&p, temporary_directory(), hook, r->slots_n, &error);
	for (unsigned i = 0; i < r->slots_n && status == 0; i++)
		status = js_env_python(r->slots[i].env, js_packages_dir(p)) == 0 ? 0 : js_error_memory(&error);
	r->supervisor.commands.packages = r->ledger.facts.packages = p;
	if (status != 0)
		speaker_say("Python packages are not recorded: %s", error.text);
	else if (!r->config.quiet)
		speaker_say("records the Python packages that commands import%s%s%s (--no-packages switches this off)",
			    r->config.packages_by_site ? ", because " : "",
			    r->config.packages_by_site ? site_file(r) : "",
			    r->config.packages_by_site ? " says so" : "");
}

/* Runs the two threads to their end. */
static int run_threads(struct run *r, struct jobstack_error *error)
{
	pthread_t thread;
	int failed;

	begin_packages(r);
	JS_TRY(begin_events(r, error));
	JS_TRY(begin_outbox(r, error));
	failed = pthread_create(&thread, NULL, ledger_main, &r->ledger);
	if (failed != 0) {
		(void)outbox_end(&r->outbox);
		return js_error_set(error, JOBSTACK_EBUG, "can't start a thread: %s", js_error_process_words(failed));
	}
	r->supervisor.commands.sampler = r->config.persistent ? NULL : js_sampler_begin(r->slots_n);
	supervisor_run(&r->supervisor);
	if (!supervisor_hangs(&r->supervisor)) /* else a thread may still come back, and use it */
		js_sampler_end(r->supervisor.commands.sampler);
	(void)pthread_join(thread, NULL);
	events_end(r->ledger.events);
	if (!supervisor_hangs(&r->supervisor))
		js_packages_end(r->supervisor.commands.packages);
	/* The commands have ended.  From here on things may take long: printing, and the disk under the spool. */
	r->keeper.page->deadline_us = INT64_MAX; /* no command is left */
	printer_end(&r->printer);
	r->waiting = outbox_end(&r->outbox);
	js_reap_oom_end(&r->supervisor.commands.oom);
	js_mounts_free(&r->supervisor.commands.mounts);
	return 0;
}

/* So that other workers don't run into the same failures. */
static void pause_failing_stack(struct run *r)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	const char *stack = r->config.stack, *why = r->box.why;

	if (jobstack_set_state(r->handle, stack, JOBSTACK_PAUSED, why, &error) == 0)
		speaker_say("%s, so the stack \"%s\" is paused now: correct the cause (see `jobstack status -s %s` and "
			    "`jobstack logs -s %s ENTRY`), then `jobstack resume -s %s`, and start workers again",
			    why, stack, stack, stack, stack);
	else
		speaker_say("%s, but the stack could not be paused: %s", why, error.text);
}

/* Prints why the worker left, if that was no ordinary end. */
static void print_reason(const struct run *r)
{
	const struct mailbox *b = &r->box;

	switch (b->leaving) {
	case LEAVE_COMMAND:
	case LEAVE_OUTPUT:
	case LEAVE_ELSEWHERE:
	case LEAVE_MACHINE:
		speaker_say("%s%s: the entries are back in the queue; this does not count as a failed attempt", b->why,
			    hints_of_command(&r->config, b->why_number));
		break;
	case LEAVE_NODE:
		speaker_say("%s: other nodes continue; tell your help desk, and avoid the node with --exclude=%s",
			    b->why, r->ledger.neighbours.node);
		break;
	case LEAVE_KEEPER: speaker_say("%s", b->why); break;
	case LEAVE_DATABASE:
		speaker_say("%s: entries that were running will run again when this worker's lease has ended", b->why);
		break;
	default: break;
	}
}

/* Whatever a person should look at is not 0; failed entries are only with --strict. */
static int choose_exit_status(const struct run *r)
{
	switch (r->box.leaving) {
	case LEAVE_COMMAND:
	case LEAVE_OUTPUT:
	case LEAVE_ELSEWHERE: return JS_EXIT_USAGE;
	case LEAVE_MACHINE: return JS_EXIT_BUG;
	case LEAVE_HALTED:
	case LEAVE_PAUSING:
	case LEAVE_NODE:
	case LEAVE_KEEPER:
	case LEAVE_FENCED: return JS_EXIT_NO;
	case LEAVE_DATABASE: return js_error_exit_status(r->ledger.db.error.code);
	default: return r->config.strict && r->box.failed > 0 ? JS_EXIT_NO : JS_EXIT_OK;
	}
}

/* A stack that fails everywhere is paused first, since the reason says so. */
static void print_summary(struct run *r, int64_t took_us)
{
	const struct mailbox *b = &r->box;

	if (b->leaving == LEAVE_PAUSING)
		pause_failing_stack(r);
	if (b->leaving == LEAVE_FENCED)
		speaker_say("%s", b->why);
	if (!settle_outbox(r))
		print_reason(r);
	display_summary(&r->display, took_us, b->leaving < LEAVE_COMMAND ? b->why : "");
}

/* --node-check: WHY gets the reason not to work here, or "". */
static void check_node(const struct run *r, char *why, size_t size)
{
	const char *line = r->config.node_check, *const argv[] = {"/bin/sh", "-c", line, NULL};
	const struct js_child child = {.argv = argv, .death_signal = SIGKILL};
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_buf out = {0}, text = {0};
	int status = 0;

	*why = '\0';
	if (line == NULL || (js_child_run(&child, &out, &out, NODE_CHECK_US, &status, &error) == 0 && status == 0)) {
		js_buf_free(&out);
		return;
	}
	if (error.code == 0)
		(void)js_error_set(&error, JOBSTACK_EFILE, WIFEXITED(status) ? "exit %d" : "signal %d",
				   WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	show_failed(&text, line, strlen(line), error.text, out.data, out.len);
	(void)snprintf(why, size, "--node-check failed on %s: %s", r->ledger.neighbours.node,
		       text.data != NULL ? text.data : "");
	js_buf_free(&out);
	js_buf_free(&text);
}

/* The order matters.  What may take long comes before signals are blocked, so that TERM just ends it.  The speaker's
 * thread begins after that, since threads inherit the mask.  The keeper gets the worker's number last: from then on it
 * recovers the entries if the worker is killed. */
int run_work(struct run *r, struct jobstack_error *error)
{
	struct jobstack_error ignored = JOBSTACK_ERROR_INIT;
	int64_t began = js_clock_mono_us();
	char unfit[500];
	int status;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	ask_job_end(r); /* it may take a while, and TERM ends it */
	r->ledger.neighbours.node = r->identity.env.node[0] != '\0' ? r->identity.env.node : r->identity.host;
	check_node(r, unfit, sizeof(unfit)); /* this, too */
	r->supervisor.signals = supervisor_signals();
	if (r->supervisor.signals < 0)
		return js_error_set(error, JOBSTACK_EBUG, "signalfd: %s", strerror(errno));
	js_spawn_look_signals(r->supervisor.commands.spawn);
	JS_TRY(mailbox_begin(&r->box, r->slots_n, error));
	r->box.guard = r->guard;
	display_begin(&r->display, &r->config, &r->box);
	speaker_begin(r->config.of_run ? "jobstack run" : "jobstack-worker", r->display.on ? display_draw : NULL,
		      &r->display);
	r->ledger.db.config = &r->config;
	r->ledger.db.handle = r->handle;
	status = database_begin(&r->ledger.db, &r->options, r->supervisor.signals, error);
	if (status != 0) {
		(void)speaker_end();
		return status > 0 ? JS_EXIT_OK : status;
	}
	announce_worker(r);
	warn_of_loss(r);
	connect_threads(r);
	if (unfit[0] != '\0')
		neighbours_leave(&r->ledger.neighbours, unfit);
	status = run_threads(r, error);
	if (status == 0) {
		print_summary(r, js_clock_mono_us() - began);
		status = choose_exit_status(r);
	} else if (jobstack_worker_end(r->ledger.db.worker, NULL, 0, JOBSTACK_CAUSE_OTHER, error->text, &ignored) == 0)
		r->keeper.page->worker = 0; /* it has claimed nothing */
	/* a thread hangs in a call: nothing that it uses may be freed */
	if (speaker_end() || r->outbox.stuck || supervisor_hangs(&r->supervisor)) {
		r->keeper.page->status = status < 0 ? js_error_exit_status(status) : status;
		r->keeper.page->left_us = js_clock_mono_us();
		_exit(r->keeper.page->status);
	}
	js_buf_free(&r->display.failures);
	outbox_free(&r->outbox);
	jobstack_worker_free(r->ledger.db.worker);
	mailbox_end(&r->box);
	return status;
}
