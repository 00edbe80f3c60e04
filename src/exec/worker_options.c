/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack-worker's option table and its help.
 */
#include "exec/worker_options.h"

static const struct js_opt table[] = {
	{'s', "stack", "NAME", "the stack (default: $JOBSTACK_STACK, else \"default\")", NULL},
	JS_WORKER_OPTIONS_OF_RUN(NULL),
	JS_WORKER_OPTIONS_OF_DISPLAY(NULL, "default: on a terminal"),
	{JS_WORKER_IDLE_TIMEOUT, "idle-timeout", "D",
	 "end after this time without work; until then, wait for entries from a running push or given back by "
	 "other workers (default 60s); the last worker waits longer if one that holds entries sends no heartbeats",
	 NULL},
	{JS_WORKER_WAIT_FOR_STACK, "wait-for-stack", NULL,
	 "if the stack does not exist yet, wait for it, for up to --idle-timeout", NULL},
	{JS_WORKER_MARGIN, "margin", "D",
	 "~under Slurm: start an entry only if it will probably end at least D before the job does (default: --grace "
	 "and 5 s more)",
	 NULL},
	{JS_WORKER_STRICT, "strict", NULL, "~exit with status 1 if any entry failed", NULL},
	{JS_WORKER_DRY_RUN, "dry-run", NULL,
	 "only print the commands of the next entries, or the lines that a persistent CMD would read", NULL},
	{JS_WORKER_OF_RUN, "of-run", NULL, NULL, NULL},
	{JS_WORKER_NEW_STACK, "new-stack", NULL, NULL, NULL}, /* as --dry-run, for a stack that may not exist yet */
	{JS_WORKER_DRY_NAMES, "dry-names", NULL, NULL,
	 NULL}, /* as --dry-run, for names on standard input, each with a NUL */
	{JS_WORKER_DEFAULTS_FILE, "defaults-file", "FILE", "~the option file with the database's address", NULL},
	{JS_WORKER_CONNECT_TIMEOUT, "connect-timeout", "D",
	 "~at the start: wait up to D for a database that can't be reached or takes no writes (default 2m)", NULL},
	{'q', "quiet", NULL, "~print only errors", NULL},
	{'v', "verbose", NULL, "~print more", NULL},
	{JS_WORKER_HELP, "help", NULL, "~print this help", NULL},
	{JS_WORKER_HELP_ALL, "help-all", NULL, NULL, NULL},
	{JS_WORKER_VERSION, "version", NULL, "~print the version", NULL},
	{0, NULL, NULL, NULL, NULL}};

const struct js_opts js_worker_opts = {
	"jobstack-worker",
	"[OPTIONS] -- CMD ARG...",
	"Claims entries of a stack, runs CMD on each, and records how each one ended, until nothing is left.",
	table,
	"In CMD and TEMPLATE: {} the datapath, {/} its base name, {//} its directory, {.} the datapath without\n"
	"extension, {/.} the base name without extension, {#} the entry's number, {%} the slot. Without a\n"
	"placeholder, the datapath is the last argument. With --colsep, {1} {2} ... are the fields, and {1/} {1//}\n"
	"{1.} {1/.} their parts. An entry with too few fields fails without being run. ${1} is not a placeholder,\n"
	"but left to the shell. A datapath that does not begin with / is relative. With --colsep, only its\n"
	"beginning counts, even if a later field is an absolute path. CMD finds JOBSTACK_DATAPATH, _ENTRY,\n"
	"_ATTEMPT, _SLOT, _STACK and _WORKER in its environment. With --persistent, only {%} can be used in CMD,\n"
	"nothing is appended, and the environment has _SLOT, _STACK, _WORKER and _PERSISTENT.\n"
	"\n  srun jobstack-worker -s mystack -- ./convert.sh {}",
	1};
