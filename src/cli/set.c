/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack set: a stack's policy afterwards.  Promise: all of what is asked for is changed, or nothing.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "base/num.h"
#include "cli/last_start.h"
#include "show/amount.h"
#include "show/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct js_opt table[] = {CLI_OPTS_STACK, CLI_OPTS_REST};

static struct jobstack_policy policy = JOBSTACK_POLICY_INIT;
static uint64_t slots; /* of slots=N, which no stack has */

static int take_assignment(struct cli *cli, const char *word, struct jobstack_policy *p)
{
	const char *equals = strchr(word, '=');
	char name[32];

	if (equals == NULL)
		return cli_usage(cli, "\"%s\" is not KEY=VALUE, such as max-running=16", word);
	(void)snprintf(name, sizeof(name), "%.*s", (int)(equals - word), word);
	if (strcmp(name, "slots") == 0 && js_num_u64(equals + 1, 1, UINT32_MAX, &slots) == 0)
		return 0;
	return cli_policy(cli, strncmp(name, "--", 2) == 0 ? "?" : name, equals + 1, p);
}

static void print_limit(const char *key, int64_t value)
{
	if (value > 0)
		(void)printf("%s=%" PRId64 "\n", key, value);
	else
		(void)printf("%s=none\n", key);
}

/* Says what does what slots=N was to do: a worker keeps its number of slots while it runs. */
static int refuse_slots(struct cli *cli)
{
	struct js_buf start = {0};

	cli_last_start_command(cli_last_start_way(cli->handle, cli->stack, NULL), cli->stack, &start);
	if (start.len > 0)
		js_buf_printf(&start, "--slots %" PRIu64 "` starts workers with so many; ", slots);
	if (start.failed)
		return cli_no_memory(cli);
	if (start.len > 0)
		*strchr(start.data + 1, '`') = ' ';
	cli_tell(cli,
		 "slots belong to a worker, which keeps their number while it runs: %s`jobstack set -s %s "
		 "max-running=%" PRIu64 "` limits what all workers together run at once",
		 start.len > 0 ? start.data : "", cli->stack, slots);
	js_buf_free(&start);
	return CLI_USAGE;
}

static int print_policy(const struct cli *cli, const struct jobstack_status *s)
{
	if (cli->json)
		return CLI_PRINT(KEY_TEXT("stack", cli->stack), KEY_COUNT("max_attempts", s->max_attempts),
				 KEY_COUNT("max_losses", s->max_losses),
				 KEY_SPAN("retry_delay_seconds", s->retry_delay_us),
				 KEY_INT("max_running", s->max_running, s->max_running > 0),
				 KEY_INT("max_starts", s->max_starts, s->max_starts > 0),
				 KEY_SPAN("starts_seconds", s->max_starts > 0 ? s->starts_us : -1),
				 KEY_INT("max_failures", s->max_failures, s->max_failures > 0),
				 KEY_COUNT("strict_order", s->strict_order));
	if (cli->quiet)
		return CLI_YES;
	/* as it can be given again */
	(void)printf("max-attempts=%" PRIu32 "\nmax-losses=%" PRIu32 "\nretry-delay=%.15gs\n", s->max_attempts,
		     s->max_losses, (double)s->retry_delay_us / 1e6);
	print_limit("max-running", s->max_running);
	(void)printf("max-starts=%s\n", show_starts(s->max_starts, s->starts_us).text);
	print_limit("max-failures", s->max_failures);
	(void)printf("strict-order=%" PRIu64 "\n", s->strict_order);
	return CLI_YES;
}

static int check_set(struct cli *cli)
{
	int status = 0;

	for (size_t i = 0; i < cli->words_n && status == 0; i++)
		status = take_assignment(cli, cli->words[i], &policy);
	return status;
}

static int change_policy(struct cli *cli)
{
	struct jobstack_status s;

	if (slots > 0)
		return refuse_slots(cli);
	if ((cli->words_n > 0 && jobstack_set_policy(cli->handle, cli->stack, &policy, &cli->error) != 0) ||
	    cli_read_status(cli, &s) != 0)
		return cli_fail(cli);
	return print_policy(cli, &s);
}

static const char about[] = "Changes the policy of a stack, also while workers are running, and prints it. Without "
			    "KEY=VALUE it only prints it.";
static const char notes[] =
	"  max-attempts=N   failed attempts before an entry is dead\n  max-losses=N     an entry is dead after N "
	"attempts whose worker died\n  retry-delay=D    wait before the first retry; doubled each time\n  "
	"max-running=N    run at most N "
	"entries at once, to spare a file system or a\n                   licence server; none: no limit\n  "
	"max-starts=N/T   start at most N entries per T, on all machines together, such as 60/min, 5/s\n"
	"                   or 1/1.5s; none: no limit\n  "
	"max-failures=N   pause the stack when N entries are dead; none: never\n  priority=N       give all entries "
	"that are queued now the priority N; a larger one goes first\n  strict-order=1   pop exactly in order, also "
	"where nearly in order is faster; 0: nearly\n\n  jobstack set mystack max-running=16 "
	"max-attempts=5";
static const struct js_opts opts = {"jobstack set", "[STACK] [OPTIONS] [KEY=VALUE...]", about, table, notes, 0};
const struct cli_frame cli_set = {&opts, NULL, CLI_CHANGES, 10 * JS_SECOND_US, check_set, change_policy};
