/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack doctor: the connection, the server and its settings.  Promises: a setting that each session of ours sets for
 * itself is not judged; what low rights hide is shown as unknown.
 */
#include "cli/doctor/doctor.h"

#include "base/array.h"
#include "base/clock.h"
#include "cli/host.h"
#include "insight/stack.h"
#include "view/amount.h"
#include "view/words.h"

#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define MB 1048576.0
#define PATIENCE_US (5 * JS_SECOND_US)
#define SLOW_US (20 * 1000)
#define CLOCK_US (5 * JS_SECOND_US)
#define CLOCKS_US (60 * JS_SECOND_US) /* how far the proofs by Slurm let clocks lie apart */

static const char *fact_or(const struct doctor *d, const char *name, const char *none)
{
	const char *found = doctor_fact(d, name);

	return found != NULL ? found : none;
}

static int fact_is(const struct doctor *d, const char *name, const char *value)
{
	const char *found = doctor_fact(d, name);

	return found != NULL && strcasecmp(found, value) == 0;
}

static int is_on(const struct doctor *d, const char *name)
{
	return fact_is(d, name, "ON") || fact_is(d, name, "1");
}

/* ---------------------------------------------------------------------------------------------------- connection */

/* Is HOST this host alone? */
static int check_name(struct doctor *d, const char *host)
{
	static const char remedy[] = "compute nodes can't reach it there: start the server with `jobstack server start "
				     "--bind HOST` (this host's name), or in a job with `jobstack server submit`";
	char address[INET6_ADDRSTRLEN];
	int loopback, rc = cli_host_resolve(host, address, &loopback);

	if (rc != 0) {
		doctor_say(d, DOCTOR_WARN, "name", "use the IP address, or ask your admin to correct the name server",
			   "%s: %s", host, gai_strerror(rc));
		return 0;
	}
	doctor_say(d, loopback && d->slurm ? DOCTOR_WARN : DOCTOR_OK, "name", remedy, "%s is %s%s", host, address,
		   loopback ? ", which only this host can reach" : "");
	return loopback;
}

static int connect_to_it(struct doctor *d)
{
	struct jobstack_options options = JOBSTACK_OPTIONS_INIT;
	int64_t began = js_clock_mono_us();
	char where[600], host[CLI_HOST];
	int status, local;
	int64_t took;

	options.defaults_file = cli_option_file(d->cli);
	options.patience_us = PATIENCE_US;
	status = jobstack_open(&d->cli->handle, &options, &d->cli->error);
	if (status == JOBSTACK_ESTOPPED)
		return -1;
	if (status != 0) {
		const char *remedy = cli_remedy(d->cli);

		if (d->cli->error.server_errno == 2005)
			remedy = "the name does not resolve here: use the IP address, or ask your admin to correct the "
				 "name server";
		else if (d->inner && status == JOBSTACK_ENODB)
			remedy = "check that no firewall blocks this node, and that the server accepts other hosts "
				 "(`jobstack server start --bind HOST`)";
		doctor_say(d, DOCTOR_FAIL, "connection", remedy, "%s", d->cli->error.text);
		return -1;
	}
	jobstack_describe(d->cli->handle, where, sizeof(where));
	cli_host_of(where, host);
	took = js_clock_mono_us() - began;
	local = host[0] == '\0' || check_name(d, host);
	doctor_say(d, strstr(where, ", no TLS") != NULL && !local ? DOCTOR_WARN : DOCTOR_OK, "connection",
		   "the password is encrypted, but names and outcomes are not: enable TLS at the server",
		   "%s, after %.0f ms", where, (double)took / 1e3);
	return 0;
}

/* -------------------------------------------------------------------------------------------------------- rights */

static const char *const right[] = {"SELECT", "INSERT", "UPDATE", "DELETE",	"CREATE",
				    "ALTER",  "DROP",	"INDEX",  "CREATE VIEW"};
#define RIGHTS (sizeof(right) / sizeof(right[0]))
#define WORK 0x00fu /* the first four, a bit each */
#define INIT 0x1f0u

/* Does the pattern of a GRANT (% and _ are wildcards, a backslash takes that away) fit the NAME? */
static int matches_grant(const char *pattern, size_t len, const char *name)
{
	if (len == 0)
		return *name == '\0';
	if (*pattern == '%')
		return matches_grant(pattern + 1, len - 1, name) ||
		       (*name != '\0' && matches_grant(pattern, len, name + 1));
	if (*pattern == '\\' && len > 1)
		return pattern[1] == *name && matches_grant(pattern + 2, len - 2, name + 1);
	return *name != '\0' && (*pattern == '_' || *pattern == *name) && matches_grant(pattern + 1, len - 1, name + 1);
}

