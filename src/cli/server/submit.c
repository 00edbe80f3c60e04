/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack server submit: the private server as a Slurm job that is followed by another before its wall time is over.
 * Promise: nothing is submitted beside a server that runs, or a chain of jobs that is there.
 */
#define _GNU_SOURCE
#include "cli/server/job.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/num.h"
#include "view/json.h"
#include "cli/sbatch.h"

#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ASK_US (3 * JS_SECOND_US) /* so often the controller is asked what has become of the job */
#define STOP_S                                                                                                         \
	120 /* before the wall time: as long as a server may take to stop, which Slurm may lengthen by a minute */

enum { DATA = CLI_OWN, BIND, PORT, PROGRAM, CLIENT_FILE, MEMORY, WAIT, SBATCH, DRY_RUN, PARSABLE };

static const struct js_opt table[] = {
	{DATA, "data", "DIR", "the server's directory, which all nodes see (default as for start)"},
	{BIND, "bind", "HOST", "the name by which the node is reached; %h stands for its host name\n(default: %h)"},
	{PORT, "port", "N", "the TCP port (default: a free one, kept for later starts)"},
	{PROGRAM, "program", "FILE", "the server program (default: mariadbd or mysqld, looked for)"},
	{CLIENT_FILE, "client-file", "FILE", "where the option file for clients goes"},
	{MEMORY, "memory", "SIZE", "the server's cache (default: 256M)"},
	{WAIT, "wait", "D", "wait until it is up, D at most; status 124 if it is not by then,\n1 if its job has ended"},
	{SBATCH, "sbatch", "OPTIONS", "further options for sbatch: short ones, or of the names above"},
	{DRY_RUN, "dry-run", NULL, "show what would be handed to sbatch, and do nothing"},
	{PARSABLE, "parsable", NULL, "print just the job's number"},
	CLI_OPTS_JSON,
	CLI_OPTS_ALWAYS,
	CLI_OPTS_END};
static const struct js_opts opts = {"jobstack server submit",
				    "[OPTIONS] [--OPT=VALUE for sbatch]",
				    "Runs the private server in a Slurm job. Once it is up, that job submits the next "
				    "one, which waits for its end and\n"
				    "then serves the same data, perhaps on another node. Clients find it by the option "
				    "file that each of them writes.",
				    table,
				    "  jobstack server submit --time=7-00:00:00 --mem=2G --wait 1h && jobstack init\n\n"
				    "`jobstack server stop` ends the server and the chain of jobs; `jobstack server "
				    "status` tells where it is.  See\n"
				    "docs/SUBMIT.md.",
				    0};

struct request {
	struct cli cli;
	struct js_server_options o;
	struct cli_words mine, passed, run; /* our options as they were typed; sbatch's; those of `server run` */
	char data[CLI_PATH], client_file[CLI_PATH], script[CLI_PATH + 32];
	int dry_run, parsable;
	int64_t wait_us;
};

static int take(struct request *r, int key, const char *arg)
{
	uint64_t n;

	if (key != SBATCH && cli_not_empty(&r->cli, key, arg) != 0)
		return CLI_USAGE;
	switch (key) {
	case DATA: r->o.data = arg; break;
	case CLIENT_FILE: r->o.client_file = arg; break;
	case DRY_RUN: r->dry_run = 1; break;
	case PARSABLE: r->parsable = 1; break;
	case BIND: cli_words_format(&r->run, "--bind=%s", arg); break;
	case PROGRAM: cli_words_format(&r->run, "--program=%s", arg); break;
	case WAIT:
		if (js_num_duration(arg, &r->wait_us) != 0 || r->wait_us <= 0)
			return cli_usage(&r->cli, "--wait takes a duration such as 90, 15m or 2h, not \"%s\"", arg);
		break;
	case SBATCH:
		if (cli_words_split(&r->passed, arg) != 0)
			return cli_usage(&r->cli, "--sbatch: a quote is open in \"%s\"", arg);
		break;
	case PORT:
		if (js_num_u64(arg, 1, 65535, &n) != 0)
			return cli_usage(&r->cli, "--port takes a number from 1 to 65535, not \"%s\"", arg);
		cli_words_format(&r->run, "--port=%s", arg);
		break;
	default:
		if (js_num_size(arg, &n) != 0 || n < JS_SERVER_MEMORY_MIN)
			return cli_usage(&r->cli,
					 "--memory takes a size of at least 16M, such as 512M or 2G, not \"%s\"", arg);
		cli_words_format(&r->run, "--memory=%s", arg);
	}
	return 0;
}

/* The minutes of sbatch's --time if it says less than a day: "30", "30:00", "1:30:00"; else -1. */
static int64_t minutes(const char *time)
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

