/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack history: what ever happened to a file, over all stacks.
 */
#include "cli/cli.h"

#include "base/array.h"
#include "base/clock.h"
#include "cli/item.h"
#include "figures/tally.h"
#include "show/json.h"
#include "show/record.h"
#include "show/text.h"
#include "show/version.h"
#include "show/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct place {
	char stack[JOBSTACK_STACK_MAX + 1];
	uint64_t entry;
	int pruned;
};

static struct history {
	int duplicates;
	uint64_t limit, shown;
	struct cli *cli;
	const char *word;
	const char *stack, *version; /* of the event that comes; the version may be NULL */
	unsigned state;		     /* of the entry that is looked at */
	struct place *place;	     /* of the file */
	size_t places, capacity;
	struct js_buf line;
	int failed; /* memory ran out */
} history = {.limit = UINT64_MAX};
static const struct js_opt table[] = {{0, "duplicates", NULL,
				       "list files that are in more than one entry, of one stack or several",
				       CLI_FLAG(&history.duplicates)},
				      {'n', "limit", "N", "with --duplicates: at most N files",
				       CLI_NUMBER(&history.limit, 1, UINT64_MAX, "a whole number from 1 on")},
				      CLI_OPTS_REST};

static int check_history(struct cli *cli)
{
	if (history.duplicates && cli->words_n > 0)
		return cli_usage(cli, "--duplicates takes no datapath");
	if (!history.duplicates && cli->words_n == 0)
		return cli_usage(cli, "name a file, or use --duplicates");
	return 0;
}

static int show_index_progress(void *ctx, uint64_t done, uint64_t total)
{
	cli_progress(ctx, "reading names of new entries: %" PRIu64 " of %" PRIu64, done, total);
	return cli_stop;
}

/* Returns the program of the worker that ran the attempt: the word behind its "--", without the directory; NULL:
 * unknown. */
static const char *find_program(const struct jobstack_item *i)
{
	const char *word = i->argv.data, *end = word == NULL ? NULL : word + i->argv.len;

	while (word < end && strcmp(word, "--") != 0)
		word += strlen(word) + 1;
	if (word == NULL || end - word <= 3)
		return NULL;
	return basename(word + 3);
}

static void add_text_member(struct js_buf *out, const char *name, const char *text)
{
	js_buf_char(out, ',');
	show_json_member(out, name, text, text == NULL ? 0 : strlen(text));
}

/* Adds an attempt as a line of JSON; with a STATE only which entry it is. */
static void add_json_line(struct history *h, const struct jobstack_item *given, const char *state)
{
	struct show_fields fields = {.n = 0};
	struct jobstack_item i = *given;

	i.state = i.outcome < 0 ? JOBSTACK_IS_RUNNING : 0;
	if (i.datapath.data == NULL)
		i.datapath = (struct jobstack_bytes){h->word, strlen(h->word)};
	if (state == NULL)
		show_fields_all(&fields);
	else
		(void)show_fields_parse("entry,datapath", &fields, &h->line);
	js_buf_char(&h->line, '{');
	show_json_member(&h->line, "stack", h->stack, strlen(h->stack));
	js_buf_char(&h->line, ',');
	show_json_members(&fields, &i, &h->line);
	if (state != NULL)
		add_text_member(&h->line, "state", state);
	add_text_member(&h->line, "command", state == NULL ? find_program(&i) : NULL);
	add_text_member(&h->line, "version", h->version);
	js_buf_str(&h->line, "}\n");
}

/* Adds a name, padded to WIDTH; "-" if it is unknown. */
static void add_name(struct js_buf *out, const char *name, size_t width)
{
	const size_t from = out->len;

	show_safe(out, name != NULL ? name : "-", name != NULL ? strlen(name) : 1);
	js_buf_printf(out, "%*s", (int)(out->len - from < width ? width - (out->len - from) : 0), "");
}

