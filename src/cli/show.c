/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack show: one entry with all its attempts, and a line that reruns it by hand.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "cli/item.h"
#include "figures/facts.h"
#include "figures/tally.h"
#include "show/json.h"
#include "show/record.h"
#include "show/rerun.h"
#include "show/text.h"
#include "show/version.h"
#include "show/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAIL_LINES 10 /* of stderr */

static const struct js_opt table[] = {CLI_OPTS_STACK, CLI_OPTS_REST};

/* What is gathered before it is printed. */
struct showing {
	struct cli *cli;
	unsigned state; /* of the entry; 0: it changed while we looked */
	/* the stack to which the entry moved, NUL included; empty: not moved, or that stack no longer exists */
	struct js_buf to_stack, note;	 /* note: of a cancelled entry, likewise */
	uint64_t to_entry;		 /* 0: nowhere */
	struct js_buf head, text, rerun; /* of the entry; of its attempts; the line that reruns the last one */
	struct figures_facts facts;
};

static int note_state(void *ctx, const struct jobstack_item *item)
{
	struct showing *s = ctx;

	s->state = item->state;
	s->to_entry = item->to_entry;
	if (item->to_stack != NULL)
		js_buf_add(&s->to_stack, item->to_stack, strlen(item->to_stack) + 1);
	if (item->note != NULL)
		js_buf_add(&s->note, item->note, strlen(item->note) + 1);
	return 0;
}

/* ------------------------------------------------------------------------------------------------------- as text */

static void add_word(struct js_buf *out, const char *before, const char *word)
{
	if (word == NULL)
		return;
	js_buf_str(out, before);
	show_safe(out, word, strlen(word));
}

static void add_line(struct js_buf *out, const char *name)
{
	js_buf_printf(out, "  %-9s ", name);
}

static void add_place(struct js_buf *out, const char *log, int64_t at)
{
	js_buf_str(out, ", in ");
	show_safe(out, log, strlen(log));
	js_buf_printf(out, " at %" PRId64 "\n", at);
}

/* Short times are shown in milliseconds, since the question is often whether the command ran at all. */
static void add_when(struct js_buf *out, const struct jobstack_item *i)
{
	int64_t us = figures_took(i);

	add_line(out, "when");
	js_buf_str(out, i->started_us >= 0 ? show_moment(i->started_us).text : "?");
	if (i->ended_us >= 0)
		js_buf_printf(out, " to %s", show_moment(i->ended_us).text);
	if (us >= 0)
		js_buf_str(out, i->outcome < 0 ? ", for " : ", ");
	if (us >= 0 && us < 10 * JS_SECOND_US)
		js_buf_printf(out, "%.3f s", (double)us / 1e6);
	else if (us >= 0)
		js_buf_str(out, show_duration(us).text);
	js_buf_str(out, us >= 0 && i->outcome < 0 ? " now\n" : "\n");
}

/* The host is named only if it is not the node: Slurm's names may differ from the hosts' own. */
static void add_where_line(struct js_buf *out, const struct jobstack_item *i)
{
	const struct {
		const char *before, *word;
	} words[] = {{", Slurm job ", i->job},
		     {", array ", i->array_job},
		     {"_", i->array_job != NULL ? i->array_task : NULL},
		     {", step ", i->step},
		     {", account ", i->account},
		     {", qos ", i->qos},
		     {", partition ", i->partition},
		     {", cluster ", i->cluster},
		     {", user ", i->user}};

	if (i->worker == 0 && i->node == NULL)
		return;
	add_line(out, "where");
	add_word(out, "", i->node != NULL ? i->node : "?");
	if (i->host != NULL && i->node != NULL && strcmp(i->host, i->node) != 0)
		add_word(out, ", host ", i->host);
	js_buf_printf(out, ", worker %" PRIu64, i->worker);
	for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
		add_word(out, words[k].before, words[k].word);
	js_buf_char(out, '\n');
}

/* Adds one figure to the line "used", which begins at START.  SHOWN says how: words around a %, as in base/attempt.h.
 */
