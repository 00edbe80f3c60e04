/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack doctor: the connection, the server and its settings.  Promises: a setting that each session of ours sets for
 * itself is not judged; what low rights hide is shown as unknown.
 */
#include "cli/doctor/doctor.h"

#include "base/clock.h"
#include "frame/host.h"
#include "cli/why.h"
#include "proc/net.h"
#include "exec/worker_options.h"
#include "show/amount.h"
#include "show/words.h"

#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define MB 1048576.0
#define PATIENCE_US (5 * JS_SECOND_US)
#define LIST_LIMIT_US (600 * JS_SECOND_US)
#define SLOW_US (20 * 1000)
#define SLOW_COMMIT_US (10 * 1000)
#define CLOCK_US (5 * JS_SECOND_US)
#define RIGHTS_TO_WORK 4	      /* the first of all; `jobstack init` needs the others, too */
#define CLOCKS_US (60 * JS_SECOND_US) /* how far the proofs by Slurm let clocks lie apart */

/* ---------------------------------------------------------------------------------------------------- connection */

/* Checks the name HOST.  Returns whether it means this host alone (a loopback address): compute nodes can't reach it
 * then. */
static int check_name(struct doctor *d, const char *host)
{
	static const char remedy[] = "compute nodes can't reach it there: start the server with `jobstack server start "
				     "--bind HOST` (this host's name), or in a job with `jobstack server submit`";
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *all;
	char address[INET6_ADDRSTRLEN] = "?";
	int loopback, rc = getaddrinfo(host, NULL, &hints, &all);

	if (rc != 0) {
		doctor_warn(d, "name", "use the IP address, or ask your admin to correct the name server", "%s: %s",
			    host, gai_strerror(rc));
		return 0;
	}
	(void)getnameinfo(all->ai_addr, all->ai_addrlen, address, sizeof(address), NULL, 0, NI_NUMERICHOST);
	freeaddrinfo(all);
	loopback = js_net_loopback(address);
	doctor_warn_if(loopback && d->slurm, d, "name", remedy, "%s is %s%s", host,
		       strcmp(host, address) == 0 ? "an address" : address,
		       loopback ? ", which only this host can reach" : "");
	return loopback;
}

/* Connects, and checks the way to the server.  Returns 0; -1 if there is no connection, or a signal came. */
static int connect_to_database(struct doctor *d)
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

		if (d->inner && status == JOBSTACK_ENODB)
			remedy = "check that no firewall blocks this node, and that the server accepts other hosts "
				 "(`jobstack server start --bind HOST`)";
		doctor_fail(d, "connection", remedy, "%s", d->cli->error.text);
		return -1;
	}
	jobstack_describe(d->cli->handle, where, sizeof(where));
	cli_host_of(where, host);
	took = js_clock_mono_us() - began;
	local = host[0] == '\0' || check_name(d, host);
	doctor_warn_if(strstr(where, ", no TLS") != NULL && !local, d, "connection",
		       "the password is encrypted, but names and outcomes are not: enable TLS at the server",
		       "%s, after %.0f ms", where, (double)took / 1e3);
	return 0;
}

/* -------------------------------------------------------------------------------------------------------- rights */

/* Checks the rights.  A role hides from its members which rights it has, so where one may explain what seems to be
 * missing, a row is written and removed to see whether that is allowed. */
static void check_rights(struct doctor *d)
{
	static const char *const right[] = {"SELECT", "INSERT", "UPDATE", "DELETE",	"CREATE",
					    "ALTER",  "DROP",	"INDEX",  "CREATE VIEW"};
	const char *database = figures_server_text(&d->server, "database", NULL),
		   *user = figures_server_text(&d->server, "user", "?"),
		   *role = figures_server_text(&d->server, "role", NULL);
	struct jobstack_error ignored = JOBSTACK_ERROR_INIT;
	char lacks[200] = "";
	int works = 1;
	int64_t us;

	if (database == NULL || figures_server_text(&d->server, "right", NULL) == NULL)
		return; /* each account has at least USAGE: the server did not answer */
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++)
		if (!figures_server_is(&d->server, "right", right[i])) {
			(void)snprintf(lacks + strlen(lacks), sizeof(lacks) - strlen(lacks), "%s%s",
				       lacks[0] == '\0' ? "" : ", ", right[i]);
			works &= i >= RIGHTS_TO_WORK;
		}
	if (lacks[0] == '\0')
		doctor_ok(d, "rights", "%s has all rights that are needed in `%s`", user, database);
	else if (works)
		doctor_ok(d, "rights", "%s can use `%s`; only `jobstack init` would also need %s", user, database,
			  lacks);
	else if (role == NULL)
		doctor_fail(d, "rights", "ask the database's admin for the GRANTs in docs/ADMIN.md",
			    "%s lacks in `%s`: %s", user, database, lacks);
	else if (jobstack_commit_time(d->cli->handle, &us, &us, &ignored) == 0)
		doctor_ok(d, "rights", "%s reads and writes `%s` by the role %s", user, database, role);
	else
		doctor_warn(d, "rights", "see docs/ADMIN.md for the rights that are needed",
			    "%s has rights through the role %s; which ones is unknown", user, role);
}

