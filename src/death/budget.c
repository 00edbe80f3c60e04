/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The budget.  Promises: a stored answer names the cluster, the user and the job that it is about, and one that can't
 * be about the caller's job is not used; a program that is killed between its reservation and the answer keeps others
 * from asking for the time between two questions, and no longer.
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
#define KILLED_US (6 * JS_SECOND_US)   /* if no answer is stored for so long, the program that was to ask was killed */
#define PATIENCE_US (9 * JS_SECOND_US) /* for another program's answer */
#define NAP_US (JS_SECOND_US / 5)      /* at first */
#define NAP_MOST_US (JS_SECOND_US * 3 / 2)
#define FAILED "-"    /* begins a stored text that is no answer but says why Slurm gave none */
#define FAILED_PART 4 /* after that, others may ask in this part of the usual time */

/* Makes the key under which the answer to WHAT is stored.  Programs share an answer if they have the same key: the same
 * user on the same cluster.  Outside of a job the cluster's name is not known yet (it is what is asked for), so host
 * and configuration file stand for it. */
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

int js_budget_is_due(const struct js_budget *b, struct js_reservation *reservation, struct jobstack_error *error)
{
	char question[QUESTION], text[1];
	int status;

	name_question(b, reservation->what, question);
	status = jobstack_ask(b->handle, question, b->every_us, NULL, text, sizeof(text), &reservation->age_us, error);
	if (reservation->age_us < 0) /* the clock was set back */
		reservation->age_us = INT64_MAX;
	return status;
}

int js_budget_reserve(const struct js_budget *b, struct js_reservation *reservation, struct jobstack_error *error)
{
	char question[QUESTION], text[1];
	int64_t age_us;

	name_question(b, reservation->what, question);
	return jobstack_ask(b->handle, question, b->every_us, reservation->token, text, sizeof(text), &age_us, error);
}

void js_budget_release(const struct js_budget *b, const struct js_reservation *reservation)
{
	struct jobstack_error ignored = JOBSTACK_ERROR_INIT;
	char question[QUESTION];

	name_question(b, reservation->what, question);
	(void)jobstack_unanswered(b->handle, question, reservation->token, b->every_us - b->every_us / FAILED_PART,
				  &ignored);
}

/* ------------------------------------------------------------------------------- what a program asks when it starts */

/* A kind of answer. */
struct answer_kind {
	/* asks Slurm, about JOB if that is not 0, fills OUT, and writes the answer as TEXT; 0, or a negative code */
	int (*ask)(const struct js_budget *b, uint32_t job, void *out, char text[ANSWER], struct jobstack_error *error);
	int (*parse)(void *out, const char *text); /* fills OUT from TEXT; 1: it is no answer that can be used */
	int64_t valid_us;			   /* how long an answer can be used */
};

/* Asks Slurm, and stores the answer, or that there is none. */
static int ask_and_store(const struct js_budget *b, const struct answer_kind *kind, uint32_t job, const char *question,
			 const char *token, void *out, struct jobstack_error *error)
{
	struct jobstack_error ignored = JOBSTACK_ERROR_INIT;
	char text[ANSWER];
	int status = kind->ask(b, job, out, text, error);

	if (status != 0)
		(void)snprintf(text, sizeof(text), FAILED "%.200s", error->text);
	(void)jobstack_answer(b->handle, question, token, text, &ignored);
	return status;
}

/* How long a stored TEXT that can't be used keeps others from asking.  "" is the reservation of a program that has not
 * answered yet. */
static int64_t unanswered_us(const struct js_budget *b, const char *text)
{
	if (text[0] == '\0')
		return KILLED_US;
	return text[0] == FAILED[0] ? b->every_us / FAILED_PART : b->every_us;
}

/* Fills OUT: from the stored answer if it is fresh enough, else by asking Slurm, if no other program is just asking.
 * The two calls of jobstack_ask differ in the age that they accept.  The first accepts an answer that is valid, and
 * with a token it also reserves the question if there is no such answer.  If it found a text that can't be used, the
 * second one reserves the question once that text is old enough.  Both are compare-and-sets, so of many programs that
 * start at once only one asks. */
