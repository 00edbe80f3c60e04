/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The proof by Slurm.  Promises: a worker is judged only by the cluster that it names; the end of a job, or of a step,
 * counts only for the very job that the worker was in, and only if its node answers that the step is not there.
 * NODE_FAIL, COMPLETING, an unknown job, a node that is down or does not answer prove nothing.  Unless a person asks,
 * nobody is asked before some worker is missed, nor sooner after the user's last question than the site wants.
 */
#include "death/budget.h"
#include "death/suspect.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "slurm/query.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OTHERS_MOST 8		       /* a question is about so many jobs of other users */
#define QUICK_US (2 * JS_SECOND_US)    /* if Slurm takes longer, it is not asked again in the same round */
#define AGAIN_PART 4		       /* of its silence passes until a worker that stays missed is a reason again */
#define RARELY_US (300 * JS_SECOND_US) /* how often at least a worker that stays missed is a reason to ask */
#define SAME_START_US (2 * JS_SECOND_US)
#define CLOCKS_US (60 * JS_SECOND_US) /* how far the clocks of Slurm, the database and this host may lie apart */

/* A query to Slurm: the workers that it is about, and the answers.  All arrays have room for all workers of the round.
 */
struct query {
	struct js_slurm_where where;
	struct js_suspect **who;     /* N of them */
	uint32_t *ids;		     /* of the jobs, each once: first those of our user, then others */
	struct js_slurm_job *jobs;   /* what Slurm says of each, JOBS_N of them; the first OURS are our user's */
	struct js_slurm_step *steps; /* STEPS_N of them */
	struct js_suspect **step_of; /* the worker of each step */
	size_t n, ours, jobs_n, steps_n;
};

static int log_unanswered(const struct js_round *round, size_t n, const struct jobstack_error *error)
{
	const struct js_log log = {round->options->log, round->options->log_ctx};

	js_log(&log, JOBSTACK_LOG_WARNING, "Slurm could not be asked about %zu worker%s: %s", n, n == 1 ? "" : "s",
	       error->text);
	return 0;
}

static struct js_budget budget_of(const struct js_round *round, const struct js_suspects *all)
{
	return (struct js_budget){.handle = round->handle,
				  .where = {round->options->module_dir, round->options->slurm_limit_us, NULL},
				  .cluster = all->cluster,
				  .every_us = round->options->ask_every_us};
}

/* Finds out the name of the cluster that we can ask, for the sake of N workers.  Returns 0, or 1 if it is not known. */
static int find_cluster(const struct js_round *round, struct js_suspects *all, size_t n)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	const struct js_budget budget = budget_of(round, all);
	struct js_slurm_conf conf;
	int status;

	if (all->cluster[0] == '\0' && round->options->cluster != NULL)
		(void)snprintf(all->cluster, sizeof(all->cluster), "%s", round->options->cluster);
	if (all->cluster[0] != '\0')
		return 0;
	all->compared = round->options->ask_every_us == 0;
	status = all->compared ? js_slurm_conf(&budget.where, &conf, &error) : js_budget_conf(&budget, &conf, &error);
	if (status != 0)
		(void)log_unanswered(round, n, &error);
	(void)snprintf(all->cluster, sizeof(all->cluster), "%s", conf.cluster);
	return status != 0;
}

/* Returns whether Slurm may be asked about S. */
static int is_askable(const struct js_round *round, const struct js_suspect *s)
{
	return s->job != 0 && s->reason[0] == '\0' && !s->lives &&
	       (round->options->all || s->silent_us > JS_OBSERVER_SILENT_US);
}

/* Returns whether a question about S, which is in another user's job, is asked.  JOBS are the *N jobs chosen so far. */
static int is_chosen(const struct js_suspect *s, uint32_t jobs[OTHERS_MOST], size_t *n)
{
	size_t i = 0;

	while (i < *n && jobs[i] != s->job)
		i++;
	if (!s->asked || i == OTHERS_MOST)
		return 0;
	if (i == *n)
		jobs[(*n)++] = s->job;
	return 1;
}

/* Chooses the workers in jobs of this cluster.  One question is about all jobs of our user, but other users' jobs are
 * asked about one by one.  So only some of those are chosen, starting from a random worker: in the long run each has
 * its chance. */