/* ------------------------------------------------------------------------------------------------------ settings */

/* Checks that the server is new enough, and that its schema is the one of this program. */
static void check_version(struct doctor *d)
{
	static const char needs[] = "jobstack needs MySQL 8.0 or MariaDB 10.5, or later";
	const char *text = figures_server_text(&d->server, "version", "");
	int maria = strstr(text, "MariaDB") != NULL;
	const char *product = maria ? "MariaDB" : "MySQL";
	double schema = figures_server_number(&d->server, "schema.version", 0);
	unsigned major = 0, minor = 0;

	if (sscanf(text, "%4u.%4u", &major, &minor) != 2)
		doctor_warn(d, "server", needs, "its version is unknown");
	else if (major * 100 + minor < (maria ? 1005 : 800))
		doctor_fail(d, "server", needs, "%s %s is too old", product, text);
	else
		doctor_ok(d, "server", "%s %s", product, text);
	if (schema < 1)
		doctor_fail(d, "schema", "jobstack init", "there is no schema yet in `%s`",
			    figures_server_text(&d->server, "database", "a database that does not exist yet"));
	else if (schema != jobstack_schema_version())
		doctor_fail(d, "schema",
			    schema < jobstack_schema_version() ? "jobstack init"
							       : "install the newer jobstack on this machine",
			    "version %.0f, but this program needs version %u", schema, jobstack_schema_version());
	else
		doctor_ok(d, "schema", "version %.0f", schema);
}

static int add_workers(void *ctx, const struct jobstack_status *s)
{
	*(uint64_t *)ctx += s->workers;
	return 0;
}

/* Compares the limit of connections, the server's or this user's own, with what workers need. */
static void check_connections(struct doctor *d)
{
	double most = figures_server_number(&d->server, "variable.max_connections", 0),
	       used = figures_server_number(&d->server, "status.max_used_connections", 0);
	double now = figures_server_number(&d->server, "status.threads_connected", 0),
	       mine = figures_server_number(&d->server, "variable.max_user_connections", 0);
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	uint64_t workers = 0;

	if (most <= 0)
		return;
	if (mine > 0 && mine < most)
		most = mine;
	if (figures_server_number(&d->server, "schema.version", 0) > 0)
		(void)jobstack_status(d->cli->handle, NULL, add_workers, &workers, &error);
	doctor_warn_if(
		(double)workers + 50 > most || used >= 0.9 * most, d, "connections",
		"set max_connections to the number of workers plus 50: now workers have to share connections, which "
		"is slower",
		"%.0f allowed, %.0f now, %.0f at the busiest; %" PRIu64 " worker%s alive", most, now, used, workers,
		workers == 1 ? " is" : "s are");
}

/* Checks what a crash of the server could lose. */
static void check_durability(struct doctor *d)
{
	const char *format = figures_server_text(&d->server, "variable.binlog_format", "on"),
		   *sync = figures_server_text(&d->server, "variable.sync_binlog", "?"),
		   *flush = figures_server_text(&d->server, "variable.innodb_flush_log_at_trx_commit", "1");
	double recovery = figures_server_number(&d->server, "variable.innodb_force_recovery", 0);

	if (!figures_server_is_on(&d->server, "variable.log_bin"))
		doctor_ok(d, "binary log", "off");
	else if (strcasecmp(format, "STATEMENT") == 0)
		doctor_fail(d, "binary log", "set binlog_format=ROW: the server refuses READ COMMITTED with STATEMENT",
			    "binlog_format=STATEMENT");
	else if (strcmp(sync, "1") != 0)
		doctor_warn(d, "binary log", "set sync_binlog=1: otherwise a crash can lose committed outcomes",
			    "sync_binlog=%s", sync);
	else
		doctor_ok(d, "binary log", "%s", format);
	if (strcmp(flush, "1") != 0)
		doctor_warn(d, "durability", "set it to 1: otherwise a crash can lose committed outcomes",
			    "innodb_flush_log_at_trx_commit=%s", flush);
	else
		doctor_ok(d, "durability", "each commit is flushed to the disk");
	if (recovery > 0)
		doctor_fail(d, "durability",
			    "save the server's data, then remove this setting from the server's option file",
			    "innodb_force_recovery=%.0f", recovery);
}

