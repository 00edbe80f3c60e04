/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The private server in a chain of Slurm jobs.  Promises: a directory of a server on another node is only served after
 * Slurm has proven that this server has ended; a stopped chain does not start again; a server that always fails is not
 * started for ever.
 */
#include "server/chain.h"

#include "base/error.h"
#include "base/file.h"
#include "base/num.h"
#include "frame/sbatch.h"
#include "slurm/env.h"

#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROOF_US (900 * JS_SECOND_US) /* so long a failed node has time to return, or to be declared down by Slurm */
#define LOOK_US (3 * JS_SECOND_US)
#define SEEN_US (30 * JS_SECOND_US)
#define SLURM_LIMIT_US (15 * JS_SECOND_US)
#define STOP_US (180 * JS_SECOND_US)
#define GONE_US (10 * JS_SECOND_US)  /* the time between a server's end and the removal of its record */
#define SHORT_US (60 * JS_SECOND_US) /* a server that ends sooner would end again */
#define WHY 1100

const char *chain_beside(const char *dir, const char *suffix)
{
	static char path[JS_LAYOUT_PATH + 32];

	(void)snprintf(path, sizeof(path), "%s%s", dir, suffix);
	return path;
}

/* A file that is not as we write it counts as no chain: the numbers become words of scancel's command line. */
void chain_read(const char *dir, struct chain *chain)
{
	struct js_buf file = {0};

	*chain = (struct chain){.jobs = ""};
	if (js_file_read(chain_beside(dir, ".jobs"), &file) == 0 && file.len > 0 &&
	    strspn(file.data, "0123456789 ") == strcspn(file.data, "\n")) {
		(void)snprintf(chain->jobs, sizeof(chain->jobs), "%.*s", (int)strcspn(file.data, "\n"), file.data);
		(void)js_owner_value(file.data, "cluster", chain->cluster, sizeof(chain->cluster));
	}
	js_buf_free(&file);
}

int chain_write(const char *dir, const char *jobs, const char *cluster)
{
	char lines[256];

	(void)snprintf(lines, sizeof(lines), "%s\ncluster=%s\n", jobs, cluster);
	return js_file_replace(chain_beside(dir, ".jobs"), 0644, lines, strlen(lines));
}

/* The last job is the one with the largest number. */
const char *chain_last_log(const char *dir)
{
	static char newest[JS_LAYOUT_PATH + 32];
	unsigned long long last = 0;
	glob_t g;

	if (glob(chain_beside(dir, ".job-*.log"), 0, NULL, &g) != 0)
		return NULL;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		unsigned long long number = strtoull(strrchr(g.gl_pathv[i], '-') + 1, NULL, 10);

		if (number > last)
			(void)snprintf(newest, sizeof(newest), "%s", g.gl_pathv[i]);
		last = number > last ? number : last;
	}
	globfree(&g);
	return last > 0 ? newest : NULL;
}

const char *chain_cluster(void)
{
	const struct js_slurm_where where = {getenv("JOBSTACK_MODULE_DIR"), SLURM_LIMIT_US, NULL};
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	static struct js_slurm_conf conf;

	return js_slurm_conf(&where, &conf, &error) == 0 ? conf.cluster : "";
}

int chain_ask(const char *job, const char *cluster, int64_t limit_us, struct js_slurm_job *out,
	      struct jobstack_error *error)
{
	const struct js_slurm_where where = {getenv("JOBSTACK_MODULE_DIR"), limit_us, cluster};
	uint64_t number;

	return js_num_u64(job, 1, UINT32_MAX, &number) != 0 ? 1 : js_slurm_job(&where, (uint32_t)number, out, error);
}

/* Returns whether JOB is one of the numbers in TEXT. */
static int is_job_among(const char *text, const char *job)
{
	size_t len = strlen(job);

	for (; *text != '\0'; text += strcspn(text, " "), text += strspn(text, " "))
		if (strncmp(text, job, len) == 0 && (text[len] == ' ' || text[len] == '\0'))
			return 1;
	return 0;
}

