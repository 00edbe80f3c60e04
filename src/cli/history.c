/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack history: what ever happened to a file, over all stacks.
 */
#include "cli/cli.h"

#include "base/array.h"
#include "base/clock.h"
#include "insight/tally.h"
#include "view/fields.h"
#include "view/json.h"
#include "view/text.h"
#include "view/words.h"

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

/* A line of the output: an attempt, or the state in which an entry is now. */
struct event {
	int64_t at_us;	  /* INT64_MAX: now */
	size_t line, len; /* in LINES */
};

static struct history {
	int duplicates;
	uint64_t limit, shown;
	struct cli *cli;
	const char *word;
	struct place *place; /* of the file */
	size_t places, place_room;
	struct event *event;
	size_t events, event_room;
	const struct place *at; /* whose events come */
	struct js_buf lines;
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

static int note_place(void *ctx, const char *stack, uint64_t entry, int pruned)
{
	struct history *h = ctx;

	for (size_t i = 0; i < h->places; i++)
		if (h->place[i].entry == entry && strcmp(h->place[i].stack, stack) == 0)
			return 0;
	h->failed = js_array_grow(&h->place, &h->place_room, h->places + 1, sizeof(*h->place)) != 0;
	if (h->failed)
		return 1;
	h->place[h->places] = (struct place){.entry = entry, .pruned = pruned};
	(void)snprintf(h->place[h->places++].stack, sizeof(h->place->stack), "%s", stack);
	return cli_stop;
}

/* Finds the file as it is written, and behind symbolic links. */
static int find_places(struct history *h)
{
	char *here = getcwd(NULL, 0), *real = realpath(h->word, NULL);
	struct js_buf name = {0};
	int status;

	js_buf_printf(&name, "%s%s%s", *h->word == '/' || here == NULL ? "" : here, *h->word == '/' ? "" : "/",
		      h->word);
	status = name.failed ? js_error_memory(&h->cli->error)
			     : jobstack_places(h->cli->handle, (struct jobstack_bytes){name.data, name.len}, note_place,
					       h, &h->cli->error);
	if (real != NULL)
		JS_THEN(status, jobstack_places(h->cli->handle, (struct jobstack_bytes){real, strlen(real)}, note_place,
						h, &h->cli->error));
	js_buf_free(&name);
	free(here);
	free(real);
	return status;
}

/* The program behind the options of a worker, without its directory; NULL: unknown. */
static const char *find_program(const struct jobstack_item *i)
{
	const char *word = i->argv.data, *end = word + i->argv.len, *slash;

	while (word < end && strcmp(word, "--") != 0)
		word += strlen(word) + 1;
	if (end - word <= 3)
		return NULL;
	slash = strrchr(word + 3, '/');
	return slash != NULL ? slash + 1 : word + 3;
}

static void add_text_line(struct js_buf *out, const struct event *e, const struct place *at,
			  const struct jobstack_item *i, const char *state)
{
	const char *program = state == NULL ? find_program(i) : NULL,
		   *node = state == NULL && i->node != NULL ? i->node : "-";
	int64_t us = state == NULL ? insight_took(i) : -1;

	js_buf_printf(out, "%-20s  %-14s %8" PRIu64 " %7" PRIu32 "  %-12s %-12s",
		      e->at_us < INT64_MAX ? view_second(e->at_us).text : "now", at->stack, at->entry,
		      state == NULL ? i->attempt : 0,
		      state != NULL	? state
		      : i->outcome >= 0 ? view_item_how(i).text
					: "running",
		      node);
	js_buf_printf(out, " %10s", us >= 0 ? view_took((double)us).text : "-");
	js_buf_printf(out, " %10s", state == NULL && i->read_bytes >= 0 ? view_size((double)i->read_bytes).text : "-");
	js_buf_printf(out, " %10s  ",
		      state == NULL && i->write_bytes >= 0 ? view_size((double)i->write_bytes).text : "-");
	view_safe(out, program != NULL ? program : "-", program != NULL ? strlen(program) : 1);
	js_buf_char(out, '\n');
}

/* Adds an attempt, or, with a STATE, where the entry is now. */
static int add_event(struct history *h, const struct jobstack_item *i, const char *state)
{
	int64_t at_us = i->started_us >= 0 ? i->started_us : i->ended_us;
	struct event e = {state == NULL && at_us >= 0 ? at_us : INT64_MAX, h->lines.len, 0};
	struct view_fields all;
	json_t *o;

	if (h->cli->json) {
		o = json_object();
		view_fields_all(&all);
		if (state == NULL)
			view_fields_json(&all, i, o);
		VIEW_SET(o, KEY_TEXT("stack", h->at->stack), KEY_COUNT("entry", h->at->entry),
			 KEY_BYTES("datapath", i->datapath.data, i->datapath.len),
			 KEY_TEXT("state", state != NULL    ? state
					   : i->outcome < 0 ? "running"
							    : NULL),
			 KEY_TEXT("program", state == NULL ? find_program(i) : NULL));
		h->failed = view_json_line(o, &h->lines) != 0;
	} else
		add_text_line(&h->lines, &e, h->at, i, state);
	e.len = h->lines.len - e.line;
	h->failed |= h->lines.failed || js_array_grow(&h->event, &h->event_room, h->events + 1, sizeof(e)) != 0;
	if (!h->failed)
		h->event[h->events++] = e;
	return h->failed || cli_stop;
}

static int take_attempt(void *ctx, const struct jobstack_item *i)
{
	return i->attempt == 0 ? 0 : add_event(ctx, i, NULL);
}

/* What attempts do not say: an entry waits, or was given up. */
static int take_state(void *ctx, const struct jobstack_item *i)
{
	return i->state == JOBSTACK_IS_RUNNING || i->state == JOBSTACK_IS_DONE
		       ? 0
		       : add_event(ctx, i, view_state_word(i->state));
}

/* Reads what happened to the entry at h->at.  It may be gone by now. */
static int read_events(struct history *h)
{
	const struct jobstack_item gone = {.datapath = {h->word, strlen(h->word)}};
	struct jobstack_filter f = JOBSTACK_FILTER_INIT;
	struct cli *cli = h->cli;
	int status;

	f.entries = &h->at->entry;
	f.entries_n = 1;
	if (h->at->pruned)
		return add_event(h, &gone, "pruned");
	status = jobstack_attempts(cli->handle, h->at->stack, h->at->entry, take_attempt, h, &cli->error);
	JS_THEN(status, jobstack_list(cli->handle, h->at->stack, &f, take_state, h, &cli->error));
	if (status != JOBSTACK_EMISSING)
		return status;
	js_error_clear(&cli->error);
	return 0;
}

static int compare_events(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	return x->at_us != y->at_us ? (x->at_us < y->at_us ? -1 : 1) : (x->line > y->line) - (x->line < y->line);
}

/* The history of one file: 0, JOBSTACK_NOTHING, or a negative code. */
static int show_file(struct history *h, const char *word)
{
	int status;

	h->word = word;
	h->places = h->events = 0;
	js_buf_reset(&h->lines);
	status = find_places(h);
	for (size_t i = 0; i < h->places && status == 0; i++) {
		h->at = &h->place[i];
		status = read_events(h);
	}
	if (h->failed)
		return js_error_memory(&h->cli->error);
	if (status == 0 && h->places == 0)
		cli_say(h->cli, "no stack has the file \"%s\"", word);
	if (status != 0 || h->places == 0)
		return status != 0 ? status : JOBSTACK_NOTHING;
	qsort(h->event, h->events, sizeof(*h->event), compare_events);
	if (h->cli->words_n > 1 && !h->cli->json)
		(void)printf("%s%s\n", h->shown++ > 0 ? "\n" : "", word);
	if (!h->cli->json)
		(void)printf("%-20s  %-14s %8s %7s  %-12s %-12s %10s %10s %10s  PROGRAM\n", "WHEN", "STACK", "ENTRY",
			     "ATTEMPT", "OUTCOME", "NODE", "TOOK", "READ", "WRITTEN");
	for (size_t i = 0; i < h->events; i++)
		(void)fwrite(h->lines.data + h->event[i].line, 1, h->event[i].len, stdout);
	return 0;
}

static int print_duplicate(void *ctx, const struct jobstack_file *file)
{
	struct history *h = ctx;
	struct js_buf *out = &h->lines;
	json_t *entries = h->cli->json ? json_array() : NULL;

	js_buf_reset(out);
	if (!h->cli->json)
		js_buf_printf(out, "%s%7zu  ", h->shown == 0 ? "ENTRIES  STACK:ENTRY...  DATAPATH\n" : "", file->n);
	for (size_t i = 0; i < file->n; i++)
		if (h->cli->json)
			VIEW_APPEND(entries, KEY_TEXT("stack", file->run[i].stack),
				    KEY_COUNT("entry", file->run[i].entry));
		else
			js_buf_printf(out, "%s:%" PRIu64 " ", file->run[i].stack, file->run[i].entry);
	if (h->cli->json)
		h->failed = view_json_line(VIEW_OBJECT(KEY_BYTES("datapath", file->datapath.data, file->datapath.len),
						       KEY_JSON("entries", entries)),
					   out) != 0;
	else {
		js_buf_char(out, ' ');
		view_safe(out, file->datapath.data, file->datapath.len);
		js_buf_str(out, file->datapath.len > 0 ? "\n" : "(pruned)\n");
	}
	h->failed |= out->failed;
	(void)fwrite(out->data, 1, h->failed ? 0 : out->len, stdout);
	return h->failed || ++h->shown >= h->limit || cli_stop || ferror(stdout);
}

static int list_duplicates(struct history *h)
{
	int status = jobstack_files(h->cli->handle, NULL, 0, 0, print_duplicate, h, NULL, &h->cli->error);

	if (h->failed)
		return js_error_memory(&h->cli->error);
	if (status == 0 && h->shown == 0)
		cli_say(h->cli, "no file is in more than one entry");
	return status == JOBSTACK_ESTOPPED && cli_stop == 0 ? 0
	       : status == 0 && h->shown == 0		    ? JOBSTACK_NOTHING
							    : status;
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
	if (status >= 0)
		(void)jobstack_status(cli->handle, NULL, say_pruned, cli, &cli->error);
	free(h->place);
	free(h->event);
	js_buf_free(&h->lines);
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