static void choose_jobs(const struct js_round *round, struct js_suspects *all, struct query *q)
{
	int limited = round->options->ask_every_us > 0;
	size_t n = 0, others_n = 0, first = 0;
	uint32_t others[OTHERS_MOST];

	for (size_t i = 0; i < all->n; i++)
		n += is_askable(round, &all->at[i]) ? 1 : 0;
	if (n == 0 || find_cluster(round, all, n) != 0)
		return;
	js_file_random(&first, sizeof(first));
	for (size_t i = 0; i < all->n; i++) {
		struct js_suspect *s = &all->at[(first % all->n + i) % all->n];

		if (is_askable(round, s) && strcmp(s->cluster, all->cluster) == 0 &&
		    (!limited || s->ours || is_chosen(s, others, &others_n)))
			q->who[q->n++] = s;
	}
	/* The environment may name one cluster and lead to another ($SLURM_CONF), and a name that others have learned
	 * may be another place's. */
	q->where.cluster = all->compared ? NULL : all->cluster;
}

static size_t find_job_index(const struct query *q, uint32_t id)
{
	size_t i = 0;

	while (i < q->jobs_n && q->ids[i] != id)
		i++;
	return i;
}

/* Asks about the jobs: with one question about all jobs of our user, and then about each of the others.  If only the
 * second part fails, the query is reduced to our own workers. */
static int ask_slurm_jobs(const struct js_round *round, struct js_suspects *all, struct query *q)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	size_t n = q->n;
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
	if (rc == 0 && q->jobs_n > q->ours &&
	    js_slurm_jobs(&q->where, JS_SLURM_ANYBODY, q->ids + q->ours, q->jobs_n - q->ours, q->jobs + q->ours,
			  &error) != 0) {
		q->n = 0;
		for (size_t i = 0; i < n; i++)
			if (q->who[i]->ours)
				q->who[q->n++] = q->who[i];
		rc = q->n > 0 ? log_unanswered(round, n - q->n, &error) : -1;
	}
	q->where.cluster = NULL; /* the cluster was compared: no need to do so for the steps */
	if (rc == 0)
		return 0;
	(void)log_unanswered(round, n, &error);
	q->n = 0; /* no question about steps follows: it would wait for as long */
	all->unanswered = 1;
	return 0;
}

/* Returns whether JOB, as Slurm has it, is the job of this worker.  Job numbers are reused, and a requeued job keeps
 * its number. */
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

/* Says why the job ended, by its state in Slurm, and notes the cause. */
static void explain_error(const struct js_slurm_job *job, struct js_suspect *s, char text[JS_OBSERVER_REASON])
{
	static const struct {
		const char *state, *words;
		enum jobstack_cause cause;
	} known[] = {{"CANCELLED", "job cancelled", JOBSTACK_CAUSE_CANCELLED},
		     {"TIMEOUT", "wall time", JOBSTACK_CAUSE_WALL_TIME},
		     {"DEADLINE", "wall time", JOBSTACK_CAUSE_WALL_TIME},
		     {"OUT_OF_MEMORY", "out of memory", JOBSTACK_CAUSE_MEMORY},
		     {"PREEMPTED", "preempted", JOBSTACK_CAUSE_PREEMPTED}};
	size_t i, n = sizeof(known) / sizeof(known[0]);

	for (i = 0; i < n && strncmp(job->state, known[i].state, strlen(known[i].state)) != 0; i++)
		;
	s->cause = i < n ? known[i].cause : JOBSTACK_CAUSE_WORKER;
	if (i < n)
		(void)snprintf(text, JS_OBSERVER_REASON, "%s (Slurm job %" PRIu32 " %.64s)", known[i].words, s->job,
			       job->state);
	else
		(void)snprintf(text, JS_OBSERVER_REASON, "its Slurm job %" PRIu32 " ended (%.64s)", s->job, job->state);
}

/* Judges S by the state of its job, which alone proves nothing.  Adds its step to the query if an answer about the step
 * can prove the death, or say more to people. */
