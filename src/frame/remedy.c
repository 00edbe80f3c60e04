/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The remedies.  Promise: each can be typed as it is printed.
 */
#include "frame/remedy.h"

#include "base/error.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define DISK 1021 /* stands for all reasons of js_error_is_disk */

#define PACKET                                                                                                         \
	"ask the server's administrator to set max_allowed_packet=64M in its option file, or to run SET GLOBAL "       \
	"max_allowed_packet=67108864"
#define MAJORITY                                                                                                       \
	"if this lasts, the database's servers may have lost their majority: ask their administrator (Galera: SHOW "   \
	"STATUS LIKE 'wsrep_cluster_status'; MySQL: SELECT * FROM performance_schema.replication_group_members)"
#define KILLED "try again later; if it happens again, ask the server's administrator what kills statements there"
#define PRIVATE_SERVER "start a private server with `jobstack server start`"
#define NO_PASSWORD "put user and password into ~/.my.cnf (mode 600), or " PRIVATE_SERVER
#define GRANTS "ask the database's admin for the GRANTs in docs/ADMIN.md"

/* The first row counts whose REASON is the error's, and of whose conditions (WHEN; 0: there is none) one holds.  So
 * special rows stand above general ones.  A REASON is a number as in server_errno, or a code: then the row is for
 * whatever other reason.  In a text, {file} and {stack} stand for what the caller names. */
static const struct {
	int64_t reason;
	unsigned when;
	const char *text;
} remedies[] = {
	{1153, 0, PACKET}, /* a packet is too large for the server */
	{1162, 0, PACKET}, /* ... in its answer */
	{1301, 0, PACKET}, /* ... in a function */
	{2020, 0, PACKET}, /* ... for the connector */
	{1665, 0,
	 "ask the server's administrator to set binlog_format=ROW in its option file, or to run SET GLOBAL "
	 "binlog_format=ROW"},
	{1461, 0, "ask the server's administrator to raise max_prepared_stmt_count by at least 1"},
	{1197, 0, "ask the server's administrator to raise max_binlog_cache_size"},
	{4082, 0, "ask the server's administrator to raise connection_memory_limit"},
	{1047, 0, MAJORITY}, /* Galera */
	{JOBSTACK_WHY_NO_PRIMARY, 0, MAJORITY},
	{1317, 0, KILLED},
	{1969, 0, KILLED},
	{3024, 0, KILLED},
	{DISK, 0,
	 "free space on the server's disk, or raise its owner's quota, then repeat the command: each change was made "
	 "completely or not at all"},
	{2005, 0, "the name does not resolve here: use the IP address, or ask your admin to correct the name server"},
	{JOBSTACK_ENODB, JS_REMEDY_WORKER,
	 "`jobstack doctor` on this node finds out why (`jobstack server status` shows a private server)"},
	{JOBSTACK_ENODB, JS_REMEDY_NO_FILE,
	 PRIVATE_SERVER ", or put the address of your centre's server into ~/.my.cnf"},
	{JOBSTACK_WHY_TLS, 0, "check ssl-ca and the other ssl- lines in {file}"},
	{JOBSTACK_ENODB, JS_REMEDY_OWN_SERVER,
	 "check with `jobstack server status`, start it with `jobstack server start` (add --data DIR if its data is "
	 "not in the default directory)"},
	{JOBSTACK_ENODB, 0, "check that it is running, and that {file} names the right host and port"},

	/* the server refuses the user or the password */
	{1045, JS_REMEDY_NO_FILE, NO_PASSWORD},
	{1698, JS_REMEDY_NO_FILE, NO_PASSWORD},
	{1045, JS_REMEDY_OWN_SERVER, "`jobstack server start` writes {file} again"},
	{1045, 0, "correct user and password in {file}, or ask the server's administrator"},
	{1698, 0, "correct user and password in {file}, or ask the server's administrator"},
	/* the server wants the password itself, and nothing has proved that it is the right server */
	{2061, 0,
	 "set ssl-ca=FILE (the certificate of the server's CA) in {file}, and remove ssl=1 and any ssl-mode weaker "
	 "than VERIFY_CA"},
	/* a statement on a table is denied */
	{1142, 0, "this account may not change anything if `jobstack server share --read-only` made it; else " GRANTS},
	{JOBSTACK_EPERM, 0, GRANTS},

	{JOBSTACK_WHY_DAMAGED, 0, "`jobstack check` tells more"},
	{JOBSTACK_WHY_OPTION, 0, "see --help"},
	{JOBSTACK_WHY_SCHEMA_NEWER, 0, "install the newer jobstack on this machine"},
	{JS_ASIDE_MOVED, 0, "name the new server's option file in $JOBSTACK_DEFAULTS_FILE"},
	{JS_ASIDE_MOVING, 0, "wait, or repeat `jobstack server move FILE`"},
	{JS_ASIDE_HALF, 0, "wait, or repeat `jobstack server restore FILE --replace`"},
	{JOBSTACK_ESCHEMA, 0, "run `jobstack init`"},

	{JOBSTACK_WHY_NO_STACK, JS_REMEDY_WORKER,
	 "push to it first, or name another stack with -s (`jobstack status` lists them); with --wait-for-stack a "
	 "worker "
	 "waits for it"},
	{JOBSTACK_WHY_NO_STACK, JS_REMEDY_STACK_GIVEN,
	 "`jobstack status` lists the stacks, `jobstack push` creates one"},
	{JOBSTACK_WHY_NO_STACK, 0,
	 "name a stack with -s; `jobstack status` lists the stacks, -s @ is the one that you made last"},
	{JOBSTACK_WHY_NO_ENTRY, JS_REMEDY_STACK_GIVEN,
	 "`jobstack list -s {stack} -t all` lists the entries; to select by state, use -t, as in -t dead"},
	{JOBSTACK_WHY_NO_ENTRY, 0, "name its stack with -s; `jobstack status` lists the stacks"},
	{JOBSTACK_WHY_DROPPING, 0,
	 "wait until it is gone; if that drop was interrupted, `jobstack drop -s {stack}` continues it"},
	{JS_WHY_PAUSED, 0, "`jobstack resume -s {stack}` continues it"},
	{JS_WHY_PAUSED_FOR, 0, "remove the cause first; then `jobstack resume -s {stack}` continues it"},
	{JOBSTACK_WHY_CANCELLED, 0, "`jobstack resume -s {stack}` undoes the cancel"},
	{JOBSTACK_WHY_PUSHING, 0, "wait until it has ended; a push that was killed no longer counts after a minute"},
	{JOBSTACK_WHY_RUNNING, 0,
	 "wait until they end, or end them with `jobstack kill -s {stack} ENTRY` (`jobstack list -s {stack} -t "
	 "running` lists them); `jobstack recover -s {stack}` if their workers are dead"},
	{JOBSTACK_WHY_OLD_WORKERS, 0, "let them end (SIGTERM drains a worker), then run `jobstack init` again"},
	{JOBSTACK_WHY_MAX_FAILURES, 0,
	 "`jobstack requeue -s {stack}` puts the dead entries back in the queue, `jobstack set -s {stack} "
	 "max-failures=none` lifts the limit; then `jobstack resume -s {stack}` continues"},

	{JOBSTACK_EBUG, JS_REMEDY_WORKER, NULL},
	{JOBSTACK_WHY_MEMORY, 0, "this machine is out of memory, or a limit (ulimit -v, the job's --mem) is too small"},
	{JOBSTACK_EBUG, 0, "this is a bug in jobstack: please report it with this line"},
};
#define REMEDIES (sizeof(remedies) / sizeof(remedies[0]))

