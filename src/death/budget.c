/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The budget.  Promises: an answer names the cluster, the user and the job that it is about; one that can't be about
 * the caller's job is not used; a program that was killed after it got the right to ask keeps others from asking for
 * the time between two questions, and no longer.
 */
#include "death/budget.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/num.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUESTION 300
#define ANSWER 300
#define LIMIT_US (5 * JS_SECOND_US)    /* for one answer of Slurm's at the start */
#define KILLED_US (6 * JS_SECOND_US)   /* without an answer for so long, whoever was to ask was killed */
#define PATIENCE_US (9 * JS_SECOND_US) /* for another program's answer */
#define NAP_US (JS_SECOND_US / 5)      /* at first */
#define NAP_MOST_US (JS_SECOND_US * 3 / 2)
#define FAILED "-"    /* who asked got no answer; why, follows */
#define FAILED_PART 4 /* then somebody else may ask in this part of the time */

/* A user of a cluster.  Outside of a job the name of the cluster is what is asked for: there the host and its file of
 * configuration stand for it. */
static void name_question(const struct js_budget *b, const char *what, char question[QUESTION])
{
	const char *conf = getenv("SLURM_CONF"), *file = conf != NULL ? conf : "";
	char host[65] = "";

	if (b->cluster != NULL && b->cluster[0] != '\0')
		(void)snprintf(question, QUESTION, "uid %u, cluster %.100s: %s", (unsigned)geteuid(), b->cluster, what);
	else {
		(void)gethostname(host, sizeof(host) - 1);
		(void)snprintf(question, QUESTION, "uid %u, host %s, file %" PRIx64 ": %s", (unsigned)geteuid(), host,
			       js_num_hash(JS_NUM_HASH, file, strlen(file)), what);
	}
}

int js_permit_look(const struct js_budget *b, struct js_permit *permit, struct jobstack_error *error)
{
	char question[QUESTION], text[1];
	int status;

	name_question(b, permit->what, question);
	status = jobstack_ask(b->handle, question, b->every_us, NULL, text, sizeof(text), &permit->age_us, error);
	if (permit->age_us < 0) /* the clock was set back */
		permit->age_us = INT64_MAX;
	return status;
}

int js_permit_take(const struct js_budget *b, struct js_permit *permit, struct jobstack_error *error)
{
	char question[QUESTION], text[1];
	int64_t age_us;

	name_question(b, permit->what, question);
	return jobstack_ask(b->handle, question, b->every_us, permit->token, text, sizeof(text), &age_us, error);
}

void js_permit_fail(const struct js_budget *b, const struct js_permit *permit)
{
	struct jobstack_error ignored = JOBSTACK_ERROR_INIT;
	char question[QUESTION];

	name_question(b, permit->what, question);
	(void)jobstack_unanswered(b->handle, question, permit->token, b->every_us - b->every_us / FAILED_PART,
				  &ignored);
}

/* ------------------------------------------------------------------------------- what a program asks when it starts */

/* How a thing is learned: ASK asks Slurm about the job (0: none) and writes TEXT; READ reads TEXT, 1: it is no answer
 * that can be used. */
struct matter {
	int (*ask)(const struct js_budget *b, uint32_t job, void *out, char text[ANSWER], struct jobstack_error *error);
	int (*read)(void *out, const char *text);
	int64_t valid_us; /* for so long an answer can be used */
};

/* The caller is to ask: it does, and stores the answer, or that there is none. */
static int ask_and_store(const struct js_budget *b, const struct matter *m, uint32_t job, const char *question,
			 const char *token, void *out, struct jobstack_error *error)
{
	struct jobstack_error ignored = JOBSTACK_ERROR_INIT;
	char text[ANSWER];
	int status = m->ask(b, job, out, text, error);

	if (status != 0)
		(void)snprintf(text, sizeof(text), FAILED "%.200s", error->text);
	(void)jobstack_answer(b->handle, question, token, text, &ignored);
	return status;
}

/* For how long TEXT keeps others from asking, if it is no answer. */
static int64_t unanswered_us(const struct js_budget *b, const char *text)
{
	if (text[0] == '\0')
		return KILLED_US;
	return text[0] == FAILED[0] ? b->every_us / FAILED_PART : b->every_us;
}

static int learn(const struct js_budget *b, const char *what, const struct matter *m, uint32_t job, void *out,
		 struct jobstack_error *error)
{
	int64_t until = js_clock_mono_us() + PATIENCE_US, nap_us = NAP_US, due_us, age_us = 0;
	char question[QUESTION], token[33], text[ANSWER] = "";
	int status;

	if (b->every_us == JS_BUDGET_NEVER)
		return js_error_set(error, JOBSTACK_EFILE, "/etc/jobstack.cnf has slurm-every = never");
	name_question(b, what, question);
	for (;;) {
		status = jobstack_ask(b->handle, question, m->valid_us, token, text, sizeof(text), &age_us, error);
		if (status == JOBSTACK_NOTHING && m->read(out, text) == 0)
			return 0;
		due_us = unanswered_us(b, text);
		if (status == JOBSTACK_NOTHING && (age_us >= due_us || age_us < 0)) /* or the clock was set back */
			status = jobstack_ask(b->handle, question, due_us, token, text, sizeof(text), &age_us, error);
		if (status == 0)
			return ask_and_store(b, m, job, question, token, out, error);
		if (status < 0)
			return status;
		if (text[0] != '\0' || js_clock_mono_us() >= until)
			break;
		js_clock_nap(nap_us, NULL);
		nap_us = nap_us < NAP_MOST_US ? nap_us * 3 / 2 : NAP_MOST_US; /* thousands may wait */
	}
	return js_error_set(error, JOBSTACK_EFILE, "%s",
			    text[0] == FAILED[0]
				    ? text + 1
				    : "another worker has asked, and has stored no answer that can be used");
}