/* What "GRANT A, B ON `pattern`.* TO ..." gives in the database NAME. */
static unsigned rights_in(const char *grant, const char *name)
{
	const char *on = strstr(grant, " ON "), *scope, *end, *word;
	unsigned bits = 0;

	if (on == NULL || strncmp(grant, "GRANT ", 6) != 0)
		return 0;
	scope = on + 4;
	end = strstr(scope, ".* TO ");
	if (end == NULL)
		return 0;
	if (*scope == '`' && end > scope + 1 ? !matches_grant(scope + 1, (size_t)(end - scope) - 2, name)
					     : strncmp(scope, "*.*", 3) != 0)
		return 0;
	for (word = grant + 6; word < on; word += strspn(word, ", ")) {
		size_t len = strcspn(word, ",");

		if (word + len > on)
			len = (size_t)(on - word);
		for (size_t i = 0; i < RIGHTS; i++)
			if (len == strlen(right[i]) && strncmp(word, right[i], len) == 0)
				bits |= 1u << i;
		if (len >= 3 && strncmp(word, "ALL", 3) == 0)
			bits |= WORK | INIT;
		word += len;
	}
	return bits;
}

static void name_rights(unsigned bits, char text[200])
{
	text[0] = '\0';
	for (size_t i = 0; i < RIGHTS; i++)
		if (bits & 1u << i)
			(void)snprintf(text + strlen(text), 200 - strlen(text), "%s%s", text[0] == '\0' ? "" : ", ",
				       right[i]);
}

static void check_rights(struct doctor *d)
{
	const char *database = doctor_fact(d, "database"), *user = fact_or(d, "user", "?");
	unsigned have = 0, roles = 0;
	char text[200];

	if (database == NULL)
		return;
	for (size_t i = 0; i < d->facts_n; i++)
		if (strcmp(d->facts[i].name, "grant") == 0) {
			have |= rights_in(d->facts[i].value, database);
			roles |= strstr(d->facts[i].value, " ON ") == NULL;
		}
	name_rights((WORK | INIT) & ~have, text);
	if ((have & WORK) != WORK && roles)
		doctor_say(d, DOCTOR_WARN, "rights", "see docs/ADMIN.md for the rights that are needed",
			   "%s has rights through a role; which ones is unknown", user);
	else if ((have & WORK) != WORK)
		doctor_say(d, DOCTOR_FAIL, "rights", "ask the database's admin for the GRANTs in docs/ADMIN.md",
			   "%s lacks in `%s`: %s", user, database, text);
	else if ((have & INIT) != INIT)
		doctor_say(d, DOCTOR_OK, "rights", NULL, "%s can use `%s`; only `jobstack init` would also need %s",
			   user, database, text);
	else
		doctor_say(d, DOCTOR_OK, "rights", NULL, "%s has all rights that are needed in `%s`", user, database);
}

/* ------------------------------------------------------------------------------------------------------ settings */

static void check_version(struct doctor *d)
{
	const char *text = doctor_fact(d, "version");
	int maria = text != NULL && strstr(text, "MariaDB") != NULL;
	unsigned major = 0, minor = 0;
	double schema = doctor_number(d, "schema.version", 0);

	if (text == NULL || sscanf(text, "%u.%u", &major, &minor) != 2)
		doctor_say(d, DOCTOR_WARN, "server", "jobstack needs MySQL 8.0 or MariaDB 10.5, or later",
			   "its version is unknown");
	else if (maria ? major * 100 + minor < 1005 : major < 8)
		doctor_say(d, DOCTOR_FAIL, "server", "jobstack needs MySQL 8.0 or MariaDB 10.5, or later",
			   "%s %s is too old", maria ? "MariaDB" : "MySQL", text);
	else
		doctor_say(d, DOCTOR_OK, "server", NULL, "%s %s", maria ? "MariaDB" : "MySQL", text);
	if (schema < 1)
		doctor_say(d, DOCTOR_FAIL, "schema", "jobstack init", "there is no schema yet in `%s`",
			   fact_or(d, "database", "a database that does not exist yet"));
	else if (schema != jobstack_schema_version())
		doctor_say(d, DOCTOR_FAIL, "schema",
			   schema < jobstack_schema_version() ? "jobstack init"
							      : "install the newer jobstack on this machine",
			   "version %.0f, but this program needs version %u", schema, jobstack_schema_version());
	else
		doctor_say(d, DOCTOR_OK, "schema", NULL, "version %.0f", schema);
}

static int add_workers(void *ctx, const struct jobstack_status *s)
{
	*(uint64_t *)ctx += s->workers;
	return 0;
}