/* Measures what holds up each step of each worker: a commit.  With -s it also asks the stack's own workers. */
static void check_speed(struct doctor *d)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct figures_snapshot l = {.n = 0};
	char words[500];
	const char *remedy;
	int64_t us, least;

	if (figures_server_number(&d->server, "schema.version", 0) != jobstack_schema_version() ||
	    jobstack_commit_time(d->cli->handle, &us, &least, &error) != 0)
		return; /* other lines say why */
	remedy = cli_why_server(&d->server, us, least >= SLOW_COMMIT_US / 2, words, sizeof(words));
	if (us < SLOW_COMMIT_US)
		doctor_ok(d, "commit", "%s", show_took((double)us).text);
	else
		doctor_warn(d, "commit", remedy, "%s (%s)", show_took((double)us).text, words);
	if (d->cli->stack_given && figures_snapshot_read(d->cli->handle, d->cli->stack, &l, &error) == 0 &&
	    figures_snapshot_steps(d->cli->handle, &l, &error) == 0 && l.held_back) {
		remedy = cli_why_steps(&l.steps, words, sizeof(words));
		doctor_warn(d, "steps", remedy, "%s", words);
	}
	figures_snapshot_free(&l);
}

/* Checks what pushes depend on (packets, LOAD DATA), and whether several servers may accept writes. */
static void check_sizes(struct doctor *d)
{
	double packet = figures_server_number(&d->server, "variable.max_allowed_packet", 0);
	const char *group = figures_server_text(&d->server, "variable.group_replication_group_name", "");

	if (packet > 0)
		doctor_warn_if(packet < 4 * MB, d, "packets", "raise max_allowed_packet to at least 4M",
			       "max_allowed_packet is %.4g MB", packet / MB);
	doctor_ok(d, "loads", "%s",
		  figures_server_is_on(&d->server, "variable.local_infile")
			  ? "local_infile is on: large pushes use LOAD DATA"
			  : "local_infile is off: large pushes take 50 % longer");
	if (figures_server_is_on(&d->server, "variable.wsrep_on") || *group != '\0')
		doctor_warn(d, "cluster",
			    "if several servers accept writes, list them in the same order for all clients (see "
			    "docs/ADMIN.md)",
			    "the server belongs to a cluster (Galera, or Group Replication)");
}

/* Looks for a transaction that keeps InnoDB from removing old row versions: each pop then reads over more of them. */
static void check_purge(struct doctor *d)
{
	double history = figures_server_number(&d->server, "status.innodb_history_list_length",
					       figures_server_number(&d->server, "purge.history", -1));
	double oldest = figures_server_number(&d->server, "transaction.oldest_seconds", -1);

	if (history < 0 && oldest < 0) {
		doctor_ok(d, "purge", "unknown: the server shows it only to users with the PROCESS privilege");
		return;
	}
	if (history >= 0)
		doctor_warn_if(history > 1e6, d, "purge",
			       "a long transaction holds up the purge, and pops get slower until that transaction ends "
			       "(see SHOW ENGINE INNODB STATUS)",
			       "%.0f old row versions are waiting for the purge", history);
	if (oldest > 600)
		doctor_warn(d, "purge", "end it, or send long SELECTs to a replica",
			    "the oldest transaction is %.0f s old", oldest);
}

/* Checks the clocks.  Leases are measured by the server's clock alone; but Slurm's times are compared with it, and
 * people read both. */
static void check_clocks(struct doctor *d)
{
	double ahead = figures_server_number(&d->server, "clock.ahead_us", 0), apart = ahead < 0 ? -ahead : ahead;
	double trip = figures_server_number(&d->server, "roundtrip_us", 0);

	doctor_warn_if(
		apart > (double)CLOCK_US, d, "clock",
		apart > (double)CLOCKS_US
			? "synchronize the clocks (chrony, ntp): times are shown wrongly, and jobstack can't use what "
			  "Slurm says about dead workers"
			: "synchronize the clocks (chrony, ntp): leases are not affected, but times are shown wrongly",
		apart < JS_SECOND_US / 10 ? "the server's clock and this host's agree"
					  : "the server's clock is %s %s this host's",
		show_duration((int64_t)apart).text, ahead < 0 ? "behind" : "ahead of");
	doctor_warn_if(trip > SLOW_US, d, "round trip",
		       "the database is far away or busy: short commands will have to wait for it", "%.2f ms",
		       trip / 1e3);
}

