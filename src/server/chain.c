/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The private server in a Slurm job.  Promises: a directory of a server on another node is only served after Slurm has
 * proven that this server has ended; a stopped chain does not start again; a server that always fails is not started
 * for ever.
 */
#include "server/chain.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/home.h"
#include "base/num.h"
#include "cli/sbatch.h"
#include "slurm/env.h"

#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROOF_US (900 * JS_SECOND_US) /* so long a failed node has time to return, or to be declared down by Slurm */
#define LOOK_US (3 * JS_SECOND_US)
#define SEEN_US (30 * JS_SECOND_US)
#define SLURM_LIMIT_US (15 * JS_SECOND_US)
#define STOP_US (180 * JS_SECOND_US)
#define GONE_US (10 * JS_SECOND_US)  /* the time between a server's end and the removal of its record */
#define SHORT_US (60 * JS_SECOND_US) /* a server that ends sooner would end again */

static const char *default_data_directory(void)
{
	static char path[PATH_MAX];

	if (geteuid() == 0)
		return CLI_SERVER_ROOT_DATA;
	js_home_xdg(js_home_getenv, "XDG_DATA_HOME", ".local/share/jobstack/server", path, sizeof(path));
	return path[0] == '/' ? path : NULL;
}

int cli_server_paths(struct cli *cli, struct js_server_options *o)
{
	const char *file = getenv("JOBSTACK_DEFAULTS_FILE"), *data;

	if (o->client_file == NULL) /* the one that the other commands use, if it is one of ours */
		o->client_file = o->data == NULL && file != NULL && js_server_of_client(file, &data) >= 0
					 ? file
					 : cli_server_file();
	if (o->data == NULL && js_server_of_client(o->client_file, &data) > 0)
		o->data = data;
	else if (o->data == NULL) {
		o->data = default_data_directory();
		if (data != NULL && o->data != NULL)
			cli_say(cli, "the server of %s is in %s, which this host does not have: using %s",
				o->client_file, data, o->data);
	}
	if (o->data != NULL && o->client_file != NULL && *o->client_file != '\0')
		return 0;
	return cli_usage(cli, "there is no home directory: give --data and --client-file");
}

int cli_server_memory(struct cli *cli, void *ctx, int key, const char *arg)
{
	uint64_t *bytes = ctx;

	(void)key;
	if (js_num_size(arg, bytes) == 0 && *bytes >= JS_SERVER_MEMORY_MIN)
		return 0;
	return cli_usage(cli, "--memory takes a size of at least 16M, such as 512M or 2G, not \"%s\"", arg);
}

const char *cli_server_beside(const char *data, const char *suffix)
{
	static char path[CLI_PATH + 32];
	size_t len = strlen(data);

	while (len > 1 && data[len - 1] == '/')
		len--;
	(void)snprintf(path, sizeof(path), "%.*s%s", (int)len, data, suffix);
	return path;
}

void cli_server_jobs(const char *data, char text[64])
{
	struct js_buf file = {0};

	text[0] = '\0';
	if (js_file_read(cli_server_beside(data, ".jobs"), &file) == 0 && file.len > 0 &&
	    strspn(file.data, "0123456789 ") == strcspn(file.data, "\n"))
		(void)snprintf(text, 64, "%.*s", (int)strcspn(file.data, "\n"), file.data);
	js_buf_free(&file);
}

int cli_server_jobs_write(const char *data, const char *text, const char *cluster)
{
	char lines[256];

	(void)snprintf(lines, sizeof(lines), "%s\n%s%s%s", text, cluster[0] != '\0' ? "cluster=" : "", cluster,
		       cluster[0] != '\0' ? "\n" : "");
	return js_file_replace(cli_server_beside(data, ".jobs"), 0644, lines, strlen(lines));
}

