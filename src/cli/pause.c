/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack pause and resume: stop handing out; go on.
 */
#define _GNU_SOURCE
#include "cli/cli.h"

#include "base/clock.h"
#include "cli/json.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

static const struct js_opt table[] = {CLI_OPTS_STACK, CLI_OPTS_JSON, CLI_OPTS_DATABASE, CLI_OPTS_ALWAYS, CLI_OPTS_END};
static const struct js_opts pause_opts = {"jobstack pause", "[OPTIONS]",
					  "Pauses a stack: nothing is handed out any more; what runs goes on, and can be closed.", table,
					  NULL, 0};
static const struct js_opts resume_opts = {"jobstack resume", "[OPTIONS]", "Goes on after a pause.", table, NULL, 0};

static int take_status(void *ctx, const struct jobstack_status *s)
{
	*(struct jobstack_status *)ctx = *s;
	return 0;
}

static int tell(struct cli *cli, int paused, int was, const struct jobstack_status *s)
{
	json_t *o;
	int bad = 0;

	if (cli->json) {
		o = json_object();
		bad |= cli_json_text(o, "stack", cli->stack);
		bad |= cli_json_text(o, "state", paused ? "paused" : "open");
		bad |= json_object_set_new(o, "changed", json_boolean(was != paused));
		return cli_json_print(o, bad) == 0 ? CLI_YES : CLI_BUG;
	}
	if (cli->quiet)
		return CLI_YES;
	(void)printf("the stack \"%s\" %s%s: %" PRIu64 " ready, %" PRIu64 " waiting, %" PRIu64 " running\n", cli->stack,
		     was != paused ? "is " : paused ? "was paused" : "was open",
		     was == paused ? " already" : paused ? "paused now" : "open again",
		     s->ready, s->waiting, s->running);
	return CLI_YES;
}

static int set_paused(const struct js_opts *opts, int paused, int argc, char **argv)
{
	struct jobstack_status before = {0}, after = {0};
	const char *arg;
	struct cli cli;
	int status;

	cli_begin(&cli, opts);
	if (cli_next(&cli, argc, argv, &arg, &status) == -2)
		return status;
	if (optind < argc)
		return cli_usage(&cli, "\"%s\" is one word too many: the stack is named with -s", argv[optind]);
	status = cli_connect(&cli, 10 * JS_SECOND_US);
	if (status != 0)
		return status;
	if (jobstack_status(cli.handle, cli.stack, take_status, &before, &cli.error) != 0 ||
	    jobstack_pause(cli.handle, cli.stack, paused, &cli.error) != 0 ||
	    jobstack_status(cli.handle, cli.stack, take_status, &after, &cli.error) != 0)
		return cli_end(&cli, cli_fail(&cli));
	return cli_end(&cli, tell(&cli, paused, before.state == JOBSTACK_PAUSED, &after));
}

int cli_pause_main(int argc, char **argv)
{
	return set_paused(&pause_opts, 1, argc, argv);
}

int cli_resume_main(int argc, char **argv)
{
	return set_paused(&resume_opts, 0, argc, argv);
}
