/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack server submit: the private server in a Slurm job, which submits the next one before its wall time is over.
 * Promise: nothing is submitted while the server runs or a chain of jobs exists.
 */
#include "base/clock.h"
#include "base/error.h"
#include "show/json.h"
#include "frame/sbatch.h"
#include "server/chain.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASK_US (3 * JS_SECOND_US) /* how often the controller is asked for the job's state */
/* Seconds before the job's end at which Slurm sends the signal: the time that a server may need to stop.  Slurm may
 * send it up to a minute early. */
#define STOP_S 120

static struct request {
	struct server s;
	struct cli_words passed; /* options of sbatch */
	char script[JS_LAYOUT_PATH + 32];
	int dry_run, parsable;
	int64_t wait_us;
} request;

static const struct js_opt table[] = {
	{0, "data", "DIR", "the server's directory, which all nodes must see (default: as for start)",
	 CLI_NAME(&request.s.data)},
	{0, "bind", "HOST", "the name at which clients reach the node; %h is its host name\n(default: %h)",
	 CLI_NAME(&request.s.bind)},
	{0, "port", "N", "the TCP port (default: a free one, kept for later starts)",
	 CLI_NUMBER(&request.s.port, 1, 65535, SERVER_PORT_WORDS)},
	{0, "program", "FILE", "the server program (default: searches for mariadbd or mysqld)",
	 CLI_NAME(&request.s.program_file)},
	{0, "client-file", "FILE", "write the option file for clients here (default: as for start)",
	 CLI_NAME(&request.s.client_file)},
	{0, "memory", "SIZE", "the server's cache (default: 256M)",
	 CLI_SIZE(&request.s.memory, SERVER_MEMORY_MIN, SERVER_MEMORY_WORDS)},
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
const struct js_opts server_submit_opts = {
	"jobstack server submit",
	"[OPTIONS] [--OPT=VALUE for sbatch]",
	"Runs the private server in a Slurm job. As soon as the server is up, its job submits a successor. "
	"The\nsuccessor waits until the first job has ended, then serves the same data, perhaps on another node. Each "
	"job updates\nthe option file by which clients find the server.",
	table,
	"  jobstack server submit --time=7-00:00:00 --mem=2G --wait 1h && jobstack init\n\n`jobstack server stop` ends "
	"the server and the chain of jobs; `jobstack server status` shows where it is.\nSee docs/GUIDE.md.",
	1};

/* Returns the minutes of sbatch's --time if it is less than a day: "30", "30:00", "1:30:00"; -1: longer, or not
 * understood. */
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
	int64_t least = CHAIN_WALL_US / (60 * JS_SECOND_US),
		given = time != NULL && *time != '\0' ? read_minutes(time) : -1;

	if (given <= 0 || given >= least || cli_sbatch_value(&r->passed, "signal", 0) != NULL)
		return 0; /* 0: no limit */
	return cli_usage(&r->s.cli,
			 "--time=%s is too short: give at least %" PRId64
			 " minutes, because the server stops 2 to 3 minutes before its job ends",
			 time, least);
}

static int parse_server_submit(struct request *r, int argc, char **argv)
{
	int status = cli_parse(&r->s.cli, &server_submit_opts, argc, argv, NULL);

	if (status != CLI_GO_ON)
		return status;
	JS_TRY(cli_sbatch_check(&r->s.cli, &r->passed, r->dry_run, r->parsable));
	if (r->s.cli.words_n > 0)
		return cli_usage(&r->s.cli, "`jobstack server submit` takes no command after --");
	JS_TRY(server_paths(&r->s));
	JS_TRY(refuse_short(r));
	return CLI_GO_ON;
}

