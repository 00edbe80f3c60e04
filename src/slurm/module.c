/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The Slurm plugin: the only file that sees libslurm.  It is built against the site's own Slurm (22.05 to 26.05), and
 * opened at run time by query.c, in a child process.  Promise: only the table at the end is exported.
 *
 * The functions report what Slurm says, and decide nothing: whether a worker is dead is decided in src/death.  One
 * exception is `terminal`, which knows Slurm's states: see the tables below.
 */
#include "slurm/query.h"

#include <dlfcn.h>
#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#ifndef SLURM_VERSION_NUM
#error "slurm/slurm.h does not define its version"
#endif

/* 25.11 asks for steps, and 26.05 for a job, by the struct that names both. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0) && !defined(SLURM_BACKWARD_COMPAT)
#define JOB_ID_OF(record) ((record)->step_id.job_id)
#define free_conf slurm_free_conf

static int load_job(uint32_t job_id, job_info_msg_t **answer)
{
	slurm_step_id_t id = SLURM_STEP_ID_INITIALIZER;

	id.job_id = job_id;
	return slurm_load_job(answer, id, SHOW_ALL | SHOW_DETAIL);
}
#else
#define JOB_ID_OF(record) ((record)->job_id)
#define free_conf slurm_free_ctl_conf

static int load_job(uint32_t job_id, job_info_msg_t **answer)
{
	return slurm_load_job(answer, job_id, SHOW_ALL | SHOW_DETAIL);
}
#endif

/* The steps of one job, or (NO_VAL) of all. */
static int load_steps(uint32_t job_id, job_step_info_response_msg_t **answer)
{
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
	slurm_step_id_t id = SLURM_STEP_ID_INITIALIZER;

	id.job_id = job_id;
	return slurm_get_job_steps(&id, answer, SHOW_ALL | SHOW_LOCAL);
#else
	return slurm_get_job_steps(0, job_id, NO_VAL, answer, SHOW_ALL | SHOW_LOCAL);
#endif
}

static void init_libslurm(void)
{
	static int begun;

	if (!begun)
		slurm_init(NULL); /* needed from 23.11 on, and harmless before */
	begun = 1;
	errno = 0;
}

static int report_slurm_error(char *error, size_t error_size)
{
	(void)snprintf(error, error_size, "%s", slurm_strerror(errno));
	return -1;
}

/* Flags beside a base state, as words.  UNSETTLED: the job may still have processes, or run again. */
static const struct {
	uint32_t bit;
	int unsettled;
	const char *word;
} flags[] = {
	{JOB_COMPLETING, 1, "COMPLETING"},     {JOB_REQUEUE, 1, "REQUEUED"},
	{JOB_REQUEUE_HOLD, 1, "REQUEUE_HOLD"}, {JOB_SPECIAL_EXIT, 1, "SPECIAL_EXIT"},
	{JOB_REQUEUE_FED, 1, "REQUEUE_FED"},   {JOB_REVOKED, 1, "REVOKED"},
	{JOB_CONFIGURING, 1, "CONFIGURING"},   {JOB_STOPPED, 1, "STOPPED"},
#ifdef JOB_EXPEDITING
	{JOB_EXPEDITING, 1, "EXPEDITING"},
#endif
	{JOB_STAGE_OUT, 0, "STAGE_OUT"},
};

/* Base states.  FINAL: the job has ended for good; NODE_FAIL does not say so, since its processes may still run. */
static const struct {
	const char *word;
	int final;
} states[] = {
	[JOB_PENDING] = {"PENDING", 0},	    [JOB_RUNNING] = {"RUNNING", 0},	[JOB_SUSPENDED] = {"SUSPENDED", 0},
	[JOB_COMPLETE] = {"COMPLETED", 1},  [JOB_CANCELLED] = {"CANCELLED", 1}, [JOB_FAILED] = {"FAILED", 1},
	[JOB_TIMEOUT] = {"TIMEOUT", 1},	    [JOB_NODE_FAIL] = {"NODE_FAIL", 0}, [JOB_PREEMPTED] = {"PREEMPTED", 1},
	[JOB_BOOT_FAIL] = {"BOOT_FAIL", 1}, [JOB_DEADLINE] = {"DEADLINE", 1},	[JOB_OOM] = {"OUT_OF_MEMORY", 1},
};

