/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack-worker's option table and its help.
 */
#include "exec/worker_options.h"

/* clang-format off */
const struct js_opt_answer js_worker_answers[] = {
	{"exit x no-run-if-empty r i", 0, "", "this is so anyway"},
	{"group ungroup u line-buffer lb", 0, "", "the output of each entry is printed in one piece, when it ends"},
	{"load memfree memsuspend limit", 1, "", "the scheduler assigns CPUs and memory, and -j says how many commands run at once"},
	{"env", 1, "", "commands have the whole environment"},
	{"shuf", 0, "", "entries run in the order of the list, which shuf(1) can change"},
	{"resume resume-failed retry-failed", 0, "", "the same line continues where it stopped (`jobstack requeue -s NAME` before it retries what is dead)"},
	{"retries", 1, "--max-attempts=%", "it is called --max-attempts"},
	{"halt halt-on-error", 1, "--max-failures=1 --max-attempts=1", "--max-failures=N pauses the stack when N entries are dead"},
	{"results", 1, "--output=%/{#}", "logs keep the output of each entry (`jobstack logs ENTRY`), and --output writes a file for each"},
	{"C", 1, "--colsep=%", "it is called --colsep"},
	{"max-args max-replace-args max-lines n N L", 1, NULL, "CMD gets one name each time: for N names at once, push lists of names: `split -l N FILE part. && jobstack run --shell -- 'xargs CMD <{}' ::: part.*`"},
	{"xargs m context-replace X", 0, NULL, "CMD gets one name each time: for many names at once, push lists of names: `split -l 50 FILE part. && jobstack run --shell -- 'xargs CMD <{}' ::: part.*`"},
	{"tagstring", 1, "--tag", "--tag prints the name before each line"},
	{"t", 0, "-v", "-v prints more"},
	{"interactive p", 0, "--dry-run", "--dry-run prints the command lines"},
	{"nice", 1, "^nice -n % ", "nice stands before the line"},
	{"delimiter d", 1, "^tr % '\\n' | ", "names are lines, or end with NUL (-0)"},
	{"header", 1, NULL, "all lines are names, and fields have numbers: `tail -n +2 FILE | jobstack run --colsep , -- CMD {1} {2}`"},
	{"array", 1, NULL, "the tasks of an array are names: `seq 1 5 | jobstack run --as-array -- ./job.sh`"},
	{"pipe pipepart pipe-part", 0, NULL, "CMD gets names, not parts of the input: `split -n l/8 FILE part. && jobstack run --shell -- 'CMD <{}' ::: part.*`"},
	{"sshlogin S sshloginfile slf return transferfile trc basefile", 1, NULL, "each host runs workers of its own: `jobstack push -s NAME -a FILE` fills a stack, and `jobstack-worker -s NAME -- CMD {}` on each host runs it"},
	{NULL, 0, NULL, NULL}};
/* clang-format on */

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
	{0, JS_OPT_ANSWERS, NULL, NULL, js_worker_answers},
	{0, NULL, NULL, NULL, NULL}};

const struct js_opts js_worker_opts = {
	"jobstack-worker",
	"[OPTIONS] -- CMD ARG...",
	"Claims entries of a stack, runs CMD on each, and records how each one ended, until nothing is left.",
	table,
	"In CMD and TEMPLATE: {} the datapath, {/} its base name, {//} its directory, {.} the datapath without\n"
	"extension, {..} without two, {/.} the base name without extension, {#} the entry's number, {%} the slot. "
	"Without a\n"
	"placeholder, the datapath is the last argument. With --colsep, {1} {2} ... are the fields, and {1/} {1//}\n"
	"{1.} {1/.} their parts. An entry with too few fields fails without being run. ${1} is not a placeholder,\n"
	"but left to the shell. A datapath that does not begin with / is relative. With --colsep, only its\n"
	"beginning counts, even if a later field is an absolute path. CMD finds JOBSTACK_DATAPATH, _ENTRY,\n"
	"_ATTEMPT, _SLOT, _STACK and _WORKER in its environment. With --persistent, only {%} can be used in CMD,\n"
	"nothing is appended, and the environment has _SLOT, _STACK, _WORKER and _PERSISTENT.\n"
	"\n  srun jobstack-worker -s mystack -- ./convert.sh {}",
	1};
