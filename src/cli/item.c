/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Entries, states and fields as people name them.
 */
#include "cli/item.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/num.h"
#include "show/words.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cli_numbers_add(struct cli_numbers *to, uint64_t entry)
{
	if (js_array_grow(&to->at, &to->capacity, to->n + 1, sizeof(*to->at)) != 0)
		return 1;
	to->at[to->n++] = entry;
	return 0;
}

static int note_number(void *ctx, const struct jobstack_item *item)
{
	return cli_numbers_add(ctx, item->entry);
}

int cli_numbers_list(struct cli *cli, const struct jobstack_filter *f, struct cli_numbers *found)
{
	int status = jobstack_list(cli->handle, cli->stack, f, note_number, found, &cli->error);

	return status == JOBSTACK_ESTOPPED && cli->error.code == 0 ? js_error_memory(&cli->error) : status;
}

/* The list reads one state after the other.  An entry that goes from a state that comes later to one that was read
 * already is missed, so the list is read again. */
int cli_look_at_entry(struct cli *cli, const char *stack, uint64_t entry, jobstack_item_fn *fn, void *ctx,
		      const unsigned *seen)
{
	struct jobstack_filter f = JOBSTACK_FILTER_INIT;
	int status = 0;

	f.entries = &entry;
	f.entries_n = f.limit = 1;
	for (int tries = 0; status == 0 && *seen == 0 && tries < 10; tries++)
		status = jobstack_list(cli->handle, stack, &f, fn, ctx, &cli->error);
	return status;
}

int cli_check_entry(struct cli *cli)
{
	if (cli->words_n == 1)
		return 0;
	if (cli->words_n > 1 && !cli->stack_typed)
		return cli_usage(cli, "only one entry can be given, and there is no stack \"%s\"", cli->words[0]);
	return cli_usage(cli,
			 cli->words_n == 0 ? "name an entry by its number or datapath" : "only one entry can be given");
}

/* -------------------------------------------------------------------------------- what close and renew are about */

/* Copies the last attempt.  Its texts are not valid later, and are not read. */
static int note_last(void *last, const struct jobstack_item *item)
{
	*(struct jobstack_item *)last = *item;
	return 0;
}

/* Finds the attempt that runs now.  0, or the exit status, with the reason printed. */
static int running_attempt(struct cli *cli, uint64_t entry, uint32_t *attempt)
{
	struct jobstack_item last = {.attempt = 0};

	if (jobstack_attempts(cli->handle, cli->stack, entry, note_last, &last, &cli->error) != 0)
		return cli_fail(cli);
	*attempt = last.attempt;
	if (last.attempt > 0 && last.outcome < 0)
		return 0;
	if (last.attempt == 0)
		(void)js_error_set(&cli->error, JOBSTACK_EMISSING, "entry %" PRIu64 " was never popped", entry);
	else
		(void)js_error_set(&cli->error, JOBSTACK_NOTHING,
				   "entry %" PRIu64 " is not claimed; its last attempt, %" PRIu32
				   ", was closed as %s (--attempt names another attempt)",
				   entry, last.attempt, show_outcome_word(last.outcome));
	return cli_fail(cli);
}

/* Reads the number in an environment variable; 0 if it is not set.  Returns CLI_USAGE if it is set, but no number. */
static int env_number(struct cli *cli, const char *name, uint64_t high, uint64_t *n)
{
	const char *text = getenv(name);

	*n = 0;
	if (text == NULL || *text == '\0' || js_num_u64(text, 1, high, n) == 0)
		return 0;
	return cli_usage(cli, "$%s is not a number", name);
}

/* The environment is that of `eval "$(jobstack pop)"`, so its entry and attempt belong to its stack: if -s names
 * another one, they say nothing. */
int cli_which(struct cli *cli, const char *attempt_arg, uint64_t *entry, uint32_t *attempt)
{
	const char *env_stack = getenv("JOBSTACK_STACK");
	uint64_t env_entry = 0, env_attempt, given = 0;
	int same_stack;
	size_t n;

	if (attempt_arg != NULL && js_num_u64(attempt_arg, 1, UINT32_MAX, &given) != 0)
		return cli_usage(cli, "--attempt takes a number from 1 on, not \"%s\"", attempt_arg);
	JS_TRY(cli_connect(cli, 60 * JS_SECOND_US)); /* the first word may be a stack */
	n = cli->words_n;
	if (n > 1)
		return cli_usage(cli, "unexpected argument \"%s\"", cli->words[1]);
	same_stack = env_stack == NULL || *env_stack == '\0' || strcmp(env_stack, cli->stack) == 0;
	if (n == 0 || same_stack)
		JS_TRY(env_number(cli, "JOBSTACK_ENTRY", UINT64_MAX, &env_entry));
	JS_TRY(env_number(cli, "JOBSTACK_ATTEMPT", UINT32_MAX, &env_attempt));
	if (n == 0 && env_entry == 0)
		return cli_usage(cli, "name an entry, or set $JOBSTACK_ENTRY as `jobstack pop` does");
	if (n == 0)
		*entry = env_entry;
	else if (cli_entry(cli, cli->words[0], entry) != 0)
		return cli_fail(cli);
	if (attempt_arg != NULL)
		*attempt = (uint32_t)given;
	else if (env_attempt != 0 && same_stack && *entry == env_entry)
		*attempt = (uint32_t)env_attempt;
	else
		return running_attempt(cli, *entry, attempt);
	return 0;
}

/* -------------------------------------------------------------------------------------------------------- options */

/* With "all" the other states add nothing, but each of them must exist. */
int cli_states(struct cli *cli, const char *list, unsigned *bits)
{
	int all = 0;

	*bits = 0;
	do {
		size_t len = strcspn(list, ",");
		const int is_all = len == 3 && strncmp(list, "all", 3) == 0;

		if (show_state_bit(list, len) == 0 && !is_all)
			return cli_usage(cli,
					 "-t: \"%.*s\" is not a state: use ready, waiting, held, running, done, "
					 "failed, lost, dead, cancelled, moved or all (--exit=N selects by exit "
					 "status)",
					 (int)len, list);
		all |= is_all;
		*bits |= show_state_bit(list, len);
		list += len;
	} while (*list++ == ',');
	if (all)
		*bits = 0;
	return 0;
}

int cli_fields(struct cli *cli, const char *list, struct show_fields *fields)
{
	struct js_buf fault = {0};
	int status = 0;

	if (show_fields_parse(list, fields, &fault) != 0)
		status = cli_usage(cli, "-o: %s", fault.data != NULL ? fault.data : list);
	js_buf_free(&fault);
	return status;
}

int cli_since(struct cli *cli, const char *arg, int64_t *since_us, int64_t *within_us)
{
	*within_us = -1;
	*since_us = js_clock_read(arg);
	if (*since_us >= 0 || js_num_duration(arg, within_us) == 0)
		return 0;
	return cli_usage(cli,
			 "--since takes a duration such as 2h or 7d, or a time in UTC such as 2026-11-21 or "
			 "2026-11-21T06:20:00, not \"%s\"",
			 arg);
}