static int get_answer(const struct js_budget *b, const char *what, const struct answer_kind *kind, uint32_t job,
		      void *out, struct jobstack_error *error)
{
	int64_t until = js_clock_mono_us() + PATIENCE_US, nap_us = NAP_US, due_us, age_us = 0;
	char question[QUESTION], token[33], text[ANSWER] = "";
	int status;

	if (b->every_us == JS_BUDGET_NEVER)
		return js_error_set(error, JOBSTACK_EFILE, "/etc/jobstack.cnf has slurm-every = never");
	name_question(b, what, question);
	for (;;) {
		status = jobstack_ask(b->handle, question, kind->valid_us, token, text, sizeof(text), &age_us, error);
		if (status == JOBSTACK_NOTHING && kind->parse(out, text) == 0)
			return 0;
		due_us = unanswered_us(b, text);
		if (status == JOBSTACK_NOTHING && (age_us >= due_us || age_us < 0)) /* or the clock was set back */
			status = jobstack_ask(b->handle, question, due_us, token, text, sizeof(text), &age_us, error);
		if (status == 0)
			return ask_and_store(b, kind, job, question, token, out, error);
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

/* Where to ask, with a time limit that suits a program's start. */
static struct js_slurm_where short_limit(const struct js_budget *b, const char *cluster)
{
	return (struct js_slurm_where){b->where.module_dir, b->where.limit_us > 0 ? b->where.limit_us : LIMIT_US,
				       cluster};
}

/* An answer of another cluster is refused: $SLURM_CONF may lead there. */
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

static int parse_conf(void *out, const char *text)
{
	struct js_slurm_conf *conf = out;

	memset(conf, 0, sizeof(*conf));
	return sscanf(text, "KillWait %" SCNd64 " cluster %127s", &conf->kill_wait_us, conf->cluster) != 2;
}

int js_budget_conf(const struct js_budget *b, struct js_slurm_conf *conf, struct jobstack_error *error)
{
	static const struct answer_kind configuration = {ask_conf, parse_conf, JS_BUDGET_HOUR};

	memset(conf, 0, sizeof(*conf));
	return get_answer(b, "configuration", &configuration, 0, conf, error);
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

/* Job numbers are reused.  If the stored end is in the past, the answer was about an earlier job with this number (the
 * caller's own job runs), so it is not used. */
static int parse_job(void *out, const char *text)
{
	struct js_slurm_job *job = out;

	memset(job, 0, sizeof(*job));
	return sscanf(text, "start %" SCNd64 " end %" SCNd64, &job->start_us, &job->end_us) != 2 ||
	       (job->end_us > 0 && job->end_us < js_clock_wall_us());
}

int js_budget_job(const struct js_budget *b, const struct js_slurm_env *env, int64_t valid_us, struct js_slurm_job *job,
		  struct jobstack_error *error)
{
	const struct answer_kind times = {ask_job, parse_job, valid_us};
	char what[80];

	/* a job that is requeued keeps its number */
	(void)snprintf(what, sizeof(what), "job %" PRId64 ", restart %" PRId64, env->job_id, env->restarts);
	return get_answer(b, what, &times, (uint32_t)env->job_id, job, error);
}

static int parse_stack(void *out, const char *text)
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
	return status != 0 ? status : parse_stack(out, text);
}

int js_budget_stack(const struct js_budget *b, struct js_budget_stack *jobs, struct jobstack_error *error)
{
	const struct answer_kind queue = {ask_stack, parse_stack, b->every_us};
	char what[JOBSTACK_STACK_MAX + 100];

	(void)snprintf(what, sizeof(what), "jobs of %s from %" PRIu64 ", uid %" PRIu64, jobs->stack, jobs->job,
		       jobs->uid);
	return get_answer(b, what, &queue, (uint32_t)jobs->job, jobs, error);
}
