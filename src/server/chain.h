/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The private server in Slurm jobs.
 *
 *     submit.c  `server submit`: writes the script and calls sbatch
 *     job.c     what `server run` does in such a job, and what `stop` and `status` need
 *
 * The jobs form a chain: when its server is up, each job submits the next one, which waits for its end.  Beside the
 * server's directory are DIR.sbatch, the script; DIR.job-N.log, the messages of job N; and DIR.jobs, the numbers of the
 * jobs that may exist, and in a second line their cluster, if it is known. The chain exists as long as DIR.jobs does:
 * removing the file ends the chain, and a job whose number is not in it ends.
 */
#pragma once

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "server/server.h"
#include "slurm/query.h"

/* a shorter wall time leaves no time between the start and the stop of the server */
#define CLI_SERVER_WALL_US (240 * JS_SECOND_US)

/* The subcommand's own parsing: argv[0] is "submit". */
int cli_server_submit_main(int argc, char **argv);
extern const struct js_opts cli_server_submit_opts;

/* root's directory of the server. */
#define CLI_SERVER_ROOT_DATA "/var/lib/jobstack/server"
#define CLI_SERVER_PORT "a number from 1 to 65535"

/* Sets the default paths of the server where none were given.  Returns 0, or CLI_USAGE. */
int cli_server_paths(struct cli *cli, struct js_server_options *options);

/* For cli_parse: parses a size of memory into a uint64_t. */
int cli_server_memory(struct cli *cli, void *ctx, int key, const char *arg);

/* NAME beside the directory DATA ("DATA.jobs"), in a static buffer. */
const char *cli_server_beside(const char *data, const char *suffix);

/* The numbers of the chain's jobs, separated by blanks, into TEXT; "" if there is no chain. */
void cli_server_jobs(const char *data, char text[64]);
int cli_server_jobs_write(const char *data, const char *text, const char *cluster);

/* The messages of the chain's last job, in a static buffer; NULL if there are none. */
const char *cli_server_job_log(const char *data);

/* Asks Slurm for the job JOB of CLUSTER (NULL or "": any), for at most LIMIT.  Returns what js_slurm_job returns; also
 * 1 if JOB is not a number. */
int cli_server_job_ask(const char *job, const char *cluster, int64_t limit_us, struct js_slurm_job *out,
		       struct jobstack_error *error);

/* The name of the cluster that sbatch and scancel reach; "" if it does not say. */
const char *cli_server_cluster(void);

/* In a job, before the start: waits until Slurm has proven that the server of the last job is gone.  Returns 0 if the
 * server should be started, with options->ended_job set if that proof allows it; 1 if the chain was ended. */
int cli_server_job_begin(struct cli *cli, struct js_server_options *options);

/* Called when the server is up: submits the next job with the words AGAIN.  A failure is only reported. */
void cli_server_job_next(struct cli *cli, const struct js_server_options *options, const struct cli_words *again);

/* Called when the server has ended after LIVED_US, cleanly (WELL) or not: decides whether the chain continues. */
void cli_server_job_end(struct cli *cli, const struct js_server_options *options, int well, int64_t lived_us);

/* Ends the chain and its server.  Returns 1 if the server is stopped; 0 if there is no chain, or its job could not be
 * signalled: then stop the server like any other; or a negative code. */
int cli_server_job_stop(struct cli *cli, const struct js_server_options *options);