/* Appends sbatch's options: those that the server needs, unless the user gave them, and the user's. */
static void add_sbatch_options(const struct request *r, struct cli_words *words)
{
	if (cli_sbatch_value(&r->passed, "job-name", 'J') == NULL)
		cli_words_add(words, "--job-name=jobstack-server");
	if (cli_sbatch_value(&r->passed, "ntasks", 'n') == NULL)
		cli_words_add(words, "--ntasks=1");
	if (cli_sbatch_value(&r->passed, "signal", 0) == NULL)
		cli_words_format(words, "--signal=B:TERM@%d", STOP_S);
	if (cli_sbatch_value(&r->passed, "output", 'o') == NULL)
		cli_sbatch_output(words, chain_beside(r->s.layout.dir, ""), ".job-%j.log");
	cli_words_add(words, "--no-requeue"); /* the next job is what comes after a node that failed */
	cli_words_all(words, &r->passed);
}

/* Appends those of our options that are the server's. */
static void add_run_options(const struct request *r, struct cli_words *line)
{
	static const char *const names[] = {"--bind=", "--port=", "--program=", "--memory="};
	const struct cli_words *own = &r->s.cli.options;

	for (size_t i = 0; i < own->n; i++)
		for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++)
			if (strncmp(own->at[i], names[n], strlen(names[n])) == 0)
				cli_words_add(line, own->at[i]);
}

/* Writes the batch script.  Each word of the sbatch call is an --again of its own, so that the job can submit the same
 * script once more.  It has --bind=%h before the user's --bind, of which the last one counts: the node is not known
 * yet. */
static void write_server_script(const struct request *r, const struct cli_words *call, struct js_buf *out)
{
	struct cli_words line = {0};

	cli_words_format(&line, "%s/jobstack", js_child_program_dir());
	cli_words_add(&line, "server");
	cli_words_add(&line, "run");
	cli_words_format(&line, "--data=%s", r->s.layout.dir);
	cli_words_format(&line, "--client-file=%s", r->s.client_file);
	cli_words_add(&line, "--bind=%h");
	add_run_options(r, &line);
	for (size_t i = 0; i < call->n; i++)
		cli_words_format(&line, "--again=%s", call->at[i]);
	js_buf_printf(out,
		      "#!/bin/bash\n# Written by jobstack server submit %s: a private server for jobstack, in %s\n",
		      jobstack_version(), strchr(r->s.layout.dir, '\n') == NULL ? r->s.layout.dir : "a directory");
	js_buf_str(out, "exec ");
	cli_words_quote(out, &line);
	js_buf_char(out, '\n');
	out->failed |= line.failed;
	cli_words_free(&line);
}

/* Refuses if the server runs, or a job for it exists: two chains would take the directory from each other. */
static int refuse_second_server(struct request *r)
{
	struct server *s = &r->s;
	const struct js_owner *o = &s->owner;
	struct chain chain;

	if (server_look(s) != 0)
		return cli_fail(&s->cli);
	chain_read(s->layout.dir, &chain);
	if (s->state != JS_OWNER_STOPPED && s->state != JS_OWNER_CRASHED)
		cli_tell(&s->cli,
			 "the server of %s is already running, or may be, on %s%s%s: `jobstack server stop --data %s` "
			 "stops it",
			 s->layout.dir, o->host, o->job[0] != '\0' ? " in Slurm job " : "", o->job, s->layout.dir);
	else if (chain.jobs[0] != '\0')
		cli_tell(&s->cli,
			 "a job for this server is already submitted (%s): `jobstack server stop --data %s` cancels it",
			 chain.jobs, s->layout.dir);
	else
		return 0;
	return CLI_NO;
}

/* While JOB's server is not up yet: returns 1 if it never will be, since the job has ended.  Else HOW is the job's
 * state in Slurm, or "". */
static int job_has_failed(const struct request *r, const char *job, char how[100])
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	static struct js_slurm_job slurm;

	how[0] = '\0';
	if (chain_ask(job, NULL, 0, &slurm, &error) != 0)
		return 0;
	(void)snprintf(how, 100, " (%s)", slurm.state);
	if (!slurm.terminal)
		return 0;
	cli_tell(&r->s.cli, "job %s ended (%s) before its server was up: see %s.job-%s.log", job, slurm.state,
		 r->s.layout.dir, job);
	return 1;
}

