/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The proof by Slurm.  Promises: a worker is judged only by the cluster that it names; the end of a job, or of a step,
 * counts only for the very job that the worker was in, and only if its node answers that the step is not there.
 * NODE_FAIL, COMPLETING, an unknown job, a node that is down or does not answer prove nothing.
 */
#include "watch/suspect.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "slurm/query.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SILENT_US (2 * JS_SECOND_US) /* Slurm is not asked about a worker with a later heartbeat */
#define SAME_START_US (2 * JS_SECOND_US)
#define CLOCKS_US (60 * JS_SECOND_US) /* how far the clocks of Slurm, the database and this host may lie apart */

/* The workers to ask about, and the answers; all arrays have N elements. */
struct inquiry {
	struct js_slurm_where where;
	struct js_suspect **who;
	uint32_t *ids; /* of the jobs, each once: first those of our user, then others */
	struct js_slurm_job *jobs;
	struct js_slurm_step *steps;
	struct js_suspect **step_of;
	size_t n, ours, jobs_n, steps_n;
};

static int log_unanswered(const struct js_round *round, size_t n, const struct jobstack_error *error)
{
	const struct js_log log = {round->options->log, round->options->log_ctx};

	js_log(&log, JOBSTACK_LOG_WARNING, "Slurm could not be asked about %zu worker%s: %s", n, n == 1 ? "" : "s",
	       error->text);
	return 0;
}

/* Chooses the workers in jobs of this cluster.  The environment may name one cluster and lead to another
 * ($SLURM_CONF), so the cluster that answers is compared with ours when the jobs are asked about. */
static int choose_jobs(const struct js_round *round, struct js_suspects *all, struct inquiry *q)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	const char *cluster = round->options->cluster;
	struct js_slurm_conf conf;
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++)
		if (all->at[i].job != 0 && all->at[i].reason[0] == '\0' && !all->at[i].lives &&
		    (round->options->all || all->at[i].silent_us > SILENT_US))
			q->who[n++] = &all->at[i];
	if (n > 0 && (cluster == NULL || cluster[0] == '\0')) {
		if (js_slurm_conf(&q->where, &conf, &error) != 0)
			return log_unanswered(round, n, &error);
		cluster = conf.cluster;
	} else
		q->where.cluster = cluster;
	for (size_t i = 0; i < n; i++)
		if (strcmp(q->who[i]->cluster, cluster) == 0)
			q->who[q->n++] = q->who[i];
	return 0;
}

static size_t find_job_index(const struct inquiry *q, uint32_t id)
{
	size_t i = 0;

	while (i < q->jobs_n && q->ids[i] != id)
		i++;
	return i;
}

/* One question for all jobs of our user, and one for each of the others. */
static int ask_slurm_jobs(const struct js_round *round, struct inquiry *q)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	int rc = 0;

	for (int others = 0; others < 2; others++) {
		for (size_t i = 0; i < q->n; i++)
			if (q->who[i]->ours == !others && find_job_index(q, q->who[i]->job) == q->jobs_n)
				q->ids[q->jobs_n++] = q->who[i]->job;
		if (!others)
			q->ours = q->jobs_n;
	}
	if (q->ours > 0)
		rc = js_slurm_jobs(&q->where, (uint32_t)geteuid(), q->ids, q->ours, q->jobs, &error);
	if (rc == 0 && q->jobs_n > q->ours)
		rc = js_slurm_jobs(&q->where, JS_SLURM_ANYBODY, q->ids + q->ours, q->jobs_n - q->ours,
				   q->jobs + q->ours, &error);
	q->where.cluster = NULL; /* it is ours */
	if (rc == 0)
		return 0;
	(void)log_unanswered(round, q->n, &error);
	q->n = 0; /* the next question would wait for as long */
	return 0;
}

/* Whether JOB, as Slurm has it, is the job of this worker.  Job numbers are reused, and a requeued job keeps its
 * number. */
static int same_job(const struct js_suspect *s, const struct js_slurm_job *job, int64_t now_us)
{
	int64_t apart = s->job_start_us - job->start_us;

	if (job->start_us < 0)
		return 0;
	if (s->job_start_us >= 0 ? apart > SAME_START_US || apart < -SAME_START_US : job->restarts > 0)
		return 0;
	/* a job that began after the worker, or ended before its last heartbeat, is another */
	if (job->start_us > now_us - s->age_us + CLOCKS_US)
		return 0;
	return !job->terminal || job->end_us < 0 || job->end_us >= now_us - s->silent_us - CLOCKS_US;
}

static void explain_error(const struct js_slurm_job *job, struct js_suspect *s, char text[JS_WATCH_REASON])
{
	static const struct {
		const char *state, *words;
	} known[] = {{"CANCELLED", "job cancelled"},
		     {"TIMEOUT", "wall time"},
		     {"DEADLINE", "wall time"},
		     {"OUT_OF_MEMORY", "out of memory"},
		     {"PREEMPTED", "preempted"}};
	size_t i, n = sizeof(known) / sizeof(known[0]);

	for (i = 0; i < n && strncmp(job->state, known[i].state, strlen(known[i].state)) != 0; i++)
		;
	if (i < n)
		(void)snprintf(text, JS_WATCH_REASON, "%s (Slurm job %" PRIu32 " %.64s)", known[i].words, s->job,
			       job->state);
	else
		(void)snprintf(text, JS_WATCH_REASON, "its Slurm job %" PRIu32 " ended (%.64s)", s->job, job->state);
}

