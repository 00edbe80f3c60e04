/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Slurm's own commands, for a host without the plugin: squeue and scontrol, run without a shell in the child that
 * query.c makes.  Promises: an answer counts only with the head line of our own format, so a greeting or an empty
 * output is no answer; text that users choose is never read as a state, a number or a time; what is not said is not
 * known; when the time limit is over, the command's whole process group is killed.
 *
 * The commands can't say why a job that is COMPLETING ends, nor whether a node still has a step.  So their answers
 * never prove that a worker is dead.
 */
#include "slurm/query.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/num.h"
#include "proc/child.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIELDS_MAX 10
#define MARK "@/jobstack/@"	       /* neither a stack's name nor a shell's syntax has it */
#define OUTPUT_MAX (UINT64_C(4) << 20) /* js_child_run keeps no more */

/* What one command printed, and its wait status. */
struct output {
	struct js_buf out, err;
	int status;
};

static int64_t limit_us;     /* of one command */
static pid_t *running_group; /* shared with our parent, which ends the group if it ends us */

/* Returns whether the variable changes what the commands print, or which cluster they ask. */
static int is_unwanted(const char *variable)
{
	static const char *const names[] = {"SQUEUE_",	       "SCONTROL_",	    "SINFO_",
					    "SLURM_CLUSTERS=", "SLURM_BITSTR_LEN=", "SLURM_DEBUG_FLAGS=",
					    "SLURM_JOB_ID=",   "LANGUAGE="};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(variable, names[i], strlen(names[i])) == 0)
			return 1;
	return 0;
}

void js_slurm_commands_begin(int64_t answer_us, pid_t *group)
{
	size_t kept = 0;

	for (size_t i = 0; environ != NULL && environ[i] != NULL; i++)
		if (!is_unwanted(environ[i]))
			environ[kept++] = environ[i];
	if (environ != NULL)
		environ[kept] = NULL;
	(void)setenv("SLURM_TIME_FORMAT", "%s", 1); /* seconds since 1970, in every time zone */
	(void)setenv("LC_ALL", "C", 1);
	limit_us =
		answer_us * 2 / 5; /* one answer takes at most two commands: the cluster's name, and what was asked */
	running_group = group;
}

/* ------------------------------------------------------------------------------------------------- one command */

static void free_output(struct output *s)
{
	js_buf_free(&s->out);
	js_buf_free(&s->err);
}

/* Says why the output is no answer: ERROR gets the last line that the command printed to its standard error, or else
 * what is known of its end.  Returns -1. */
static int explain_failure(const char *program, const struct output *s, char *error, size_t error_size)
{
	const char *text = s->err.len > 0 ? s->err.data : "", *last = "";

	for (const char *line = text; *line != '\0'; line += strcspn(line, "\n"), line += *line == '\n')
		if (line[strspn(line, " \t\r\n")] != '\0' && *line != '\n')
			last = line;
	if (strncmp(last, program, strlen(program)) == 0 && strncmp(last + strlen(program), ": ", 2) == 0)
		last += strlen(program) + 2; /* said once is enough */
	if (s->out.len >= OUTPUT_MAX)
		(void)snprintf(error, error_size, "%s printed more than 4 MiB", program);
	else if (*last != '\0')
		(void)snprintf(error, error_size, "%s: %.*s", program, (int)strcspn(last, "\n"), last);
	else if (WIFEXITED(s->status))
		(void)snprintf(error, error_size, "%s printed nothing that jobstack can read (exit status %d)", program,
			       WEXITSTATUS(s->status));
	else
		(void)snprintf(error, error_size, "%s was ended by signal %d", program, WTERMSIG(s->status));
	return -1;
}

static const char *note_running_group(const void *arg)
{
	(void)arg;
	*running_group = getpid();
	return NULL;
}

/* Runs a command, in a process group of its own, for at most limit_us.  Returns 0 if it has ended by then, whatever its
 * status. */