const char *cli_server_job_log(const char *data)
{
	static char newest[CLI_PATH + 32];
	struct timespec when = {0};
	struct stat st;
	glob_t g;

	newest[0] = '\0';
	if (glob(cli_server_beside(data, ".job-*.log"), 0, NULL, &g) != 0)
		return NULL;
	for (size_t i = 0; i < g.gl_pathc; i++)
		if (stat(g.gl_pathv[i], &st) == 0 &&
		    (st.st_mtim.tv_sec > when.tv_sec ||
		     (st.st_mtim.tv_sec == when.tv_sec && st.st_mtim.tv_nsec > when.tv_nsec))) {
			when = st.st_mtim;
			(void)snprintf(newest, sizeof(newest), "%s", g.gl_pathv[i]);
		}
	globfree(&g);
	return newest[0] != '\0' ? newest : NULL;
}

const char *cli_server_cluster(void)
{
	const struct js_slurm_where where = {getenv("JOBSTACK_MODULE_DIR"), SLURM_LIMIT_US, NULL};
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	static struct js_slurm_conf conf;

	return js_slurm_conf(&where, &conf, &error) == 0 ? conf.cluster : "";
}

/* Whether the jobs of the chain are those of another cluster than the one that scancel reaches. */
static int is_elsewhere(struct cli *cli, const char *data)
{
	char theirs[128] = "";
	struct js_buf file = {0};
	const char *ours = "";

	if (js_file_read(cli_server_beside(data, ".jobs"), &file) == 0 && file.len > 0 &&
	    js_owner_value(file.data, "cluster", theirs, sizeof(theirs)) == 0)
		ours = cli_server_cluster();
	js_buf_free(&file);
	if (ours[0] == '\0' || strcmp(ours, theirs) == 0)
		return 0;
	(void)js_error_set(&cli->error, JOBSTACK_ECONFLICT,
			   "the jobs of the server of %s are in the Slurm cluster \"%s\", and this host uses \"%s\": "
			   "stop it from a host of \"%s\"",
			   data, theirs, ours, theirs);
	return 1;
}

int cli_server_job_ask(const char *job, const char *cluster, int64_t limit_us, struct js_slurm_job *out,
		       struct jobstack_error *error)
{
	const struct js_slurm_where where = {getenv("JOBSTACK_MODULE_DIR"), limit_us, cluster};
	uint64_t number;

	return js_num_u64(job, 1, UINT32_MAX, &number) != 0 ? 1 : js_slurm_job(&where, (uint32_t)number, out, error);
}

/* Is JOB one of the numbers in TEXT? */
static int is_job_among(const char *text, const char *job)
{
	size_t len = strlen(job);

	for (; *text != '\0'; text += strcspn(text, " "), text += strspn(text, " "))
		if (strncmp(text, job, len) == 0 && (text[len] == ' ' || text[len] == '\0'))
			return 1;
	return 0;
}

/* ------------------------------------------------------------------------------------------------- the beginning */

/* Has the job ended completely?  NODE_FAIL does not prove that; the answer of the node itself does. */
static int job_has_ended(const struct js_server_info *info, char why[1100])
{
	const struct js_slurm_where where = {getenv("JOBSTACK_MODULE_DIR"), SLURM_LIMIT_US, info->owner.cluster};
	struct js_slurm_step step = {.step = JS_SLURM_BATCH, .look = 1};
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	static struct js_slurm_job job;
	uint64_t number;
	int status;

	if (js_num_u64(info->owner.job, 1, UINT32_MAX, &number) != 0)
		return 0;
	status = cli_server_job_ask(info->owner.job, info->owner.cluster, SLURM_LIMIT_US, &job, &error);
	if (status < 0) {
		(void)snprintf(why, 1100, "%s", error.text);
		return 0;
	}
	if (status == 0 && job.terminal)
		return 1;
	(void)snprintf(why, 1100, "Slurm says %s", status == 0 ? job.state : "that it does not know the job any more");
	if (status == 0 && strncmp(job.state, "NODE_FAIL", 9) != 0)
		return 0;
	step.job = (uint32_t)number;
	if (status == 0 && job.batch_host[0] != '\0')
		(void)snprintf(step.node, sizeof(step.node), "%s", job.batch_host);
	else /* Slurm's node names are mostly the short host names */
		(void)snprintf(step.node, sizeof(step.node), "%.*s", (int)strcspn(info->owner.host, "."),
			       info->owner.host);
	return js_slurm_steps(&where, &step, 1, &error) == 0 && step.listed == 0 && step.at_node == 0;
}