static void judge_job(struct query *q, struct js_suspect *s, const struct js_slurm_job *job, int64_t now_us)
{
	struct js_slurm_step *step = &q->steps[q->steps_n];
	int same = job->found && same_job(s, job, now_us),
	    running = strcmp(job->state, "RUNNING") == 0 && !s->by_script;

	s->hint[0] = '\0';
	s->cause = JOBSTACK_CAUSE_NONE;
	s->unclear = same && !job->terminal && strstr(job->state, "COMPLETING") != NULL;
	if (same && job->terminal)
		explain_error(job, s, s->hint);
	else if (same && strncmp(job->state, "NODE_FAIL", 9) == 0) {
		s->cause = JOBSTACK_CAUSE_NODE_FAILED;
		(void)snprintf(s->hint, sizeof(s->hint), "node failed (Slurm job %" PRIu32 " %.64s)", s->job,
			       job->state);
	} else if (job->found && !same && job->restarts > 0)
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

/* Judges S by the controller's list of steps and by what its node says.  Both are needed: a slurmctld that was killed
 * may have forgotten the step, and a slurmstepd that was killed may have left the worker running.  So S is dead only if
 * the job is the worker's, the step is not listed, and the node answers that it does not have it. */
static void judge_step(const struct js_slurm_step *step, struct js_suspect *s, const struct js_slurm_job *job,
		       int64_t now_us)
{
	int same = job->found && same_job(s, job, now_us);
	size_t len;

	if (same && step->down == 0 && step->listed == 0 && step->at_node != 0)
		s->unclear = 1;
	else if (same && step->listed == 1 && s->connected == 0 && s->unclear == 0)
		s->unclear = 2;
	if (step->down == 1)
		s->cause = JOBSTACK_CAUSE_NODE_FAILED;
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

/* Returns whether it should be noted with S that Slurm was asked in vain, which makes S a reason to ask ever more
 * rarely (is_reason).  Not for a worker that has just missed a heartbeat, nor while Slurm or the next question may say
 * more. */
static int is_unproven(const struct js_round *round, const struct js_suspect *s)
{
	return s->asked && s->hint[0] == '\0' && s->noted[0] == '\0' && s->unclear != 1 &&
	       s->silent_us > (s->lease_us / 3 < RARELY_US ? s->lease_us / 3 : RARELY_US) &&
	       s->silent_us / AGAIN_PART > round->options->ask_every_us;
}

static int ask_about_all(const struct js_round *round, struct js_suspects *all, struct query *q)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	int64_t now = all->read_us; /* the workers' ages were true then, or a little later */

	choose_jobs(round, all, q);
	if (q->n == 0)
		return 0;
	JS_TRY(ask_slurm_jobs(round, all, q));
	all->compared |= q->n > 0;
	for (size_t i = 0; i < q->n; i++)
		judge_job(q, q->who[i], &q->jobs[find_job_index(q, q->who[i]->job)], now);
	if (q->steps_n > 0 && js_slurm_steps(&q->where, q->steps, q->steps_n, &error) != 0)
		return log_unanswered(round, q->steps_n, &error);
	for (size_t i = 0; i < q->steps_n; i++)
		judge_step(&q->steps[i], q->step_of[i], &q->jobs[find_job_index(q, q->step_of[i]->job)], now);
	for (size_t i = 0; i < q->n; i++)
		if (is_unproven(round, q->who[i]))
			(void)snprintf(q->who[i]->hint, sizeof(q->who[i]->hint),
				       "Slurm does not say that its job or step has ended");
	return 0;
}

/* -------------------------------------------------------------------------------------------- whether to ask at all */

/* Returns whether S is a reason to ask, AGE_US after the last question.  A note (NOTED) says that Slurm was asked about
 * S during this silence already, and that the answer was no proof.  Then S is a reason again only after a quarter of
 * its silence: the longer it lasts, the more rarely Slurm is asked.  (A worker below a shell of salloc has no step that
 * could end.)  Without the plugin no answer proves a death, so only a suspect is a reason, since people may want to
 * know what Slurm says of it. */
static int is_reason(const struct js_suspect *s, int64_t age_us, int proves)
{
	int64_t from_us = s->connected == 1 || !proves ? s->lease_us / 2 : JS_OBSERVER_SILENT_US,
		again_us = s->silent_us / AGAIN_PART < RARELY_US ? s->silent_us / AGAIN_PART : RARELY_US;

	if (s->by_script ? !proves : s->silent_us <= from_us)
		return 0;
	return s->noted[0] == '\0' ? !s->by_script || age_us >= again_us : age_us >= again_us;
}

/* Marks the reasons to ask.  Returns how many there are. */
static size_t find_reasons(const struct js_round *round, struct js_suspects *all, int64_t age_us)
{
	size_t found = 0;

	for (size_t i = 0; i < all->n; i++) {
		struct js_suspect *s = &all->at[i];

		s->asked = is_askable(round, s) && is_reason(s, age_us, all->proves) &&
			   (all->cluster[0] == '\0' || strcmp(s->cluster, all->cluster) == 0);
		found += s->asked ? 1 : 0;
	}
	return found;
}

/* Adds the workers of our user's other stacks: one question answers for all of them. */
static void add_other_stacks(const struct js_round *round, struct js_suspects *all)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_round quiet = *round;
	struct js_suspects others;
	size_t own = all->n;
	int status;

	quiet.error = &error;
	status = js_suspects_add_others(&quiet, all);
	others = *all;
	others.at += own;
	others.n -= own;
	if (status == 0 && others.n > 0)
		status = js_death_by_process(&quiet, &others);
	if (status != 0) {
		(void)log_unanswered(round, others.n, &error);
		all->n = own;
	}
}