static int run_command(const char *const *argv, struct output *s, char *error, size_t error_size)
{
	const struct js_child child = {.argv = argv,
				       .shut_others = 1,
				       .death_signal = SIGKILL,
				       .group = JS_CHILD_GROUP,
				       .enter = note_running_group};
	struct jobstack_error why = JOBSTACK_ERROR_INIT;
	int rc;

	memset(s, 0, sizeof(*s));
	rc = js_child_run(&child, &s->out, &s->err, limit_us, &s->status, &why);
	*running_group = 0;
	js_buf_str(&s->out, ""); /* an end, also of nothing */
	if (rc == 0 && !s->out.failed && !s->err.failed)
		return 0;
	(void)snprintf(error, error_size, "%s", why.code != 0 ? why.text : "out of memory");
	free_output(s);
	return -1;
}

static char *trim_field(char *text)
{
	size_t n;

	text += strspn(text, " ");
	for (n = strlen(text); n > 0 && text[n - 1] == ' '; n--)
		;
	text[n] = '\0';
	return text;
}

/* Splits the next row of *TEXT into its fields.  The mark ends each field, and a line break the row; a field may have
 * line breaks of its own, as comments do.  Returns 1; 0 after the last; -1 for a row that is cut off or has another
 * number of fields. */
static int split_next_row(char **text, size_t n, char *fields[FIELDS_MAX])
{
	char *at = *text, *end;

	for (size_t i = 0; i < n; i++) {
		end = strstr(at, MARK);
		if (end == NULL)
			return i == 0 ? 0 : -1;
		*end = '\0';
		if (i == 0 && strrchr(at, '\n') != NULL) /* lines that are not ours */
			at = strrchr(at, '\n') + 1;
		fields[i] = trim_field(at);
		at = end + strlen(MARK);
	}
	at += strspn(at, " ");
	if (*at != '\n')
		return -1;
	*text = at + 1;
	return 1;
}

/* Runs squeue, whose format has N fields, and calls TELL for each row.  The head line is what shows that it was squeue
 * that answered, and in our format; the last line break, that it is whole.  0, or -1 with ERROR. */
static int ask_squeue(const char *const *argv, size_t n, void (*tell)(void *ctx, char *fields[FIELDS_MAX]), void *ctx,
		      char *error, size_t error_size)
{
	char *fields[FIELDS_MAX], *text;
	struct output s;
	int row = 0, head = 0, whole;

	if (run_command(argv, &s, error, error_size) != 0)
		return -1;
	text = s.out.data;
	whole = s.out.len > 0 && s.out.len < OUTPUT_MAX && text[s.out.len - 1] == '\n';
	while (whole && (row = split_next_row(&text, n, fields)) > 0)
		if (strcmp(fields[0], "JOBID") == 0)
			head = 1;
		else if (head)
			tell(ctx, fields);
	/* asked for one job that it does not have, it says so instead */
	if (s.status != 0 && s.err.len > 0 && strstr(s.err.data, "Invalid job id specified") != NULL)
		row = 0;
	else if (s.status != 0 || !head || !whole || row < 0)
		row = explain_failure(argv[0], &s, error, error_size);
	free_output(&s);
	return row;
}

/* Adds a job's number to the option --jobs. */
static void add_job(struct js_buf *option, uint32_t job)
{
	js_buf_printf(option, "%s%" PRIu32, option->len == 0 ? "--jobs=" : ",", job);
}

static uint32_t parse_number(const char *text)
{
	uint64_t n;

	return js_num_u64(text, 0, UINT32_MAX, &n) == 0 ? (uint32_t)n : 0;
}

/* Reads seconds since 1970.  Anything else is not known: "N/A", "NONE", "Unknown", or a time in words, where a wrapper
 * script has changed the environment. */
static int64_t parse_time(const char *text)
{
	uint64_t n;

	return js_num_u64(text, 1, INT64_MAX / 1000000, &n) == 0 ? (int64_t)n * 1000000 : -1;
}

/* -------------------------------------------------------------------------------------------------------- jobs */

#define JOB_FORMAT                                                                                                     \
	"--Format=JobID:12" MARK ",State:20" MARK ",RestartCnt:12" MARK ",exit_code:12" MARK ",ArrayJobID:12" MARK     \
	",SubmitTime:12" MARK ",StartTime:12" MARK ",EndTime:12" MARK ",BatchHost:128" MARK
