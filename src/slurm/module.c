/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The Slurm module: the only file that sees libslurm.  It is built against the site's own Slurm (22.05 to 26.05), and
 * opened at run time by query.c, in a child process.  Promise: only the table at the end is exported.
 */
#include "slurm/query.h"

#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#ifndef SLURM_VERSION_NUM
#error "slurm/slurm.h does not tell its version"
#endif

/* 26.05 asks for a job by the struct that also names steps. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(26, 5, 0) && !defined(SLURM_BACKWARD_COMPAT)
#define JOB_ID_OF(record) ((record)->step_id.job_id)

static int load(uint32_t job_id, job_info_msg_t **answer)
{
	slurm_step_id_t id = SLURM_STEP_ID_INITIALIZER;

	id.job_id = job_id;
	return slurm_load_job(answer, id, SHOW_ALL | SHOW_DETAIL);
}
#else
#define JOB_ID_OF(record) ((record)->job_id)

static int load(uint32_t job_id, job_info_msg_t **answer)
{
	return slurm_load_job(answer, job_id, SHOW_ALL | SHOW_DETAIL);
}
#endif

/* Flags beside a base state, as words.  UNSETTLED: the job may still have processes, or run again. */
static const struct {
	uint32_t bit;
	int unsettled;
	const char *word;
} flags[] = {
	{JOB_COMPLETING, 1, "COMPLETING"},
	{JOB_REQUEUE, 1, "REQUEUED"},
	{JOB_REQUEUE_HOLD, 1, "REQUEUE_HOLD"},
	{JOB_SPECIAL_EXIT, 1, "SPECIAL_EXIT"},
	{JOB_REQUEUE_FED, 1, "REQUEUE_FED"},
	{JOB_REVOKED, 1, "REVOKED"},
	{JOB_CONFIGURING, 1, "CONFIGURING"},
	{JOB_STOPPED, 1, "STOPPED"},
#ifdef JOB_EXPEDITING
	{JOB_EXPEDITING, 1, "EXPEDITING"},
#endif
	{JOB_STAGE_OUT, 0, "STAGE_OUT"},
};

static const char *base_word(uint32_t base)
{
	switch (base) {
	case JOB_PENDING:
		return "PENDING";
	case JOB_RUNNING:
		return "RUNNING";
	case JOB_SUSPENDED:
		return "SUSPENDED";
	case JOB_COMPLETE:
		return "COMPLETED";
	case JOB_CANCELLED:
		return "CANCELLED";
	case JOB_FAILED:
		return "FAILED";
	case JOB_TIMEOUT:
		return "TIMEOUT";
	case JOB_NODE_FAIL:
		return "NODE_FAIL";
	case JOB_PREEMPTED:
		return "PREEMPTED";
	case JOB_BOOT_FAIL:
		return "BOOT_FAIL";
	case JOB_DEADLINE:
		return "DEADLINE";
	case JOB_OOM:
		return "OUT_OF_MEMORY";
	default:
		return "UNKNOWN";
	}
}

static int ended(uint32_t base)
{
	return base == JOB_COMPLETE || base == JOB_CANCELLED || base == JOB_FAILED || base == JOB_TIMEOUT ||
	       base == JOB_PREEMPTED || base == JOB_BOOT_FAIL || base == JOB_DEADLINE || base == JOB_OOM;
}

static void fill_state(struct js_slurm_job *out, uint32_t state)
{
	uint32_t base = state & JOB_STATE_BASE;
	size_t len;

	(void)snprintf(out->state, sizeof(out->state), "%s", base_word(base));
	out->terminal = ended(base);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if ((state & flags[i].bit) == 0)
			continue;
		len = strlen(out->state);
		(void)snprintf(out->state + len, sizeof(out->state) - len, "+%s", flags[i].word);
		if (flags[i].unsettled)
			out->terminal = 0;
	}
}

static int64_t moment(time_t seconds)
{
	return seconds > 0 ? (int64_t)seconds * 1000000 : -1;
}

static void fill(struct js_slurm_job *out, const slurm_job_info_t *record)
{
	uint32_t base = record->job_state & JOB_STATE_BASE;
	int status = (int)record->exit_code;

	memset(out, 0, sizeof(*out));
	out->found = 1;
	fill_state(out, record->job_state);
	out->restarts = record->restart_cnt;
	out->array_job = record->array_job_id;
	out->submit_us = moment(record->submit_time);
	/* of a job that waits, these are guesses of the scheduler's */
	out->start_us = base != JOB_PENDING ? moment(record->start_time) : -1;
	out->end_us = base != JOB_PENDING ? moment(record->end_time) : -1;
	if ((base == JOB_RUNNING || base == JOB_SUSPENDED) && record->time_limit == INFINITE)
		out->end_us = -1;
	out->exit_code = -1;
	if ((out->terminal || base == JOB_NODE_FAIL) && record->exit_code != NO_VAL) {
		out->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
		out->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	}
	(void)snprintf(out->nodes, sizeof(out->nodes), "%s", record->nodes != NULL ? record->nodes : "");
}

static int ask(uint32_t job_id, struct js_slurm_job *out, char *error, size_t error_size)
{
	static int begun;
	job_info_msg_t *answer = NULL;

	memset(out, 0, sizeof(*out));
	if (!begun)
		slurm_init(NULL); /* needed from 23.11 on, and harmless before */
	begun = 1;
	errno = 0;
	if (load(job_id, &answer) != 0) {
		if (errno == ESLURM_INVALID_JOB_ID)
			return 0;
		(void)snprintf(error, error_size, "%s", slurm_strerror(errno));
		return -1;
	}
	/* asked for an array's number, Slurm answers with each of its elements that has begun */
	for (uint32_t i = 0; i < answer->record_count && !out->found; i++)
		if (JOB_ID_OF(&answer->job_array[i]) == job_id)
			fill(out, &answer->job_array[i]);
	slurm_free_job_info_msg(answer);
	return 0;
}

extern const struct js_slurm_ops jobstack_slurm_ops;
__attribute__((visibility("default"))) const struct js_slurm_ops jobstack_slurm_ops = {
	JS_SLURM_ABI, sizeof(struct js_slurm_job), SLURM_VERSION_NUMBER, ask};
