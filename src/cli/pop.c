/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack pop: claims one entry for a script.  Promise: an entry that could not be printed to the script goes
 * back to the queue, without a failed attempt; whatever its name is, the shell sees it as one word.
 */
#include "cli/why.h"

#include "base/clock.h"
#include "base/file.h"
#include "cli/item.h"
#include "exec/site.h"
#include "show/amount.h"
#include "show/json.h"
#include "slurm/env.h"
#include "death/budget.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEASE_US (INT64_C(43200) * JS_SECOND_US) /* 12 hours */
#define LEASE_MIN_US (60 * JS_SECOND_US)	 /* when the job should have ended already */

enum { SHELL, JSON, PATH0 }; /* as --format names them */

static int format = -1;
static int64_t lease_us; /* 0: by Slurm */
static struct js_slurm_identity identity;
static struct jobstack_worker_options options = JOBSTACK_WORKER_OPTIONS_INIT;
static const struct js_opt table[] = {
	CLI_OPTS_STACK,
	{0, "format", "shell|json|path0",
	 "shell (default): a line for eval; json: an object; path0: the datapath and a NUL",
	 CLI_CHOICE(&format, "shell, json or path0")},
	{0, "lease", "D",
	 "how long the entry is claimed (default: to the end of the Slurm job,\nelse 12h); `jobstack renew` extends "
	 "it",
	 CLI_TIME(&lease_us, JS_SECOND_US, CLI_LEASE_WORDS)},
	{CLI_JSON, "json", NULL, "the same as --format json", NULL},
	CLI_OPTS_TEXT};

/* Returns the lease for a call without --lease: to the end of the Slurm job, at which its script will be killed anyway.
 * Also notes the job's start, if the environment does not say it. */
static int64_t lease_by_slurm(struct cli *cli)
{
	struct js_budget budget = {cli->handle, {getenv("JOBSTACK_MODULE_DIR"), 0, NULL}, identity.env.cluster, 0};
	struct jobstack_error error = JOBSTACK_ERROR_INIT, ignored = JOBSTACK_ERROR_INIT;
	struct js_site site = {0};
	int64_t end_us = identity.env.end_us, left;
	static struct js_slurm_job job;
	int status;

	if (!identity.env.in_slurm)
		return LEASE_US;
	if (end_us < 0) {
		(void)js_site_read(&site, getenv("JOBSTACK_SITE_FILE"), &ignored);
		budget.every_us = site.slurm_us;
		js_site_free(&site);
		status = js_budget_job(&budget, &identity.env, JS_BUDGET_HOUR, &job, &error);
		if (status != 0 || job.end_us < 0) {
			cli_say(cli,
				"the lease is 12 hours, because the end of the Slurm job %" PRId64 " is unknown%s%s",
				identity.env.job_id, error.code != 0 ? ": " : "", error.text);
			return LEASE_US;
		}
		end_us = job.end_us;
		if (options.job_start_us < 0)
			options.job_start_us = job.start_us;
	}
	left = end_us - js_clock_wall_us();
	return left < LEASE_MIN_US ? LEASE_MIN_US : left;
}

/* Appends the entry in the format that was asked for.  Returns 0, or -1 without memory. */
static int render_entry(const struct cli *cli, const struct jobstack_batch *batch, struct js_buf *out)
{
	const struct jobstack_entry *e = jobstack_batch_entry(batch, 0);
	int bad = 0;

	switch (format) {
	case PATH0: js_buf_add(out, e->datapath, e->datapath_len + 1); break;
	case SHELL:
		js_buf_printf(out,
			      "export JOBSTACK_STACK='%s' JOBSTACK_ENTRY=%" PRIu64 " JOBSTACK_ATTEMPT=%" PRIu32
			      " JOBSTACK_DATAPATH=",
			      cli->stack, e->entry, e->attempt);
		js_buf_shell_quote(out, e->datapath, e->datapath_len);
		js_buf_printf(out, " JOBSTACK_WORKER=%" PRIu64 "\n", batch->worker);
		break;
	case JSON:
		bad = show_json_line(SHOW_OBJECT(KEY_TEXT("stack", cli->stack), KEY_COUNT("entry", e->entry),
						 KEY_COUNT("attempt", e->attempt),
						 KEY_BYTES("datapath", e->datapath, e->datapath_len),
						 KEY_COUNT("worker", batch->worker),
						 KEY_SPAN("lease_seconds", options.lease_us)),
				     out);
		break;
	}
	return bad || out->failed ? -1 : 0;
}