#define JOB_FIELDS 9
#define OPTION_MAX 100000 /* the kernel takes 128 KiB for one argument */

/* The jobs that are asked for, and where each answer goes. */
struct wanted {
	const uint32_t *ids;
	struct js_slurm_job *out;
	size_t n;
};

/* Beside COMPLETING and the like squeue does not name the base state; so only what it calls by these names has ended.
 */
static const char *const finals[] = {"COMPLETED", "CANCELLED", "FAILED",	"TIMEOUT", "PREEMPTED",
				     "BOOT_FAIL", "DEADLINE",  "OUT_OF_MEMORY", NULL};

/* States in which a job waits.  Its times are then guesses of the scheduler's. */
static const char *const waits[] = {"PENDING",	    "REQUEUED", "REQUEUE_HOLD",	 "REQUEUE_FED",
				    "SPECIAL_EXIT", "REVOKED",	"RESV_DEL_HOLD", NULL};

static int is_one_of(const char *state, const char *const *names)
{
	while (*names != NULL && strcmp(state, *names) != 0)
		names++;
	return *names != NULL;
}

/* Exit status and signal are those of the job only in a final state, and in NODE_FAIL. */
static void fill_job(struct js_slurm_job *out, char *fields[FIELDS_MAX])
{
	const char *state = fields[1];
	int begun = !is_one_of(state, waits), code;
	uint64_t status;

	memset(out, 0, sizeof(*out));
	out->found = 1;
	(void)snprintf(out->state, sizeof(out->state), "%s", state);
	out->terminal = is_one_of(state, finals);
	out->restarts = (int32_t)parse_number(fields[2]);
	out->array_job = parse_number(fields[4]);
	out->start_us = begun ? parse_time(fields[6]) : -1;
	out->end_us = begun ? parse_time(fields[7]) : -1;
	out->exit_code = -1;
	if (out->terminal || strcmp(state, "NODE_FAIL") == 0) {
		if (js_num_u64(fields[3], 0, 0xffff, &status) == 0) { /* as wait() has it */
			out->exit_code = WIFEXITED((int)status) ? WEXITSTATUS((int)status) : -1;
			out->signal = WIFSIGNALED((int)status) ? WTERMSIG((int)status) : 0;
		} else if (sscanf(fields[3], "%3d:%3d", &code, &out->signal) == 2) /* newer releases */
			out->exit_code = out->signal == 0 ? code : -1;
	}
	if (strcmp(fields[8], "n/a") != 0)
		(void)snprintf(out->batch_host, sizeof(out->batch_host), "%s", fields[8]);
}

static void take_job(void *ctx, char *fields[FIELDS_MAX])
{
	const struct wanted *w = ctx;
	uint32_t job = parse_number(fields[0]);

	for (size_t i = 0; i < w->n && job != 0; i++)
		if (job == w->ids[i])
			fill_job(&w->out[i], fields);
}

/* The jobs are named in one option, unless that is longer than the kernel takes: then all jobs of the user come, and
 * those that were not asked for are skipped. */
static int find_user_jobs(uint32_t uid, const uint32_t *job_ids, size_t n, struct js_slurm_job *out, char *error,
			  size_t error_size)
{
	char user[32];
	const char *argv[9] = {"squeue", "--local", "--all", "--states=all", JOB_FORMAT};
	struct wanted w = {job_ids, out, n};
	struct js_buf jobs = {0};
	size_t words = 5;
	int rc;

	memset(out, 0, n * sizeof(*out));
	(void)snprintf(user, sizeof(user), "--user=%" PRIu32, uid);
	if (uid != JS_SLURM_ANYBODY)
		argv[words++] = user;
	for (size_t i = 0; i < n; i++)
		add_job(&jobs, job_ids[i]);
	if (jobs.len < OPTION_MAX && !jobs.failed)
		argv[words] = jobs.data;
	rc = ask_squeue(argv, JOB_FIELDS, take_job, &w, error, error_size);
	js_buf_free(&jobs);
	return rc;
}

/* ------------------------------------------------------------------------------------------------------- steps */

static int has_word(const char *states, const char *word)
{
	const char *found = strstr(states, word);

	return found != NULL && found < states + strcspn(states, " \n");
}

