/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The job that comes after the workers: it waits for their end, looks at the stack, and submits another round, or ends
 * the chain. Promises: a chain ends when nothing is left, when only the dead are, when a person has said so
 * (scancel, pause, cancel, drop), and when two rounds in a row have changed nothing; it says why; a database that is
 * away for days, or a controller for as long as this job may run, ends nothing.
 */
#include "cli/submit/submit.h"

#include "cli/worker.h"
#include "frame/remedy.h"
#include "show/text.h"
#include "show/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IDLE_ROUNDS 2
#define SOON_ROUNDS 4 /* looks after a quarter of an hour each; the others come after an hour */
#define LATER_ROUNDS (SOON_ROUNDS + 24 * LATER_DAYS)
#define LATER_DAYS 14
#define REACH_US (300 * JS_SECOND_US)
#define REACH_AGAIN_US (10 * JS_SECOND_US) /* in a look that another one follows anyway */
#define MAIL_LIMIT_US (60 * JS_SECOND_US)

/* ---------------------------------------------------------------------------------------------------------- mail */

/* Appends what `jobstack VERB` prints about the stack.  Returns 1 if it printed something, and did not fail. */
static int run_own_command(struct submit *s, const char *verb, struct js_buf *out)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_buf said = {0};
	struct cli_words words = {0};
	const struct cli_command command = {.words = &words, .out = out, .err = &said, .limit_us = MAIL_LIMIT_US};
	size_t before = out->len;
	int status;

	cli_own_line(&words, s->cli, verb, s->option_file);
	status = cli_command(&command, &error);
	cli_words_free(&words);
	js_buf_free(&said);
	if ((status == CLI_YES || status == CLI_NO) && out->len > before)
		return 1;
	out->len = before;
	return 0;
}

/* Hands the mail to a program of this node.  Returns 1 if that accepted it. */
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
			cli_say(s->cli, "%s did not accept the mail: %s", words.at[0],
				error.code != 0 ? error.text : "it reported an error");
	}
	cli_words_free(&words);
	js_buf_free(&text);
	return status == 0;
}

/* Mails TEXT, the reason why the chain ends, with the report or at least the status.  Compute nodes often have no mail
 * program; then a job is submitted whose end Slurm mails. */
static void mail_end(struct submit *s, const char *text)
{
	const struct jobstack_status *t = &s->stack.s;
	struct js_buf body = {0};
	char subject[400];

	if (s->notify == NULL)
		return;
	(void)snprintf(subject, sizeof(subject), "jobstack %s: %" PRIu64 " done, %" PRIu64 " dead, %" PRIu64 " left",
		       s->cli->stack, t->done, t->dead, figures_stack_left(t));
	show_safe_words(&body, text);
	js_buf_str(&body, "\n\n");
	if (!run_own_command(s, "report", &body))
		(void)run_own_command(s, "status", &body);
	js_buf_printf(&body, "\nstack: %s\ndirectory: %s\n", s->cli->stack, s->cwd);
	if (body.failed || (!mail_here(s, subject, &body) && submit_mail_job(s, subject) != 0))
		cli_say(s->cli, "the mail to %s could not be sent", s->notify);
	js_buf_free(&body);
}

/* ------------------------------------------------------------------------------------------------------- judging */

/* The stack can't be judged yet, so another job looks at it later.  Beside CLI_GO_ON and exit statuses. */
enum { LOOK_LATER = -2 };

/* Runs CALL, which prints the state of each array task behind MARK: counts them, and those that a person cancelled. */
static void count_states(const char *call, const char *mark, unsigned *known, unsigned *cancelled)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	char *text = cli_slurm_answer(call, SUBMIT_SLURM_LIMIT_US, &error);

	for (const char *p = text; p != NULL && (p = strstr(p, mark)) != NULL; (*known)++) {
		p += strlen(mark);
		*cancelled += strncmp(p, "CANCELLED", 9) == 0;
	}
	free(text);
}

/* Returns whether a person has cancelled the last round, or half of it. */
static int was_cancelled(const struct submit *s)
{
	char jobs[sizeof(s->chain.jobs)], call[sizeof(jobs) + 100], *rest = jobs, *job;
	unsigned known = 0, cancelled = 0;

	(void)snprintf(jobs, sizeof(jobs), "%s", s->chain.jobs);
	while ((job = strsep(&rest, ":")) != NULL) {
		(void)snprintf(call, sizeof(call), "scontrol --oneliner show job %s", job);
		if (*job != '\0')
			count_states(call, " JobState=", &known, &cancelled);
	}
	if (known == 0 && s->chain.jobs[0] != '\0' && js_child_is_in_path("sacct")) {
		/* the controller forgets a job some minutes after its end, the cluster's accounts do not */
		(void)snprintf(call, sizeof(call),
			       "sacct --noheader --parsable2 --allocations --format=JobID,State --jobs=%s",
			       s->chain.jobs);
		for (char *p = call; (p = strchr(p, ':')) != NULL;)
			*p = ',';
		count_states(call, "|", &known, &cancelled);
	}
	return cancelled > 0 && 2 * cancelled >= known;
}