/* Writes it; a file system that tells of a full disk late tells it at a close.  Returns 0, or -1 with errno. */
static int write_output(const struct js_buf *out)
{
	int fd;

	if (js_file_write_all(STDOUT_FILENO, out->data, out->len) != 0)
		return -1;
	fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	return fd >= 0 ? close(fd) : 0;
}

/* Returns the entry to the queue, as not started: nobody will learn of it.  Returns CLI_BUG. */
static int hand_back(struct cli *cli, const struct jobstack_entry *e, const char *why)
{
	struct jobstack_outcome o = JOBSTACK_OUTCOME_INIT;
	struct jobstack_error error = JOBSTACK_ERROR_INIT;

	o.entry = e->entry;
	o.attempt = e->attempt;
	o.verdict = JOBSTACK_UNSTARTED;
	if (jobstack_close(cli->handle, cli->stack, &o, 1, NULL, &error) == 0)
		cli_tell(cli, "%s: entry %" PRIu64 " was returned to the queue", why, e->entry);
	else
		cli_tell(cli,
			 "%s, and entry %" PRIu64 " (attempt %" PRIu32
			 ") could not be returned to the queue: %s: close it, or wait until its lease ends",
			 why, e->entry, e->attempt, error.text);
	return CLI_BUG;
}

/* Prints the entry.  From the pop until it is printed a signal must not end this process: the entry would stay claimed
 * until its lease ends.  So a signal that came meanwhile first returns the entry, and then ends the process. */
static int give_entry(struct cli *cli, const struct jobstack_batch *batch)
{
	const struct jobstack_entry *e = jobstack_batch_entry(batch, 0);
	struct js_buf out = {0};
	char why[200];
	int status = CLI_YES;

	if (cli_stop != 0) {
		status = hand_back(cli, e, "interrupted");
		cli_die_by_signal();
	} else if (render_entry(cli, batch, &out) != 0)
		status = hand_back(cli, e, "no memory");
	else if (write_output(&out) != 0) {
		(void)snprintf(why, sizeof(why), "can't write the output: %s", strerror(errno));
		status = hand_back(cli, e, why);
	}
	js_buf_free(&out);
	return status;
}

static int check_pop(struct cli *cli)
{
	if (cli->json && format >= 0 && format != JSON)
		return cli_usage(cli, "--format %s and --json can't be used together",
				 format == SHELL ? "shell" : "path0");
	format = cli->json ? JSON : format < 0 ? SHELL : format;
	/* an entry whose name can't be printed would only be claimed and returned */
	if ((fcntl(STDOUT_FILENO, F_GETFL) & O_ACCMODE) == O_RDONLY) { /* it is closed (js_file_hold_streams) */
		cli_tell(cli, "nothing was popped: the standard output is closed");
		return CLI_BUG;
	}
	js_slurm_identify(&identity, &options);
	options.slots = 1;
	return 0;
}

/* The words of this call are recorded like those of a worker.  By them `jobstack show` knows that a script ran the
 * entry. */
static int pop_entry(struct cli *cli)
{
	struct js_buf line = {0};
	struct jobstack_batch batch = JOBSTACK_BATCH_INIT;
	int status;

	js_buf_add(&line, "jobstack", sizeof("jobstack"));
	for (char **word = cli->argv; *word != NULL; word++)
		js_buf_add(&line, *word, strlen(*word) + 1);
	options.argv = (struct jobstack_bytes){line.data, line.len};
	options.lease_us = lease_us > 0 ? lease_us : lease_by_slurm(cli);
	status = jobstack_pop(cli->handle, cli->stack, &options, 1, &batch, &cli->error);
	if (status == 0)
		status = give_entry(cli, &batch);
	else if (status == JOBSTACK_NOTHING) {
		if (!cli->quiet)
			cli_why_say(cli, "nothing is ready: ");
		status = CLI_NO;
	} else
		status = cli_fail(cli);
	jobstack_batch_free(&batch);
	js_buf_free(&line);
	return status;
}

static const char about[] = "Claims one entry for a script, and prints the variables that the script needs. If nothing "
			    "is ready, it prints nothing to\nstandard output and ends with 1.";
static const char notes[] = "  while job=$(jobstack pop mystack); do\n      eval \"$job\"\n      ./process "
			    "\"$JOBSTACK_DATAPATH\"; jobstack close --exit $?\n  done\n\nThe entry stays claimed until "
			    "it is closed or its lease ends. A script whose lease has ended is not stopped.";
static const struct js_opts opts = {"jobstack pop", "[STACK] [OPTIONS]", about, table, notes, 0};
const struct cli_frame cli_pop = {&opts, "", CLI_CATCHES, 60 * JS_SECOND_US, check_pop, pop_entry};