/* Writes the state as words, the base state first.  A flag that means that something of the job may still run, or that
 * it will run again, takes back that its state is final. */
static void fill_state(struct js_slurm_job *out, uint32_t state)
{
	uint32_t base = state & JOB_STATE_BASE;
	size_t len;
	int known = base < sizeof(states) / sizeof(states[0]) && states[base].word != NULL;

	(void)snprintf(out->state, sizeof(out->state), "%s", known ? states[base].word : "UNKNOWN");
	out->terminal = known && states[base].final;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if ((state & flags[i].bit) == 0)
			continue;
		len = strlen(out->state);
		(void)snprintf(out->state + len, sizeof(out->state) - len, "+%s", flags[i].word);
		if (flags[i].unsettled)
			out->terminal = 0;
	}
}

static int64_t to_microseconds(time_t seconds)
{
	return seconds > 0 ? (int64_t)seconds * 1000000 : -1;
}

static void fill_job(struct js_slurm_job *out, const slurm_job_info_t *record)
{
	uint32_t base = record->job_state & JOB_STATE_BASE;
	int status = (int)record->exit_code;

	memset(out, 0, sizeof(*out));
	out->found = 1;
	fill_state(out, record->job_state);
	out->restarts = record->restart_cnt;
	out->array_job = record->array_job_id;
	/* of a job that waits, these are guesses of the scheduler's */
	out->start_us = base != JOB_PENDING ? to_microseconds(record->start_time) : -1;
	out->end_us = base != JOB_PENDING ? to_microseconds(record->end_time) : -1;
	if ((base == JOB_RUNNING || base == JOB_SUSPENDED) && record->time_limit == INFINITE)
		out->end_us = -1;
	out->exit_code = -1;
	if ((out->terminal || base == JOB_NODE_FAIL) && record->exit_code != NO_VAL) {
		out->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
		out->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	}
	(void)snprintf(out->nodes, sizeof(out->nodes), "%s", record->nodes != NULL ? record->nodes : "");
	if (record->batch_flag != 0 && record->batch_host != NULL)
		(void)snprintf(out->batch_host, sizeof(out->batch_host), "%s", record->batch_host);
}

static int find_job_record(uint32_t job_id, struct js_slurm_job *out, char *error, size_t error_size)
{
	job_info_msg_t *answer = NULL;

	memset(out, 0, sizeof(*out));
	init_libslurm();
	if (load_job(job_id, &answer) != 0)
		return errno == ESLURM_INVALID_JOB_ID ? 0 : report_slurm_error(error, error_size);
	/* asked for an array's number, Slurm answers with each of its elements that has begun */
	for (uint32_t i = 0; i < answer->record_count && !out->found; i++)
		if (JOB_ID_OF(&answer->job_array[i]) == job_id)
			fill_job(out, &answer->job_array[i]);
	slurm_free_job_info_msg(answer);
	return 0;
}

static int find_user_jobs(uint32_t uid, const uint32_t *job_ids, size_t n, struct js_slurm_job *out, char *error,
			  size_t error_size)
{
	job_info_msg_t *answer = NULL;

	memset(out, 0, n * sizeof(*out));
	init_libslurm();
	if (slurm_load_job_user(&answer, uid, SHOW_ALL) != 0)
		return errno == ESLURM_INVALID_JOB_ID ? 0 : report_slurm_error(error, error_size);
	for (uint32_t i = 0; i < answer->record_count; i++)
		for (size_t k = 0; k < n; k++)
			if (JOB_ID_OF(&answer->job_array[i]) == job_ids[k])
				fill_job(&out[k], &answer->job_array[i]);
	slurm_free_job_info_msg(answer);
	return 0;
}