static void check_connections(struct doctor *d)
{
	double most = doctor_number(d, "variable.max_connections", 0),
	       used = doctor_number(d, "status.max_used_connections", 0);
	double now = doctor_number(d, "status.threads_connected", 0),
	       mine = doctor_number(d, "variable.max_user_connections", 0);
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	uint64_t workers = 0;

	if (most <= 0)
		return;
	if (mine > 0 && mine < most)
		most = mine;
	if (doctor_fact(d, "schema.version") != NULL)
		(void)jobstack_status(d->cli->handle, NULL, add_workers, &workers, &error);
	doctor_say(d, (double)workers + 50 > most || used >= 0.9 * most ? DOCTOR_WARN : DOCTOR_OK, "connections",
		   "set max_connections to the number of workers plus 50: now workers have to share connections, which "
		   "is slower",
		   "%.0f allowed, %.0f now, %.0f at the busiest; %" PRIu64 " worker%s alive", most, now, used, workers,
		   workers == 1 ? " is" : "s are");
}

static void check_durability(struct doctor *d)
{
	int log_bin = is_on(d, "variable.log_bin");

	if (log_bin && fact_is(d, "variable.binlog_format", "STATEMENT"))
		doctor_say(d, DOCTOR_FAIL, "binary log",
			   "set binlog_format=ROW: the server refuses READ COMMITTED with STATEMENT",
			   "binlog_format=STATEMENT");
	else if (log_bin && !fact_is(d, "variable.sync_binlog", "1"))
		doctor_say(d, DOCTOR_WARN, "binary log",
			   "set sync_binlog=1: otherwise a crash can lose committed outcomes", "sync_binlog=%s",
			   fact_or(d, "variable.sync_binlog", "?"));
	else
		doctor_say(d, DOCTOR_OK, "binary log", NULL, "%s",
			   log_bin ? fact_or(d, "variable.binlog_format", "on") : "off");
	if (doctor_fact(d, "variable.innodb_flush_log_at_trx_commit") != NULL &&
	    !fact_is(d, "variable.innodb_flush_log_at_trx_commit", "1"))
		doctor_say(d, DOCTOR_WARN, "durability", "set it to 1: otherwise a crash can lose committed outcomes",
			   "innodb_flush_log_at_trx_commit=%s",
			   doctor_fact(d, "variable.innodb_flush_log_at_trx_commit"));
	else
		doctor_say(d, DOCTOR_OK, "durability", NULL, "each commit is flushed to the disk");
	if (doctor_number(d, "variable.innodb_force_recovery", 0) > 0)
		doctor_say(d, DOCTOR_FAIL, "durability",
			   "remove it from the server's option file, once its data is saved",
			   "innodb_force_recovery=%s", doctor_fact(d, "variable.innodb_force_recovery"));
}

static void check_sizes(struct doctor *d)
{
	double packet = doctor_number(d, "variable.max_allowed_packet", 0);
	const char *group = doctor_fact(d, "variable.group_replication_group_name");

	if (packet > 0)
		doctor_say(d, packet < 4 * MB ? DOCTOR_WARN : DOCTOR_OK, "packets",
			   "raise max_allowed_packet to at least 4M", "max_allowed_packet is %.4g MB", packet / MB);
	doctor_say(d, DOCTOR_OK, "loads", NULL, "%s",
		   is_on(d, "variable.local_infile") ? "local_infile is on: large pushes use LOAD DATA"
						     : "local_infile is off: large pushes take 50 % longer");
	if (is_on(d, "variable.wsrep_on") || (group != NULL && *group != '\0'))
		doctor_say(d, DOCTOR_WARN, "cluster",
			   "if several servers accept writes, list them in the same order for all clients (see "
			   "docs/ADMIN.md)",
			   "the server belongs to a cluster (Galera, or Group Replication)");
}

static void check_purge(struct doctor *d)
{
	double history = doctor_number(d, "status.innodb_history_list_length", doctor_number(d, "purge.history", -1));
	double oldest = doctor_number(d, "transaction.oldest_seconds", -1);

	if (history < 0 && oldest < 0) {
		doctor_say(d, DOCTOR_OK, "purge", NULL,
			   "unknown: the server shows it only to users with the PROCESS privilege");
		return;
	}
	if (history >= 0)
		doctor_say(d, history > 1e6 ? DOCTOR_WARN : DOCTOR_OK, "purge",
			   "a long transaction prevents it, and pops get slower until it ends (see SHOW ENGINE INNODB "
			   "STATUS)",
			   "%.0f old row versions are waiting for the purge", history);
	if (oldest > 600)
		doctor_say(d, DOCTOR_WARN, "purge", "end it, or send long SELECTs to a replica",
			   "the oldest transaction is %.0f s old", oldest);
}