static void add_used(struct js_buf *out, size_t start, const char *shown, enum js_kind kind, int64_t n)
{
	const char *figure = shown == NULL ? NULL : strchr(shown, '%');

	if (n < 0 || shown == NULL)
		return;
	if (out->len == start) {
		add_line(out, "used");
		shown += 2;
	}
	js_buf_add(out, shown, (size_t)(figure - shown));
	switch (kind) {
	case JS_KIND_CPU: js_buf_printf(out, "%.3f s", (double)n / 1e6); break;
	case JS_KIND_KIB: js_buf_str(out, show_size((double)n * 1024).text); break;
	case JS_KIND_SIZE: js_buf_str(out, show_size((double)n).text); break;
	default: js_buf_i64(out, n);
	}
	js_buf_str(out, figure + 1);
}

static void add_usage(struct js_buf *out, const struct jobstack_item *i)
{
	size_t start = out->len;

#define ADD_USED(member, column, field, kind, found, shown) add_used(out, start, shown, JS_KIND_##kind, i->member);
	JS_ATTEMPT_USAGE(ADD_USED)
	if (out->len > start)
		js_buf_char(out, '\n');
}

/* Says where the output is: in one file, stdout before stderr, or in two. */
static void add_output_line(struct js_buf *out, const struct jobstack_item *i)
{
	int64_t n_out = i->log_out > 0 ? i->log_out : 0, n_err = i->log_err > 0 ? i->log_err : 0;

	if (i->outcome < 0)
		return;
	add_line(out, "output");
	if (i->err_log != NULL && i->err_at >= 0) {
		if (i->log != NULL && i->log_at >= 0) {
			js_buf_printf(out, "%" PRId64 " bytes of stdout", n_out);
			add_place(out, i->log, i->log_at);
			add_line(out, "");
		}
		js_buf_printf(out, "%" PRId64 " bytes of stderr", n_err);
		add_place(out, i->err_log, i->err_at);
	} else if (i->log == NULL || i->log_at < 0)
		js_buf_str(out, i->log_out == 0 ? "nothing was printed\n" : "not kept\n");
	else {
		js_buf_printf(out, "%" PRId64 " bytes of stdout, %" PRId64 " of stderr", n_out, n_err);
		add_place(out, i->log, i->log_at);
	}
}

/* Adds the last lines of what a failed attempt wrote to stderr. */
static void add_tail(struct js_buf *out, const struct jobstack_item *i)
{
	const char *from = i->err_tail.data, *end, *p;

	if (i->err_tail.len == 0)
		return;
	end = p = from + i->err_tail.len;
	for (int lines = 0; p > from; p--)
		if (p[-1] == '\n' && p < end && ++lines == TAIL_LINES)
			break;
	add_line(out, "stderr");
	js_buf_str(out, p > from ? "last lines:\n" : "all of it:\n");
	show_safe_lines(out, "    | ", p, (size_t)(end - p));
}

static void add_command(struct js_buf *out, const struct jobstack_item *i)
{
	const char *argv = i->argv.data;

	if (i->cwd != NULL) {
		add_line(out, "cwd");
		show_safe(out, i->cwd, strlen(i->cwd));
		js_buf_char(out, '\n');
	}
	if (i->argv.len == 0)
		return;
	add_line(out, "worker");
	for (size_t at = 0, len; at < i->argv.len; at += len + 1) {
		len = strnlen(argv + at, i->argv.len - at);
		js_buf_str(out, at == 0 ? "" : " ");
		show_quote_line(out, argv + at, len);
	}
	js_buf_char(out, '\n');
}

/* Adds which version of the program ran, and the Python packages; with -v also the file system of the datapath, and the
 * platform. */
