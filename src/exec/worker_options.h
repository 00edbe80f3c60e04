/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The options of jobstack-worker: its own table, and what `jobstack run` passes through to it.
 */
#pragma once

#include "base/opt.h"

/* How the worker's error begins when two entries would write the same file. */
#define JS_WORKER_SHARED_FILE "two entries would share a file"

enum {
	JS_WORKER_SLOTS = 'j',
	JS_WORKER_DEFAULTS_FILE = 300,
	JS_WORKER_LEASE,
	JS_WORKER_TIMEOUT,
	JS_WORKER_GRACE,
	JS_WORKER_BATCH,
	JS_WORKER_MAX_ENTRIES,
	JS_WORKER_IDLE_TIMEOUT,
	JS_WORKER_CONNECT_TIMEOUT,
	JS_WORKER_CHDIR,
	JS_WORKER_OUTPUT,
	JS_WORKER_ERROR,
	JS_WORKER_CREATES,
	JS_WORKER_FATAL_EXIT,
	JS_WORKER_CODE,
	JS_WORKER_CODE_VERSION,
	JS_WORKER_EVENTS,
	JS_WORKER_PACKAGES,
	JS_WORKER_NO_PACKAGES,
	JS_WORKER_DEFER_MATCH,
	JS_WORKER_MAX_DEFERS,
	JS_WORKER_ON_LEASE_LOSS,
	JS_WORKER_SHELL,
	JS_WORKER_NO_PIPEFAIL,
	JS_WORKER_AS_ARRAY,
	JS_WORKER_COMMANDS,
	JS_WORKER_ALLOW_USER,
	JS_WORKER_DRY_RUN,
	JS_WORKER_NEW_STACK,
	JS_WORKER_WAIT_FOR_STACK,
	JS_WORKER_DRY_NAMES,
	JS_WORKER_OF_RUN,
	JS_WORKER_PROGRESS,
	JS_WORKER_BAR,
	JS_WORKER_TAG,
	JS_WORKER_JOBLOG,
	JS_WORKER_STRICT,
	JS_WORKER_LOG_DIR,
	JS_WORKER_COLSEP,
	JS_WORKER_OUTPUT_LIMIT,
	JS_WORKER_LOG_SIZE,
	JS_WORKER_MARGIN,
	JS_WORKER_PERSISTENT,
	JS_WORKER_RECYCLE,
	JS_WORKER_NODE_CHECK,
	JS_WORKER_HELP,
	JS_WORKER_HELP_ALL,
	JS_WORKER_VERSION
};

/* Answers to options of GNU parallel, xargs and sbatch, for all tables that have these. */
extern const struct js_opt_answer js_worker_answers[];

/* The options of how commands are run, which `jobstack run` and `submit` have as well (no -s,
 * --help and the like), each with TAKE. */