/* A wall time that is over before the server is of use. */
static int refuse_short(struct request *r)
{
	const char *time = cli_sbatch_value(&r->passed, "time", 't');
	int64_t least = CLI_SERVER_WALL_US / (60 * JS_SECOND_US),
		given = time != NULL && *time != '\0' ? minutes(time) : -1;

	if (given <= 0 || given >= least || cli_sbatch_value(&r->passed, "signal", 0) != NULL)
		return 0; /* 0: no limit */
	return cli_usage(
		&r->cli,
		"--time=%s: the server is stopped two or three minutes before its job's end, so that less than %" PRId64
		" minutes leave it no time",
		time, least);
}

static int parse(struct request *r, int argc, char **argv)
{
	const char *arg;
	int key = -1, status, rest;

	cli_begin(&r->cli, &opts);
	cli_words_add(&r->mine, argv[0]);
	status = cli_sbatch_sort(&r->cli, argc, argv, &r->mine, &r->passed, &rest);
	optind = 0;
	while (status == 0 && (key = cli_next(&r->cli, (int)r->mine.n, r->mine.at, &arg, &status)) >= 0)
		status = take(r, key, arg);
	if (status != 0)
		return status;
	if (key == -2)
		return -1;
	if (rest < argc)
		return cli_usage(&r->cli, "no command is wanted behind --");
	if (r->cli.json && r->parsable)
		return cli_usage(&r->cli, "--json and --parsable contradict each other");
	if (r->dry_run && (r->cli.json || r->parsable))
		return cli_usage(&r->cli,
				 "--dry-run shows the script, and there is no job whose number --%s could print",
				 r->cli.json ? "json" : "parsable");
	if (r->o.data == NULL)
		r->o.data = cli_server_data();
	if (r->o.client_file == NULL)
		r->o.client_file = cli_server_file();
	if (r->o.data == NULL || r->o.client_file == NULL || *r->o.client_file == '\0')
		return cli_usage(&r->cli, "there is no $HOME: give --data and --client-file");
	if (cli_absolute(r->o.data, r->data) != 0 || cli_absolute(r->o.client_file, r->client_file) != 0)
		return cli_usage(&r->cli, "the path of --data or of --client-file is too long");
	r->o.data = r->data;
	r->o.client_file = r->client_file;
	status = cli_sbatch_refuse(&r->cli, &r->passed);
	return status != 0 ? status : refuse_short(r);
}

/* sbatch's options: the user's, and what is needed besides. */
static void options_words(const struct request *r, struct cli_words *words)
{
	if (cli_sbatch_value(&r->passed, "job-name", 'J') == NULL)
		cli_words_add(words, "--job-name=jobstack-server");
	if (cli_sbatch_value(&r->passed, "ntasks", 'n') == NULL)
		cli_words_add(words, "--ntasks=1");
	if (cli_sbatch_value(&r->passed, "signal", 0) == NULL)
		cli_words_format(words, "--signal=B:TERM@%d", STOP_S);
	if (cli_sbatch_value(&r->passed, "output", 'o') == NULL) {
		struct js_buf path = {0};

		cli_sbatch_file(&path, cli_server_beside(r->data, ""));
		cli_words_format(words, "--output=%s.job-%%j.log", path.failed ? "" : path.data);
		js_buf_free(&path);
	}
	cli_words_add(words, "--no-requeue"); /* the next job is what comes after a node that failed */
	cli_words_all(words, &r->passed);
}

static void script(const struct request *r, const struct cli_words *call, struct js_buf *out)
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

/* Nothing may be there already. */
static int look(struct request *r)
{
	static struct js_server_info info;
	char jobs[64];

	if (js_server_status(&r->o, &info, &r->cli.error) != 0)
		return cli_fail(&r->cli);
	cli_server_jobs(r->data, jobs);
	if (info.state != JS_SERVER_STOPPED && info.state != JS_SERVER_CRASHED)
		(void)fprintf(stderr,
			      "%s: the server of %s runs already, or may run, on %s%s%s: `jobstack server status` "
			      "tells, `jobstack server stop` ends it\n",
			      opts.command, r->data, info.host, info.job[0] != '\0' ? " in Slurm job " : "", info.job);
	else if (jobs[0] != '\0')
		(void)fprintf(stderr,
			      "%s: there is a job for it already: %s: `squeue -j %.*s` tells whether it waits, "
			      "`jobstack server stop` takes it away\n",
			      opts.command, jobs, (int)strcspn(jobs, " "), jobs);
	else
		return 0;
	return CLI_NO;
}

