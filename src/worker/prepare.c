/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Makes a run ready.  Promise: what is wrong with the command, the directories or the output is told before anything is
 * claimed.
 */
#define _GNU_SOURCE
#include "base/error.h"
#include "base/file.h"
#include "worker/advice.h"
#include "worker/persistent.h"
#include "worker/run.h"
#include "worker/speaker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEASE_SLURM_US INT64_C(900000000)
#define LEASE_US INT64_C(300000000)

/* Where the packed output goes: a name that no other worker has. */
static void name_packed_log(struct run *r)
{
	const struct js_slurm_env *env = &r->identity.env;
	char random[9];

	js_file_random_hex(random, 8);
	if (r->config.log_dir[0] == '/')
		(void)snprintf(r->log_dir, sizeof(r->log_dir), "%.4000s/%s", r->config.log_dir, r->config.stack);
	else
		(void)snprintf(r->log_dir, sizeof(r->log_dir), "%.3000s/%.1000s/%s", r->identity.cwd, r->config.log_dir,
			       r->config.stack);
	(void)snprintf(r->log_name, sizeof(r->log_name), "%s%.64s%s%.200s-%ld-%s", env->job != NULL ? "job" : "",
		       env->job != NULL ? env->job : "", env->job != NULL ? "-" : "", env->node, (long)getpid(),
		       random);
}

/* Whether the output can be kept, before anything is claimed. */
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

/* The directory that the commands run in. */
static int enter_run_directory(struct run *r, struct jobstack_error *error)
{
	const char *dir = r->config.chdir;

	if (dir != NULL && chdir(dir) != 0)
		return js_error_file(error, "--chdir %s", dir);
	if (getcwd(r->run_cwd, sizeof(r->run_cwd)) == NULL)
		return js_error_file(error, "the working directory");
	return 0;
}

static void choose_slots(struct run *r)
{
	r->slots_n = r->config.slots;
	if (r->slots_n == 0)
		r->slots_n = js_slurm_slots(&r->identity.env, js_slurm_cpus(), r->slots_why, sizeof(r->slots_why));
	else
		(void)snprintf(r->slots_why, sizeof(r->slots_why), "%u slots", r->slots_n);
	if (r->slots_n > SLOTS_MAX)
		r->slots_n = SLOTS_MAX;
	if (r->config.persistent)
		persistent_raise_files(r->slots_n);
}

static void ask_job_end(struct run *r)
{
	struct jobstack_error unknown = JOBSTACK_ERROR_INIT;

	r->supervisor.kill_wait_us = guard_ask(&r->guard, &r->config, &r->identity.env, getenv("JOBSTACK_MODULE_DIR"),
					       &r->options.job_start_us, &unknown);
	if (unknown.code != 0 && !r->config.quiet)
		speaker_say("Slurm does not say when this job ends (%s): entries may start that can't finish in time",
			    unknown.text);
}

/* Whether the command can be executed, and its output kept. */
static int check_command(struct run *r, struct jobstack_error *error)
{
	const char *program = js_template_program(r->config.template), *doubt;
	int status = 0;

	if (program != NULL)
		status = js_spawn_resolve(program, getenv("PATH"), &r->supervisor.all.program, error);
	if (status == 0)
		status = check_log_dir(r, error);
	doubt = status == 0 && !r->config.quiet ? advice_doubt(&r->config) : NULL;
	if (doubt != NULL)
		speaker_say("%s", doubt);
	return status;
}

static int make_slots(struct run *r, struct jobstack_error *error)
{
	const char *tmp = getenv("TMPDIR");
	int status = js_spawn_new(&r->supervisor.all.spawn, getenv("PATH"), error);

	if (status == 0)
		status = js_packlog_new(&r->supervisor.all.log, r->log_dir, r->log_name, r->config.log_size, error);
	for (unsigned i = 0; status == 0 && i < r->slots_n; i++)
		status = slot_begin(&r->slots[i], i + 1, tmp != NULL && *tmp != '\0' ? tmp : "/tmp", &r->config, error);
	return status;
}

/* What the database is told of this worker. */
static void describe_worker(struct run *r, int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		js_buf_add(&r->argv, argv[i], strlen(argv[i]) + 1);
	r->options.lease_us = r->config.lease_us;
	r->options.slots = r->slots_n;
	r->options.log = r->config.output_dash ? NULL : js_packlog_path(r->supervisor.all.log);
	r->options.argv = (struct jobstack_bytes){r->argv.data, r->argv.len > 60000 ? 60000 : r->argv.len};
	r->options.cwd = r->run_cwd;
}

int run_prepare(struct run *r, int argc, char **argv, struct jobstack_error *error)
{
	int status;

	r->options = (struct jobstack_worker_options)JOBSTACK_WORKER_OPTIONS_INIT;
	js_slurm_identify(&r->identity, &r->options);
	name_packed_log(r);
	status = enter_run_directory(r, error);
	if (status != 0)
		return status;
	choose_slots(r);
	if (r->config.lease_us == 0)
		r->config.lease_us = r->identity.env.in_slurm ? LEASE_SLURM_US : LEASE_US;
	ask_job_end(r);
	status = check_command(r, error);
	if (status == 0)
		status = make_slots(r, error);
	if (status == 0)
		describe_worker(r, argc, argv);
	return status;
}

void run_free(struct run *r)
{
	jobstack_free(r->handle);
	for (unsigned i = 0; i < r->slots_n; i++)
		slot_end(&r->slots[i]);
	js_packlog_free(r->supervisor.all.log);
	js_spawn_free(r->supervisor.all.spawn);
	js_buf_free(&r->supervisor.all.program);
	js_buf_free(&r->argv);
}
