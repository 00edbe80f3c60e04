/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What sbatch is given.  Promises: every word reaches its program as it was typed, whatever bytes it holds; no line of
 * a script is taken for one of sbatch's own; no secret stands in it.
 */
#include "cli/submit/submit.h"

#include "base/clock.h"
#include "base/num.h"
#include "cli/worker.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define GRACE_S 5  /* a worker's default */
#define SETTLE_S 5 /* for what it must write behind that */

/* sbatch's options that say which account is used and where, and so hold for the follow-up job as well. */
static const struct {
	const char *name;
	char letter;
} inherited[] = {{"account", 'A'},  {"partition", 'p'}, {"qos", 'q'},  {"reservation", 0},
		 {"clusters", 'M'}, {"wckey", 0},	{"export", 0}, {"nice", 0}};

/* The seconds before the wall time at which workers must get a signal, so that their --grace fits; 0: no signal.  Each
 * of them starts nothing that would run over the wall time, and Slurm's own TERM at that time ends what does: an
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

/* A file name for sbatch, which takes % for its own. */
static void add_output_option(const struct submit *s, const char *name, struct cli_words *words)
{
	struct js_buf path = {0};

	cli_sbatch_file(&path, s->logs);
	cli_words_format(words, "--output=%s/%s", path.failed ? "" : path.data, name);
	words->failed |= path.failed;
	js_buf_free(&path);
}

void submit_array_words(const struct submit *s, uint64_t n, struct cli_words *words)
{
	const struct cli_words *p = &s->passed;

	if (cli_sbatch_value(p, "job-name", 'J') == NULL)
		cli_words_format(words, "--job-name=jobstack-%s", s->cli.stack);
	else if (cli_sbatch_value(p, "comment", 0) == NULL) /* by one of the two `status --why` knows them */
		cli_words_format(words, "--comment=jobstack:%s", s->cli.stack);
	if (cli_sbatch_value(p, "cpus-per-task", 'c') == NULL && s->slots > 0)
		cli_words_format(words, "--cpus-per-task=%" PRIu64, s->slots);
	if (cli_sbatch_value(p, "signal", 0) == NULL && signal_seconds(s) > 0)
		cli_words_format(words, "--signal=USR1@%" PRId64, signal_seconds(s));
	if (cli_sbatch_value(p, "output", 'o') == NULL)
		add_output_option(s, n > 1 ? "slurm-%A_%a.out" : "slurm-%j.out", words);
	if (s->tasks > 1 && cli_sbatch_value(p, "no-kill", 'k') == NULL)
		cli_words_add(words, "--no-kill");
	if (n > 1)
		cli_words_format(words, "--array=1-%" PRIu64, n);
	cli_words_all(words, p);
}

/* The head of a script: what it is, and how it is handed over. */
static void add_head(const struct submit *s, const struct cli_words *sbatch, const char *what, struct js_buf *script)
{
	js_buf_printf(script,
		      "#!/bin/bash\n# Written by jobstack submit %s: %s the stack \"%s\".  Handed over by:\n#   ",
		      jobstack_version(), what, s->cli.stack);
	cli_words_quote(script, sbatch);
	js_buf_char(script, '\n');
}

void submit_worker_script(const struct submit *s, const struct cli_words *sbatch, struct js_buf *script)
{
	struct cli_words line = {0};
	char slots[40];

	/* a step does not take over its job's --cpus-per-task (since 22.05), and a site may end a step whose first task
	 * has left */
	(void)cli_words_split(&line, "srun --kill-on-bad-exit=0 --wait=0");
	if (s->cpus > 0)
		cli_words_format(&line, "--cpus-per-task=%" PRIu64, s->cpus);
	if (s->tasks > 1)
		cli_words_add(&line, "--no-kill");
	(void)snprintf(slots, sizeof(slots), "--slots=%" PRIu64, s->slots); /* else by SLURM_CPUS_PER_TASK */
	cli_worker_line(&line, &s->cli, s->slots_said ? slots : NULL, s->option_file, &s->worker, s->command.at);
	add_head(s, sbatch, "workers of", script);
	js_buf_str(script, "exec ");
	cli_words_quote(script, &line);
	js_buf_char(script, '\n');
	script->failed |= line.failed;
	cli_words_free(&line);
}

/* ---------------------------------------------------------------------------------------------- what comes after */

/* --chain's value. */
static void write_chain(const struct submit_chain *c, struct js_buf *out)
{
	js_buf_printf(out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s", c->round, c->done, c->dead,
		      c->idle, c->later, c->jobs);
}

int submit_chain_parse(struct submit_chain *c, const char *text)
{
	int at = 0;

	if (sscanf(text, "%" SCNu64 ",%" SCNu64 ",%" SCNu64 ",%" SCNu64 ",%" SCNu64 ",%n", &c->round, &c->done,
		   &c->dead, &c->idle, &c->later, &at) != 5 ||
	    at == 0)
		return -1;
	text += at;
	if (c->round == 0 || strlen(text) >= sizeof(c->jobs) || strspn(text, "0123456789:") != strlen(text))
		return -1;
	(void)snprintf(c->jobs, sizeof(c->jobs), "%s", text);
	return 0;
}

void submit_next_words(const struct submit *s, const char *after, struct cli_words *words)
{
	const char *name = cli_sbatch_value(&s->passed, "job-name", 'J');

	cli_words_format(words, "--job-name=%s%s", name != NULL ? "" : "jobstack-", name != NULL ? name : s->cli.stack);
	(void)cli_words_split(words, "--ntasks=1 --time=30");
	add_output_option(s, "slurm-%j.out", words);
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

void submit_next_script(const struct submit *s, const struct submit_chain *chain, const struct cli_words *sbatch,
			struct js_buf *script)
{
	struct cli_words line = {0}, look = {0};
	struct js_buf state = {0};

	write_chain(chain, &state);
	cli_own_line(&line, &s->cli, "submit", s->option_file);
	cli_words_format(&line, "--chain=%s", state.failed ? "" : state.data);
	cli_words_all(&line, &s->again);
	cli_words_all(&line, &s->given);
	cli_own_line(&look, &s->cli, "recover -q", s->option_file);
	cli_words_add(&line, "--");
	cli_words_all(&line, &s->command);
	add_head(s, sbatch, s->until_done ? "another round for" : "the mail about", script);
	if (s->until_done) { /* what the last round's dead workers hold is to be counted */
		cli_words_quote(script, &look);
		js_buf_str(script, " || :\n");
	}
	js_buf_str(script, "exec ");
	cli_words_quote(script, &line);
	js_buf_char(script, '\n');
	script->failed |= line.failed || look.failed || state.failed;
	cli_words_free(&line);
	cli_words_free(&look);
	js_buf_free(&state);
}