/* JOB has no server yet.  1: nor will it have one.  Else HOW says what Slurm makes of it, if that can be seen. */
static int has_failed(const struct request *r, const char *job, char how[100])
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	static struct js_slurm_job slurm;

	how[0] = '\0';
	if (cli_server_job_ask(job, 0, &slurm, &error) != 0)
		return 0;
	(void)snprintf(how, 100, " (%s)", slurm.state);
	if (!slurm.terminal)
		return 0;
	cli_tell(&r->cli, "job %s has ended (%s), and its server is not up: %s.job-%s.log tells why", job, slurm.state,
		 r->data, job);
	return 1;
}

/* Until the server of JOB answers. */
static int wait_for_it(struct request *r, const char *job)
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
		if (info.state == JS_SERVER_RUNNING && strcmp(info.job, job) == 0 &&
		    jobstack_open(&r->cli.handle, &login, &error) == 0)
			break; /* it can be used from here */
		if (cli_stop != 0)
			return CLI_NO;
		if (js_clock_mono_us() > until) {
			cli_tell(&r->cli,
				 "job %s is submitted%s, but its server is not up yet: `squeue -j %s` and "
				 "%s.job-%s.log tell why",
				 job, how, job, r->data, job);
			return CLI_TIMEOUT;
		}
		if (js_clock_mono_us() > ask_at) {
			if (has_failed(r, job, how))
				return CLI_NO;
			ask_at = js_clock_mono_us() + ASK_US;
		}
		js_clock_nap(JS_SECOND_US / 5, &cli_stop);
	}
	if (!r->cli.quiet && !r->cli.json && !r->parsable)
		(void)printf("running: %s:%u\nclients: %s\n", info.bind, info.port, info.client_file);
	return CLI_YES;
}

static int print(struct request *r, const char *job)
{
	json_t *o;
	int bad = 0;

	if (r->parsable)
		(void)printf("%s\n", job);
	else if (r->cli.json) {
		o = json_object();
		bad |= json_object_set_new(o, "job", json_integer(strtoll(job, NULL, 10)));
		bad |= view_json_bytes(o, "data", r->data, strlen(r->data));
		bad |= view_json_bytes(o, "client_file", r->client_file, strlen(r->client_file));
		bad |= view_json_bytes(o, "script", r->script, strlen(r->script));
		return view_json_print(o, bad) == 0 ? CLI_YES : CLI_BUG;
	} else if (!r->cli.quiet)
		(void)printf("job %s: a server for %s\nscript: %s\n", job, r->data, r->script);
	(void)fflush(stdout);
	return CLI_YES;
}

static int submit(struct request *r, const struct cli_words *call, const struct js_buf *text)
{
	char number[32];
	uint64_t job;
	int status = look(r);

	if (status == 0)
		status = cli_sbatch_keep(&r->cli, r->script, text);
	if (status != 0)
		return status;
	status = cli_sbatch(&r->cli, call, &job);
	if (status < 0)
		return cli_fail(&r->cli);
	if (status == 1) {
		cli_say(&r->cli, "sbatch did not take it, for what it said above: nothing was submitted");
		return CLI_NO;
	}
	(void)snprintf(number, sizeof(number), "%" PRIu64, job);
	if (cli_server_jobs_write(r->data, number) != 0) {
		(void)js_error_set(&r->cli.error, JOBSTACK_EFILE, "%s can't be written: the job is cancelled",
				   cli_server_beside(r->data, ".jobs"));
		(void)cli_scancel(&r->cli, number);
		return cli_fail(&r->cli);
	}
	status = print(r, number);
	return status == CLI_YES && r->wait_us > 0 ? wait_for_it(r, number) : status;
}

int cli_server_submit_main(int argc, char **argv)
{
	static struct request r;
	struct cli_words options = {0}, call = {0};
	struct js_buf text = {0};
	int status = parse(&r, argc, argv);

	if (status != 0)
		return status < 0 ? CLI_YES : status;
	if (!r.dry_run && !js_child_is_in_path("sbatch")) {
		(void)fprintf(stderr,
			      "%s: there is no sbatch in $PATH: is this a host of a Slurm cluster, or is a module to "
			      "be loaded? `jobstack server start` runs it here\n",
			      opts.command);
		return CLI_USAGE;
	}
	cli_catch_signals();
	(void)signal(SIGCHLD, SIG_DFL);
	(void)snprintf(r.script, sizeof(r.script), "%s", cli_server_beside(r.data, ".sbatch"));
	options_words(&r, &options);
	cli_sbatch_words(&call, &options, r.script);
	script(&r, &call, &text);
	if (r.dry_run) {
		cli_words_quote(&text, &call);
		(void)printf("%s\n", text.failed ? "" : text.data);
	} else
		status = submit(&r, &call, &text);
	cli_words_free(&options);
	cli_words_free(&call);
	js_buf_free(&text);
	return cli_end(&r.cli, status);
}
