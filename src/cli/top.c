/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack top: checks what it needs, and becomes jobstack-top, the one program of ours that uses ncurses.
 */
#include "cli/cli.h"

#include "proc/child.h"
#include "show/term.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int check_top(struct cli *cli)
{
	if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && !show_is_dumb())
		return 0;
	cli_tell(cli, "this needs a terminal that can move its cursor; `jobstack status` prints the same anywhere");
	return CLI_USAGE;
}

/* What is wrong with the database or the name is reported before the screen is taken. */
static int run_top(struct cli *cli)
{
	const char *file = cli_option_file(cli);
	char program[PATH_MAX + 16];
	struct jobstack_status s;

	if (cli->stack_given && cli_read_status(cli, &s) != 0)
		return cli_fail(cli);
	if (file != NULL)
		(void)setenv("JOBSTACK_DEFAULTS_FILE", file, 1);
	(void)snprintf(program, sizeof(program), "%s/jobstack-top", js_child_program_dir());
	(void)execl(program, "jobstack-top", cli->stack_given ? cli->stack : "", NULL);
	cli_tell(cli,
		 "%s can't be run (%s): install libncurses-dev (ncurses-devel on RHEL) and build jobstack again, or "
		 "use `jobstack status -w`",
		 program, strerror(errno));
	return CLI_USAGE;
}

static const struct js_opt table[] = {
	{'s', "stack", "NAME", "begin with this stack (default: $JOBSTACK_STACK, else all stacks)", NULL},
	CLI_OPTS_TEXT};
static const char about[] =
	"Shows all stacks, one stack or one entry on the full screen, and acts on what you choose: shows its output, "
	"requeues it,\npauses its stack. Type ? for the keys.";
static const char notes[] = "  jobstack top mystack";
static const struct js_opts opts = {"jobstack top", "[STACK] [OPTIONS]", about, table, notes, 0};
const struct cli_frame cli_top = {&opts, "", 0, 0, check_top, run_top};
