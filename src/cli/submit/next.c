/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What comes after a submitted job: a job that waits for its end, looks at the stack, and submits another round, or
 * ends the chain. Promises: a chain ends when nothing is left, when only the dead are, when a person has said so
 * (scancel, pause, cancel, drop), and when two rounds in a row have changed nothing; it says why; a database that is
 * away for a while, or a controller, ends nothing.
 */
#include "cli/submit/submit.h"

#include "base/clock.h"
#include "cli/worker.h"
#include "view/text.h"
#include "view/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IDLE_ROUNDS 2
#define LATER_ROUNDS 96 /* a day of quarters of an hour */
#define REACH_US (300 * JS_SECOND_US)
#define REACH_NAP_US (5 * JS_SECOND_US)
#define SLURM_LIMIT_US (30 * JS_SECOND_US)
#define MAIL_LIMIT_US (60 * JS_SECOND_US)
#define AGAIN_US (2 * JS_SECOND_US) /* between calls of sbatch: 2 s, 4 s, ... */
#define AGAIN_LAST_US (32 * JS_SECOND_US)

/* ---------------------------------------------------------------------------------------------------------- mail */

/* What a command of ours prints about the stack: 1 if it did. */
static int run_ours(struct submit *s, const char *verb, struct js_buf *out)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_buf said = {0};
	struct cli_words words = {0};
	const struct cli_command command = {.words = &words, .out = out, .err = &said, .limit_us = MAIL_LIMIT_US};
	size_t before = out->len;
	int status;

	cli_own_line(&words, &s->cli, verb, s->option_file);
	status = cli_command(&command, &error);
	cli_words_free(&words);
	js_buf_free(&said);
	if ((status == CLI_YES || status == CLI_NO) && out->len > before)
		return 1;
	out->len = before;
	return 0;
}

/* Through the mail program of this node: 1 if it took it. */
static int mail_here(struct submit *s, const char *subject, const struct js_buf *body)
{
	static const char *const sendmail[] = {"/usr/sbin/sendmail", "/usr/lib/sendmail"};
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct cli_words words = {0};
	struct js_buf text = {0};
	const struct cli_command command = {.words = &words, .input = &text, .limit_us = MAIL_LIMIT_US};
	const char *program = js_child_is_in_path("sendmail") ? "sendmail" : NULL;
	int status = -1;

	for (size_t i = 0; i < 2 && program == NULL; i++)
		program = access(sendmail[i], X_OK) == 0 ? sendmail[i] : NULL;
	if (program != NULL) {
		cli_words_add(&words, program);
		cli_words_add(&words, "-t");
		js_buf_printf(&text, "To: %s\nSubject: %s\nContent-Type: text/plain; charset=UTF-8\n\n", s->notify,
			      subject);
	} else if (js_child_is_in_path("mail")) {
		cli_words_add(&words, "mail");
		cli_words_add(&words, "-s");
		cli_words_add(&words, subject);
		cli_words_add(&words, s->notify);
	}
	if (words.n > 0) {
		js_buf_add(&text, body->data, body->len);
		status = text.failed ? -1 : cli_command(&command, &error);
		if (status != 0)
			cli_say(&s->cli, "%s did not accept the mail: %s", words.at[0],
				error.code != 0 ? error.text : "it reported an error");
	}
	cli_words_free(&words);
	js_buf_free(&text);
	return status == 0;
}

/* By Slurm, which mails nothing but its own subject line; in that stands the name of the job.  1 if sbatch took it. */
static int mail_by_slurm(struct submit *s, const char *subject)
{
	struct cli_words options = {0}, call = {0};
	struct js_buf script = {0};
	char path[sizeof(s->script)];
	uint64_t job;
	int ok;

	(void)snprintf(path, sizeof(path), "%s/submit-%s-mail.sh", s->logs, s->stamp);
	js_buf_str(
		&script,
		"#!/bin/bash\n# Written by jobstack submit: Slurm mails the end of this job, and its name.\nexit 0\n");
	submit_next_words(s, "", &options);
	cli_words_format(&options, "--job-name=%s", subject);
	cli_words_format(&options, "--mail-user=%s", s->notify);
	cli_words_add(&options, "--mail-type=END");
	cli_sbatch_words(&call, &options, path);
	ok = cli_sbatch_keep(&s->cli, path, &script) == 0 && cli_sbatch(&s->cli, &call, &job) == 0;
	if (ok)
		cli_say(&s->cli,
			"no mail program on this node accepted it: Slurm mails the end of job %" PRIu64
			", whose name contains the result",
			job);
	cli_words_free(&options);
	cli_words_free(&call);
	js_buf_free(&script);
	return ok;
}