/* Returns whether this program is to ask now without being told to.  The checks come in the order of their cost: is
 * there a reason at all, which cluster, is a question due, is there a reason after that time; only then the question is
 * reserved. */
static int may_ask(const struct js_round *round, struct js_suspects *all)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	const struct js_budget budget = budget_of(round, all);
	size_t n = 0;
	int status;

	all->proves = js_slurm_has_module(&budget.where);
	if (budget.every_us != JS_BUDGET_NEVER)
		n = find_reasons(round, all, INT64_MAX);
	if (n == 0 || find_cluster(round, all, n) != 0)
		return 0;
	all->reservation.what = all->proves ? "jobs" : "jobs, by commands";
	status = js_budget_is_due(&budget, &all->reservation, &error);
	if (status == 0 && find_reasons(round, all, all->reservation.age_us) == 0)
		return 0;
	JS_THEN(status, js_budget_reserve(&budget, &all->reservation, &error));
	if (status < 0)
		(void)log_unanswered(round, n, &error);
	return status == 0;
}

/* Plans to ask again soon if that may say more about a worker that is missed.  While Slurm only lists a step (UNCLEAR
 * 2) that is worth one more question, while a job is just ending (1) up to three. */
static void plan_next_question(struct js_suspects *all)
{
	static const int64_t pauses_us[] = {JS_SECOND_US * 3 / 2, JS_SECOND_US * 3, JS_SECOND_US * 6};
	unsigned most = all->times == 1 ? 2 : 1;
	int wait = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct js_suspect *s = &all->at[i];

		wait |= s->unclear > 0 && s->unclear <= most && s->reason[0] == '\0' && js_suspect_is_missed(s);
	}
	if (wait && all->times <= sizeof(pauses_us) / sizeof(pauses_us[0]))
		all->again_us = pauses_us[all->times - 1];
}

static int ask_slurm(const struct js_round *round, struct js_suspects *all)
{
	struct query q = {.where = {round->options->module_dir, round->options->slurm_limit_us, NULL}};
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

/* A person's question (no limit) is asked at once, and only about this stack.  A program reserves its question first,
 * and then asks about all stacks of the user, since one answer does for all. */
int js_death_by_slurm(const struct js_round *round, struct js_suspects *all)
{
	int limited = round->options->ask_every_us > 0;
	int64_t began_us;

	if (limited && all->times == 0) {
		if (!may_ask(round, all))
			return 0;
		add_other_stacks(round, all);
	}
	all->times++;
	began_us = js_clock_mono_us();
	JS_TRY(ask_slurm(round, all));
	if (!limited || js_clock_mono_us() - began_us >= QUICK_US) /* Slurm has much to do */
		return 0;
	if (!all->unanswered && all->proves)
		plan_next_question(all);
	else if (all->unanswered && all->proves && all->times == 1) {
		const struct js_budget budget = budget_of(round, all);

		js_budget_release(&budget, &all->reservation);
	}
	return 0;
}