/* ------------------------------------------------------------------------------------------------- the beginning */

/* Returns whether the job of the record has ended completely, so that its server can't write any more.  Slurm's word
 * NODE_FAIL does not prove that, since the node may only be cut off; the answer of the node itself does. */
static int job_has_ended(const struct js_owner *o, char why[WHY])
{
	const struct js_slurm_where where = {getenv("JOBSTACK_MODULE_DIR"), SLURM_LIMIT_US, o->cluster};
	struct js_slurm_step step = {.step = JS_SLURM_BATCH, .look = 1};
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	static struct js_slurm_job job;
	uint64_t number;
	int status;

	if (js_num_u64(o->job, 1, UINT32_MAX, &number) != 0)
		return 0;
	status = chain_ask(o->job, o->cluster, SLURM_LIMIT_US, &job, &error);
	if (status == 0 && job.terminal)
		return 1;
	(void)snprintf(why, WHY, "%s%s", status < 0 ? "" : "Slurm says ",
		       status < 0    ? error.text
		       : status == 0 ? job.state
				     : "that it does not know the job any more");
	if (status < 0 || (status == 0 && strncmp(job.state, "NODE_FAIL", 9) != 0))
		return 0;
	step.job = (uint32_t)number;
	if (status == 0 && job.batch_host[0] != '\0')
		(void)snprintf(step.node, sizeof(step.node), "%s", job.batch_host);
	else /* Slurm's node names are mostly the short host names */
		(void)snprintf(step.node, sizeof(step.node), "%.*s", (int)strcspn(o->host, "."), o->host);
	return js_slurm_steps(&where, &step, 1, &error) == 0 && step.listed == 0 && step.at_node == 0;
}

/* Returns whether our job belongs to the chain.  The submitter may not have written its number yet, or this node may
 * not see it yet. */
static int is_in_chain(const struct server *s)
{
	int64_t began = js_clock_mono_us();
	struct chain chain;

	if (s->job == NULL)
		return 0;
	for (;;) {
		chain_read(s->layout.dir, &chain);
		if (is_job_among(chain.jobs, s->job))
			return 1;
		if (cli_stop != 0 || js_clock_mono_us() - began > SEEN_US)
			return 0;
		js_clock_nap(JS_SECOND_US / 5, &cli_stop);
	}
}

/* Returns whether the server of another job may still run. */
static int another_job_serves(struct server *s)
{
	return server_look(s) == 0 && s->owner.job[0] != '\0' && strcmp(s->owner.job, s->job) != 0 &&
	       s->state != JS_OWNER_STOPPED && s->state != JS_OWNER_CRASHED;
}

/* Waits while a server of another job may run.  If that was on this host, the record's process decides (the start looks
 * at it); if it was on another one, only Slurm can tell that the job has ended completely. */
int chain_begin(struct server *s)
{
	static char ended[sizeof(s->owner.job)];
	int64_t began = js_clock_mono_us();
	char host[256], why[WHY] = "";
	int said = 0;

	s->job = getenv("SLURM_JOB_ID");
	s->cluster = getenv("SLURM_CLUSTER_NAME");
	if (!is_in_chain(s)) {
		cli_say(&s->cli,
			"not starting the server: its chain of jobs was ended, for example by `jobstack server stop`");
		return 1;
	}
	js_owner_host(host);
	while (cli_stop == 0 && another_job_serves(s)) {
		if (strcmp(s->owner.host, host) != 0 && job_has_ended(&s->owner, why)) {
			memcpy(ended, s->owner.job, sizeof(ended));
			s->ended_job = ended;
			cli_say(&s->cli, "Slurm job %s, which ran the server of %s on %s, has ended", ended,
				s->layout.dir, s->owner.host);
			break;
		}
		if (!said++)
			cli_say(&s->cli, "waiting for the server in Slurm job %s on %s to end%s%s", s->owner.job,
				s->owner.host, why[0] != '\0' ? ": " : "", why);
		if (js_clock_mono_us() - began > PROOF_US)
			break; /* the start fails, and names the owner */
		js_clock_nap(LOOK_US, &cli_stop);
	}
	js_error_clear(&s->cli.error);
	return 0;
}