#define JS_WORKER_OPTIONS_OF_RUN(TAKE)                                                                                 \
	{JS_WORKER_SLOTS, "slots", "N",                                                                                \
	 "commands at once (default: in a Slurm job $SLURM_CPUS_PER_TASK or 1; elsewhere one per CPU that this "       \
	 "process may use, but at most 4 on a login node)",                                                            \
	 TAKE},                                                                                                        \
		{JS_WORKER_SLOTS, "jobs", "N", NULL, TAKE}, /* as make and GNU parallel call it */                     \
		{'P', "max-procs", "N", NULL, TAKE},	    /* as xargs calls it */                                    \
		{JS_WORKER_TIMEOUT, "timeout", "D",                                                                    \
		 "a command that takes longer gets TERM, and KILL after --grace; the entry has failed", TAKE},         \
		{JS_WORKER_GRACE, "grace", "D", "~time from TERM to KILL (default 5s)", TAKE},                         \
		{JS_WORKER_LEASE, "lease", "D",                                                                        \
		 "~how long this worker may be silent before other workers get its entries (default 15m under Slurm, " \
		 "5m else)",                                                                                           \
		 TAKE},                                                                                                \
		{JS_WORKER_BATCH, "batch", "N",                                                                        \
		 "~claim at most N entries at once (default: as many as the slots finish in about a second)", TAKE},   \
		{JS_WORKER_MAX_ENTRIES, "max-entries", "N", "~end after N entries", TAKE},                             \
		{JS_WORKER_CHDIR, "chdir", "DIR", "~run in DIR; relative names are relative to it", TAKE},             \
		{JS_WORKER_CHDIR, "wd", "DIR", NULL, TAKE}, {JS_WORKER_CHDIR, "workdir", "DIR", NULL, TAKE},           \
		{JS_WORKER_OUTPUT, "output", "TEMPLATE",                                                               \
		 "write stdout of each entry to its own file; -: to the worker's stdout", TAKE},                       \
		{JS_WORKER_ERROR, "error", "TEMPLATE", "~write stderr of each entry to its own file", TAKE},           \
		{JS_WORKER_OUTPUT_LIMIT, "output-limit", "SIZE",                                                       \
		 "~keep at most SIZE of an entry's stdout, and of its stderr; of longer output the middle is left "    \
		 "out (default 16M, or none with --output -; none: no limit; output that goes to a file of the entry " \
		 "is "                                                                                                 \
		 "never cut)",                                                                                         \
		 TAKE},                                                                                                \
		{JS_WORKER_CREATES, "creates", "TEMPLATE",                                                             \
		 "the file that CMD makes: if it is there already, and no earlier attempt can have left it "           \
		 "incomplete, the entry is done; if it is missing after exit 0, the entry has failed",                 \
		 TAKE},                                                                                                \
		{JS_WORKER_CODE, "code", "PATH",                                                                       \
		 "~a file, or a directory in a git work tree, whose version is recorded with each attempt, beside "    \
		 "those of CMD and of its arguments that are files (may be repeated)",                                 \
		 TAKE},                                                                                                \
		{JS_WORKER_CODE_VERSION, "code-version", "TEXT", "~a version that is recorded with each attempt",      \
		 TAKE},                                                                                                \
		{JS_WORKER_EVENTS, "events", "FILE",                                                                   \
		 "~append a line of JSON to FILE for each attempt, when the database has it, or send it to syslog "    \
		 "(default $JOBSTACK_EVENTS)",                                                                         \
		 TAKE},                                                                                                \
		{JS_WORKER_PACKAGES, "packages", NULL,                                                                 \
		 "~record which Python packages the commands import: names, versions, and in how many attempts",       \
		 TAKE},                                                                                                \
		{JS_WORKER_NO_PACKAGES, "no-packages", NULL,                                                           \
		 "~do not record them, even if $JOBSTACK_PACKAGES says so", TAKE},                                     \
		{JS_WORKER_FATAL_EXIT, "fatal-exit", "LIST",                                                           \
		 "~exit codes (1,5-7) after which an entry is dead at once", TAKE},                                    \
		{JS_WORKER_DEFER_MATCH, "defer-match", "REGEX",                                                        \
		 "~if a command fails, and the end of its output matches REGEX (POSIX, extended), the entry is tried " \
		 "again later, and this is not counted as a failure",                                                  \
		 TAKE},                                                                                                \
		{JS_WORKER_MAX_DEFERS, "max-defers", "N",                                                              \
		 "~an entry is dead after N exits with 75 or matches of --defer-match in a row (default 100)", TAKE},  \
		{JS_WORKER_NODE_CHECK, "node-check", "CMD",                                                            \
		 "~a shell command that the worker runs once, before it claims anything; if it fails, the worker "     \
		 "ends (it can check that a file system is mounted, or that there is a licence or a GPU)",             \
		 TAKE},                                                                                                \
		{JS_WORKER_ON_LEASE_LOSS, "on-lease-loss", "stop|finish",                                              \
		 "~when the lease is lost: stop the commands that are running (default), or let them finish, perhaps " \
		 "while another worker runs the same entry",                                                           \
		 TAKE},                                                                                                \
		{JS_WORKER_SHELL, "shell", "[PROGRAM]",                                                                \
		 "CMD is a script for bash (for /bin/sh where there is no bash), or for the shell PROGRAM; "           \
		 "placeholders are safe in it; in bash, a pipeline fails if any part of it does",                      \
		 TAKE},                                                                                                \
		{JS_WORKER_NO_PIPEFAIL, "no-pipefail", NULL,                                                           \
		 "~with --shell: a pipeline fails only if its last part does", TAKE},                                  \
		{JS_WORKER_AS_ARRAY, "as-array", NULL,                                                                 \
		 "~CMD gets the entry's name as $SLURM_ARRAY_TASK_ID, as a script for a job array needs it", TAKE},    \
		{JS_WORKER_COMMANDS, "commands", NULL,                                                                 \
		 "there is no CMD: each entry is a command line, which bash runs, or --shell=PROGRAM", TAKE},          \
		{JS_WORKER_ALLOW_USER, "allow-user", "NAME",                                                           \
		 "~with --commands: run also lines that the database account NAME pushed, not only those of this "     \
		 "worker's account (may be repeated)",                                                                 \
		 TAKE},                                                                                                \
		{JS_WORKER_PERSISTENT, "persistent", NULL,                                                             \
		 "~start CMD once per slot; it reads a line for each entry, and answers `done` or `failed CODE "       \
		 "MESSAGE`: see docs/LANGUAGES.md",                                                                    \
		 TAKE},                                                                                                \
		{JS_WORKER_RECYCLE, "recycle", "N", "~restart a persistent CMD after N entries", TAKE},                \
		{'I', "replace", "WORD", "~WORD stands for {}", TAKE},                                                 \
		{JS_WORKER_COLSEP, "colsep", "SEP",                                                                    \
		 "~entries have fields, separated by SEP (a string, no regexp; \\t is a tab): {1} {2}... and {1/} "    \
		 "{1//} {1.} {1/.}",                                                                                   \
		 TAKE},                                                                                                \
		{JS_WORKER_LOG_DIR, "log-dir", "DIR",                                                                  \
		 "~directory of the log files, each of which has the output of many entries (default jobstack-logs)",  \
		 TAKE},                                                                                                \
	{                                                                                                              \
		JS_WORKER_LOG_SIZE, "log-size", "SIZE",                                                                \
			"~begin a new log file when the present one is larger than SIZE; none: never (default 1G)",    \
			TAKE                                                                                           \
	}

/* The options of what a person sees while commands run, which only `jobstack run` has as well. */
#define JS_WORKER_OPTIONS_OF_DISPLAY(TAKE, WHEN)                                                                       \
	{JS_WORKER_PROGRESS, "progress", "[auto|always|never]",                                                        \
	 "~show how far the work is, and each file that has failed, on standard error (" WHEN ")", TAKE},              \
		{JS_WORKER_TAG, "tag", NULL,                                                                           \
		 "~print what commands print, with the name before each line (implies --output -)", TAKE},             \
		{'k', "keep-order", NULL, "print what commands print in the order of the names (implies --output -)",  \
		 TAKE},                                                                                                \
		{JS_WORKER_JOBLOG, "joblog", "FILE", "~append a line to FILE for each command that has ended", TAKE},  \
		{JS_WORKER_BAR, "bar", NULL, NULL, TAKE}, /* as GNU parallel: --progress */                            \
	{                                                                                                              \
		JS_WORKER_BAR, "eta", NULL, NULL, TAKE                                                                 \
	}

extern const struct js_opts js_worker_opts;