/* Adds the line of an attempt, or of an entry that is in a STATE now. */
static void add_text_line(struct history *h, const struct jobstack_item *i, const char *state)
{
	int64_t at_us = i->started_us >= 0 ? i->started_us : i->ended_us, us = figures_took(i);

	js_buf_printf(&h->line, "%-20s  %-14s %8" PRIu64, state == NULL && at_us >= 0 ? show_second(at_us).text : "now",
		      h->stack, i->entry);
	if (state != NULL) {
		js_buf_printf(&h->line, " %7s  %s\n", "-", state);
		return;
	}
	js_buf_printf(&h->line, " %7" PRIu32 "  %-12s ", i->attempt,
		      i->outcome < 0 ? "running" : show_item_how(i).text);
	add_name(&h->line, i->node, 12);
	js_buf_printf(&h->line, " %10s", us >= 0 ? show_took((double)us).text : "-");
	js_buf_printf(&h->line, " %10s", i->read_bytes >= 0 ? show_size((double)i->read_bytes).text : "-");
	js_buf_printf(&h->line, " %10s  ", i->write_bytes >= 0 ? show_size((double)i->write_bytes).text : "-");
	add_name(&h->line, find_program(i), 0);
	if (h->version != NULL) {
		js_buf_str(&h->line, ", ");
		show_version_short(&h->line, h->version);
	}
	js_buf_char(&h->line, '\n');
}

/* Writes the line.  Returns not 0 if no more lines can be written or are wanted. */
static int write_line(struct history *h)
{
	h->failed |= h->line.failed;
	h->shown++;
	return h->failed || cli_write(h->cli, &h->line) != 0 || cli_stop;
}

/* Prints an attempt, or, with a STATE, where the entry is now. */
static int print_event(struct history *h, const struct jobstack_item *i, const char *state)
{
	js_buf_reset(&h->line);
	if (h->cli->json)
		add_json_line(h, i, state);
	else {
		if (h->shown == 0 && h->cli->words_n > 1)
			js_buf_printf(&h->line, "%s\n", h->word);
		if (h->shown == 0)
			js_buf_printf(&h->line, "%-20s  %-14s %8s %7s  %-12s %-12s %10s %10s %10s  PROGRAM\n", "WHEN",
				      "STACK", "ENTRY", "ATTEMPT", "OUTCOME", "NODE", "TOOK", "READ", "WRITTEN");
		add_text_line(h, i, state);
	}
	return write_line(h);
}

/* Notes the entry, whose state is asked for later, and prints an attempt. */
static int note_event(void *ctx, const char *stack, const char *version, const struct jobstack_item *i)
{
	struct history *h = ctx;
	size_t at = 0;

	while (at < h->places && (h->place[at].entry != i->entry || strcmp(h->place[at].stack, stack) != 0))
		at++;
	if (at == h->places) {
		h->failed = js_array_grow(&h->place, &h->capacity, at + 1, sizeof(*h->place)) != 0;
		if (h->failed)
			return 1;
		h->place[h->places++] = (struct place){.entry = i->entry, .pruned = i->datapath.data == NULL};
		(void)snprintf(h->place[at].stack, sizeof(h->place[at].stack), "%s", stack);
	}
	h->stack = stack;
	h->version = version;
	return i->attempt == 0 ? cli_stop : print_event(h, i, NULL);
}

/* Prints what attempts that have ended do not say: that the entry waits, runs, or was given up. */
static int note_state(void *ctx, const struct jobstack_item *i)
{
	struct history *h = ctx;

	h->state = i->state;
	if (i->state == JOBSTACK_IS_DONE)
		return 0;
	return print_event(h, i, i->state == JOBSTACK_IS_RUNNING ? NULL : show_state_word(i->state));
}

/* Prints the state of one entry of the file, as it is now.  Pruned entries have none any more. */
static int show_state(struct history *h, const struct place *place)
{
	const struct jobstack_item gone = {.entry = place->entry};
	int status;

	h->state = 0;
	h->stack = place->stack;
	h->version = NULL;
	if (place->pruned)
		return print_event(h, &gone, "pruned") != 0 ? JOBSTACK_ESTOPPED : 0;
	status = cli_look_at_entry(h->cli, place->stack, place->entry, note_state, h, &h->state);
	if (status == JOBSTACK_EMISSING) { /* the stack was dropped meanwhile */
		js_error_clear(&h->cli->error);
		return 0;
	}
	return status;
}

/* Shows the history of one file, under the name as it is written, made absolute, and under its real name if symbolic
 * links lead to it.  Returns 0, JOBSTACK_NOTHING, or a negative code. */