/* Waits until the server of JOB answers, and this host can use it. */
static int wait_for_server(struct request *r, const char *job)
{
	int64_t until = js_clock_mono_us() + r->wait_us, ask_at = js_clock_mono_us() + ASK_US;
	struct server *s = &r->s;
	char how[100] = "";

	for (;;) {
		if (server_look(s) != 0)
			return cli_fail(&s->cli);
		if (s->state == JS_OWNER_ANSWERS && strcmp(s->owner.job, job) == 0 &&
		    server_try_login(s, s->client_file) == 0)
			break;
		js_error_clear(&s->cli.error);
		if (cli_stop != 0)
			return CLI_NO;
		if (js_clock_mono_us() > until) {
			cli_tell(&s->cli,
				 "job %s is submitted%s, but its server is not up yet: see `squeue -j %s` and "
				 "%s.job-%s.log",
				 job, how, job, s->layout.dir, job);
			return CLI_TIMEOUT;
		}
		if (js_clock_mono_us() > ask_at) {
			if (job_has_failed(r, job, how))
				return CLI_NO;
			ask_at = js_clock_mono_us() + ASK_US;
		}
		js_clock_nap(JS_SECOND_US / 5, &cli_stop);
	}
	if (!s->cli.quiet && !s->cli.json && !r->parsable)
		(void)printf("running: %s:%u\nclients: %s\n", s->owner.bind, s->owner.port, s->owner.client_file);
	return CLI_YES;
}

/* Flushed at once: with --wait the end may be an hour away. */
static int print_server_job(struct request *r, const char *job)
{
	if (r->s.cli.json)
		return CLI_PRINT(KEY_INT("job", strtoll(job, NULL, 10), 1), KEY_TEXT("data", r->s.layout.dir),
				 KEY_TEXT("client_file", r->s.client_file), KEY_TEXT("script", r->script));
	if (r->parsable)
		(void)printf("%s\n", job);
	else if (!r->s.cli.quiet)
		(void)printf("job %s: a server for %s\nscript: %s\n", job, r->s.layout.dir, r->script);
	(void)fflush(stdout);
	return CLI_YES;
}

/* The job looks for its number in the file of the chain, and waits for it there for a while: sbatch tells the number
 * only when the job exists, so the job may be quicker than we are. */
static int submit_server(struct request *r, const struct cli_words *call, const struct js_buf *text)
{
	char number[32];
	uint64_t job;
	int status;

	JS_TRY(refuse_second_server(r));
	JS_TRY(cli_sbatch_keep(&r->s.cli, r->script, text));
	status = cli_sbatch(&r->s.cli, call, &job);
	if (status < 0)
		return cli_fail(&r->s.cli);
	if (status == 1) {
		cli_say(&r->s.cli, "not submitted: sbatch refused the job (see above)");
		return CLI_NO;
	}
	(void)snprintf(number, sizeof(number), "%" PRIu64, job);
	if (chain_write(r->s.layout.dir, number, chain_cluster()) != 0) {
		(void)js_error_set(&r->s.cli.error, JOBSTACK_EFILE, "%s can't be written: the job is cancelled",
				   chain_beside(r->s.layout.dir, ".jobs"));
		(void)cli_scancel(&r->s.cli, number);
		return cli_fail(&r->s.cli);
	}
	status = print_server_job(r, number);
	return status == CLI_YES && r->wait_us > 0 ? wait_for_server(r, number) : status;
}

int server_submit_main(int argc, char **argv)
{
	struct request *r = &request;
	struct cli_words options = {0}, call = {0};
	struct js_buf text = {0};
	int status = parse_server_submit(r, argc, argv);

	if (status != CLI_GO_ON)
		return status;
	status = r->dry_run ? 0 : cli_sbatch_find(&r->s.cli, "`jobstack server start` runs the server on this host");
	if (status != 0)
		return status;
	cli_catch_signals();
	(void)snprintf(r->script, sizeof(r->script), "%s", chain_beside(r->s.layout.dir, ".sbatch"));
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
	return cli_end(&r->s.cli, status);
}