static void check_clocks(struct doctor *d)
{
	double ahead = doctor_number(d, "clock.ahead_us", 0), apart = ahead < 0 ? -ahead : ahead;
	double trip = doctor_number(d, "roundtrip_us", 0);

	doctor_say(
		d, apart > (double)CLOCK_US ? DOCTOR_WARN : DOCTOR_OK, "clock",
		apart > (double)CLOCKS_US
			? "synchronize the clocks (chrony, ntp): times are shown wrongly, and jobstack can't use what "
			  "Slurm says about dead workers"
			: "synchronize the clocks (chrony, ntp): leases are not affected, but times are shown wrongly",
		apart < JS_SECOND_US / 10 ? "the server's clock and this host's agree"
					  : "the server's clock is %s %s this host's",
		view_duration((int64_t)apart).text, ahead < 0 ? "behind" : "ahead of");
	doctor_say(d, trip > SLOW_US ? DOCTOR_WARN : DOCTOR_OK, "round trip",
		   "the database is far away or busy: short commands will have to wait for it", "%.2f ms", trip / 1e3);
}

static void check_disk(struct doctor *d)
{
	const char *host = doctor_fact(d, "variable.hostname"), *dir = doctor_fact(d, "variable.datadir");
	char own[256] = "";

	(void)gethostname(own, sizeof(own) - 1);
	if (host != NULL && dir != NULL && strcmp(host, own) == 0)
		doctor_disk(d, "disk", dir, 1024 * MB, 64 * MB,
			    "free space on the server's disk: a full disk stops all work");
	else
		doctor_say(d, DOCTOR_OK, "disk", NULL, "unknown: the server is on another host%s%s",
			   host != NULL ? ", " : "", host != NULL ? host : "");
}

/* --------------------------------------------------------------------------------------------------------- stack */

static void examine_stack(struct doctor *d)
{
	struct insight_stack s = {.cwd = {0}};
	char cwd[4097];

	if (!d->cli->stack_given || doctor_number(d, "schema.version", 0) != jobstack_schema_version())
		return;
	js_error_clear(&d->cli->error);
	if (insight_stack_read(d->cli->handle, d->cli->stack, &s, &d->cli->error) != 0)
		doctor_say(d, DOCTOR_FAIL, "stack", cli_remedy(d->cli), "%s", d->cli->error.text);
	else if (s.s.state != JOBSTACK_OPEN)
		doctor_say(d, DOCTOR_WARN, "stack", "`jobstack resume` continues it", "\"%s\" is %s", d->cli->stack,
			   view_stack_word(s.s.state));
	else if (s.cwd.len > 0 && getcwd(cwd, sizeof(cwd)) != NULL && strcmp(cwd, s.cwd.data) != 0)
		doctor_say(d, DOCTOR_WARN, "stack", "start workers there, or give them --chdir",
			   "the names of \"%s\" belong to %s, not to %s", d->cli->stack, s.cwd.data, cwd);
	else
		doctor_say(d, DOCTOR_OK, "stack", NULL, "\"%s\" has %" PRIu64 " left", d->cli->stack,
			   insight_stack_left(&s.s));
	insight_stack_free(&s);
}

static int add_fact(void *ctx, const char *name, const char *value)
{
	struct doctor *d = ctx;
	struct doctor_fact *more;

	if (js_array_grow(&d->facts, &d->facts_room, d->facts_n + 1, sizeof(*more)) != 0) {
		d->memory = 1;
		return 1;
	}
	more = d->facts;
	more[d->facts_n] = (struct doctor_fact){strdup(name), strdup(value)};
	if (more[d->facts_n].name == NULL || more[d->facts_n].value == NULL) {
		free(more[d->facts_n].name);
		free(more[d->facts_n].value);
		d->memory = 1;
		return 1;
	}
	d->facts_n++;
	return 0;
}

void doctor_database(struct doctor *d)
{
	if (connect_to_it(d) != 0)
		return;
	js_error_clear(&d->cli->error);
	if (jobstack_server_facts(d->cli->handle, add_fact, d, &d->cli->error) != 0) {
		if (cli_stop == 0)
			doctor_say(d, DOCTOR_FAIL, "server", cli_remedy(d->cli), "%s", d->cli->error.text);
		return;
	}
	check_version(d);
	check_rights(d);
	examine_stack(d);
	check_clocks(d);
	if (d->inner) /* the rest is the same from anywhere */
		return;
	check_connections(d);
	check_durability(d);
	check_sizes(d);
	doctor_say(d, DOCTOR_OK, "sessions", NULL,
		   "each session sets isolation, time zone, wait_timeout and lock waits itself");
	check_purge(d);
	check_disk(d);
}
