/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What sbatch is given, and the call.  Promises: every word reaches its program as it was typed, whatever bytes it
 * holds; no line of a script is taken for one of sbatch's own; no secret stands in it.
 */
#include "cli/submit/submit.h"

#include "base/num.h"
#include "cli/last_start.h"
#include "cli/worker.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GRACE_S 5		    /* a worker's default */
#define SETTLE_S 5		    /* for what it must write behind that */
#define AGAIN_US (2 * JS_SECOND_US) /* between calls of sbatch: 2 s, 4 s, ... */
#define AGAIN_LAST_US (32 * JS_SECOND_US)

/* sbatch's options that say which account is used and where, and so hold for the follow-up job as well. */
static const struct {
	const char *name;
	char letter;
} inherited[] = {{"account", 'A'},  {"partition", 'p'}, {"qos", 'q'},  {"reservation", 0},
		 {"clusters", 'M'}, {"wckey", 0},	{"export", 0}, {"nice", 0}};

/* Returns how many seconds before the wall time workers must get a signal, so that their --grace fits; 0: no signal.
 * Each of them starts nothing that would run over the wall time, and Slurm's own TERM at that time ends what does: an
 * earlier signal would only take from entries that can still be done, so it is wanted just where the site's KillWait is
 * too short. */
static int64_t signal_seconds(const struct submit *s)
{
	const char *grace = cli_sbatch_value(&s->worker, "grace", 0);
	int64_t us, seconds = GRACE_S;

	if (grace != NULL && js_num_duration(grace, &us) == 0)
		seconds = us / JS_SECOND_US;
	return seconds + SETTLE_S > s->kill_wait_s ? seconds + 2 * SETTLE_S : 0;
}

/* Appends sbatch's options for an array of N.  What the user gave comes last and is never contradicted: each default is
 * left out if the user's options have it. */
static void add_array_options(const struct submit *s, uint64_t n, struct cli_words *words)
{
	const struct cli_words *p = &s->passed;

	if (cli_sbatch_value(p, "job-name", 'J') == NULL)
		cli_words_format(words, "--job-name=jobstack-%s", s->cli->stack);
	else if (cli_sbatch_value(p, "comment", 0) == NULL) /* by one of the two `status --why` knows them */
		cli_words_format(words, "--comment=jobstack:%s", s->cli->stack);
	if (cli_sbatch_value(p, "cpus-per-task", 'c') == NULL && s->slots > 0)
		cli_words_format(words, "--cpus-per-task=%" PRIu64, s->slots);
	if (cli_sbatch_value(p, "signal", 0) == NULL && signal_seconds(s) > 0)
		cli_words_format(words, "--signal=USR1@%" PRId64, signal_seconds(s));
	if (cli_sbatch_value(p, "output", 'o') == NULL)
		cli_sbatch_output(words, s->logs, n > 1 ? "/slurm-%A_%a.out" : "/slurm-%j.out");
	if (s->tasks > 1 && cli_sbatch_value(p, "no-kill", 'k') == NULL)
		cli_words_add(words, "--no-kill");
	if (n > 1)
		cli_words_format(words, "--array=1-%" PRIu64, n);
	cli_words_all(words, p);
}

/* Appends LINE, which replaces the shell, and frees it. */
static void add_exec(struct js_buf *body, struct cli_words *line)
{
	js_buf_str(body, "exec ");
	cli_words_quote(body, line);
	js_buf_char(body, '\n');
	body->failed |= line->failed;
	cli_words_free(line);
}

/* Returns whether the controller answers anything.  If it does, sbatch's refusal was about the job. */
static int slurm_answers(void)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	char *config = cli_slurm_answer("scontrol show config", SUBMIT_SLURM_LIMIT_US, &error);

	free(config);
	return config != NULL;
}

/* Calls sbatch.  In a later round nobody is there to try again if it fails, so that is done here: for a minute, counted
 * from when the controller answers.  (NAP then begins with its first value again.) */