static struct js_slurm_where short_limit(const struct js_budget *b, const char *cluster)
{
	return (struct js_slurm_where){b->where.module_dir, b->where.limit_us > 0 ? b->where.limit_us : LIMIT_US,
				       cluster};
}

static int ask_conf(const struct js_budget *b, uint32_t job, void *out, char text[ANSWER], struct jobstack_error *error)
{
	const struct js_slurm_where where = short_limit(b, NULL);
	struct js_slurm_conf *conf = out;
	int status = js_slurm_conf(&where, conf, error);

	(void)job;
	if (status == 0 && b->cluster != NULL && b->cluster[0] != '\0' && strcmp(conf->cluster, b->cluster) != 0)
		status = js_error_set(error, JOBSTACK_ECONFLICT, "the cluster that answers is \"%s\", not \"%s\"",
				      conf->cluster, b->cluster);
	(void)snprintf(text, ANSWER, "KillWait %" PRId64 " cluster %s", conf->kill_wait_us, conf->cluster);
	return status;
}

static int read_conf(void *out, const char *text)
{
	struct js_slurm_conf *conf = out;

	memset(conf, 0, sizeof(*conf));
	return sscanf(text, "KillWait %" SCNd64 " cluster %127s", &conf->kill_wait_us, conf->cluster) != 2;
}

int js_budget_conf(const struct js_budget *b, struct js_slurm_conf *conf, struct jobstack_error *error)
{
	static const struct matter configuration = {ask_conf, read_conf, JS_BUDGET_HOUR};

	memset(conf, 0, sizeof(*conf));
	return learn(b, "configuration", &configuration, 0, conf, error);
}

static int ask_job(const struct js_budget *b, uint32_t id, void *out, char text[ANSWER], struct jobstack_error *error)
{
	const struct js_slurm_where where = short_limit(b, b->cluster);
	struct js_slurm_job *job = out;
	int status = js_slurm_job(&where, id, job, error);

	if (status == JOBSTACK_NOTHING)
		status = js_error_set(error, JOBSTACK_EFILE, "Slurm does not know the job %" PRIu32, id);
	(void)snprintf(text, ANSWER, "start %" PRId64 " end %" PRId64, job->start_us, job->end_us);
	return status;
}

/* A job that should have ended is another one with this number: numbers are reused. */
static int read_job(void *out, const char *text)
{
	struct js_slurm_job *job = out;

	memset(job, 0, sizeof(*job));
	return sscanf(text, "start %" SCNd64 " end %" SCNd64, &job->start_us, &job->end_us) != 2 ||
	       (job->end_us > 0 && job->end_us < js_clock_wall_us());
}

int js_budget_job(const struct js_budget *b, const struct js_slurm_env *env, int64_t valid_us, struct js_slurm_job *job,
		  struct jobstack_error *error)
{
	const struct matter times = {ask_job, read_job, valid_us};
	char what[80];

	/* a job that is requeued keeps its number */
	(void)snprintf(what, sizeof(what), "job %" PRId64 ", restart %" PRId64, env->job_id, env->restarts);
	return learn(b, what, &times, (uint32_t)env->job_id, job, error);
}

static int read_stack(void *out, const char *text)
{
	struct js_budget_stack *j = out;
	int at = 0;

	j->queued[0] = j->state[0] = '\0';
	if (sscanf(text, "live %" SCNd64 " %n", &j->live, &at) != 1 || at == 0)
		return 1;
	(void)sscanf(text + at, "%63[^:]", j->state);
	(void)sscanf(text + at + strlen(j->state), ": %199[^\n]", j->queued);
	return 0;
}

static int ask_stack(const struct js_budget *b, uint32_t id, void *out, char text[ANSWER], struct jobstack_error *error)
{
	const struct js_slurm_where where = short_limit(b, b->cluster);
	struct js_budget_stack *j = out;
	struct js_slurm_queued job[2];
	char words[JS_BUDGET_WORDS] = "";
	size_t n = 0;
	int status = js_slurm_queued(&where, (uint32_t)j->uid, j->stack, job, 2, &n, error);

	if (n > 0)
		js_slurm_queued_words(&job[1], words, sizeof(words));
	(void)snprintf(text, ANSWER, "live %zu %s: %s", n, job[0].job >= id ? job[0].state : "", words);
	return status != 0 ? status : read_stack(out, text);
}

int js_budget_stack(const struct js_budget *b, struct js_budget_stack *jobs, struct jobstack_error *error)
{
	const struct matter queue = {ask_stack, read_stack, b->every_us};
	char what[JOBSTACK_STACK_MAX + 100];

	(void)snprintf(what, sizeof(what), "jobs of %s from %" PRIu64 ", uid %" PRIu64, jobs->stack, jobs->job,
		       jobs->uid);
	return learn(b, what, &queue, (uint32_t)jobs->job, jobs, error);
}
