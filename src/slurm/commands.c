/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Slurm's own commands, where there is no plugin: squeue and scontrol, run without a shell in the child that query.c
 * makes.  Promises: an answer counts only with the head line that our own format has, so that a greeting, or a command
 * that prints nothing, is no answer; no text that a user can choose is read for what proves anything; what is not said
 * is not known.
 *
 * What they can't say: what else a job is while it is COMPLETING, and whether a node has a step that the controller has
 * not.  So they prove no death, and only a lease of silence does.
 */
#include "slurm/query.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/num.h"
#include "process/child.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIELDS_MAX 10
#define MARK "@jobstack@"
#define OUTPUT_MAX (UINT64_C(4) << 20) /* js_child_run keeps no more */

/* What one command said. */
struct said {
	struct js_buf out, err;
	int status;
};

static int64_t limit_us; /* of one command */

void js_slurm_commands_begin(int64_t answer_us)
{
	/* other output, or of another cluster */
	static const char *const ours[] = {"SQUEUE_",	      "SCONTROL_",	    "SINFO_",
					   "SLURM_CLUSTERS=", "SLURM_BITSTR_LEN=",  "SLURM_DEBUG_FLAGS=",
					   "SLURM_JOB_ID=",   "SLURM_TIME_FORMAT=", "LANGUAGE="};
	char name[128];

	for (size_t i = 0; environ[i] != NULL;) {
		size_t k = 0, n = sizeof(ours) / sizeof(ours[0]);

		while (k < n && strncmp(environ[i], ours[k], strlen(ours[k])) != 0)
			k++;
		(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(environ[i], "="), environ[i]);
		if (k == n || unsetenv(name) != 0)
			i++;
	}
	(void)setenv("SLURM_TIME_FORMAT", "%s", 1); /* seconds since 1970, in every time zone */
	(void)setenv("LC_ALL", "C", 1);
	limit_us = answer_us * 2 / 5; /* one answer takes at most two commands */
}

/* ------------------------------------------------------------------------------------------------- one command */

static void free_said(struct said *s)
{
	js_buf_free(&s->out);
	js_buf_free(&s->err);
}

/* ERROR gets the last line that it printed. */
static int explain(const char *program, const struct said *s, char *error, size_t error_size)
{
	const char *text = s->err.len > 0 ? s->err.data : "no answer that can be read", *last = text;

	for (const char *line = text; *line != '\0'; line += strcspn(line, "\n"), line += *line == '\n')
		if (*line != '\n')
			last = line;
	(void)snprintf(error, error_size, "%s: %.*s", program, (int)strcspn(last, "\n"), last);
	return -1;
}

/* Runs it.  0 if it has ended, whatever its status. */
static int run(const char *const *argv, struct said *s, char *error, size_t error_size)
{
	/* the signal also when the time of the whole answer is up, and our parent ends us */
	const struct js_child child = {.argv = argv, .death_signal = SIGKILL, .group = JS_CHILD_GROUP};
	struct jobstack_error why = JOBSTACK_ERROR_INIT;

	memset(s, 0, sizeof(*s));
	if (js_child_run(&child, &s->out, &s->err, limit_us, &s->status, &why) == 0 && !s->out.failed &&
	    !s->err.failed) {
		js_buf_str(&s->out, ""); /* an end, also of nothing */
		return 0;
	}
	(void)snprintf(error, error_size, "%s", why.code != 0 ? why.text : "out of memory");
	free_said(s);
	return -1;
}

/* Takes the next line of ours from *TEXT apart: a "@" ends each field, and after the first comes the mark.  Returns 1;
 * 0 after the last; -1 for one of ours that is cut off or has another number of fields. */
static int next_row(char **text, size_t n, char *fields[FIELDS_MAX])
{
	char *line, *end;

	do
		line = strsep(text, "\n");
	while (line != NULL && ((end = strchr(line, '@')) == NULL || strncmp(end, MARK, strlen(MARK)) != 0));
	for (size_t i = 0; line != NULL && i < n; i++) {
		end = strchr(line, '@');
		if (end == NULL)
			return -1;
		line += strspn(line, " ");
		fields[i] = line;
		line = end + (i == 0 ? strlen(MARK) : 1);
		while (end > fields[i] && end[-1] == ' ')
			end--;
		*end = '\0';
	}
	return line == NULL ? 0 : line[strspn(line, " ")] == '\0' ? 1 : -1;
}