const char *js_remedy_fill(const char *text, const struct js_remedy *about)
{
	const char *file = about->file != NULL ? about->file : "the option file", *name;
	static char filled[2 * PATH_MAX];
	size_t n = 0;

	while (*text != '\0' && n + 1 < sizeof(filled)) {
		name = strncmp(text, "{file}", 6) == 0 ? file : strncmp(text, "{stack}", 7) == 0 ? about->stack : NULL;
		if (name == NULL)
			filled[n++] = *text++;
		else {
			(void)snprintf(filled + n, sizeof(filled) - n, "%s", name);
			n += strlen(filled + n);
			text = strchr(text, '}') + 1;
		}
	}
	filled[n] = '\0';
	return filled;
}

/* Full disks and missing memory have many numbers; one stands for each in the table. */
const char *js_remedy(const struct jobstack_error *error, const struct js_remedy *about)
{
	int64_t why = js_error_is_disk(error->server_errno)	? DISK
		      : js_error_is_memory(error->server_errno) ? JOBSTACK_WHY_MEMORY
								: error->server_errno;
	unsigned known = about->known | (about->file == NULL ? JS_REMEDY_NO_FILE : 0);

	if (error->code == JOBSTACK_EPERM && why == 0)
		return NULL; /* what the system refused needs no GRANT */
	for (size_t i = 0; i < REMEDIES; i++)
		if ((remedies[i].reason == why || remedies[i].reason == error->code) &&
		    (remedies[i].when == 0 || (remedies[i].when & known) != 0))
			return remedies[i].text == NULL ? NULL : js_remedy_fill(remedies[i].text, about);
	return NULL;
}

const char *js_remedy_text(unsigned why)
{
	size_t i = 0;

	while (remedies[i].reason != why)
		i++;
	return remedies[i].text;
}