static int call_sbatch(struct submit *s, const struct cli_words *call, uint64_t *job)
{
	int status = cli_sbatch(s->cli, call, job);

	for (int64_t nap = AGAIN_US; status == 1 && s->chain.round > 0 && nap <= AGAIN_LAST_US; nap *= 2) {
		js_clock_nap(nap, &cli_stop);
		if (cli_stop != 0)
			break;
		status = cli_sbatch(s->cli, call, job);
		/* the controller itself is away: this try does not count */
		if (status == 1 && !slurm_answers())
			nap = AGAIN_US / 2;
	}
	return status;
}

/* Hands a script to sbatch: WHAT it is, how it is handed over, and BODY.  Writes it to PATH, unless it is there for an
 * array before.  Frees OPTIONS and BODY.  0 with *JOB (a dry run prints the script and the call instead); or the exit
 * status: 1 if sbatch rejected it. */
static int submit_script(struct submit *s, const char *path, const char *what, struct cli_words *options,
			 struct js_buf *body, uint64_t *job)
{
	struct cli_words call = {0};
	struct js_buf script = {0};
	int status = 0;

	js_error_clear(&s->cli->error); /* of what may have failed before, which has been told */
	cli_sbatch_words(&call, options, path);
	js_buf_printf(&script,
		      "#!/bin/bash\n# Written by jobstack submit %s: %s the stack \"%s\".  Submitted with:\n#   ",
		      jobstack_version(), what, s->cli->stack);
	cli_words_quote(&script, &call);
	js_buf_char(&script, '\n');
	js_buf_add(&script, body->data, body->len);
	if (call.failed || body->failed || script.failed)
		status = cli_no_memory(s->cli);
	else if (s->dry_run) {
		cli_words_quote(&script, &call);
		(void)printf("%s\n", script.failed ? "" : script.data);
	} else {
		if (access(path, F_OK) != 0)
			status = cli_sbatch_keep(s->cli, path, &script);
		JS_THEN(status, call_sbatch(s, &call, job));
		if (status < 0)
			status = cli_fail(s->cli);
	}
	cli_words_free(options);
	cli_words_free(&call);
	js_buf_free(body);
	js_buf_free(&script);
	return status;
}

/* Records what was submitted, for --again, and so that others know of the job before a worker begins; but without the
 * number if Slurm can't be asked for it by its name (add_array_options).  JOB 0: sbatch rejected it, and the error is
 * what it said. */
static void record_job(struct submit *s, uint64_t job, uint64_t n)
{
	const char *cluster = cli_sbatch_value(&s->passed, "clusters", 'M');
	const char *log = cli_sbatch_value(&s->passed, "output", 'o');
	char own[sizeof(s->logs) + 64];
	struct jobstack_last start = {.way = job == 0 ? JOBSTACK_REJECTED : JOBSTACK_BY_SUBMIT,
				      .pushed = s->stack.s.pushed,
				      .cluster = cluster != NULL ? cluster : s->cluster};

	(void)snprintf(own, sizeof(own), "%s/slurm-%" PRIu64 "%s.out", s->logs, job, n > 1 ? "_*" : "");
	start.log = job == 0 ? s->cli->error.text : log != NULL ? log : own;
	if (cli_sbatch_value(&s->passed, "job-name", 'J') == NULL || cli_sbatch_value(&s->passed, "comment", 0) == NULL)
		start.job = job;
	cli_last_start_record(s->cli, &start, &s->command);
}

/* Nodes to exclude, "n1,n2": at most MOST. */
struct excluded {
	const char *jobs; /* the last round's */
	struct js_buf nodes;
	uint64_t n, most;
};

/* Returns whether WORD is one of the words in TEXT, between which SEPARATOR stands. */
static int has_word(const char *text, char separator, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = text; p != NULL && (p = strstr(p, word)) != NULL; p++)
		if ((p == text || p[-1] == separator) && (p[len] == separator || p[len] == '\0'))
			return 1;
	return 0;
}

/* Appends a worker's node, if the worker was one of the last round's jobs and the node is not in the list yet.  NODES
 * begins with "--exclude=", and perhaps the user's own list. */