/* The server's disk can be measured only on its own host. */
static void check_disk(struct doctor *d)
{
	const char *host = figures_server_text(&d->server, "variable.hostname", ""),
		   *dir = figures_server_text(&d->server, "variable.datadir", NULL);
	char own[256] = "";

	(void)gethostname(own, sizeof(own) - 1);
	if (dir != NULL && strcmp(host, own) == 0)
		doctor_disk(d, "disk", dir, 1024 * MB, 64 * MB,
			    "free space on the server's disk: a full disk stops all work");
	else
		doctor_ok(d, "disk", "unknown: the server is on another host%s%s", *host != '\0' ? ", " : "", host);
}

/* --------------------------------------------------------------------------------------------------------- stack */

static void print_stack_reason(void *ctx, const struct cli_reason *why)
{
	struct doctor *d = ctx;

	doctor_warn_if(why->remedy != NULL, d, "stack", why->remedy, "%s: %s", why->stack, why->text);
}

/* Checks the stack of -s: whether it is open, and whether workers that start here would find its relative names. */
static void examine_stack(struct doctor *d)
{
	struct figures_stack s = {.cwd = {0}};
	char cwd[4097];

	if (!d->cli->stack_given || figures_server_number(&d->server, "schema.version", 0) != jobstack_schema_version())
		return;
	js_error_clear(&d->cli->error);
	if (figures_stack_read(d->cli->handle, d->cli->stack, &s, &d->cli->error) != 0)
		doctor_fail(d, "stack", cli_remedy(d->cli), "%s", d->cli->error.text);
	else if (s.s.state != JOBSTACK_OPEN)
		cli_why_counts(&s, print_stack_reason, d);
	else if (s.cwd.len > 0 && getcwd(cwd, sizeof(cwd)) != NULL && strcmp(cwd, s.cwd.data) != 0)
		doctor_warn(d, "stack",
			    "start workers in the directory where the names were pushed, or give them --chdir",
			    "the relative names in \"%s\" were pushed from the directory %s, but this is %s",
			    d->cli->stack, s.cwd.data, cwd);
	else
		doctor_ok(d, "stack", "\"%s\" has %" PRIu64 " left", d->cli->stack, figures_stack_left(&s.s));
	figures_stack_free(&s);
}

/* Called for each attempt in order, so that the line of the last one stays. */
static int copy_worker_line(void *ctx, const struct jobstack_item *item)
{
	struct cli_words *line = ctx;
	const char *at = item->argv.data, *end = at + item->argv.len;

	cli_words_free(line);
	if (at == NULL || strcmp(basename(at), "jobstack-worker") != 0)
		return 0;
	/* never the program that the database names */
	cli_words_format(line, "%s/jobstack-worker", js_child_program_dir());
	cli_words_add(line, "--new-stack");
	for (at += strlen(at) + 1; at < end; at += strlen(at) + 1)
		cli_words_add(line, at);
	return 0;
}

/* Names that were pushed after the worker's options had been checked may share an output file.  Asks a worker once
 * more, with the line of the worker that ran the stack's last entry, if one did. */
static void check_results(struct doctor *d)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct cli_words line = {0};
	struct js_buf out = {0}, said = {0};
	const struct cli_command try = {.words = &line, .out = &out, .err = &said, .limit_us = LIST_LIMIT_US};
	struct jobstack_status s;

	if (d->cli->stack_given && cli_read_status(d->cli, &s) == 0 &&
	    jobstack_attempts(d->cli->handle, d->cli->stack, s.pushed, copy_worker_line, &line, &error) == 0 &&
	    line.n > 1 && cli_command(&try, &error) == CLI_USAGE && said.data != NULL &&
	    strstr(said.data, JS_WORKER_SHARED_FILE) != NULL)
		doctor_fail(d, "results", "start workers with another template, and requeue the entries concerned",
			    "%s", cli_first_line(&said, ""));
	cli_words_free(&line);
	js_buf_free(&out);
	js_buf_free(&said);
}

/* On a compute node only what may differ there is checked: the connection, versions, rights and clocks. */
void doctor_database(struct doctor *d)
{
	if (connect_to_database(d) != 0)
		return;
	js_error_clear(&d->cli->error);
	if (figures_server_read(&d->server, d->cli->handle, &d->cli->error) != 0) {
		if (cli_stop == 0)
			doctor_fail(d, "server", cli_remedy(d->cli), "%s", d->cli->error.text);
		return;
	}
	check_version(d);
	check_rights(d);
	examine_stack(d);
	check_clocks(d);
	if (d->inner) /* the rest is the same from anywhere */
		return;
	check_results(d);
	check_connections(d);
	check_durability(d);
	check_speed(d);
	check_sizes(d);
	check_purge(d);
	check_disk(d);
}