/* Judges by the job's state; adds the step to those that are asked about, if that may prove something. */
static void judge_job(struct inquiry *q, struct js_suspect *s, const struct js_slurm_job *job, int64_t now_us)
{
	struct js_slurm_step *step = &q->steps[q->steps_n];
	int same = job->found && same_job(s, job, now_us),
	    running = strcmp(job->state, "RUNNING") == 0 && !s->by_script;

	if (same && job->terminal)
		explain_error(job, s, s->hint);
	else if (same && strncmp(job->state, "NODE_FAIL", 9) == 0)
		(void)snprintf(s->hint, sizeof(s->hint), "node failed (Slurm job %" PRIu32 " %.64s)", s->job,
			       job->state);
	else if (job->found && !same && job->restarts > 0)
		(void)snprintf(s->hint, sizeof(s->hint), "its Slurm job %" PRIu32 " was requeued", s->job);
	if (!(same && (job->terminal || running)) && !js_suspect_is(s) && s->hint[0] == '\0')
		return;
	memset(step, 0, sizeof(*step));
	step->job = s->job;
	step->step = s->step;
	step->look = js_suspect_is(s) || s->hint[0] != '\0';
	(void)snprintf(step->node, sizeof(step->node), "%s", s->node);
	q->step_of[q->steps_n++] = s;
}

/* Judges by the controller's list of steps and what the node says. */
static void judge_step(const struct js_slurm_step *step, struct js_suspect *s, const struct js_slurm_job *job,
		       int64_t now_us)
{
	int same = job->found && same_job(s, job, now_us);
	size_t len;

	if (step->down == 1)
		(void)snprintf(s->hint, sizeof(s->hint), "node failed (%.200s)", s->node);
	if (!same || step->listed != 0 || step->down != 0)
		return;
	/* a worker in no step belongs to the batch script, on its node; salloc's job has no batch script, so its end
	 * proves nothing */
	if (s->step == JS_SLURM_BATCH && strcmp(s->node, job->batch_host) != 0)
		return;
	if (step->at_node != 0) {
		len = strlen(s->hint);
		if (step->at_node < 0)
			(void)snprintf(s->hint + len, sizeof(s->hint) - len, "%snode %.100s does not answer",
				       len > 0 ? ", " : "", s->node);
	} else if (job->terminal)
		explain_error(job, s, s->reason);
	else if (strcmp(job->state, "RUNNING") == 0 &&
		 !s->by_script) { /* an entry popped by a script outlives the step */
		if (s->step == JS_SLURM_BATCH)
			(void)snprintf(s->reason, sizeof(s->reason),
				       "the batch script of its Slurm job %" PRIu32 " ended", s->job);
		else
			(void)snprintf(s->reason, sizeof(s->reason), "its Slurm step %" PRIu32 ".%" PRIu32 " ended",
				       s->job, s->step);
	}
}

static int ask_about_all(const struct js_round *round, struct js_suspects *all, struct inquiry *q)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	int64_t now = js_clock_wall_us();
	int status = choose_jobs(round, all, q);

	if (status != 0 || q->n == 0)
		return status;
	JS_TRY(ask_slurm_jobs(round, q));
	for (size_t i = 0; i < q->n; i++)
		judge_job(q, q->who[i], &q->jobs[find_job_index(q, q->who[i]->job)], now);
	if (q->steps_n > 0 && js_slurm_steps(&q->where, q->steps, q->steps_n, &error) != 0)
		status = log_unanswered(round, q->steps_n, &error);
	for (size_t i = 0; i < q->steps_n; i++)
		judge_step(&q->steps[i], q->step_of[i], &q->jobs[find_job_index(q, q->step_of[i]->job)], now);
	return status;
}

int js_watch_by_slurm(const struct js_round *round, struct js_suspects *all)
{
	struct inquiry q = {.where = {round->options->module_dir, round->options->slurm_limit_us, NULL}};
	size_t n = all->n + 1;
	int status;

	q.who = calloc(n, sizeof(struct js_suspect *));
	q.step_of = calloc(n, sizeof(struct js_suspect *));
	q.ids = calloc(n, sizeof(*q.ids));
	q.jobs = calloc(n, sizeof(*q.jobs));
	q.steps = calloc(n, sizeof(*q.steps));
	if (q.who == NULL || q.step_of == NULL || q.ids == NULL || q.jobs == NULL || q.steps == NULL)
		status = js_error_memory(round->error);
	else
		status = ask_about_all(round, all, &q);
	free(q.who);
	free(q.step_of);
	free(q.ids);
	free(q.jobs);
	free(q.steps);
	return status;
}
