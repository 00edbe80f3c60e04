/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack list: entries in given states, as a table, as fields between tabs, or as JSON.  Promises: flat memory,
 * whatever the number of rows; a name never breaks a line of the text, unless -0 asks for its bytes.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "cli/filter.h"
#include "cli/item.h"
#include "figures/tally.h"
#include "show/record.h"
#include "show/term.h"
#include "show/text.h"
#include "show/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static struct listing {
	struct cli_filter filter;
	struct show_fields fields;
	const char *fields_arg; /* of -o, or NULL */
	int nul;
	uint64_t listed;
	unsigned columns; /* of the terminal; 0: it is none */
	int colours;
	struct js_buf line;
} list = {.filter = CLI_FILTER_INIT};
static const struct js_opt table[] = {
	CLI_OPTS_STACK,
	CLI_OPTS_FILTER(&list.filter,
			"ready, waiting, held, running, done, failed, lost, dead, cancelled,\nmoved, or all (default: "
			"running,dead; all if entries are named);\nfailed and lost select by how the last attempt "
			"ended, whatever the\nstate of the entry is now"),
	{'o', "fields", "FIELDS",
	 "print only these fields (FIELDS: names separated by commas), with tabs between them and - for an unknown "
	 "value:" SHOW_FIELD_NAMES,
	 CLI_WORD(&list.fields_arg)},
	{'0', "null", NULL, "end records with NUL, and print names unescaped (default field:\ndatapath)",
	 CLI_FLAG(&list.nul)},
	CLI_OPTS_REST};

static int check_list(struct cli *cli)
{
	int status = 0;

	if (list.nul && cli->json)
		return cli_usage(cli, "--json and -0 can't be used together");
	if (list.filter.states_arg == NULL && cli->words_n == 0)
		list.filter.f.states = JOBSTACK_IS_RUNNING | JOBSTACK_IS_DEAD;
	JS_TRY(cli_filter_end(cli, &list.filter));
	if (list.fields_arg != NULL || list.nul)
		status = cli_fields(cli, list.fields_arg != NULL ? list.fields_arg : "datapath", &list.fields);
	else if (cli->json)
		show_fields_all(&list.fields);
	return status;
}

/* Adds the fields of -o, with tabs between them. */
static void add_fields(const struct jobstack_item *item)
{
	for (size_t i = 0; i < list.fields.n; i++) {
		if (i > 0)
			js_buf_char(&list.line, '\t');
		show_field_text(list.fields.field[i], item, list.nul, &list.line);
	}
	js_buf_char(&list.line, list.nul ? '\0' : '\n');
}

/* The table for people: narrow columns first, the name last, since it may be of any length.  A narrow terminal gets
 * fewer columns, and of the name what fits. */
enum { ENTRY, STATE, ATTEMPT, OUTCOME, NODE, STARTED, SECONDS, COLUMNS };
static const struct {
	int width;     /* negative: aligned left */
	unsigned from; /* the narrowest terminal that shows it */
} column[COLUMNS] = {{8, 0}, {-9, 40}, {7, 92}, {-12, 54}, {-12, 68}, {-20, 120}, {9, 80}};

/* The name gets what the other columns leave; a terminal narrower than they are cuts the whole line. */
static void add_table_line(const char *const cell[COLUMNS], enum show_colour colour, const char *name, size_t len)
{
	struct js_buf line = {0};
	unsigned used;
	char padded[600];

	for (int i = 0; i < COLUMNS; i++) {
		if (list.columns > 0 && list.columns < column[i].from)
			continue;
		(void)snprintf(padded, sizeof(padded), "%*s", column[i].width, cell[i]);
		show_paint(&line, list.colours, i == STATE ? colour : SHOW_PLAIN, padded);
		js_buf_char(&line, ' ');
	}
	used = line.failed ? 0 : show_width(line.data, line.len);
	show_cut_inside(&line, name, len, list.columns == 0 ? 0 : list.columns > used ? list.columns - used : 1, 1);
	show_cut_bytes(&list.line, line.data != NULL ? line.data : "", line.len, list.columns);
	js_buf_char(&list.line, '\n');
	list.line.failed |= line.failed;
	js_buf_free(&line);
}

static enum show_colour state_colour(unsigned state)
{
	return state == JOBSTACK_IS_DONE      ? SHOW_GREEN
	       : state == JOBSTACK_IS_RUNNING ? SHOW_YELLOW
	       : state == JOBSTACK_IS_DEAD    ? SHOW_RED
					      : SHOW_PLAIN;
}

