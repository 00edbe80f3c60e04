/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack list: entries in given states, as a table, as fields between tabs, or as JSON.  Promises: flat memory,
 * whatever the number of rows; a name never breaks a line of the text, unless -0 asks for its bytes.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "base/error.h"
#include "cli/filter.h"
#include "cli/item.h"
#include "view/json.h"
#include "view/text.h"
#include "view/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct js_opt table[] = {
	CLI_OPTS_STACK,
	{'t', "state", "STATES",
	 "ready, waiting, held, running, done, failed, lost, dead, cancelled,\nmoved, or all (default: running,dead; "
	 "all if entries are named);\nfailed and lost: the last attempt ended that way, in whatever state\nthe entry "
	 "is now"},
	CLI_OPTS_FILTER,
	{'o', "fields", "FIELDS", "only these fields, separated by tabs; - where a value is unknown:" VIEW_FIELD_NAMES},
	{'n', "limit", "N", "at most N entries"},
	{'0', "null", NULL, "end records with NUL, and print names unescaped (default field:\ndatapath)"},
	CLI_OPTS_REST};
static const struct js_opts opts = {
	"jobstack list",
	"[OPTIONS] [ENTRY...]",
	"Lists the entries of a stack that are in the given states, or those that are named by number or datapath. "
	"Options that\nselect entries are combined: an entry must match all of them. Without -0, control characters, "
	"backslashes and bytes that\nare not UTF-8 are shown as \\xHH. Ends with 1 if no entry matches.",
	table,
	"  jobstack list -s mystack -t dead -0 | xargs -0 ls -l",
	0};

struct listing {
	const struct cli *cli;
	struct cli_filter filter;
	struct view_fields fields;
	const char *states; /* of -t, or NULL */
	int nul;
	uint64_t told;
	struct js_buf line;
	int memory; /* ran out */
};

static int parse_list(struct cli *cli, struct listing *l, int argc, char **argv)
{
	const char *fields = NULL;
	const struct cli_take takes[] = {
		{'t', CLI_WORD(&l->states)},
		{'o', CLI_WORD(&fields)},
		{'n', CLI_NUMBER(&l->filter.f.limit, 1, UINT64_MAX, "a whole number from 1 on")},
		{'0', CLI_FLAG(&l->nul)},
		{0, CLI_BY(cli_filter_take, &l->filter)},
		CLI_TAKE_END};
	int status = cli_parse(cli, &opts, takes, argc, argv, NULL);

	if (status != CLI_GO_ON)
		return status;
	if (l->nul && cli->json)
		return cli_usage(cli, "--json and -0 can't be used together");
	if (l->states == NULL && cli->words_n == 0)
		l->filter.f.states = JOBSTACK_IS_RUNNING | JOBSTACK_IS_DEAD;
	status = l->states != NULL ? cli_states(cli, l->states, &l->filter.f.states) : 0;
	if (status == 0)
		status = cli_filter_end(cli, &l->filter);
	if (status == 0 && (fields != NULL || l->nul))
		status = cli_fields(cli, fields != NULL ? fields : "datapath", &l->fields);
	else if (cli->json)
		view_fields_all(&l->fields);
	return status != 0 ? status : CLI_GO_ON;
}

static void add_fields(struct listing *l, const struct jobstack_item *item)
{
	for (size_t i = 0; i < l->fields.n; i++) {
		if (i > 0)
			js_buf_char(&l->line, '\t');
		view_field_text(l->fields.field[i], item, l->nul, &l->line);
	}
}

/* The table for people: narrow columns first, the name last, since it may be of any length. */
static void add_row(struct listing *l, const struct jobstack_item *item)
{
	struct js_buf node = {0};
	const struct view_amount started = view_second(item->started_us);
	char took[32] = "-";
	int64_t us = view_item_took(item);

	if (l->told == 0)
		js_buf_str(&l->line, "   ENTRY STATE     ATTEMPT OUTCOME      NODE         STARTED                "
				     "SECONDS DATAPATH\n");
	if (us >= 0)
		(void)snprintf(took, sizeof(took), "%.3f", (double)us / 1e6);
	if (item->node != NULL)
		view_safe(&node, item->node, strlen(item->node));
	js_buf_printf(&l->line, "%8" PRIu64 " %-9s %7" PRIu32 " %-12s %-12s %-20s %9s ", item->entry,
		      view_state_word(item->state), item->attempt, view_item_how(item).text,
		      node.len > 0 ? node.data : "-", started.text[0] != '\0' ? started.text : "-", took);
	view_safe(&l->line, item->datapath.data, item->datapath.len);
	js_buf_free(&node);
}

static int print_item(void *ctx, const struct jobstack_item *item)
{
	struct listing *l = ctx;
	json_t *o;

	if (l->cli->json) {
		o = json_object();
		view_fields_json(&l->fields, item, o);
		l->memory = cli_print_json(o) != CLI_YES;
	} else {
		js_buf_reset(&l->line);
		if (l->fields.n > 0)
			add_fields(l, item);
		else
			add_row(l, item);
		js_buf_char(&l->line, l->nul ? '\0' : '\n');
		l->memory = l->line.failed;
		(void)fwrite(l->line.data, 1, l->line.failed ? 0 : l->line.len, stdout);
	}
	l->told++;
	return l->memory || ferror(stdout);
}

/* Nothing is listed: which states were meant? */
static void tell_none(const struct cli *cli, const struct listing *l)
{
	const char *fits = l->filter.given ? " and matches the other options" : "";

	if (l->states != NULL || l->filter.f.entries != NULL)
		cli_say(cli, "no entry of the stack \"%s\" is in these states%s", cli->stack, fits);
	else if (l->filter.given)
		cli_say(cli,
			"no entry of the stack \"%s\" is running or dead%s: select other states with -t (-t all: any "
			"state)",
			cli->stack, fits);
	else
		cli_say(cli,
			"no entry of the stack \"%s\" is running or dead: select other states with -t (-t all: any "
			"state)",
			cli->stack);
}

static int list_entries(struct cli *cli, struct listing *l)
{
	uint64_t *entries = NULL;
	int status = cli_connect(cli, 60 * JS_SECOND_US);

	if (status != 0)
		return status;
	if (cli->words_n > 0) {
		status = cli_entries(cli, &entries, &l->filter.f.entries_n, NULL);
		l->filter.f.entries = entries;
	}
	l->filter.f.tails = view_fields_have(&l->fields, "err_tail");
	if (status == 0)
		status = jobstack_list(cli->handle, cli->stack, &l->filter.f, print_item, l, &cli->error);
	if (l->memory)
		(void)js_error_memory(&cli->error);
	if (status == JOBSTACK_ESTOPPED && !l->memory)
		status = CLI_YES; /* the output is closed: cli_end tells */
	else if (status != 0)
		status = cli_fail(cli);
	else if (l->told == 0) {
		tell_none(cli, l);
		status = CLI_NO;
	}
	free(entries);
	return status;
}

int cli_list_main(int argc, char **argv)
{
	struct listing l = {.filter = CLI_FILTER_INIT};
	struct cli cli;
	int status;

	l.cli = &cli;
	status = parse_list(&cli, &l, argc, argv);
	if (status == CLI_GO_ON)
		status = list_entries(&cli, &l);
	cli_filter_free(&l.filter);
	js_buf_free(&l.line);
	return cli_end(&cli, status);
}
