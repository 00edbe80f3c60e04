/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The subcommands of jobstack, and what some of them share.  One subcommand, one file, one option table, one row in the
 * command table (main.c).
 */
#pragma once

#include "frame/frame.h"

/* Reads VALUE into what NAME says: "max-running", or "--max-running" as an option.  0, or CLI_USAGE,
 * with the reason printed. */
int cli_policy(struct cli *cli, const char *name, const char *value, struct jobstack_policy *policy);

/* For cli_parse: the same for an option of that name, with a struct jobstack_policy as CTX. */
int cli_policy_take(struct cli *cli, void *ctx, int key, const char *arg);

/* ------------------------------------------------------------------------------------ commands in several files */

/* Reads the N FILES, and only if all of them are whole, of stacks that are there, and of workers that are gone,
 * delivers their outcomes and tells what became of them.  CLI is not connected yet.  Returns the exit status, with the
 * reason printed: CLI_YES nothing is left to deliver, CLI_NO some came too late or may not be delivered now, CLI_USAGE
 * a file or stack is wrong. */
int cli_replay(struct cli *cli, char *const files[], size_t n);

/* Says which entries of cli->stack are DEAD, at most five of them by name, and what to type. */
void cli_say_failed(struct cli *cli, uint64_t dead);

/* Compares the packed logs and spools below DIR, a worker's --log-dir, with the database, for the stack of -s or for
 * each that has a directory there, and prints each attempt that the database does not have as the file does.  0: it has
 * all of them; 1: not all; negative: the error is in cli->error. */
int cli_check_logs(struct cli *cli, const char *dir);

/* Returns whether the worker is a process of this host that has not ended. */
int cli_is_here(const struct jobstack_worker_row *worker);

/* Sets the state of cli->stack, and prints that it is so NOW, or was ALREADY.  NOTE says why, or is NULL.  Returns the
 * exit status, with the reason printed. */
int cli_set_state(struct cli *cli, enum jobstack_stack_state to, const char *note, const char *now,
		  const char *already);

/* The subcommands. */
extern const struct cli_frame cli_init, cli_push, cli_pop, cli_close, cli_renew, cli_status, cli_list, cli_show,
	cli_logs, cli_requeue, cli_kill, cli_recover, cli_pause, cli_resume, cli_cancel, cli_set, cli_drop, cli_prune,
	cli_run, cli_submit, cli_export, cli_report, cli_check, cli_doctor, cli_wait, cli_top, cli_history;