int cli_server_job_begin(struct cli *cli, struct js_server_options *options)
{
	static struct js_server_info info;
	int64_t began = js_clock_mono_us();
	char jobs[64], own[256] = "", why[1100] = "";
	int said = 0;

	options->job = getenv("SLURM_JOB_ID");
	options->cluster = getenv("SLURM_CLUSTER_NAME");
	for (;;) { /* the submitter may not have written the number yet, or this node may not see it yet */
		cli_server_jobs(options->data, jobs);
		if (options->job == NULL || is_job_among(jobs, options->job) || cli_stop != 0 ||
		    js_clock_mono_us() - began > SEEN_US)
			break;
		js_clock_nap(JS_SECOND_US / 5, &cli_stop);
	}
	if (options->job == NULL || !is_job_among(jobs, options->job)) {
		cli_say(cli, "not starting the server: the series of server jobs to which this job belongs was ended "
			     "(by `jobstack server stop`, for example)");
		return 1;
	}
	(void)gethostname(own, sizeof(own) - 1);
	while (cli_stop == 0 && js_server_status(options, &info, &cli->error) == 0 && info.owner.job[0] != '\0' &&
	       strcmp(info.owner.job, options->job) != 0 && info.state != JS_SERVER_STOPPED &&
	       info.state != JS_SERVER_CRASHED) {
		if (strcmp(info.owner.host, own) != 0 && job_has_ended(&info, why)) {
			options->ended_job = info.owner.job;
			cli_say(cli, "Slurm job %s, which ran the server of %s on %s, has ended", info.owner.job,
				info.data, info.owner.host);
			break;
		}
		if (!said++)
			cli_say(cli, "waiting for the server in Slurm job %s on %s to end%s%s", info.owner.job,
				info.owner.host, why[0] != '\0' ? ": " : "", why);
		if (js_clock_mono_us() - began > PROOF_US)
			break; /* the start fails, and names the owner */
		js_clock_nap(LOOK_US, &cli_stop);
	}
	js_error_clear(&cli->error);
	return 0;
}

/* ----------------------------------------------------------------------------------------------------- the chain */

void cli_server_job_next(struct cli *cli, const struct js_server_options *options, const struct cli_words *again)
{
	struct cli_words call = {0};
	char jobs[64], number[32];
	uint64_t next = 0;
	int status;

	for (size_t i = 0; i + 1 < again->n; i++)
		cli_words_add(&call, again->at[i]);
	cli_words_format(&call, "--dependency=afterany:%s", options->job);
	cli_words_add(&call, again->at[again->n - 1]);
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
	cli_server_jobs(options->data, jobs);
	if (is_job_among(jobs, options->job)) {
		(void)snprintf(jobs, sizeof(jobs), "%s %s", options->job, number);
		if (cli_server_jobs_write(options->data, jobs, options->cluster != NULL ? options->cluster : "") == 0) {
			cli_say(cli, "Slurm job %s takes over when this one ends", number);
			return;
		}
		cli_say(cli, "%s can't be written: no job takes over after this one",
			cli_server_beside(options->data, ".jobs"));
	}
	(void)cli_scancel(cli, number); /* the chain was stopped meanwhile */
	js_error_clear(&cli->error);
}

static void end_server_chain(struct cli *cli, const struct js_server_options *options)
{
	char jobs[64], others[64] = "", *rest = jobs, *job;

	cli_server_jobs(options->data, jobs);
	(void)unlink(cli_server_beside(options->data, ".jobs"));
	while ((job = strsep(&rest, " ")) != NULL)
		if (*job != '\0' && (options->job == NULL || strcmp(job, options->job) != 0))
			(void)snprintf(others + strlen(others), sizeof(others) - strlen(others), "%s ", job);
	if (others[0] != '\0')
		(void)cli_scancel(cli, others);
	js_error_clear(&cli->error);
}