/* Runs squeue, whose format has N fields, and calls TELL for each row.  The head line is what shows that it was squeue
 * that answered, and in our format; the last line break, that it is whole.  0, or -1 with ERROR. */
static int ask_squeue(const char *const *argv, size_t n, void (*tell)(void *ctx, char *fields[FIELDS_MAX]), void *ctx,
		      char *error, size_t error_size)
{
	char *fields[FIELDS_MAX], *text;
	struct said s;
	int row = 0, head = 0, whole;

	if (run(argv, &s, error, error_size) != 0)
		return -1;
	text = s.out.data;
	whole = s.out.len > 0 && s.out.len < OUTPUT_MAX && text[s.out.len - 1] == '\n';
	while (whole && (row = next_row(&text, n, fields)) > 0)
		if (strcmp(fields[0], "JOBID") == 0 || strcmp(fields[0], "STEPID") == 0)
			head = 1;
		else if (head)
			tell(ctx, fields);
	/* asked for one job that it does not have, it says so instead */
	if (s.status != 0 && s.err.len > 0 && strstr(s.err.data, "Invalid job id specified") != NULL)
		row = 0;
	else if (s.status != 0 || !head || !whole || row < 0)
		row = explain(argv[0], &s, error, error_size);
	free_said(&s);
	return row;
}

static uint32_t number_of(const char *text)
{
	uint64_t n;

	return js_num_u64(text, 0, UINT32_MAX, &n) == 0 ? (uint32_t)n : 0;
}

/* "N/A", "NONE", "Unknown", or a time in words, where a wrapper script has changed the environment: not known. */
static int64_t time_of(const char *text)
{
	uint64_t n;

	return js_num_u64(text, 1, INT64_MAX / 1000000, &n) == 0 ? (int64_t)n * 1000000 : -1;
}

/* -------------------------------------------------------------------------------------------------------- jobs */

#define JOB_FORMAT                                                                                                     \
	"--Format=JobID:12" MARK ",State:30@,RestartCnt:12@,exit_code:12@,ArrayJobID:12@,SubmitTime:20@,"              \
	"StartTime:20@,EndTime:20@,BatchHost:255@"
#define JOB_FIELDS 9

struct wanted {
	const uint32_t *ids;
	struct js_slurm_job *out;
	size_t n;
};

/* Beside COMPLETING and the like squeue does not name the base state; so only what it calls by these names has ended.
 */
static int is_final(const char *state)
{
	static const char *const names[] = {"COMPLETED", "CANCELLED", "FAILED",	  "TIMEOUT",
					    "PREEMPTED", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(state, names[i]) == 0)
			return 1;
	return 0;
}

static void fill_job(struct js_slurm_job *out, char *fields[FIELDS_MAX])
{
	const char *state = fields[1];
	int begun = strcmp(state, "PENDING") != 0;
	int status = (int)number_of(fields[3]);

	memset(out, 0, sizeof(*out));
	out->found = 1;
	(void)snprintf(out->state, sizeof(out->state), "%s", state);
	out->terminal = is_final(state);
	out->restarts = (int32_t)number_of(fields[2]);
	out->array_job = number_of(fields[4]);
	out->submit_us = time_of(fields[5]);
	out->start_us = begun ? time_of(fields[6]) : -1;
	out->end_us = begun ? time_of(fields[7]) : -1;
	out->exit_code = -1;
	if (out->terminal || strcmp(state, "NODE_FAIL") == 0) {
		out->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
		out->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	}
	if (strcmp(fields[8], "n/a") != 0)
		(void)snprintf(out->batch_host, sizeof(out->batch_host), "%s", fields[8]);
}

static void take_job(void *ctx, char *fields[FIELDS_MAX])
{
	const struct wanted *w = ctx;

	for (size_t i = 0; i < w->n; i++)
		if (number_of(fields[0]) == w->ids[i])
			fill_job(&w->out[i], fields);
}

