/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack --spec: all option tables for a program to read.  The build makes the manual pages and the completions from
 * it (cmake/Documents.cmake), so they always have the options that --help has.  The help does not list it, because
 * users do not need it.
 *
 * For each command it prints "command NAME DOES" and what js_opt_spec prints; jobstack-worker is the last one.  main.c
 * prints "group HEADING" before the commands of a group.  The tables of `server` are in the program jobstack-server,
 * whose --spec prints them here.  With --spec --no-server they are left out: when cross-compiling, the build runs both
 * programs under an emulator, and this one could not execute the other.
 */
#include "frame/spec.h"

#include "frame/frame.h"
#include "proc/child.h"
#include "exec/worker_options.h"

#include <limits.h>
#include <stdio.h>

int cli_spec_table(const struct js_opts *opts)
{
	struct js_buf text = {0};
	int status;

	js_opt_spec(opts, &text);
	status = text.data != NULL && fputs(text.data, stdout) >= 0 ? CLI_YES : CLI_BUG;
	js_buf_free(&text);
	return status;
}

/* Lets jobstack-server print its tables. */
static int print_server_tables(void)
{
	char program[PATH_MAX + 20];
	const char *const argv[] = {program, "--spec", NULL};
	const struct js_child child = {.argv = argv};
	pid_t pid;

	(void)snprintf(program, sizeof(program), "%s/" CLI_SERVER_PROGRAM, js_child_program_dir());
	(void)fflush(stdout);
	pid = js_child_start(&child, NULL);
	return pid > 0 && js_child_wait(pid) == 0 ? CLI_YES : CLI_BUG;
}

int cli_spec_command(const char *name, const char *does, const struct cli_frame *frame, int with_server)
{
	(void)printf("command\t%s\t%s\n", name, does);
	if (frame != NULL)
		return cli_spec_table(frame->opts);
	return with_server ? print_server_tables() : CLI_YES;
}

int cli_spec_worker(void)
{
	(void)printf("command\tjobstack-worker\trun a command on each entry of a stack\n");
	return cli_spec_table(&js_worker_opts) == CLI_YES && fflush(stdout) == 0 ? CLI_YES : CLI_BUG;
}
