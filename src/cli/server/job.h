/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The private server as a Slurm job.
 *
 *     submit.c  `server submit`: the script, and handing it over
 *     job.c     what `server run` does inside of such a job, and what `stop` and `status` know of it
 *
 * A chain of jobs: each submits the one after it, which waits for its end, once its own server is up.  Beside the
 * server's directory lie DIR.sbatch, the script; DIR.job-N.log, what each job said; and DIR.jobs, the numbers of the
 * jobs that may be there.  The chain is alive as long as DIR.jobs is there: who removes it ends it, and a job that does
 * not find its number in it leaves.
 */
#pragma once

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "server/server.h"
#include "slurm/query.h"

#define CLI_SERVER_WALL_US                                                                                             \
	(240 * JS_SECOND_US) /* the shortest wall time that leaves a server time between its start and its stop */

/* The subcommand's own parsing: argv[0] is "submit". */
int cli_server_submit_main(int argc, char **argv);

/* root's directory of the server. */
#define CLI_SERVER_ROOT_DATA "/var/lib/jobstack/server"
#define CLI_SERVER_PORT "a number from 1 to 65535"

/* The default places of the server, where none were given.  0, or CLI_USAGE. */
int cli_server_paths(struct cli *cli, struct js_server_options *options);

/* For cli_parse: a size of memory, into a uint64_t. */
int cli_server_memory(struct cli *cli, void *ctx, int key, const char *arg);

/* NAME beside the directory DATA ("DATA.jobs"), in a static buffer. */
const char *cli_server_beside(const char *data, const char *suffix);

/* The numbers of the chain's jobs, separated by blanks, into TEXT; "" if there is no chain. */
void cli_server_jobs(const char *data, char text[64]);
int cli_server_jobs_write(const char *data, const char *text);

/* What Slurm says of the chain's job JOB, within LIMIT: as js_slurm_job; 1 also if JOB is no number. */
int cli_server_job_ask(const char *job, int64_t limit_us, struct js_slurm_job *out, struct jobstack_error *error);

/* Inside of a job, before the start: waits until the server of the job before has proven to be gone.  Returns 0 to
 * start, with options->ended_job set if that is what allows it; or 1 if the chain was ended. */
int cli_server_job_begin(struct cli *cli, struct js_server_options *options);

/* The server is up: submits the next job by the words AGAIN.  A failure is told, and no more. */
void cli_server_job_next(struct cli *cli, const struct js_server_options *options, const struct cli_words *again);

/* The server has ended, by itself (not OURS) after LIVED_US, and WELL or not: decides whether the chain goes on. */
void cli_server_job_end(struct cli *cli, const struct js_server_options *options, int well, int64_t lived_us);

/* Ends the chain and the server in it.  Returns 1 if it is stopped, 0 if there was no chain (or it could not be told to
 * stop): then it is to be stopped as any other; or a negative code. */
int cli_server_job_stop(struct cli *cli, const struct js_server_options *options);