static int find_job(uint32_t job_id, struct js_slurm_job *out, char *error, size_t error_size)
{
	char jobs[32];
	const char *const argv[] = {"squeue", "--local", "--states=all", jobs, JOB_FORMAT, NULL};
	struct wanted w = {&job_id, out, 1};

	memset(out, 0, sizeof(*out));
	(void)snprintf(jobs, sizeof(jobs), "--jobs=%" PRIu32, job_id);
	return ask_squeue(argv, JOB_FIELDS, take_job, &w, error, error_size);
}

static int find_user_jobs(uint32_t uid, const uint32_t *job_ids, size_t n, struct js_slurm_job *out, char *error,
			  size_t error_size)
{
	char user[32];
	const char *const argv[] = {"squeue", "--local", "--states=all", user, JOB_FORMAT, NULL};
	struct wanted w = {job_ids, out, n};

	memset(out, 0, n * sizeof(*out));
	(void)snprintf(user, sizeof(user), "--user=%" PRIu32, uid);
	return ask_squeue(argv, JOB_FIELDS, take_job, &w, error, error_size);
}

/* ------------------------------------------------------------------------------------------------------- steps */

#define STEP_FORMAT "--Format=StepID:40" MARK ",JobID:12@"

struct steps {
	struct js_slurm_step *at;
	size_t n;
};

static void take_step(void *ctx, char *fields[FIELDS_MAX])
{
	const struct steps *w = ctx;
	const char *dot = strrchr(fields[0], '.');
	uint64_t step = 0;

	if (dot == NULL)
		return;
	if (strcmp(dot, ".batch") == 0)
		step = JS_SLURM_BATCH;
	else if (js_num_u64(dot + 1, 0, UINT32_MAX, &step) != 0)
		return;
	for (size_t i = 0; i < w->n; i++)
		if (w->at[i].job == number_of(fields[1]) && w->at[i].step == step)
			w->at[i].listed = 1;
}

static int has_word(const char *states, const char *word)
{
	const char *found = strstr(states, word);

	return found != NULL && found < states + strcspn(states, " \n");
}

/* What the controller says of the nodes: are they down? */
static void look_at_nodes(struct js_slurm_step *steps, size_t n)
{
	struct js_buf names = {0};
	const char *argv[] = {"scontrol", "--oneliner", "show", "node", NULL, NULL};
	char *text, *line, name[256], ignored[300];
	struct said s;

	for (size_t i = 0; i < n; i++)
		if (steps[i].node[0] != '\0' && steps[i].node[0] != '-' && (steps[i].listed == 0 || steps[i].look))
			js_buf_printf(&names, "%s%s", names.len > 0 ? "," : "", steps[i].node);
	argv[4] = names.data;
	if (names.len > 0 && !names.failed && run(argv, &s, ignored, sizeof(ignored)) == 0) {
		text = s.out.data;
		while ((line = strsep(&text, "\n")) != NULL) {
			const char *state = strstr(line, " State=");

			if (state == NULL || sscanf(line, "NodeName=%255s", name) != 1)
				continue;
			for (size_t i = 0; i < n; i++)
				if (strcmp(steps[i].node, name) == 0)
					steps[i].down = strncmp(state + 7, "DOWN", 4) == 0 ||
							has_word(state + 1, "*") ||
							has_word(state + 1, "NOT_RESPONDING") ||
							has_word(state + 1, "POWERED_DOWN");
		}
		free_said(&s);
	}
	js_buf_free(&names);
}

static int find_steps(struct js_slurm_step *steps, size_t n, char *error, size_t error_size)
{
	struct js_buf jobs = {0};
	const char *argv[] = {"squeue", "--local", "--steps", NULL, STEP_FORMAT, NULL};
	struct steps w = {steps, n};
	int rc = -1;

	js_buf_str(&jobs, "--jobs=");
	for (size_t i = 0; i < n; i++)
		js_buf_printf(&jobs, "%s%" PRIu32, i > 0 ? "," : "", steps[i].job);
	argv[3] = jobs.data;
	for (size_t i = 0; i < n; i++)
		steps[i].listed = 0;
	if (!jobs.failed)
		rc = ask_squeue(argv, 2, take_step, &w, error, error_size);
	js_buf_free(&jobs);
	if (rc == 0)
		look_at_nodes(steps, n);
	else
		for (size_t i = 0; i < n; i++)
			steps[i].listed = -1;
	return rc;
}

