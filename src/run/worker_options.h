/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The options of jobstack-worker: its own table, and what `jobstack run` passes through to it.
 */
#pragma once

#include "base/opt.h"

enum {
	JS_WORKER_DEFAULTS_FILE = 300,
	JS_WORKER_SLOTS,
	JS_WORKER_LEASE,
	JS_WORKER_TIMEOUT,
	JS_WORKER_GRACE,
	JS_WORKER_BATCH,
	JS_WORKER_MAX_ENTRIES,
	JS_WORKER_IDLE_TIMEOUT,
	JS_WORKER_CHDIR,
	JS_WORKER_OUTPUT,
	JS_WORKER_ERROR,
	JS_WORKER_CREATES,
	JS_WORKER_FATAL_EXIT,
	JS_WORKER_ON_LEASE_LOSS,
	JS_WORKER_SHELL,
	JS_WORKER_DRY_RUN,
	JS_WORKER_NEW_STACK,
	JS_WORKER_STRICT,
	JS_WORKER_LOG_DIR,
	JS_WORKER_COLSEP,
	JS_WORKER_OUTPUT_LIMIT,
	JS_WORKER_LOG_SIZE,
	JS_WORKER_MARGIN,
	JS_WORKER_PERSISTENT,
	JS_WORKER_RECYCLE,
	JS_WORKER_HELP,
	JS_WORKER_VERSION
};

/* The options of how commands are run, which `jobstack run` takes as well (no -s, --help and the like). */
#define JS_WORKER_OPTIONS_OF_RUN                                                                                       \
	{JS_WORKER_SLOTS, "slots", "N",                                                                                \
	 "commands at once (default: $SLURM_CPUS_PER_TASK or 1, but at most the CPUs that this process may use)"},     \
		{JS_WORKER_TIMEOUT, "timeout", "D",                                                                    \
		 "a command that takes longer gets TERM, and KILL after --grace; the entry has failed"},               \
		{JS_WORKER_GRACE, "grace", "D", "time from TERM to KILL (default 5s)"},                                \
		{JS_WORKER_LEASE, "lease", "D",                                                                        \
		 "how long this worker may be silent before other workers get its entries (default 15m under Slurm, "  \
		 "5m else)"},                                                                                          \
		{JS_WORKER_BATCH, "batch", "N",                                                                        \
		 "claim at most N entries at once (default: as many as the slots finish in about a second)"},          \
		{JS_WORKER_MAX_ENTRIES, "max-entries", "N", "end after N entries"},                                    \
		{JS_WORKER_CHDIR, "chdir", "DIR", "run in DIR; relative names are relative to it"},                    \
		{JS_WORKER_OUTPUT, "output", "TEMPLATE",                                                               \
		 "write stdout of each entry to its own file; -: to the worker's stdout"},                             \
		{JS_WORKER_ERROR, "error", "TEMPLATE", "write stderr of each entry to its own file"},                  \
		{JS_WORKER_OUTPUT_LIMIT, "output-limit", "SIZE",                                                       \
		 "keep at most SIZE of an entry's stdout, and of its stderr; of longer output the middle is left out " \
		 "(default 16M, or none with --output -; none: no limit; output that goes to a file of the entry is "  \
		 "never cut)"},                                                                                        \
		{JS_WORKER_CREATES, "creates", "TEMPLATE",                                                             \
		 "the file that CMD makes: if it is there already, the entry is done; if it is missing after exit 0, " \
		 "the entry has failed"},                                                                              \
		{JS_WORKER_FATAL_EXIT, "fatal-exit", "LIST",                                                           \
		 "exit codes (1,5-7) after which an entry is dead at once"},                                           \
		{JS_WORKER_ON_LEASE_LOSS, "on-lease-loss", "stop|finish",                                              \
		 "when the lease is lost: stop the commands that are running (default), or let them finish, perhaps "  \
		 "while another worker runs the same entry"},                                                          \
		{JS_WORKER_SHELL, "shell", NULL, "CMD is a script for /bin/sh; placeholders are safe in it"},          \
		{JS_WORKER_PERSISTENT, "persistent", NULL,                                                             \
		 "start CMD once per slot; it reads a line for each entry, and answers `done` or `failed CODE "        \
		 "MESSAGE`: see docs/PERSISTENT.md"},                                                                  \
		{JS_WORKER_RECYCLE, "recycle", "N", "restart a persistent CMD after N entries"},                       \
		{'I', "replace", "WORD", "WORD stands for {}"},                                                        \
		{JS_WORKER_COLSEP, "colsep", "SEP",                                                                    \
		 "entries have fields, separated by SEP (a string, no regexp; \\t is a tab): {1} {2}... and {1/} "     \
		 "{1//} {1.} {1/.}"},                                                                                  \
		{JS_WORKER_LOG_DIR, "log-dir", "DIR",                                                                  \
		 "directory of the log files, each of which has the output of many entries (default jobstack-logs)"},  \
	{                                                                                                              \
		JS_WORKER_LOG_SIZE, "log-size", "SIZE",                                                                \
			"begin a new log file when the present one is larger than SIZE; none: never (default 1G)"      \
	}

extern const struct js_opts js_worker_opts;
