/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack list: entries in given states, as a table, as fields between tabs, or as JSON.  Promises: flat memory,
 * whatever the number of rows; a name never breaks a line of the text, unless -0 asks for its bytes.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "cli/filter.h"
#include "cli/item.h"
#include "view/record.h"
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
	 "all if entries are named);\nfailed and lost select by how the last attempt ended, whatever the\nstate of the "
	 "entry is now"},
	CLI_OPTS_FILTER,
	{'o', "fields", "FIELDS", "only these fields, separated by tabs; - where a value is unknown:" VIEW_FIELD_NAMES},
	{'n', "limit", "N", "at most N entries"},
	{'0', "null", NULL, "end records with NUL, and print names unescaped (default field:\ndatapath)"},
	CLI_OPTS_REST};

static struct listing {
	struct cli_filter filter;
	struct view_fields fields;
	const char *states_arg, *fields_arg; /* of -t and -o, or NULL */
	int nul;
	uint64_t listed;
	struct js_buf line;
	int memory; /* ran out */
} list = {.filter = CLI_FILTER_INIT};
static const struct cli_take takes[] = {
	{'t', CLI_WORD(&list.states_arg)},
	{'o', CLI_WORD(&list.fields_arg)},
	{'n', CLI_NUMBER(&list.filter.f.limit, 1, UINT64_MAX, "a whole number from 1 on")},
	{'0', CLI_FLAG(&list.nul)},
	{0, CLI_BY(cli_filter_take, &list.filter)},
	CLI_TAKE_END};

static int check_list(struct cli *cli)
{
	int status = 0;

	if (list.nul && cli->json)
		return cli_usage(cli, "--json and -0 can't be used together");
	if (list.states_arg != NULL)
		status = cli_states(cli, list.states_arg, &list.filter.f.states);
	else if (cli->words_n == 0)
		list.filter.f.states = JOBSTACK_IS_RUNNING | JOBSTACK_IS_DEAD;
	JS_THEN(status, cli_filter_end(cli, &list.filter));
	if (status == 0 && (list.fields_arg != NULL || list.nul))
		status = cli_fields(cli, list.fields_arg != NULL ? list.fields_arg : "datapath", &list.fields);
	else if (cli->json)
		view_fields_all(&list.fields);
	return status;
}

static void add_fields(const struct jobstack_item *item)
{
	for (size_t i = 0; i < list.fields.n; i++) {
		if (i > 0)
			js_buf_char(&list.line, '\t');
		view_field_text(list.fields.field[i], item, list.nul, &list.line);
	}
}

/* The table for people: narrow columns first, the name last, since it may be of any length. */
static void add_table_row(const struct jobstack_item *item)
{
	struct js_buf node = {0};
	const struct view_amount started = view_second(item->started_us);
	char took[32] = "-";
	int64_t us = view_item_took(item);

	if (list.listed == 0)
		js_buf_str(&list.line, "   ENTRY STATE     ATTEMPT OUTCOME      NODE         STARTED                "
				       "SECONDS DATAPATH\n");
	if (us >= 0)
		(void)snprintf(took, sizeof(took), "%.3f", (double)us / 1e6);
	if (item->node != NULL)
		view_safe(&node, item->node, strlen(item->node));
	js_buf_printf(&list.line, "%8" PRIu64 " %-9s %7" PRIu32 " %-12s %-12s %-20s %9s ", item->entry,
		      view_state_word(item->state), item->attempt, view_item_how(item).text,
		      node.len > 0 ? node.data : "-", started.text[0] != '\0' ? started.text : "-", took);
	view_safe(&list.line, item->datapath.data, item->datapath.len);
	js_buf_free(&node);
}

static int print_item(void *ctx, const struct jobstack_item *item)
{
	const struct cli *cli = ctx;

	js_buf_reset(&list.line);
	if (cli->json)
		view_jsonl_record(&list.fields, item, &list.line);
	else {
		if (list.fields.n > 0)
			add_fields(item);
		else
			add_table_row(item);
		js_buf_char(&list.line, list.nul ? '\0' : '\n');
	}
	list.memory = list.line.failed;
	(void)fwrite(list.line.data, 1, list.line.failed ? 0 : list.line.len, stdout);
	list.listed++;
	return list.memory || ferror(stdout);
}

static void say_nothing_matches(const struct cli *cli)
{
	const char *fits = list.filter.given ? " and matches the other options" : "";

	if (list.states_arg != NULL || list.filter.f.entries != NULL)
		cli_say(cli, "no entry of the stack \"%s\" is in these states%s", cli->stack, fits);
	else
		cli_say(cli,
			"no entry of the stack \"%s\" is running or dead%s: select other states with -t (-t all: any "
			"state)",
			cli->stack, fits);
}

static int list_entries(struct cli *cli)
{
	uint64_t *entries = NULL;
	int status = 0;

	if (cli->words_n > 0) {
		status = cli_entries(cli, &entries, &list.filter.f.entries_n, NULL);
		list.filter.f.entries = entries;
	}
	list.filter.f.tails = view_fields_have(&list.fields, "err_tail");
	JS_THEN(status, jobstack_list(cli->handle, cli->stack, &list.filter.f, print_item, cli, &cli->error));
	if (list.memory)
		(void)js_error_memory(&cli->error);
	if (status == JOBSTACK_ESTOPPED && !list.memory)
		status = CLI_YES; /* the output is closed: cli_end tells */
	else if (status != 0)
		status = cli_fail(cli);
	else if (list.listed == 0) {
		say_nothing_matches(cli);
		status = CLI_NO;
	}
	free(entries);
	cli_filter_free(&list.filter);
	js_buf_free(&list.line);
	return status;
}

static const char about[] =
	"Lists the entries of a stack that are in the given states, or those that are named by number or datapath. "
	"Options that\nselect entries are combined: an entry must match all of them. Without -0, control characters, "
	"backslashes and bytes that\nare not UTF-8 are shown as \\xHH. Ends with 1 if no entry matches.";
static const char notes[] = "  jobstack list -s mystack -t dead -0 | xargs -0 ls -l";
static const struct js_opts opts = {"jobstack list", "[OPTIONS] [ENTRY...]", about, table, notes, 0};
const struct cli_frame cli_list = {&opts, takes, NULL, 0, 60 * JS_SECOND_US, check_list, list_entries};
