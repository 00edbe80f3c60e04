/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack-worker's option table and its help.
 */
#include "run/worker_options.h"

static const struct js_opt table[] = {
	{'s', "stack", "NAME", "the stack (default: $JOBSTACK_STACK, else \"default\")"},
	JS_WORKER_OPTIONS_OF_RUN,
	{JS_WORKER_IDLE_TIMEOUT, "idle-timeout", "D",
	 "how long to wait with nothing to do, while others may still push or fail (default 60s)"},
	{JS_WORKER_MARGIN, "margin", "D",
	 "under Slurm: start no entry that would probably still run D before the job's end (default: --grace "
	 "and 5 s more)"},
	{JS_WORKER_STRICT, "strict", NULL, "exit with status 1 if any entry failed"},
	{JS_WORKER_DRY_RUN, "dry-run", NULL,
	 "only print the commands of the next entries, or the lines that a persistent CMD would read"},
	{JS_WORKER_NEW_STACK, "new-stack", NULL, NULL}, /* as --dry-run, for a stack that may not exist yet */
	{JS_WORKER_DEFAULTS_FILE, "defaults-file", "FILE", "the option file with the database's address"},
	{'q', "quiet", NULL, "print only errors"},
	{'v', "verbose", NULL, "print more"},
	{JS_WORKER_HELP, "help", NULL, "print this help"},
	{JS_WORKER_VERSION, "version", NULL, "print the version"},
	{0, NULL, NULL, NULL}};

const struct js_opts js_worker_opts = {
	"jobstack-worker",
	"[OPTIONS] -- CMD ARG...",
	"Claims entries of a stack, runs CMD on each, closes each with what happened, until nothing is left.",
	table,
	"In CMD and TEMPLATE: {} the datapath, {/} its base name, {//} its directory, {.} without extension, {/.}\n"
	"both, {#} the entry's number, {%} the slot. Without a placeholder, the datapath is the last argument. With\n"
	"--colsep, {1} {2} ... are the fields, and {1/} {1//} {1.} {1/.} their parts. An entry with too few fields\n"
	"fails without being run. ${1} belongs to the shell. A line that does not begin with / is a relative name,\n"
	"whichever of its fields is a path. CMD finds JOBSTACK_DATAPATH, _ENTRY, _ATTEMPT, _SLOT, _STACK and\n"
	"_WORKER in its environment. With --persistent, only {%} can be used in CMD, nothing is appended, and the\n"
	"environment has _SLOT, _STACK, _WORKER and _PERSISTENT.\n"
	"\n  srun jobstack-worker -s mystack -- ./convert.sh {}",
	1};