/* No command of Slurm's gets a node's own word on a step that the controller has not: sstat asks the controller first,
 * and says "not found running" (seen with 20.11 and 22.05).  So nothing is asked, and nothing is known. */
static int ask_node_for_step(struct js_slurm_step *step, char *error, size_t error_size)
{
	(void)error;
	(void)error_size;
	step->at_node = -1;
	return 0;
}

/* --------------------------------------------------------------------------------------------- the rest, and the table
 */

static int read_conf(struct js_slurm_conf *out, char *error, size_t error_size)
{
	static const char *const argv[] = {"scontrol", "show", "config", NULL};
	char *text, *line;
	struct said s;
	unsigned n;

	memset(out, 0, sizeof(*out));
	if (run(argv, &s, error, error_size) != 0)
		return -1;
	text = s.out.data;
	while ((line = strsep(&text, "\n")) != NULL) {
		(void)sscanf(line, "ClusterName = %127s", out->cluster);
		if (sscanf(line, "KillWait = %u sec", &n) == 1)
			out->kill_wait_us = n * JS_SECOND_US;
		if (sscanf(line, "SlurmdTimeout = %u sec", &n) == 1)
			out->slurmd_timeout_us = n * JS_SECOND_US;
	}
	n = s.status == 0 && out->cluster[0] != '\0';
	if (n == 0)
		(void)explain(argv[0], &s, error, error_size);
	free_said(&s);
	return n != 0 ? 0 : -1;
}

#define QUEUED_FORMAT                                                                                                  \
	"--Format=JobID:12" MARK ",State:30@,ArrayJobID:12@,ArrayTaskID:127@,StartTime:20@,Partition:127@,"            \
	"Reason:127@,Name:255@,Comment:255@"

struct asked {
	const char *stack;
	void (*tell)(void *ctx, const struct js_slurm_queued *job);
	void *ctx;
};

static void take_queued(void *ctx, char *fields[FIELDS_MAX])
{
	const struct asked *a = ctx;
	struct js_slurm_queued out = {.job = number_of(fields[0]),
				      .pending = strcmp(fields[1], "PENDING") == 0,
				      .start_us = time_of(fields[4])};

	if ((strncmp(fields[7], "jobstack-", 9) != 0 || strcmp(fields[7] + 9, a->stack) != 0) &&
	    (strncmp(fields[8], "jobstack:", 9) != 0 || strcmp(fields[8] + 9, a->stack) != 0))
		return;
	if (strcmp(fields[3], "N/A") != 0) {
		out.array_job = number_of(fields[2]);
		(void)snprintf(out.tasks, sizeof(out.tasks), "%s", fields[3]);
	}
	(void)snprintf(out.state, sizeof(out.state), "%s", fields[1]);
	(void)snprintf(out.partition, sizeof(out.partition), "%s", fields[5]);
	(void)snprintf(out.reason, sizeof(out.reason), "%s", fields[6]);
	a->tell(a->ctx, &out);
}

static int find_queued(uint32_t uid, const char *stack, void (*tell)(void *ctx, const struct js_slurm_queued *job),
		       void *ctx, char *error, size_t error_size)
{
	char user[32];
	const char *const argv[] = {"squeue", "--local",     "--states=PENDING,RUNNING,SUSPENDED",
				    user,     QUEUED_FORMAT, NULL};
	struct asked a = {stack, tell, ctx};

	(void)snprintf(user, sizeof(user), "--user=%" PRIu32, uid);
	return ask_squeue(argv, 9, take_queued, &a, error, error_size);
}

const struct js_slurm_ops js_slurm_commands = {.abi = JS_SLURM_ABI,
					       .job_size = sizeof(struct js_slurm_job),
					       .step_size = sizeof(struct js_slurm_step),
					       .conf_size = sizeof(struct js_slurm_conf),
					       .queued_size = sizeof(struct js_slurm_queued),
					       .job = find_job,
					       .user_jobs = find_user_jobs,
					       .steps = find_steps,
					       .at_node = ask_node_for_step,
					       .conf = read_conf,
					       .queued = find_queued};
