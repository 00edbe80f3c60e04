/* SPDX-License-Identifier: BSD-2-Clause
 *
 * sbatch, as `submit` and `server submit` use it: its options among ours, the call, the script that stays where users
 * can look.
 */
#pragma once

#include "frame/frame.h"
#include "frame/command.h"

#define CLI_PATH 4096

/* The last row of a table, for sbatch's options among ours: each --OPT or --OPT=VALUE that is not in the table goes to
 * WORDS. */
#define CLI_OPTS_SBATCH(words)                                                                                         \
	{                                                                                                              \
		JS_OPT_OTHER, "", "OPT", NULL, CLI_BY(cli_sbatch_take, words)                                          \
	}

/* Returns the value of sbatch's option NAME (short: LETTER, or 0) in WORDS, the last one given; "" for an option
 * without a value; NULL: it is not there. */
const char *cli_sbatch_value(const struct cli_words *words, const char *name, char letter);

/* For cli_parse: splits the value of --sbatch into words for CTX, a struct cli_words; the same for a const char * that
 * notes the value, and a quote must not be open in it. */
int cli_sbatch_take(struct cli *cli, void *ctx, int key, const char *arg);
int cli_sbatch_take_later(struct cli *cli, void *ctx, int key, const char *arg);

/* Refuses words that are neither options nor a command, options that contradict each other, and those of sbatch's
 * that can't work here.  0, or CLI_USAGE. */
int cli_sbatch_check(struct cli *cli, const struct cli_words *passed, int dry_run, int parsable);

/* Looks for sbatch.  Returns 0, or CLI_USAGE, after printing what works INSTEAD. */
int cli_sbatch_find(const struct cli *cli, const char *instead);

/* Appends the words of the call: sbatch --parsable WORDS SCRIPT. */
void cli_sbatch_words(struct cli_words *call, const struct cli_words *words, const char *script);

/* Makes the call.  What sbatch says on standard error is shown as it is.  Returns 0 with the job's number in *JOB; 1 if
 * sbatch refused it (the error's text is the last line that it said); or a negative code: EMISSING there is no sbatch.
 */
int cli_sbatch(struct cli *cli, const struct cli_words *call, uint64_t *job);

/* Cancels the jobs NUMBERS (separated by blanks; options of scancel may stand before them).  What scancel says is
 * shown.  Returns 0, or not. */
int cli_scancel(struct cli *cli, const char *numbers);

/* Returns what a command of Slurm's prints, to be freed; NULL if it failed, and ERROR says how.  LINE is split into
 * words. */
char *cli_slurm_answer(const char *line, int64_t limit_us, struct jobstack_error *error);

/* Copies the value of KEY from TEXT (may be NULL), which `scontrol show config` printed: 1, or 0 if it is not there. */
#define CLI_SLURM_VALUE 64
int cli_slurm_config(const char *text, const char *key, char value[CLI_SLURM_VALUE]);

/* Puts the script there, for users to look at and for sbatch to read.  0, or the exit status. */
int cli_sbatch_keep(struct cli *cli, const char *path, const struct js_buf *script);

/* Appends --output=PATH NAME.  In PATH a % is doubled, which sbatch would replace; in NAME it is not. */
void cli_sbatch_output(struct cli_words *words, const char *path, const char *name);

/* Writes PATH as an absolute one to OUT, of CLI_PATH bytes.  0, or -1. */
int cli_absolute(const char *path, char *out);
