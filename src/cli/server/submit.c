/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack server submit: the private server in a Slurm job, which submits the next one before its wall time is over.
 * Promise: nothing is submitted while the server runs or a chain of jobs exists.
 */
#include "cli/server/job.h"

#include "base/clock.h"
#include "base/error.h"
#include "view/json.h"
#include "cli/sbatch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASK_US (3 * JS_SECOND_US) /* how often the controller is asked for the job's state */
/* Seconds before the job's end at which Slurm sends the signal: the time that a server may need to stop.  Slurm may
 * send it up to a minute early. */
#define STOP_S 120

enum { PORT = CLI_OWN, MEMORY };

static struct request {
	struct cli cli;
	struct js_server_options o;
	struct cli_words passed, run; /* options of sbatch, and of `server run` */
	char data[CLI_PATH], client_file[CLI_PATH], script[CLI_PATH + 32];
	int dry_run, parsable;
	int64_t wait_us;
} request;

/* Checks the value of an option of `server run`, and keeps the option for its command line. */
static int take_run_option(struct cli *cli, void *ctx, int key, const char *arg)
{
	uint64_t n = 0;
	const char *word;
	int status = cli_take(cli,
			      key == PORT     ? CLI_NUMBER(&n, 1, 65535, CLI_SERVER_PORT)
			      : key == MEMORY ? CLI_BY(cli_server_memory, &n)
					      : CLI_NAME(&word),
			      key, arg);

	cli_words_format(ctx, "--%s=%s", cli_option(cli, key)->name, arg);
	return status;
}

static const struct js_opt table[] = {
	{0, "data", "DIR", "the server's directory, which all nodes must see (default: as for start)",
	 CLI_NAME(&request.o.data)},
	{0, "bind", "HOST", "the name at which clients reach the node; %h is its host name\n(default: %h)",
	 CLI_BY(take_run_option, &request.run)},
	{PORT, "port", "N", "the TCP port (default: a free one, kept for later starts)",
	 CLI_BY(take_run_option, &request.run)},
	{0, "program", "FILE", "the server program (default: searches for mariadbd or mysqld)",
	 CLI_BY(take_run_option, &request.run)},
	{0, "client-file", "FILE", "write the option file for clients here (default: as for start)",
	 CLI_NAME(&request.o.client_file)},
	{MEMORY, "memory", "SIZE", "the server's cache (default: 256M)", CLI_BY(take_run_option, &request.run)},
	{0, "wait", "D",
	 "wait until the server is up, at most D; exit status 124 if it is not,\n1 if its job has ended",
	 CLI_TIME(&request.wait_us, 1, "a duration such as 90, 15m or 2h")},
	{0, "sbatch", "OPTIONS",
	 "more options for sbatch: needed for short options, and for sbatch options that have the same name as one in "
	 "this list",
	 CLI_BY(cli_sbatch_take, &request.passed)},
	{0, "dry-run", NULL, "show the batch script and the sbatch command, and submit nothing",
	 CLI_FLAG(&request.dry_run)},
	{0, "parsable", NULL, "print only the job's number", CLI_FLAG(&request.parsable)},
	CLI_OPTS_JSON,
	CLI_OPTS_ALWAYS,
	CLI_OPTS_SBATCH(&request.passed),
	CLI_OPTS_END};
static const struct js_opts opts = {
	"jobstack server submit",
	"[OPTIONS] [--OPT=VALUE for sbatch]",
	"Runs the private server in a Slurm job. As soon as the server is up, its job submits a successor. "
	"The\nsuccessor waits until the first job has ended, then serves the same data, perhaps on another node. Each "
	"job updates\nthe option file by which clients find the server.",
	table,
	"  jobstack server submit --time=7-00:00:00 --mem=2G --wait 1h && jobstack init\n\n"
	"`jobstack server stop` ends the server and the chain of jobs; `jobstack server status` shows where it is.\n"
	"See docs/GUIDE.md.",
	1};

/* The minutes of sbatch's --time if it is less than a day: "30", "30:00", "1:30:00"; else -1. */
static int64_t read_minutes(const char *time)
{
	unsigned first, second, third;
	char end;

	switch (sscanf(time, "%9u:%9u:%9u%c", &first, &second, &third, &end)) {
	case 1: return time[strspn(time, "0123456789")] == '\0' ? (int64_t)first : -1;
	case 2: return time[strspn(time, "0123456789:")] == '\0' ? (int64_t)first : -1;
	case 3: return 60 * (int64_t)first + second;
	default: return -1;
	}
}