#ifndef NODE_STATE_POWERED_DOWN /* before 21.08 */
#define NODE_STATE_POWERED_DOWN NODE_STATE_POWER_SAVE
#endif

/* Asks the controller whether the node is down: 1 yes, 0 no, -1: it does not know the node, or does not answer. */
static int is_node_down(char *node)
{
	node_info_msg_t *answer = NULL;
	int down = -1;

	if (slurm_load_node_single(&answer, node, SHOW_ALL) != 0)
		return -1;
	for (uint32_t i = 0; i < answer->record_count; i++) {
		const node_info_t *found = &answer->node_array[i];
		uint32_t state = found->node_state;

		if (found->name != NULL && strcmp(found->name, node) == 0)
			down = (state & NODE_STATE_BASE) == NODE_STATE_DOWN ||
			       (state & (NODE_STATE_NO_RESPOND | NODE_STATE_POWERED_DOWN)) != 0;
	}
	slurm_free_node_info_msg(answer);
	return down;
}

/* Asks about the node of step I, if that is wanted; once for all steps on the same node. */
static void fill_node_state(struct js_slurm_step *steps, size_t i)
{
	size_t k;

	if (steps[i].node[0] == '\0' || (steps[i].listed != 0 && !steps[i].look))
		return;
	for (k = 0; k < i && (steps[k].down < 0 || strcmp(steps[k].node, steps[i].node) != 0); k++)
		;
	steps[i].down = k < i ? steps[k].down : is_node_down(steps[i].node);
}

/* One question for all steps: about their job, if they are all of one, else about all jobs. */
static int find_steps(struct js_slurm_step *steps, size_t n, char *error, size_t error_size)
{
	job_step_info_response_msg_t *answer = NULL;
	uint32_t job = n > 0 ? steps[0].job : NO_VAL;

	init_libslurm();
	for (size_t i = 0; i < n; i++)
		if (steps[i].job != job)
			job = NO_VAL;
	/* each release has another error; that there are no steps is no error */
	if (load_steps(job, &answer) != 0 && errno != ESLURM_INVALID_JOB_ID)
		return report_slurm_error(error, error_size);
	for (size_t i = 0; i < n; i++)
		steps[i].listed = 0;
	for (uint32_t s = 0; answer != NULL && s < answer->job_step_count; s++)
		for (size_t i = 0; i < n; i++)
			if (answer->job_steps[s].step_id.job_id == steps[i].job &&
			    answer->job_steps[s].step_id.step_id == steps[i].step)
				steps[i].listed = 1;
	if (answer != NULL)
		slurm_free_job_step_info_response_msg(answer);
	for (size_t i = 0; i < n; i++)
		fill_node_state(steps, i);
	return 0;
}

/* The slurmd answers ESLURM_INVALID_JOB_ID if no slurmstepd of the step can be reached there; to others than the job's
 * owner it says just that it has one. */
static int ask_node_for_step(struct js_slurm_step *step, char *error, size_t error_size)
{
	slurm_step_id_t id = {.job_id = step->job, .step_het_comp = NO_VAL, .step_id = step->step};
	job_step_pids_response_msg_t *answer = NULL;
	int rc;

	(void)error;
	(void)error_size;
	init_libslurm();
	step->at_node = -1;
	rc = slurm_job_step_get_pids(&id, step->node, &answer);
	if (rc == ESLURM_INVALID_JOB_ID)
		step->at_node = 0;
	else if (rc == ESLURM_USER_ID_MISSING || (rc == 0 && answer != NULL && answer->pid_list != NULL))
		step->at_node = 1;
	if (answer != NULL)
		slurm_job_step_pids_response_msg_free(answer);
	return 0;
}