void submit_mail(struct submit *s, const char *text)
{
	const struct jobstack_status *t = &s->stack.s;
	struct js_buf body = {0};
	char subject[400];

	if (s->notify == NULL)
		return;
	(void)snprintf(subject, sizeof(subject), "jobstack %s: %" PRIu64 " done, %" PRIu64 " dead, %" PRIu64 " left",
		       s->cli.stack, t->done, t->dead, insight_stack_left(t));
	js_buf_printf(&body, "%s\n\n", text);
	if (!run_ours(s, "report", &body))
		(void)run_ours(s, "status", &body);
	js_buf_printf(&body, "\nstack: %s\ndirectory: %s\n", s->cli.stack, s->cwd);
	if (body.failed || (!mail_here(s, subject, &body) && !mail_by_slurm(s, subject)))
		cli_say(&s->cli, "the mail to %s could not be sent", s->notify);
	js_buf_free(&body);
}

/* ------------------------------------------------------------------------------------------------ the next round */

int submit_sbatch(struct submit *s, const struct cli_words *call, uint64_t *job)
{
	int status = cli_sbatch(&s->cli, call, job);

	for (int64_t nap = AGAIN_US; status == 1 && s->chain.round > 0 && nap <= AGAIN_LAST_US && cli_stop == 0;
	     nap *= 2) {
		js_clock_nap(nap, &cli_stop);
		if (cli_stop == 0)
			status = cli_sbatch(&s->cli, call, job);
	}
	return status;
}

int submit_next(struct submit *s, const char *after, const char *begin)
{
	struct submit_chain next = s->chain;
	struct cli_words options = {0}, call = {0};
	struct js_buf script = {0};
	int status = 0;

	if (begin == NULL) { /* behind a round that has just been submitted */
		next.round++;
		next.done = s->stack.s.done;
		next.dead = s->stack.s.dead;
		next.later = 0;
		(void)snprintf(next.jobs, sizeof(next.jobs), "%s", after);
	}
	submit_next_words(s, after, &options);
	if (begin != NULL)
		cli_words_format(&options, "--begin=%s", begin);
	cli_sbatch_words(&call, &options, s->next_script);
	submit_next_script(s, &next, &call, &script);
	if (s->dry_run) {
		(void)printf("\n");
		(void)fwrite(script.data, 1, script.len, stdout);
		(void)printf("\n");
	} else
		status = cli_sbatch_keep(&s->cli, s->next_script, &script);
	if (status == 0 && !s->dry_run) {
		status = submit_sbatch(s, &call, &s->next);
		if (status == 1)
			cli_say(&s->cli, "sbatch rejected the follow-up job");
		else if (status < 0)
			status = cli_fail(&s->cli);
	}
	cli_words_free(&options);
	cli_words_free(&call);
	js_buf_free(&script);
	return status;
}

/* ------------------------------------------------------------------------------------------------------- judging */

/* How many elements of the last round Slurm still knows, and how many of them a person has cancelled. */
static void count_cancelled(struct submit *s, unsigned *known, unsigned *cancelled)
{
	char jobs[sizeof(s->chain.jobs)], *rest = jobs, *job;

	*known = *cancelled = 0;
	(void)snprintf(jobs, sizeof(jobs), "%s", s->chain.jobs);
	while ((job = strsep(&rest, ":")) != NULL) {
		struct jobstack_error error = JOBSTACK_ERROR_INIT;
		char line[64], *text;

		(void)snprintf(line, sizeof(line), "scontrol --oneliner show job %s", job);
		text = *job != '\0' ? cli_slurm_answer(line, SLURM_LIMIT_US, &error) : NULL;
		for (const char *p = text; p != NULL && (p = strstr(p, " JobState=")) != NULL; p++) {
			(*known)++;
			*cancelled += strncmp(p, " JobState=CANCELLED", 19) == 0;
		}
		free(text);
	}
}

/* The same by the cluster's accounts, where it keeps some. */
static void count_in_accounts(struct submit *s, unsigned *known, unsigned *cancelled)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	char call[sizeof(s->chain.jobs) + 100], *text = NULL, *rest, *line;

	(void)snprintf(call, sizeof(call), "sacct --noheader --parsable2 --allocations --format=State --jobs=%s",
		       s->chain.jobs);
	for (char *p = call; *p != '\0'; p++)
		if (*p == ':')
			*p = ',';
	if (s->chain.jobs[0] != '\0' && js_child_is_in_path("sacct"))
		text = cli_slurm_answer(call, SLURM_LIMIT_US, &error);
	for (rest = text; rest != NULL && (line = strsep(&rest, "\n")) != NULL;) {
		*known += *line != '\0';
		*cancelled += strncmp(line, "CANCELLED", 9) == 0;
	}
	free(text);
}

