/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One question to Slurm, in a child.  Promise: whatever the module and libslurm do there (wait, exit, crash), this
 * process goes on; nothing of it but memory is the child's, and no child is left.
 */
#define _GNU_SOURCE
#include "slurm/asking.h"

#include "base/clock.h"
#include "base/error.h"
#include "process/child.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE_US                                                                                                    \
	(2 * JS_SECOND_US) /* a worker that is refused a process at once would be without its time limit               \
			    */

/* ----------------------------------------------------------------------------------------------------- the child */

static void exit_at_once(void)
{
	_exit(1);
}

static void send_answer(const struct js_slurm_answer *answer)
{
	const char *p = (const char *)answer;
	size_t len = sizeof(*answer);

	while (len > 0) {
		ssize_t n = write(3, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(1);
		p += n;
		len -= (size_t)n;
	}
}

static _Noreturn void refuse_question(struct js_slurm_answer *answer, int code, const char *what, const char *why)
{
	answer->code = code;
	(void)snprintf(answer->text, sizeof(answer->text), "%s: %s", what, why);
	send_answer(answer);
	_exit(1);
}

/* Asks about jobs: with one question if they are one user's. */
static void answer_jobs(const struct js_slurm_ops *ops, const struct js_slurm_question *q,
			struct js_slurm_answer *answer)
{
	int rc = 0;

	if (q->uid != JS_SLURM_ANYBODY && q->n > 1)
		rc = ops->user_jobs(q->uid, q->job_ids, q->n, q->jobs, answer->text, sizeof(answer->text));
	for (size_t i = 0; i < q->n && rc == 0; i++) {
		answer->text[0] = '\0';
		if (q->uid != JS_SLURM_ANYBODY && q->n > 1)
			answer->job = q->jobs[i];
		else
			rc = ops->job(q->job_ids[i], &answer->job, answer->text, sizeof(answer->text));
		if (rc == 0)
			send_answer(answer);
	}
	answer->code = JOBSTACK_EFILE;
	if (rc != 0) /* the next would wait for as long */
		send_answer(answer);
}

static void answer_steps(const struct js_slurm_ops *ops, const struct js_slurm_question *q,
			 struct js_slurm_answer *answer)
{
	if (ops->steps(q->steps, q->n, answer->text, sizeof(answer->text)) != 0) {
		answer->code = JOBSTACK_EFILE;
		send_answer(answer);
		return;
	}
	for (int nodes = 0; nodes < 2; nodes++) /* first what is known already: the nodes may take long */
		for (size_t i = 0; i < q->n; i++) {
			if (nodes && (q->steps[i].listed != 0 || q->steps[i].down != 0))
				continue;
			if (nodes)
				(void)ops->at_node(&q->steps[i], answer->text, sizeof(answer->text));
			answer->text[0] = '\0';
			answer->step = q->steps[i];
			answer->i = i;
			send_answer(answer);
		}
}

static void send_queued(void *ctx, const struct js_slurm_queued *job)
{
	struct js_slurm_answer *answer = ctx;

	answer->queued = *job;
	send_answer(answer);
}

/* What the child does.  Whatever libslurm does to end the process must not run this program's exit handlers, nor flush
 * its stdio.  What it writes to is memory that was there before the fork. */
static const char *answer_question(const void *arg)
{
	const struct js_slurm_question *q = arg;
	struct js_slurm_answer *answer = q->answer;
	const struct js_slurm_ops *ops;
	void *module;

	(void)dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
	(void)atexit(exit_at_once);
	/* RTLD_GLOBAL: libslurm's plugins look for its symbols in the program */
	module = dlopen(q->module, RTLD_NOW | RTLD_GLOBAL);
	if (module == NULL)
		refuse_question(answer, JOBSTACK_ECONFLICT, "the Slurm module can't be opened", dlerror());
	ops = dlsym(module, JS_SLURM_SYMBOL);
	if (ops == NULL || ops->abi != JS_SLURM_ABI || ops->job_size != sizeof(struct js_slurm_job) ||
	    ops->step_size != sizeof(struct js_slurm_step) || ops->conf_size != sizeof(struct js_slurm_conf) ||
	    ops->queued_size != sizeof(struct js_slurm_queued))
		refuse_question(answer, JOBSTACK_ECONFLICT, "the Slurm module is of another version of jobstack",
				q->module);
	if (q->jobs != NULL)
		answer_jobs(ops, q, answer);
	else if (q->steps != NULL)
		answer_steps(ops, q, answer);
	else if (q->stack != NULL) {
		if (ops->queued(q->uid, q->stack, send_queued, answer, answer->text, sizeof(answer->text)) != 0)
			answer->code = JOBSTACK_EFILE;
		answer->queued.job = 0;
		send_answer(answer);
	} else {
		if (ops->conf(&answer->conf, answer->text, sizeof(answer->text)) != 0)
			answer->code = JOBSTACK_EFILE;
		send_answer(answer);
	}
	_exit(0);
}

/* ---------------------------------------------------------------------------------------------------- the parent */

int js_slurm_asking_begin(struct js_slurm_asking *a, const struct js_slurm_question *question,
			  struct jobstack_error *error)
{
	struct js_child child = {.shut_others = 1,
				 .death_signal = SIGKILL,
				 .patience_us = PATIENCE_US,
				 .group = JS_CHILD_OURS,
				 .ignored = JS_CHILD_IGNORED_NOHUP,
				 .enter = answer_question,
				 .arg = question};
	int answers[2] = {-1, -1}, said[2] = {-1, -1}, ends[4], err;

	a->pid = -1;
	if (pipe2(answers, O_CLOEXEC) == 0 && pipe2(said, O_CLOEXEC) == 0) {
		child.extra = answers[1];
		child.err = said[1];
		a->pid = js_child_start(&child, NULL);
	}
	err = errno;
	a->answers = answers[0];
	a->said = said[0];
	memcpy(ends, (const int[4]){answers[1], said[1], answers[0], said[0]}, sizeof(ends));
	for (int i = 0; i < (a->pid < 0 ? 4 : 2); i++)
		if (ends[i] >= 0)
			(void)close(ends[i]);
	return a->pid >= 0 ? 0
			   : js_error_set(error, JOBSTACK_EFILE, "can't start a process to ask Slurm: %s",
					  js_error_process_words(err));
}

/* Keeps the last line that is not empty. */
static void read_libslurm_words(struct js_slurm_asking *a)
{
	char text[512];
	ssize_t n = read(a->said, text, sizeof(text));

	if (n < 0 && errno == EINTR)
		return;
	if (n <= 0) {
		(void)close(a->said);
		a->said = -1;
		return;
	}
	for (ssize_t i = 0; i < n; i++) {
		if (text[i] == '\n') {
			a->line_ended = 1;
			continue;
		}
		if (a->line_ended)
			a->last_len = 0;
		a->line_ended = 0;
		if (a->last_len + 1 < sizeof(a->last))
			a->last[a->last_len++] = text[i];
	}
	a->last[a->last_len] = '\0';
}

int js_slurm_asking_next(struct js_slurm_asking *a, int64_t until, struct js_slurm_answer *answer)
{
	size_t have = 0;

	while (have < sizeof(*answer)) {
		struct pollfd p[2] = {{a->answers, POLLIN, 0}, {a->said, POLLIN, 0}};
		int64_t left = until - js_clock_mono_us();
		ssize_t n;

		if (left <= 0)
			return -1;
		if (poll(p, 2, (int)(left / 1000) + 1) <= 0)
			continue;
		if (p[1].revents != 0)
			read_libslurm_words(a);
		if (p[0].revents == 0)
			continue;
		n = read(a->answers, (char *)answer + have, sizeof(*answer) - have);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return 0;
		have += (size_t)n;
	}
	return 1;
}

int js_slurm_asking_end(struct js_slurm_asking *a, int gone)
{
	int status;

	if (!gone)
		(void)kill(a->pid, SIGKILL);
	while (gone && a->said >= 0) /* what it had to say in the end */
		read_libslurm_words(a);
	status = js_child_wait(a->pid);
	(void)close(a->answers);
	if (a->said >= 0)
		(void)close(a->said);
	return status;
}