static int exclude_node(void *ctx, const struct jobstack_worker_row *w)
{
	struct excluded *e = ctx;
	const char *job = w->array_job != NULL ? w->array_job : w->job;

	if (job != NULL && has_word(e->jobs, ':', job) &&
	    !has_word(e->nodes.data + sizeof("--exclude"), ',', w->node) && e->n < e->most)
		js_buf_printf(&e->nodes, "%s%s", e->nodes.data[e->nodes.len - 1] != '=' ? "," : "", w->node), e->n++;
	return e->nodes.failed;
}

const char *submit_partition(const struct submit *s)
{
	const char *partition = cli_sbatch_value(&s->passed, "partition", 'p');

	return partition != NULL ? partition : getenv("SBATCH_PARTITION");
}

/* Returns the option that excludes nodes which were bad in the last round, the newest, beside those that are excluded
 * already; up to a quarter of the partition.  NULL: there are none.  To be freed. */
static char *exclude_option(struct submit *s)
{
	const char *partition = submit_partition(s);
	const char *own = cli_sbatch_value(&s->passed, "exclude", 'x');
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct excluded e = {.jobs = s->chain.jobs};
	char call[300], *text, *rest, *line;

	own = own != NULL ? own : getenv("SBATCH_EXCLUDE");
	(void)snprintf(call, sizeof(call), "sinfo -h -o %%P:%%D%s%.200s", partition != NULL ? " -p " : "",
		       partition != NULL ? partition : "");
	rest = text = cli_slurm_answer(call, SUBMIT_SLURM_LIMIT_US, &error);
	while ((line = strsep(&rest, "\n")) != NULL)
		if (partition != NULL || strstr(line, "*:") != NULL)
			e.most += strtoul(line + strcspn(line, ":") + (*line != '\0'), NULL, 10);
	free(text);
	e.most /= 4;
	js_buf_printf(&e.nodes, "--exclude=%s", own != NULL ? own : "");
	if (jobstack_ended_bad(s->cli->handle, s->cli->stack, exclude_node, &e, &error) != 0 || e.n == 0)
		js_buf_free(&e.nodes);
	return e.nodes.data;
}

/* Writes the script of the workers, and submits it N times as an array.  EXCLUDE is a further option of sbatch, or
 * NULL. */
static int submit_workers(struct submit *s, uint64_t n, const char *exclude)
{
	struct cli_words options = {0}, line = {0};
	size_t len = strlen(s->answered);
	struct js_buf body = {0};
	uint64_t job = 0;
	char slots[40];
	int status;

	add_array_options(s, n, &options);
	if (exclude != NULL)
		cli_words_add(&options, exclude);
	/* a step does not take over its job's --cpus-per-task (since 22.05), and a site may end a step whose first task
	 * has left */
	if (s->overlap)
		js_buf_str(&body, "export SLURM_OVERLAP=1 # srun in a command gets CPUs of its own\n");
	(void)cli_words_split(&line, "srun --kill-on-bad-exit=0 --wait=0");
	if (s->cpus > 0)
		cli_words_format(&line, "--cpus-per-task=%" PRIu64, s->cpus);
	if (s->tasks > 1)
		cli_words_add(&line, "--no-kill");
	(void)snprintf(slots, sizeof(slots), "--slots=%" PRIu64, s->slots); /* else by SLURM_CPUS_PER_TASK */
	cli_worker_line(&line, s->cli, s->slots_said ? slots : NULL, s->option_file, &s->worker, s->cli->words);
	add_exec(&body, &line);
	status = submit_script(s, s->script, "workers of", &options, &body, &job);
	if (job != 0 || status == 1)
		record_job(s, job, n);
	if (job != 0)
		(void)snprintf(s->answered + len, sizeof(s->answered) - len, "%s%" PRIu64, len > 0 ? ":" : "", job);
	return status;
}

/* Excluding nodes is a courtesy: if sbatch rejects the job with it (too few nodes may be left for its options), the job
 * is submitted without it. */
int submit_array(struct submit *s, uint64_t n)
{
	char *exclude = s->chain.round > 0 && s->until_done ? exclude_option(s) : NULL;
	int status = submit_workers(s, n, exclude);

	if (exclude != NULL && status == 1)
		status = submit_workers(s, n, NULL);
	free(exclude);
	return status;
}