/* The end of the chain. */
__attribute__((format(printf, 4, 5))) static int end_chain(struct submit *s, int status, int *out, const char *format,
							   ...)
{
	char text[CLI_PATH + SUBMIT_JOBS_TEXT + 600];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	*out = status;
	(void)fprintf(stderr, "%s: round %" PRIu64 ": %s\n", s->cli.opts->command, s->chain.round,
		      text); /* however quiet */
	submit_mail(s, text);
	return -1;
}

void submit_broke(struct submit *s)
{
	int status;

	(void)end_chain(s, CLI_NO, &status,
			"no further rounds, because sbatch rejected %s%s: see its messages in %s, and submit again to "
			"continue with %" PRIu64 " left",
			s->answered[0] == '\0' ? "another round" : "the follow-up of job ", s->answered, s->logs,
			insight_stack_left(&s->stack.s));
}

static int wait_for_others(struct submit *s, int *status, const char *what)
{
	if (++s->chain.later <= LATER_ROUNDS)
		return 0;
	return end_chain(s, CLI_NO, status,
			 "no further rounds, because for a day %s: see `jobstack status -s %s`, and submit again", what,
			 s->cli.stack);
}

static int end_of_stack(struct submit *s, int *status)
{
	const struct jobstack_status *t = &s->stack.s;

	if (t->dead == 0)
		return end_chain(s, CLI_YES, status, "nothing is left: all %" PRIu64 " are done", t->done);
	return end_chain(
		s, CLI_NO, status,
		"only dead entries are left: %" PRIu64 " done, %" PRIu64
		" dead: `jobstack list -s %s` lists them, `jobstack requeue -s %s` puts them back in the queue",
		t->done, t->dead, s->cli.stack, s->cli.stack);
}

int submit_judge(struct submit *s, int *status)
{
	const struct jobstack_status *t = &s->stack.s;
	struct submit_chain *c = &s->chain;
	unsigned known, cancelled;
	struct js_buf note = {0};

	if (insight_stack_left(t) == 0 && t->state != JOBSTACK_CANCELLED)
		return end_of_stack(s, status);
	if (!s->until_done)
		return end_chain(s, CLI_NO, status,
				 "the jobs have ended, and %" PRIu64 " are left: %" PRIu64 " done, %" PRIu64 " dead",
				 insight_stack_left(t), t->done, t->dead);
	if (t->state != JOBSTACK_OPEN) {
		view_safe(&note, s->stack.note.data, s->stack.note.len);
		(void)end_chain(s, CLI_NO, status,
				"no further rounds, because the stack is %s%s%.500s: run `jobstack resume -s %s`, and "
				"submit again",
				view_stack_word(t->state), note.len > 0 ? ": " : "", note.len > 0 ? note.data : "",
				s->cli.stack);
		js_buf_free(&note);
		return -1;
	}
	count_cancelled(s, &known, &cancelled);
	if (known == 0) /* the controller forgets a job some minutes after its end */
		count_in_accounts(s, &known, &cancelled);
	if (cancelled > 0 && 2 * cancelled >= known)
		return end_chain(s, CLI_NO, status,
				 "no further rounds, because the last jobs were cancelled: submit again to continue "
				 "with %" PRIu64 " left",
				 insight_stack_left(t));
	if (t->ready + t->waiting + t->held == 0)
		return wait_for_others(s, status, "all entries that are left have been running in other workers");
	c->idle = t->done == c->done && t->dead == c->dead ? c->idle + 1 : 0;
	if (c->idle >= IDLE_ROUNDS)
		return end_chain(s, CLI_NO, status,
				 "no further rounds, because no entry ended in %d rounds, and %" PRIu64
				 " are left: if they need longer than --time, raise it; see `jobstack status -s %s` "
				 "and the logs in %s",
				 IDLE_ROUNDS, insight_stack_left(t), s->cli.stack, s->logs);
	return 1;
}

int submit_reach(struct submit *s, int *status)
{
	struct jobstack_options options = JOBSTACK_OPTIONS_INIT;
	int64_t until = js_clock_mono_us() + REACH_US;
	int rc;

	options.defaults_file = cli_option_file(&s->cli);
	options.patience_us = REACH_US;
	for (;;) {
		js_error_clear(&s->cli.error);
		rc = jobstack_open(&s->cli.handle, &options, &s->cli.error);
		if ((rc != JOBSTACK_ENODB && rc != JOBSTACK_EFILE) || js_clock_mono_us() > until || cli_stop != 0)
			break;
		js_clock_nap(REACH_NAP_US, &cli_stop);
	}
	if (rc == 0)
		return 0;
	*status = cli_fail(&s->cli);
	return rc == JOBSTACK_ENODB && s->until_done && ++s->chain.later <= LATER_ROUNDS ? 1 : -1;
}