/* Adds an entry as a row; before the first one the heading. */
static void add_table_row(const struct jobstack_item *item)
{
	static const char *const heads[COLUMNS] = {"ENTRY", "STATE",   "ATTEMPT", "OUTCOME",
						   "NODE",  "STARTED", "SECONDS"};
	const struct show_amount how = show_item_how(item), started = show_second(item->started_us);
	struct js_buf node = {0}, name = {0};
	char took[32] = "-", entry[32], attempt[16];
	int64_t us = figures_took(item);

	if (list.listed == 0)
		add_table_line(heads, SHOW_PLAIN, "DATAPATH", 8);
	if (us >= 0)
		(void)snprintf(took, sizeof(took), "%.3f", (double)us / 1e6);
	(void)snprintf(entry, sizeof(entry), "%" PRIu64, item->entry);
	(void)snprintf(attempt, sizeof(attempt), "%" PRIu32, item->attempt);
	if (item->node != NULL)
		show_safe(&node, item->node, strlen(item->node));
	show_safe(&name, item->datapath.data, item->datapath.len);
	add_table_line((const char *const[COLUMNS]){entry, show_state_word(item->state), attempt, how.text,
						    node.len > 0 ? node.data : "-",
						    started.text[0] != '\0' ? started.text : "-", took},
		       state_colour(item->state), name.data != NULL ? name.data : "", name.len);
	list.line.failed |= node.failed | name.failed;
	js_buf_free(&node);
	js_buf_free(&name);
}

/* Adds a line with the last message of a dead entry; if it is long, its end. */
static void add_message_line(const struct jobstack_item *item)
{
	struct js_buf text = {0};

	if (item->state != JOBSTACK_IS_DEAD)
		return;
	show_failed(&text, "", 0, item->reason, item->err_tail.data, item->err_tail.len);
	js_buf_str(&list.line, "        ");
	show_cut_inside(&list.line, text.data != NULL ? text.data : "", text.len,
			list.columns > 9 ? list.columns - 8 : list.columns, 0);
	js_buf_char(&list.line, '\n');
	list.line.failed |= text.failed;
	js_buf_free(&text);
}

static int print_item(void *ctx, const struct jobstack_item *item)
{
	struct cli *cli = ctx;

	js_buf_reset(&list.line);
	if (cli->json) {
		js_buf_char(&list.line, '{');
		show_json_members(&list.fields, item, &list.line);
		js_buf_str(&list.line, "}\n");
	} else if (list.fields.n > 0)
		add_fields(item);
	else {
		add_table_row(item);
		add_message_line(item);
	}
	list.listed++;
	return list.line.failed || cli_write(cli, &list.line) != 0;
}

/* Says why the list is empty: nothing is in these states, or in the default ones. */
static void say_nothing_matches(const struct cli *cli)
{
	const char *fits = cli_filter_given(&list.filter) ? " and matches the other options" : "";

	if (list.filter.states_arg != NULL || list.filter.f.entries != NULL)
		cli_say(cli, "no entry of the stack \"%s\" is in these states%s", cli->stack, fits);
	else
		cli_say(cli,
			"no entry of the stack \"%s\" is running or dead%s: select other states with -t (-t all: any "
			"state)",
			cli->stack, fits);
}

/* The ends of stderr are long, so they are read only where they are shown. */
static int list_entries(struct cli *cli)
{
	int status = cli_filter_entries(cli, &list.filter, 0);

	list.columns = show_columns(stdout);
	list.colours = show_colours(stdout);
	list.filter.f.tails = (!cli->json && list.fields.n == 0 &&
			       (list.filter.f.states == 0 || (list.filter.f.states & JOBSTACK_IS_DEAD) != 0)) ||
			      show_fields_have(&list.fields, "err_tail");
	JS_THEN(status, jobstack_list(cli->handle, cli->stack, &list.filter.f, print_item, cli, &cli->error));
	if (list.line.failed)
		status = js_error_memory(&cli->error);
	if (status == JOBSTACK_ESTOPPED)
		status = CLI_YES; /* the output is closed: cli_end tells */
	else if (status != 0)
		status = cli_fail(cli);
	else if (list.listed == 0) {
		say_nothing_matches(cli);
		status = CLI_NO;
	}
	return status;
}

static const char about[] =
	"Lists the entries of a stack that are in the given states, or those that are named by number or datapath. "
	"Options that\nselect entries are combined: an entry must match all of them. Without -0, control characters, "
	"backslashes and bytes that\nare not UTF-8 are shown as \\xHH. Ends with 1 if no entry matches.";
static const char notes[] = "  jobstack list mystack -t dead -0 | xargs -0 ls -l";
static const struct js_opts opts = {"jobstack list", "[STACK] [OPTIONS] [ENTRY...]", about, table, notes, 0};
const struct cli_frame cli_list = {&opts, NULL, CLI_LOOKS, 60 * JS_SECOND_US, check_list, list_entries};