/* Prints and mails why the chain ends.  Returns STATUS. */
static int end_rounds(struct submit *s, int status, const char *format, ...) __attribute__((format(printf, 3, 4)));
static int end_rounds(struct submit *s, int status, const char *format, ...)
{
	char text[CLI_PATH + SUBMIT_JOBS_TEXT + 600];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	cli_tell(s->cli, "round %" PRIu64 ": %s", s->chain.round, text); /* however quiet */
	mail_end(s, text);
	return status;
}

void submit_broke(struct submit *s)
{
	(void)end_rounds(s, CLI_NO,
			 "no more workers are submitted, because sbatch rejected %s%s: see its messages in %s, and "
			 "submit again to continue with %" PRIu64 " left",
			 s->answered[0] == '\0' ? "the next job" : "the follow-up of job ", s->answered, s->logs,
			 figures_stack_left(&s->stack.s));
}

/* Decides what comes after a round.  The first condition that holds counts:
 *
 *     nothing is left                              the chain ends
 *     only dead entries are left                   it ends
 *     --notify without --until-done                it ends, with what is left
 *     the stack is paused, cancelled or dropped    it ends: a person wanted that
 *     the round's jobs were cancelled              it ends, likewise
 *     other workers run all that is left           LOOK_LATER; after two weeks it ends
 *     two rounds in a row changed nothing          it ends: a third would not either
 *     otherwise                                    CLI_GO_ON: another round */
static int judge_stack(struct submit *s)
{
	const struct jobstack_status *t = &s->stack.s;
	const struct js_buf *note = &s->stack.note;
	const char *name = s->cli->stack;
	struct submit_chain *c = &s->chain;
	uint64_t left = figures_stack_left(t);
	int is_over = left == 0 && t->state != JOBSTACK_CANCELLED;

	if (is_over && t->dead == 0)
		return end_rounds(s, CLI_YES, "nothing is left: all %" PRIu64 " are done", t->done);
	if (is_over)
		return end_rounds(s, CLI_NO, "only dead entries are left: %" PRIu64 " done, %" PRIu64 " dead: %s",
				  t->done, t->dead,
				  js_remedy_fill(JS_REMEDY_DEAD, &(const struct js_remedy){.stack = name}));
	if (!s->until_done)
		return end_rounds(s, CLI_NO,
				  "the jobs have ended, and %" PRIu64 " %s left: %" PRIu64 " done, %" PRIu64 " dead",
				  left, show_are(left), t->done, t->dead);
	if (t->state != JOBSTACK_OPEN)
		return end_rounds(s, CLI_NO,
				  "no more workers are submitted, because the stack is %s%s%.500s: run `jobstack "
				  "resume -s %s`, and submit again",
				  show_stack_word(t->state), note->len > 0 ? ": " : "", note->len > 0 ? note->data : "",
				  name);
	if (was_cancelled(s))
		return end_rounds(
			s, CLI_NO,
			"no more workers are submitted, because the last jobs were cancelled: submit again to continue "
			"with %" PRIu64 " left",
			left);
	if (t->ready + t->waiting + t->held == 0 && ++c->later <= LATER_ROUNDS)
		return LOOK_LATER;
	if (t->ready + t->waiting + t->held == 0)
		return end_rounds(s, CLI_NO,
				  "no more workers are submitted, because other workers have been running all "
				  "remaining entries for %d days: submit again when they have ended (`jobstack "
				  "status -s %s`)",
				  LATER_DAYS, name);
	/* entries that were interrupted, or failed and will be retried, don't count as progress: with a --time that is
	 * too short for a single entry, the chain would never end */
	c->idle = t->done == c->done && t->dead == c->dead ? c->idle + 1 : 0;
	if (c->idle >= IDLE_ROUNDS)
		return end_rounds(
			s, CLI_NO,
			"no more workers are submitted, because no entry ended in the last %d jobs, and %" PRIu64
			" %s left: raise --time if they need longer; see `jobstack status -s %s` and the logs in %s",
			IDLE_ROUNDS, left, show_are(left), name, s->logs);
	return CLI_GO_ON;
}

/* A later round runs in a job, unattended.  What a person would try again must be tried again here: a database that is
 * away only leads to another look, in the hope that it comes back within the two weeks. */
int submit_later_round(struct submit *s)
{
	struct cli *cli = s->cli;
	char begin[32];
	int status, minutes;

	cli->connect_us = s->chain.later > 0 ? REACH_AGAIN_US : REACH_US;
	status = cli_connect(cli, cli->connect_us);
	if (status == 0 && figures_stack_read(cli->handle, cli->stack, &s->stack, &cli->error) != 0)
		status = cli_fail(cli);
	if (status == 0)
		status = judge_stack(s);
	else if ((cli->error.code == JOBSTACK_ENODB || cli->error.code == JOBSTACK_EFILE) && s->until_done &&
		 ++s->chain.later <= LATER_ROUNDS) {
		s->chain.idle = 0; /* without a database the last round could close nothing */
		status = LOOK_LATER;
	} else
		mail_end(s, cli->error.text);
	if (status != LOOK_LATER)
		return status;
	minutes = s->chain.later <= SOON_ROUNDS ? 15 : 60;
	(void)snprintf(begin, sizeof(begin), "now+%dminutes", minutes);
	cli_say(cli, "the stack can't be checked yet: trying again in %d minutes", minutes);
	status = submit_followup(s, "", begin);
	if (status != CLI_YES)
		submit_broke(s);
	return status;
}