/* Refuses a wall time that is too short for a server. */
static int refuse_short(struct request *r)
{
	const char *time = cli_sbatch_value(&r->passed, "time", 't');
	int64_t least = CLI_SERVER_WALL_US / (60 * JS_SECOND_US),
		given = time != NULL && *time != '\0' ? read_minutes(time) : -1;

	if (given <= 0 || given >= least || cli_sbatch_value(&r->passed, "signal", 0) != NULL)
		return 0; /* 0: no limit */
	return cli_usage(&r->cli,
			 "--time=%s is too short: give at least %" PRId64
			 " minutes, because the server stops 2 to 3 minutes before its job ends",
			 time, least);
}

static int parse_server_submit(struct request *r, int argc, char **argv)
{
	int status = cli_parse(&r->cli, &opts, argc, argv, NULL);

	if (status != CLI_GO_ON)
		return status;
	JS_TRY(cli_sbatch_check(&r->cli, &r->passed, r->dry_run, r->parsable));
	if (r->cli.words_n > 0)
		return cli_usage(&r->cli, "`jobstack server submit` takes no command after --");
	JS_TRY(cli_server_paths(&r->cli, &r->o));
	if (cli_absolute(r->o.data, r->data) != 0 || cli_absolute(r->o.client_file, r->client_file) != 0)
		return cli_usage(&r->cli, "the path of --data or of --client-file is too long");
	r->o.data = r->data;
	r->o.client_file = r->client_file;
	JS_TRY(refuse_short(r));
	return CLI_GO_ON;
}

/* sbatch's options: the user's, and those that the server needs. */
static void add_sbatch_options(const struct request *r, struct cli_words *words)
{
	if (cli_sbatch_value(&r->passed, "job-name", 'J') == NULL)
		cli_words_add(words, "--job-name=jobstack-server");
	if (cli_sbatch_value(&r->passed, "ntasks", 'n') == NULL)
		cli_words_add(words, "--ntasks=1");
	if (cli_sbatch_value(&r->passed, "signal", 0) == NULL)
		cli_words_format(words, "--signal=B:TERM@%d", STOP_S);
	if (cli_sbatch_value(&r->passed, "output", 'o') == NULL)
		cli_sbatch_output(words, cli_server_beside(r->data, ""), ".job-%j.log");
	cli_words_add(words, "--no-requeue"); /* the next job is what comes after a node that failed */
	cli_words_all(words, &r->passed);
}

static void write_server_script(const struct request *r, const struct cli_words *call, struct js_buf *out)
{
	struct cli_words line = {0};

	cli_words_format(&line, "%s/jobstack", js_child_program_dir());
	cli_words_add(&line, "server");
	cli_words_add(&line, "run");
	cli_words_format(&line, "--data=%s", r->data);
	cli_words_format(&line, "--client-file=%s", r->client_file);
	cli_words_add(&line, "--bind=%h");
	cli_words_all(&line, &r->run);
	for (size_t i = 0; i < call->n; i++)
		cli_words_format(&line, "--again=%s", call->at[i]);
	js_buf_printf(out,
		      "#!/bin/bash\n# Written by jobstack server submit %s: a private server for jobstack, in %s\n",
		      jobstack_version(), strchr(r->data, '\n') == NULL ? r->data : "a directory");
	js_buf_str(out, "exec ");
	cli_words_quote(out, &line);
	js_buf_char(out, '\n');
	out->failed |= line.failed;
	cli_words_free(&line);
}

/* Refuses if the server runs, or a job for it exists. */
static int refuse_second_server(struct request *r)
{
	static struct js_server_info info;
	char jobs[64];

	if (js_server_status(&r->o, &info, &r->cli.error) != 0)
		return cli_fail(&r->cli);
	cli_server_jobs(r->data, jobs);
	if (info.state != JS_SERVER_STOPPED && info.state != JS_SERVER_CRASHED)
		cli_tell(&r->cli,
			 "the server of %s is already running, or may be, on %s%s%s: `jobstack server stop --data %s` "
			 "stops it",
			 r->data, info.owner.host, info.owner.job[0] != '\0' ? " in Slurm job " : "", info.owner.job,
			 r->data);
	else if (jobs[0] != '\0')
		cli_tell(&r->cli,
			 "a job for this server is already submitted (%s): `jobstack server stop --data %s` cancels it",
			 jobs, r->data);
	else
		return 0;
	return CLI_NO;
}

/* JOB's server is not up yet.  Returns 1 if it never will be.  Else HOW is the job's state in Slurm, or "". */
static int job_has_failed(const struct request *r, const char *job, char how[100])
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	static struct js_slurm_job slurm;

	how[0] = '\0';
	if (cli_server_job_ask(job, NULL, 0, &slurm, &error) != 0)
		return 0;
	(void)snprintf(how, 100, " (%s)", slurm.state);
	if (!slurm.terminal)
		return 0;
	cli_tell(&r->cli, "job %s ended (%s) before its server was up: see %s.job-%s.log", job, slurm.state, r->data,
		 job);
	return 1;
}