static void add_versions(const struct showing *s, struct js_buf *out, const struct jobstack_item *i)
{
	const char *version = figures_facts_text(&s->facts, JOBSTACK_FACT_PROGRAM, i->program);
	const char *platform = figures_facts_text(&s->facts, JOBSTACK_FACT_PLATFORM, i->platform);
	const char *mount = figures_facts_text(&s->facts, JOBSTACK_FACT_MOUNT, i->mount);
	const char *packages = figures_facts_text(&s->facts, JOBSTACK_FACT_PACKAGES, i->packages);

	if (version != NULL)
		show_version(out, "  program   ", version);
	if (mount != NULL && s->cli->verbose) {
		add_line(out, "file on");
		show_safe(out, mount, strlen(mount));
		js_buf_char(out, '\n');
	}
	if (packages != NULL)
		add_line(out, "packages");
	while (packages != NULL && *packages != '\0') {
		size_t len = strcspn(packages, "\n");

		show_safe(out, packages, len);
		packages += len + (packages[len] != '\0');
		js_buf_str(out, *packages == '\0' ? "\n" : ", ");
	}
	while (s->cli->verbose && platform != NULL && *platform != '\0') {
		size_t len = strcspn(platform, "\n");

		js_buf_str(out, "  on        ");
		show_safe(out, platform, len);
		js_buf_char(out, '\n');
		platform += len + (platform[len] != '\0');
	}
}

/* The reason says more than the exit status, which is shown where there is none. */
static void add_attempt(const struct showing *s, struct js_buf *out, const struct jobstack_item *i)
{
	const struct show_amount how = show_item_how(i);

	js_buf_printf(out, "\nattempt %" PRIu32 ": ", i->attempt);
	if (i->outcome < 0)
		js_buf_str(out, "running");
	else {
		js_buf_str(out, show_outcome_word(i->outcome));
		if (i->reason != NULL)
			add_word(out, ": ", i->reason);
		else if (strcmp(how.text, show_outcome_word(i->outcome)) != 0)
			add_word(out, ": ", how.text);
	}
	js_buf_char(out, '\n');
	add_when(out, i);
	add_where_line(out, i);
	add_usage(out, i);
	add_output_line(out, i);
	add_tail(out, i);
	add_command(out, i);
	add_versions(s, out, i);
}

/* ------------------------------------------------------------------------------------------------------- as JSON */

/* Adds the worker's arguments: an array of texts or, if one is not UTF-8, all of them with their NULs in base64. */
static void add_argv(struct js_buf *out, const struct jobstack_bytes *argv)
{
	json_t *list = json_array();
	const char *word = argv->data;
	char *text = NULL;
	int failed = 0;

	for (size_t at = 0, len; at < argv->len && !failed; at += len + 1) {
		len = strnlen(word + at, argv->len - at);
		failed = json_array_append_new(list, json_stringn(word + at, len));
	}
	if (!failed)
		text = json_dumps(list, JSON_COMPACT);
	if (text != NULL)
		js_buf_printf(out, "\"argv\":%s", text);
	else
		show_json_member(out, "argv", argv->data, argv->len);
	free(text);
	json_decref(list);
}

/* Adds an attempt with the fields of `jobstack export`, and argv.  HEAD is replaced each time, so that the entry has
 * the fields of its last attempt, too. */
static void add_json(struct showing *s, const struct jobstack_item *i)
{
	struct jobstack_item entry = *i;
	struct show_fields fields;

	entry.state = s->state;
	entry.to_stack = s->to_stack.len > 0 ? s->to_stack.data : NULL;
	entry.to_entry = s->to_entry;
	entry.note = s->note.len > 0 ? s->note.data : NULL;
	show_fields_all(&fields);
	js_buf_reset(&s->head);
	show_json_members(&fields, &entry, &s->head);
	if (i->attempt == 0)
		return;
	js_buf_str(&s->text, s->text.len > 0 ? ",{" : "{");
	show_fields_of_attempts(&fields);
	show_json_members(&fields, i, &s->text);
	js_buf_char(&s->text, ',');
	add_argv(&s->text, &i->argv);
	js_buf_char(&s->text, '}');
}

/* ----------------------------------------------------------------------------------------------------- both ways */

