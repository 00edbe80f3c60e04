/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack-worker's option table and its help.
 */
#include "run/worker_options.h"

static const struct js_opt table[] = {
	{'s', "stack", "NAME", "the stack (default: $JOBSTACK_STACK, else \"default\")"},
	JS_WORKER_OPTIONS_OF_RUN,
	{JS_WORKER_IDLE_TIMEOUT, "idle-timeout", "D",
	 "stay so long with nothing to do while others may still push or\nfail (default 60s)"},
	{JS_WORKER_MARGIN, "margin", "D",
	 "under Slurm: start nothing that, going by what entries took\nso far, would run until D before the job's end "
	 "(default: the\ngrace and 5 s)"},
	{JS_WORKER_STRICT, "strict", NULL, "end with status 1 if any entry failed"},
	{JS_WORKER_DRY_RUN, "dry-run", NULL,
	 "print the commands of the next entries, or the lines that a\npersistent CMD would read; claim nothing"},
	{JS_WORKER_NEW_STACK, "new-stack", NULL, NULL}, /* as --dry-run, for a stack that may not exist yet */
	{JS_WORKER_DEFAULTS_FILE, "defaults-file", "FILE", "the option file with the database's address"},
	{'q', "quiet", NULL, "say only what went wrong"},
	{'v', "verbose", NULL, "say more"},
	{JS_WORKER_HELP, "help", NULL, "this text"},
	{JS_WORKER_VERSION, "version", NULL, "the version"},
	{0, NULL, NULL, NULL}};

const struct js_opts js_worker_opts = {
	"jobstack-worker",
	"[OPTIONS] -- CMD ARG...",
	"Claims entries of a stack, runs CMD on each, closes each with what happened, until nothing is left.",
	table,
	"In CMD and TEMPLATE: {} the datapath, {/} its base name, {//} its directory, {.} without extension, {/.} "
	"both,\n"
	"{#} the entry's number, {%} the slot. No placeholder: the datapath is the last argument. With --colsep {1} "
	"{2} ... are\n"
	"the fields, {1/} {1//} {1.} {1/.} their parts; an entry with too few fails and is not run; {1} behind $ is "
	"the shell's own.\n"
	"A line that does not begin with / is a relative name, whichever of its fields is a path. CMD finds\n"
	"JOBSTACK_DATAPATH, _ENTRY, _ATTEMPT, _SLOT, _STACK and _WORKER in its environment. With --persistent only {%} "
	"may\n"
	"stand in CMD, nothing is appended, and _SLOT, _STACK, _WORKER and _PERSISTENT are there.\n\n"
	"  srun jobstack-worker -s mystack -- ./convert.sh {}",
	1};