static int read_slurm_conf(struct js_slurm_conf *out, char *error, size_t error_size)
{
	slurm_conf_t *answer = NULL;

	memset(out, 0, sizeof(*out));
	init_libslurm();
	if (slurm_load_ctl_conf(0, &answer) != 0)
		return report_slurm_error(error, error_size);
	out->kill_wait_us = (int64_t)answer->kill_wait * 1000000;
	(void)snprintf(out->cluster, sizeof(out->cluster), "%s",
		       answer->cluster_name != NULL ? answer->cluster_name : "");
	free_conf(answer);
	return 0;
}

/* Fills in Slurm's word for why a job waits.  libslurm has it, but not in its headers, and under names that changed. */
static void fill_reason(struct js_slurm_queued *out, const slurm_job_info_t *record)
{
	static const char *const names[] = {"slurm_job_state_reason_string", "slurm_job_reason_string"};
	const char *(*word)(unsigned reason) = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && word == NULL; i++) {
		void *found = dlsym(RTLD_DEFAULT, names[i]);

		memcpy(&word, &found, sizeof(word));
	}
	if (record->state_desc != NULL && record->state_desc[0] != '\0')
		(void)snprintf(out->reason, sizeof(out->reason), "%s", record->state_desc);
	else if (word != NULL)
		(void)snprintf(out->reason, sizeof(out->reason), "%s", word(record->state_reason));
	else
		(void)snprintf(out->reason, sizeof(out->reason), "reason %u", (unsigned)record->state_reason);
}

static int find_queued_jobs(uint32_t uid, const char *stack, void (*tell)(void *ctx, const struct js_slurm_queued *job),
			    void *ctx, char *error, size_t error_size)
{
	job_info_msg_t *answer = NULL;

	init_libslurm();
	if (slurm_load_job_user(&answer, uid, SHOW_ALL) != 0)
		return errno == ESLURM_INVALID_JOB_ID ? 0 : report_slurm_error(error, error_size);
	for (uint32_t i = 0; i < answer->record_count; i++) {
		const slurm_job_info_t *record = &answer->job_array[i];
		uint32_t base = record->job_state & JOB_STATE_BASE;
		struct js_slurm_queued out = {.job = JOB_ID_OF(record),
					      .array_job = record->array_job_id,
					      .pending = base == JOB_PENDING,
					      .ended = base != JOB_PENDING && base != JOB_RUNNING &&
						       base != JOB_SUSPENDED,
					      .start_us = to_microseconds(record->start_time)};
		struct js_slurm_job job = {.found = 1};

		if (!js_slurm_is_of_stack(record->name, record->comment, stack))
			continue;
		fill_state(&job, record->job_state);
		(void)snprintf(out.state, sizeof(out.state), "%s", job.state);
		(void)snprintf(out.partition, sizeof(out.partition), "%s",
			       record->partition != NULL ? record->partition : "");
		fill_reason(&out, record);
		if (record->array_task_str != NULL)
			(void)snprintf(out.tasks, sizeof(out.tasks), "%s", record->array_task_str);
		else if (record->array_job_id != 0 && record->array_task_id != NO_VAL)
			(void)snprintf(out.tasks, sizeof(out.tasks), "%u", (unsigned)record->array_task_id);
		tell(ctx, &out);
	}
	slurm_free_job_info_msg(answer);
	return 0;
}

extern const struct js_slurm_ops jobstack_slurm_ops;
__attribute__((visibility("default"))) const struct js_slurm_ops jobstack_slurm_ops = {
	.abi = JS_SLURM_ABI,
	.job_size = sizeof(struct js_slurm_job),
	.step_size = sizeof(struct js_slurm_step),
	.conf_size = sizeof(struct js_slurm_conf),
	.queued_size = sizeof(struct js_slurm_queued),
	.slurm_version = SLURM_VERSION_NUMBER,
	.job = find_job_record,
	.user_jobs = find_user_jobs,
	.steps = find_steps,
	.at_node = ask_node_for_step,
	.conf = read_slurm_conf,
	.queued = find_queued_jobs,
};