/* ---------------------------------------------------------------------------------------------- what comes after */

/* Appends sbatch's options for the small job that comes after.  It has the account, partition and so on of the workers,
 * but none of their resources; what --follow says comes last, and so wins. */
static void add_followup_options(const struct submit *s, const char *after, struct cli_words *words)
{
	const char *name = cli_sbatch_value(&s->passed, "job-name", 'J');

	cli_words_format(words, "--job-name=%s%s", name != NULL ? "" : "jobstack-",
			 name != NULL ? name : s->cli->stack);
	if (name != NULL) /* as for the workers: `wait` must know that more will come */
		cli_words_format(words, "--comment=jobstack:%s", s->cli->stack);
	(void)cli_words_split(words, "--ntasks=1 --time=30 --requeue"); /* whatever the site's default is */
	cli_sbatch_output(words, s->logs, "/slurm-%j.out");
	for (size_t i = 0; i < sizeof(inherited) / sizeof(inherited[0]); i++) {
		const char *value = cli_sbatch_value(&s->passed, inherited[i].name, inherited[i].letter);

		if (value != NULL)
			cli_words_format(words, "--%s%s%s", inherited[i].name, *value != '\0' ? "=" : "", value);
	}
	if (s->follow != NULL)
		(void)cli_words_split(words, s->follow);
	if (after[0] != '\0')
		cli_words_format(words, "--dependency=afterany:%s", after);
}

int submit_followup(struct submit *s, const char *after, const char *begin)
{
	struct cli_words options = {0}, line = {0}, recover = {0};
	struct submit_chain next = s->chain;
	struct js_buf body = {0};
	int status;

	/* the state that the follow-up gets as --chain: a new round begins with what this one has seen; another look
	 * (BEGIN) keeps the numbers of the round that it is about */
	if (begin == NULL) {
		next.round++;
		next.done = s->stack.s.done;
		next.dead = s->stack.s.dead;
		next.later = 0;
		(void)snprintf(next.jobs, sizeof(next.jobs), "%s", after);
	}
	add_followup_options(s, after, &options);
	if (begin != NULL)
		cli_words_format(&options, "--begin=%s", begin);
	if (s->until_done) { /* what the last round's dead workers hold is to be counted */
		cli_own_line(&recover, s->cli, "recover -q", s->option_file);
		cli_words_quote(&body, &recover);
		js_buf_str(&body, " || :\n");
	}
	cli_own_line(&line, s->cli, "submit", s->option_file);
	cli_words_format(&line, "--chain=%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s", next.round,
			 next.done, next.dead, next.idle, next.later, next.jobs);
	cli_words_all(&line, &s->cli->options);
	cli_words_add(&line, "--");
	cli_words_all(&line, &s->command);
	add_exec(&body, &line);
	body.failed |= recover.failed;
	cli_words_free(&recover);
	status = submit_script(s, s->followup_script, s->until_done ? "another round for" : "the mail about", &options,
			       &body, &s->followup);
	if (status == 1)
		cli_say(s->cli, "sbatch rejected the follow-up job");
	return status;
}

/* Slurm can mail from anywhere in the cluster, but only its own words, in which the job's name is ours. */
int submit_mail_job(struct submit *s, const char *subject)
{
	struct cli_words options = {0};
	struct js_buf body = {0};
	char path[sizeof(s->script)];
	uint64_t job = 0;
	int status;

	(void)snprintf(path, sizeof(path), "%s/submit-%s-mail.sh", s->logs, s->stamp);
	add_followup_options(s, "", &options);
	/* the options above have a --job-name already, but the last one counts */
	cli_words_format(&options, "--job-name=%s", subject);
	cli_words_format(&options, "--mail-user=%s", s->notify);
	cli_words_add(&options, "--mail-type=END");
	js_buf_str(&body, "exit 0\n");
	status = submit_script(s, path, "an empty job, whose name in Slurm's mail is the result of", &options, &body,
			       &job);
	if (status == 0)
		cli_say(s->cli,
			"no mail program here accepted the report; instead Slurm sends a mail when job %" PRIu64
			" ends, and the job name in that mail says the result",
			job);
	return status;
}