/* ----------------------------------------------------------------------------------------------------- the chain */

/* The new job's number is written only if the chain still exists when sbatch has answered.  Else somebody stopped the
 * chain meanwhile, and the new job is cancelled. */
void chain_submit_next(struct server *s)
{
	struct cli *cli = &s->cli;
	struct cli_words call = {0};
	char jobs[64], number[32];
	struct chain chain;
	uint64_t next = 0;
	int status;

	for (size_t i = 0; i + 1 < s->successor.n; i++)
		cli_words_add(&call, s->successor.at[i]);
	cli_words_format(&call, "--dependency=afterany:%s", s->job);
	cli_words_add(&call, s->successor.at[s->successor.n - 1]);
	status = cli_sbatch(cli, &call, &next);
	cli_words_free(&call);
	if (status != 0) {
		cli_say(cli,
			"sbatch refused the next job%s%s: run `jobstack server submit` again when this job has ended",
			cli->error.code != 0 ? ": " : "", cli->error.text);
		js_error_clear(&cli->error);
		return;
	}
	(void)snprintf(number, sizeof(number), "%" PRIu64, next);
	(void)snprintf(jobs, sizeof(jobs), "%s %s", s->job, number);
	chain_read(s->layout.dir, &chain);
	if (is_job_among(chain.jobs, s->job)) {
		if (chain_write(s->layout.dir, jobs, s->cluster != NULL ? s->cluster : "") == 0) {
			cli_say(cli, "Slurm job %s takes over when this one ends", number);
			return;
		}
		cli_say(cli, "%s can't be written: no job takes over after this one",
			chain_beside(s->layout.dir, ".jobs"));
	}
	(void)cli_scancel(cli, number); /* the chain was stopped meanwhile */
	js_error_clear(&cli->error);
}

/* Removes the file of the chain, and cancels its jobs but for the one that RUNS. */
static void cancel_others(struct server *s, const char *runs)
{
	char others[64] = "", *rest, *job;
	struct chain chain;

	chain_read(s->layout.dir, &chain);
	(void)unlink(chain_beside(s->layout.dir, ".jobs"));
	for (rest = chain.jobs; (job = strsep(&rest, " ")) != NULL;)
		if (*job != '\0' && strcmp(job, runs) != 0)
			(void)snprintf(others + strlen(others), sizeof(others) - strlen(others), "%s ", job);
	if (others[0] != '\0')
		(void)cli_scancel(&s->cli, others);
	js_error_clear(&s->cli.error);
}

/* Returns whether a person is cancelling this job.  *WALL_US: its wall time; 0: unknown. */
static int job_is_cancelled(const struct server *s, int64_t *wall_us)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	static struct js_slurm_job job;
	static struct js_slurm_env env;

	js_slurm_env_read(&env);
	*wall_us = env.start_us > 0 && env.end_us > env.start_us ? env.end_us - env.start_us : 0;
	if (chain_ask(s->job, s->cluster, LOOK_US, &job, &error) != 0)
		return 0;
	if (job.start_us > 0 && job.end_us > job.start_us)
		*wall_us = job.end_us - job.start_us;
	/* squeue does not say why a job ends.  But Slurm announces the end of the wall time while the job still runs,
	 * so a job that is COMPLETING was cancelled, or preempted */
	return strncmp(job.state, "CANCELLED", 9) == 0 || strcmp(job.state, "COMPLETING") == 0;
}

/* Decides after the server's end whether the next job shall start:
 *
 *     a signal, and a person cancels the job         the chain ends
 *     a signal otherwise (the wall time is near)     it continues, unless no server can live that long
 *     stopped by `jobstack server stop`, cleanly     it ends
 *     the server ended by itself within a minute     it ends: it would do so again
 *     the server ended by itself, later              it continues */