static void add_head(struct showing *s, const struct jobstack_item *i)
{
	js_buf_printf(&s->head, "entry     %" PRIu64 "\ndatapath  ", i->entry);
	show_safe(&s->head, i->datapath.data, i->datapath.len);
	js_buf_printf(&s->head, "\nstate     %s",
		      s->state == 0 ? "it has just changed: run this again" : show_state_word(s->state));
	if (s->to_entry > 0)
		js_buf_printf(&s->head, " to %s as entry %" PRIu64,
			      s->to_stack.len > 0 ? s->to_stack.data : "a stack that was dropped", s->to_entry);
	if (s->note.len > 1) {
		js_buf_str(&s->head, ": ");
		show_safe(&s->head, s->note.data, s->note.len - 1);
	}
	js_buf_char(&s->head, '\n');
}

/* Called for each attempt in order, and once for an entry that has not run.  The line that reruns an attempt is that of
 * the last one. */
static int add_item(void *ctx, const struct jobstack_item *i)
{
	struct showing *s = ctx;

	if (i->attempt > 0)
		show_rerun(s->cli->stack, i, &s->rerun);
	if (s->cli->json)
		add_json(s, i);
	else if (s->head.len == 0)
		add_head(s, i);
	if (i->attempt > 0 && !s->cli->json)
		add_attempt(s, &s->text, i);
	return 0;
}

static int print_entry(struct showing *s)
{
	struct js_buf rerun = {0};

	if (s->cli->json)
		show_json_member(&rerun, "rerun", s->rerun.len > 0 ? s->rerun.data : NULL, s->rerun.len);
	else if (s->rerun.len > 0)
		js_buf_printf(&rerun, "\nby hand:\n  %s\n", s->rerun.data);
	if (s->to_stack.failed || s->note.failed || s->head.failed || s->text.failed || s->rerun.failed || rerun.failed)
		return cli_no_memory(s->cli);
	if (s->cli->json)
		(void)printf("{%s,%s,\"attempts\":[%s]}\n", s->head.data, rerun.data,
			     s->text.len > 0 ? s->text.data : "");
	else
		(void)printf("%s%s%s", s->head.data, s->text.len > 0 ? s->text.data : "\nit has not run yet\n",
			     rerun.len > 0 ? rerun.data : "");
	js_buf_free(&rerun);
	return CLI_YES;
}

/* The state comes from the list, the rest from the attempts.  An entry that the list misses each time, because it keeps
 * changing its state, is shown as one that has just changed. */
static int show_entry(struct cli *cli)
{
	struct showing s = {.cli = cli};
	uint64_t entry;
	int status = cli_entry(cli, cli->words[0], &entry);

	JS_THEN(status, cli_look_at_entry(cli, cli->stack, entry, note_state, &s, &s.state));
	if (!cli->json)
		JS_THEN(status, figures_facts_read(&s.facts, cli->handle, cli->stack, &cli->error));
	JS_THEN(status, jobstack_attempts(cli->handle, cli->stack, entry, add_item, &s, &cli->error));
	status = status == 0 ? print_entry(&s) : cli_fail(cli);
	figures_facts_free(&s.facts);
	js_buf_free(&s.to_stack);
	js_buf_free(&s.note);
	js_buf_free(&s.head);
	js_buf_free(&s.text);
	js_buf_free(&s.rerun);
	return status;
}

static const char about[] =
	"Shows one entry (given by its number or datapath) with all its attempts: when, where, how long, how it ended, "
	"what it\nused, where its output is; and a command line that reruns it by hand. -v adds the "
	"file system and the host's processor and libraries.";
static const char notes[] = "  jobstack show mystack 17\n  jobstack show mystack '/data/day 1.nc'";
static const struct js_opts opts = {"jobstack show", "[STACK] ENTRY [OPTIONS]", about, table, notes, 0};
const struct cli_frame cli_show = {&opts, NULL, CLI_LOOKS, 10 * JS_SECOND_US, cli_check_entry, show_entry};