static int show_file(struct history *h, const char *word)
{
	char *here = *word == '/' ? NULL : getcwd(NULL, 0), *real = realpath(word, NULL);
	struct js_buf name = {0};
	int status;

	h->word = word;
	h->places = h->shown = 0;
	js_buf_printf(&name, "%s%s%s", here == NULL ? "" : here, here == NULL ? "" : "/", word);
	status = name.failed ? js_error_memory(&h->cli->error) : 0;
	JS_THEN(status, jobstack_history(h->cli->handle,
					 (const struct jobstack_bytes[]){{name.data, name.len},
									 {real, real == NULL ? 0 : strlen(real)}},
					 real == NULL ? 1 : 2, note_event, h, &h->cli->error));
	for (size_t i = 0; i < h->places && status == 0; i++)
		status = show_state(h, &h->place[i]);
	if (status == JOBSTACK_NOTHING)
		cli_say(h->cli, "no stack has the file \"%s\"", word);
	js_buf_free(&name);
	free(here);
	free(real);
	return h->failed ? js_error_memory(&h->cli->error) : status;
}

/* Prints a file that is in several entries.  A file whose entries were all pruned has no name any more. */
static int print_duplicate(void *ctx, const struct jobstack_file *file)
{
	struct history *h = ctx;
	struct js_buf *out = &h->line;
	json_t *entries = h->cli->json ? json_array() : NULL;

	js_buf_reset(out);
	if (!h->cli->json)
		js_buf_printf(out, "%s%7zu  ", h->shown == 0 ? "ENTRIES  STACK:ENTRY...  DATAPATH\n" : "", file->n);
	for (size_t i = 0; i < file->n; i++)
		if (h->cli->json)
			SHOW_APPEND(entries, KEY_TEXT("stack", file->run[i].stack),
				    KEY_COUNT("entry", file->run[i].entry));
		else
			js_buf_printf(out, "%s:%" PRIu64 " ", file->run[i].stack, file->run[i].entry);
	if (h->cli->json)
		h->failed = show_json_line(SHOW_OBJECT(KEY_BYTES("datapath", file->datapath.data, file->datapath.len),
						       KEY_JSON("entries", entries)),
					   out) != 0;
	else {
		js_buf_char(out, ' ');
		show_safe(out, file->datapath.data, file->datapath.len);
		js_buf_str(out, file->datapath.len > 0 ? "\n" : "(pruned)\n");
	}
	return write_line(h) || h->shown >= h->limit;
}

static int list_duplicates(struct history *h)
{
	int status = jobstack_files(h->cli->handle, NULL, print_duplicate, h, NULL, &h->cli->error);

	if (h->failed)
		return js_error_memory(&h->cli->error);
	if (status != 0 || h->shown > 0)
		return status;
	cli_say(h->cli, "no file is in more than one entry");
	return JOBSTACK_NOTHING;
}

static int say_pruned(void *ctx, const struct jobstack_status *s)
{
	if (s->pruned > 0)
		cli_say(ctx,
			"%" PRIu64 " %s pruned from the stack \"%s\": of those that were pruned before the first "
			"`jobstack history`, nothing is known",
			s->pruned, s->pruned == 1 ? "entry was" : "entries were", s->stack);
	return 0;
}

/* Names that were pushed since the last call are added to the index first: it makes the search over all stacks quick.
 */
static int show_history(struct cli *cli)
{
	struct cli_progress progress = {.cli = cli};
	struct history *h = &history;
	int status = jobstack_index(cli->handle, show_index_progress, &progress, &cli->error), missing = 0;

	h->cli = cli;
	cli_progress_end(&progress);
	if (status == 0 && h->duplicates)
		missing = status = list_duplicates(h);
	for (size_t i = 0; i < cli->words_n && status >= 0; i++) {
		status = show_file(h, cli->words[i]);
		missing |= status;
	}
	if (status == JOBSTACK_ESTOPPED && cli_stop == 0)
		status = missing = 0; /* it has printed as many as were asked for; or cli_end tells that it can't */
	if (status >= 0)
		(void)jobstack_status(cli->handle, NULL, say_pruned, cli, &cli->error);
	return status < 0 ? cli_fail(cli) : missing == 0 ? CLI_YES : CLI_NO;
}

static const char about[] =
	"Shows everything that ever happened to files, over all stacks, in the order of time: what ran, where, how it "
	"ended, how\nlong it took, what it read and wrote; and entries that wait, run or were given up. Ends with 1 if "
	"a "
	"file is in no stack.";
static const char notes[] = "  jobstack history data/day1.nc\n  jobstack history --duplicates -n 20";
static const struct js_opts opts = {"jobstack history", "[OPTIONS] [DATAPATH...]", about, table, notes, 0};
const struct cli_frame cli_history = {&opts, NULL, CLI_CATCHES, 60 * JS_SECOND_US, check_history, show_history};