void chain_end(struct server *s, int well, int64_t lived_us)
{
	int signal_number = cli_stop;
	const char *why = NULL;
	int64_t wall_us = 0;
	struct chain chain;

	cli_stop = 0; /* so that the commands below are not stopped */
	if (signal_number != 0 ? job_is_cancelled(s, &wall_us) : well)
		why = "stopped: no other job takes over";
	else if (signal_number == 0 && lived_us < SHORT_US)
		why = "the server ended within a minute: no other job takes over";
	else if (signal_number != 0 && lived_us < SHORT_US && wall_us < CHAIN_WALL_US)
		why = "the job's wall time is too short for a server, and no other job takes over: run `jobstack "
		      "server submit` with a longer --time";
	if (why != NULL)
		cli_say(&s->cli, "%s", why);
	chain_read(s->layout.dir, &chain);
	/* a file of the chain that names only this job would make `server submit` believe that a job is still to come
	 */
	if (why != NULL || strcmp(chain.jobs, s->job) == 0) /* or there is no next job */
		cancel_others(s, s->job);
	cli_stop = signal_number;
}

/* ------------------------------------------------------------------------------------------------------ the stop */

/* Refuses if the jobs of the chain are those of another cluster than the one that scancel reaches. */
static int refuse_other_cluster(struct server *s, const struct chain *chain)
{
	const char *ours = chain->cluster[0] != '\0' ? chain_cluster() : "";

	if (ours[0] == '\0' || strcmp(ours, chain->cluster) == 0)
		return 0;
	return js_error_set(&s->cli.error, JOBSTACK_ECONFLICT,
			    "the jobs of the server of %s are in the Slurm cluster \"%s\", and this host uses \"%s\": "
			    "stop it from a host of \"%s\"",
			    s->layout.dir, chain->cluster, ours, chain->cluster);
}

/* Sends TERM to the job, whose server then stops cleanly. */
static int signal_job(struct server *s, const char *job)
{
	char words[80];
	int status;

	(void)snprintf(words, sizeof(words), "--signal=TERM --batch %s", job);
	status = cli_scancel(&s->cli, words);
	js_error_clear(&s->cli.error);
	return status;
}

/* Waits until the server in JOB, which got a signal, has stopped.  Returns 1, or a negative code. */
static int await_job(struct server *s, const char *job)
{
	int64_t began = js_clock_mono_us(), gone = 0;
	struct jobstack_error *error = &s->cli.error;

	for (;;) {
		JS_TRY(server_look(s));
		if (s->state == JS_OWNER_STOPPED)
			return 1;
		gone = s->state != JS_OWNER_CRASHED ? 0 : gone != 0 ? gone : js_clock_mono_us();
		if (gone != 0 && js_clock_mono_us() - gone > GONE_US)
			return js_error_set(
				error, JOBSTACK_ENODB,
				"the server in Slurm job %s did not stop cleanly: the next start recovers its data",
				job);
		if (js_clock_mono_us() - began > STOP_US)
			return js_error_set(
				error, JOBSTACK_ECONFLICT,
				"the server in Slurm job %s has not stopped within 3 minutes; its log is %s", job,
				s->layout.log);
		if (cli_stop != 0)
			return js_error_set(error, JOBSTACK_ESTOPPED,
					    "no longer waiting; the server is still stopping");
		js_clock_nap(JS_SECOND_US / 5, &cli_stop);
	}
}

/* The file of the chain goes first, so that no job submits or starts anything any more; then the waiting jobs; the
 * server last. */
int chain_stop(struct server *s)
{
	char job[sizeof(s->owner.job)] = "";
	struct chain chain;

	chain_read(s->layout.dir, &chain);
	JS_TRY(server_look(s));
	if (chain.jobs[0] == '\0')
		return 0;
	JS_TRY(refuse_other_cluster(s, &chain));
	if (s->state != JS_OWNER_STOPPED)
		memcpy(job, s->owner.job, sizeof(job));
	cancel_others(s, job);
	if (job[0] == '\0')
		return 1; /* no server ran; the waiting jobs are cancelled */
	return is_job_among(chain.jobs, job) && signal_job(s, job) == 0 ? await_job(s, job) : 0;
}