/* Waits until the server of JOB answers. */
static int wait_for_server(struct request *r, const char *job)
{
	static struct js_server_info info;
	int64_t until = js_clock_mono_us() + r->wait_us, ask_at = js_clock_mono_us() + ASK_US;
	struct jobstack_options login = JOBSTACK_OPTIONS_INIT;
	struct jobstack_error error;
	char how[100] = "";

	login.defaults_file = r->client_file;
	for (;;) {
		if (js_server_status(&r->o, &info, &r->cli.error) != 0)
			return cli_fail(&r->cli);
		js_error_clear(&error);
		if (info.state == JS_SERVER_RUNNING && strcmp(info.owner.job, job) == 0 &&
		    jobstack_open(&r->cli.handle, &login, &error) == 0)
			break; /* this host can use it */
		if (cli_stop != 0)
			return CLI_NO;
		if (js_clock_mono_us() > until) {
			cli_tell(&r->cli,
				 "job %s is submitted%s, but its server is not up yet: see `squeue -j %s` and "
				 "%s.job-%s.log",
				 job, how, job, r->data, job);
			return CLI_TIMEOUT;
		}
		if (js_clock_mono_us() > ask_at) {
			if (job_has_failed(r, job, how))
				return CLI_NO;
			ask_at = js_clock_mono_us() + ASK_US;
		}
		js_clock_nap(JS_SECOND_US / 5, &cli_stop);
	}
	if (!r->cli.quiet && !r->cli.json && !r->parsable)
		(void)printf("running: %s:%u\nclients: %s\n", info.owner.bind, info.owner.port, info.owner.client_file);
	return CLI_YES;
}

static int print_server_job(struct request *r, const char *job)
{
	if (r->cli.json)
		return CLI_PRINT(KEY_INT("job", strtoll(job, NULL, 10), 1), KEY_TEXT("data", r->data),
				 KEY_TEXT("client_file", r->client_file), KEY_TEXT("script", r->script));
	if (r->parsable)
		(void)printf("%s\n", job);
	else if (!r->cli.quiet)
		(void)printf("job %s: a server for %s\nscript: %s\n", job, r->data, r->script);
	(void)fflush(stdout);
	return CLI_YES;
}

static int submit_server(struct request *r, const struct cli_words *call, const struct js_buf *text)
{
	char number[32];
	uint64_t job;
	int status;

	JS_TRY(refuse_second_server(r));
	JS_TRY(cli_sbatch_keep(&r->cli, r->script, text));
	status = cli_sbatch(&r->cli, call, &job);
	if (status < 0)
		return cli_fail(&r->cli);
	if (status == 1) {
		cli_say(&r->cli, "not submitted: sbatch refused the job (see above)");
		return CLI_NO;
	}
	(void)snprintf(number, sizeof(number), "%" PRIu64, job);
	if (cli_server_jobs_write(r->data, number, cli_server_cluster()) != 0) {
		(void)js_error_set(&r->cli.error, JOBSTACK_EFILE, "%s can't be written: the job is cancelled",
				   cli_server_beside(r->data, ".jobs"));
		(void)cli_scancel(&r->cli, number);
		return cli_fail(&r->cli);
	}
	status = print_server_job(r, number);
	return status == CLI_YES && r->wait_us > 0 ? wait_for_server(r, number) : status;
}

int cli_server_submit_main(int argc, char **argv)
{
	struct request *r = &request;
	struct cli_words options = {0}, call = {0};
	struct js_buf text = {0};
	int status = parse_server_submit(r, argc, argv);

	if (status != CLI_GO_ON)
		return status;
	status = r->dry_run ? 0 : cli_sbatch_find(&r->cli, "`jobstack server start` runs the server on this host");
	if (status != 0)
		return status;
	cli_catch_signals();
	(void)snprintf(r->script, sizeof(r->script), "%s", cli_server_beside(r->data, ".sbatch"));
	add_sbatch_options(r, &options);
	cli_sbatch_words(&call, &options, r->script);
	write_server_script(r, &call, &text);
	if (r->dry_run) {
		cli_words_quote(&text, &call);
		(void)printf("%s\n", text.failed ? "" : text.data);
	} else
		status = submit_server(r, &call, &text);
	cli_words_free(&options);
	cli_words_free(&call);
	js_buf_free(&text);
	return cli_end(&r->cli, status);
}