/* Returns whether the node is asked about for a step before this one. */
static int is_asked(const struct js_slurm_step *steps, size_t step)
{
	size_t i = 0;

	while (i < step && !(steps[i].look && strcmp(steps[i].node, steps[step].node) == 0))
		i++;
	return i < step;
}

/* Asks the controller which of the nodes are down, all in one command.  A node is also taken for down if it does not
 * respond (a * behind the state), since no answer of its slurmd can be had then. */
static void read_node_states(struct js_slurm_step *steps, size_t n)
{
	struct js_buf names = {0};
	const char *argv[] = {"scontrol", "--all", "--oneliner", "show", "node", NULL, NULL};
	char *text, *line, name[256], ignored[300];
	struct output s;

	for (size_t i = 0; i < n; i++)
		if (steps[i].node[0] != '\0' && steps[i].node[0] != '-' && steps[i].look && !is_asked(steps, i))
			js_buf_printf(&names, "%s%s", names.len > 0 ? "," : "", steps[i].node);
	argv[5] = names.data;
	if (names.len > 0 && !names.failed && run_command(argv, &s, ignored, sizeof(ignored)) == 0) {
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
		free_output(&s);
	}
	js_buf_free(&names);
}

/* Whether the controller has the steps is not asked.  No command gets the node's own word on a step that the
 * controller does not have: sstat asks the controller first, and says "not found running" (seen with 20.11 and 22.05).
 * So the controller's word would prove nothing. */
static int find_steps(struct js_slurm_step *steps, size_t n, char *error, size_t error_size)
{
	(void)error;
	(void)error_size;
	read_node_states(steps, n);
	return 0;
}

/* --------------------------------------------------------------------------------------------- the rest, and the table
 */

static int read_conf(struct js_slurm_conf *out, char *error, size_t error_size)
{
	static const char *const argv[] = {"scontrol", "show", "config", NULL};
	char *text, *line;
	struct output s;
	unsigned n;

	memset(out, 0, sizeof(*out));
	if (run_command(argv, &s, error, error_size) != 0)
		return -1;
	text = s.out.data;
	while ((line = strsep(&text, "\n")) != NULL) {
		(void)sscanf(line, "ClusterName = %127s", out->cluster);
		if (sscanf(line, "KillWait = %u sec", &n) == 1)
			out->kill_wait_us = n * JS_SECOND_US;
	}
	n = s.status == 0 && out->cluster[0] != '\0';
	if (n == 0)
		(void)explain_failure(argv[0], &s, error, error_size);
	free_output(&s);
	return n != 0 ? 0 : -1;
}

#define QUEUED_FORMAT "--format=%A" MARK "%T" MARK "%F" MARK "%K" MARK "%S" MARK "%P" MARK "%r" MARK "%j" MARK "%k" MARK

struct queued_call {
	const char *stack;
	void (*tell)(void *ctx, const struct js_slurm_queued *job);
	void *ctx;
};

static void take_queued(void *ctx, char *fields[FIELDS_MAX])
{
	const struct queued_call *a = ctx;
	struct js_slurm_queued out = {.job = parse_number(fields[0]),
				      .pending = is_one_of(fields[1], waits),
				      .start_us = parse_time(fields[4])};

	out.ended = is_one_of(fields[1], finals); /* one that is COMPLETING, or whose node failed, may be requeued */

	if (!js_slurm_is_of_stack(fields[7], fields[8], a->stack))
		return;
	if (strcmp(fields[3], "N/A") != 0) {
		out.array_job = parse_number(fields[2]);
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
	const char *const argv[] = {"squeue", "--local", "--all", "--states=all", user, QUEUED_FORMAT, NULL};
	struct queued_call a = {stack, tell, ctx};

	(void)snprintf(user, sizeof(user), "--user=%" PRIu32, uid);
	return ask_squeue(argv, 9, take_queued, &a, error, error_size);
}

/* Without ABI and sizes, which are only checked of a module; without `at_node`, since no command answers that; and
 * without `job`, since one squeue answers for all jobs. */
const struct js_slurm_ops js_slurm_commands = {
	.user_jobs = find_user_jobs, .steps = find_steps, .conf = read_conf, .queued = find_queued};