/* Is a person cancelling this job?  *WALL_US: its wall time; 0: unknown. */
static int job_is_cancelled(const struct js_server_options *options, int64_t *wall_us)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	static struct js_slurm_job job;
	static struct js_slurm_env env;

	js_slurm_env_read(&env, js_home_getenv);
	*wall_us = env.start_us > 0 && env.end_us > env.start_us ? env.end_us - env.start_us : 0;
	if (cli_server_job_ask(options->job, options->cluster, LOOK_US, &job, &error) != 0)
		return 0;
	if (job.start_us > 0 && job.end_us > job.start_us)
		*wall_us = job.end_us - job.start_us;
	/* squeue does not say why a job ends.  But Slurm announces the end of the wall time while the job still runs,
	 * so a job that is COMPLETING was cancelled, or preempted */
	return strncmp(job.state, "CANCELLED", 9) == 0 || strcmp(job.state, "COMPLETING") == 0;
}

void cli_server_job_end(struct cli *cli, const struct js_server_options *options, int well, int64_t lived_us)
{
	int signal_number = cli_stop;
	const char *why = NULL;
	int64_t wall_us = 0;
	char jobs[64];

	cli_stop = 0; /* so that the commands below are not stopped */
	if (signal_number != 0 ? job_is_cancelled(options, &wall_us) : well)
		why = "stopped: no other job takes over";
	else if (signal_number == 0 && lived_us < SHORT_US)
		why = "the server ended within a minute: no other job takes over";
	else if (signal_number != 0 && lived_us < SHORT_US && wall_us < CLI_SERVER_WALL_US)
		why = "the job's wall time is too short for a server, and no other job takes over: run `jobstack "
		      "server submit` with a longer --time";
	if (why != NULL)
		cli_say(cli, "%s", why);
	cli_server_jobs(options->data, jobs);
	if (why != NULL || strcmp(jobs, options->job) == 0) /* or there is no next job */
		end_server_chain(cli, options);
	cli_stop = signal_number;
}

/* Sends TERM to the job, whose server then stops cleanly. */
static int signal_job(struct cli *cli, const char *job)
{
	char words[80];

	(void)snprintf(words, sizeof(words), "--signal=TERM --batch %s", job);
	return cli_scancel(cli, words);
}

int cli_server_job_stop(struct cli *cli, const struct js_server_options *options)
{
	static struct js_server_info info;
	int64_t began = js_clock_mono_us(), gone = 0;
	struct js_server_options mine = *options;
	char jobs[64], job[32];
	int status;

	cli_server_jobs(options->data, jobs);
	status = js_server_status(options, &info, &cli->error);
	if (status != 0 || jobs[0] == '\0')
		return status < 0 ? status : 0;
	if (is_elsewhere(cli, options->data))
		return cli->error.code;
	(void)snprintf(job, sizeof(job), "%s", info.state == JS_SERVER_STOPPED ? "" : info.owner.job);
	mine.job = job;
	end_server_chain(cli, &mine);
	if (job[0] == '\0')
		return 1; /* no server ran; the waiting jobs are cancelled */
	if (!is_job_among(jobs, job) || signal_job(cli, job) != 0) {
		js_error_clear(&cli->error);
		return 0;
	}
	for (;;) {
		status = js_server_status(options, &info, &cli->error);
		if (status != 0 || info.state == JS_SERVER_STOPPED)
			return status != 0 ? status : 1;
		gone = info.state != JS_SERVER_CRASHED ? 0 : gone != 0 ? gone : js_clock_mono_us();
		if (gone != 0 && js_clock_mono_us() - gone > GONE_US)
			return js_error_set(
				&cli->error, JOBSTACK_ENODB,
				"the server in Slurm job %s did not stop cleanly: the next start recovers its data",
				job);
		if (js_clock_mono_us() - began > STOP_US)
			return js_error_set(
				&cli->error, JOBSTACK_ECONFLICT,
				"the server in Slurm job %s has not stopped within 3 minutes; its log is %s", job,
				info.log);
		if (cli_stop != 0)
			return js_error_set(&cli->error, JOBSTACK_ESTOPPED,
					    "no longer waiting; the server is still stopping");
		js_clock_nap(JS_SECOND_US / 5, &cli_stop);
	}
}
