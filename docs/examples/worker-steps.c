/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A worker of its own in C, with a lease: claim entries of the stack airs-2012, work on them, send heartbeats
 * meanwhile, and close them in the same transaction that claims the next ones, until nothing is ready.
 *
 *     cc -o worker-steps worker-steps.c process.c $(pkg-config --cflags --libs jobstack)
 *     ./worker-steps ~/.config/jobstack/client.cnf
 *
 * process.c is yours.  Each entry is processed in a child, which can be killed if the lease is lost.  SIGTERM and
 * SIGINT end the worker: what it has not finished goes back.
 */
#define _GNU_SOURCE
#include <jobstack/jobstack.h>

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK "airs-2012"
#define CLAIM 10 /* entries at once */
#define PATIENCE_US INT64_C(5000000)

int process(const char *datapath); /* an exit code: 0 done, else failed */

static volatile sig_atomic_t going = 1;

static void on_signal(int number)
{
	(void)number;
	going = 0;
	jobstack_stop(NULL); /* a wait for the database ends too */
}

/* Processes one entry in a child.  0 with OUTCOME filled; else the lease is gone, or the worker is to end. */
static int work(struct jobstack_worker *worker, const struct jobstack_entry *entry, struct jobstack_outcome *outcome,
		struct jobstack_error *error)
{
	struct jobstack_running running = JOBSTACK_RUNNING_INIT;
	int status = 0, ended = 0;
	pid_t child;

	outcome->entry = running.entry = entry->entry;
	outcome->attempt = running.attempt = entry->attempt;
	outcome->started_us = running.started_us = jobstack_now_us();
	child = fork();
	if (child == 0)
		_exit(process(entry->datapath));
	while (child > 0 && status == 0 && going && waitpid(child, &ended, WNOHANG) == 0) {
		status = jobstack_heartbeat(worker, &running, 1, NULL, error);
		if (status == JOBSTACK_ENODB &&
		    jobstack_now_us() < jobstack_worker_deadline_us(worker) - 3 * PATIENCE_US) {
			*error = (struct jobstack_error)JOBSTACK_ERROR_INIT; /* the lease is not over yet */
			status = 0;
		}
		(void)usleep(20000);
	}
	if (child < 0 || status != 0 || !going) {
		if (child > 0) {
			(void)kill(child, SIGKILL);
			(void)waitpid(child, NULL, 0);
		}
		return status != 0 ? status : JOBSTACK_ESTOPPED;
	}
	outcome->ended_us = jobstack_now_us();
	outcome->exit_code = WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
	outcome->signal = WIFSIGNALED(ended) ? WTERMSIG(ended) : 0;
	outcome->verdict = outcome->exit_code == 0 ? JOBSTACK_DONE : JOBSTACK_FAILED;
	return 0;
}

/* Takes steps until nothing is ready.  The last ones' outcomes stay in OUTCOMES, N of them, for the end. */
static int take_steps(struct jobstack_worker *worker, struct jobstack_outcome outcomes[CLAIM], size_t *n,
		      struct jobstack_error *error)
{
	struct jobstack_batch batch = JOBSTACK_BATCH_INIT;
	int status;

	do {
		struct jobstack_step step = JOBSTACK_STEP_INIT;

		step.outcomes = outcomes;
		step.outcomes_n = *n;
		step.claim = CLAIM;
		status = jobstack_step(worker, &step, &batch, NULL, error);
		if (status != 0)
			return status;
		*n = 0;
		for (size_t i = 0; status == 0 && i < batch.count; i++) {
			outcomes[*n] = (struct jobstack_outcome)JOBSTACK_OUTCOME_INIT;
			status = work(worker, jobstack_batch_entry(&batch, i), &outcomes[*n], error);
			*n += status == 0;
		}
		jobstack_batch_free(&batch);
	} while (status == 0 && *n > 0);
	return status;
}

int main(int argc, char **argv)
{
	struct jobstack_options options = JOBSTACK_OPTIONS_INIT;
	struct jobstack_worker_options who = JOBSTACK_WORKER_OPTIONS_INIT;
	struct jobstack_error error = JOBSTACK_ERROR_INIT, ignored = JOBSTACK_ERROR_INIT;
	struct jobstack_outcome outcomes[CLAIM];
	struct jobstack_worker *worker = NULL;
	struct jobstack *handle = NULL;
	size_t n = 0;
	int status;

	(void)signal(SIGTERM, on_signal);
	(void)signal(SIGINT, on_signal);
	options.defaults_file = argc > 1 ? argv[1] : NULL;
	options.patience_us = PATIENCE_US;
	who.lease_us = 300 * INT64_C(1000000);
	who.pid = getpid();
	status = jobstack_open(&handle, &options, &error);
	if (status == 0)
		status = jobstack_worker_begin(handle, STACK, &who, &worker, &error);
	if (status == 0) {
		status = take_steps(worker, outcomes, &n, &error);
		if (status == 0 || status == JOBSTACK_ESTOPPED) /* what is not among the outcomes goes back */
			(void)jobstack_worker_end(worker, outcomes, n, JOBSTACK_CAUSE_NONE, "the program ended", &ignored);
	}
	if (status == JOBSTACK_NOTHING)
		(void)fprintf(stderr, "the lease was lost: other workers have the entries now\n");
	else if (status != 0)
		(void)fprintf(stderr, "%s\n", error.text[0] != '\0' ? error.text : jobstack_strerror(status));
	jobstack_worker_free(worker);
	jobstack_free(handle);
	return status != 0;
}
