/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack-server: the options and the verbs of `jobstack server`, which becomes this program.  A start succeeds only
 * after a login over TLS with the client file that was written.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "frame/spec.h"
#include "server/chain.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct server server;

static int add_successor_word(struct cli *cli, void *ctx, int key, const char *arg)
{
	(void)cli;
	(void)key;
	cli_words_add(ctx, arg);
	return 0;
}

static const struct js_opt table[] = {
	{0, "data", "DIR",
	 "the server's directory (default: that of the clients' option file,\n"
	 "else ~/.local/share/jobstack/server; for root: " SERVER_ROOT_DATA ")",
	 CLI_NAME(&server.data)},
	{0, "bind", "HOST",
	 "the name or address at which the compute nodes reach this host\n"
	 "(default: that of the last start, else " SERVER_BIND ", only this host)",
	 CLI_NAME(&server.bind)},
	{0, "port", "N", "the TCP port (default: a free one, kept for later starts)",
	 CLI_NUMBER(&server.port, 1, 65535, SERVER_PORT_WORDS)},
	{0, "program", "FILE", "the server program (default: searches for mariadbd or mysqld)",
	 CLI_NAME(&server.program_file)},
	{0, "client-file", "FILE",
	 "write the option file for clients here, and ca.pem beside it\n"
	 "(default: ~/.config/jobstack/client.cnf, where clients look for it)",
	 CLI_NAME(&server.client_file)},
	{0, "user", "NAME", "as root: run the server as this user (default: mysql, else nobody)",
	 CLI_NAME(&server.user)},
	{0, "memory", "SIZE",
	 "the server's cache, innodb_buffer_pool_size\n(default: that of the last start, else 256M)",
	 CLI_SIZE(&server.memory, SERVER_MEMORY_MIN, SERVER_MEMORY_WORDS)},
	{0, "takeover", NULL,
	 "start although a server on another host has the directory;\n"
	 "only if you are sure that this other server is gone for good",
	 CLI_FLAG(&server.takeover)},
	{0, "replace", NULL, "restore, move: delete what the database has", CLI_FLAG(&server.replace)},
	{0, "read-only", "FILE", "share: write the option file of an account that may only read",
	 CLI_NAME(&server.read_only)},
	{0, "remove", "NAME", "share: remove the account read-NAME", CLI_NAME(&server.removed)},
	{0, "again", "WORD", NULL,
	 CLI_BY(add_successor_word,
		&server.successor)}, /* a word of the command that submits the next job; `submit` writes these */
	CLI_OPTS_YES,
	CLI_OPTS_JSON,
	CLI_OPTS_ALWAYS,
	CLI_OPTS_END};

static const struct js_opts opts = {
	.command = "jobstack server",
	.usage = "start|stop|status|run|backup|restore|upgrade|move|share|submit|remove [FILE] [OPTION...]",
	.about = "Runs a MariaDB or MySQL server of your own: its data in one directory, a generated password,\n"
		 "TLS with its own CA, every commit flushed to disk.\n\n"
		 "  start   starts it in the background; harmless if it is already running\n"
		 "  run     runs it in the foreground, for a service manager or a batch script;\n"
		 "          SIGTERM and SIGINT stop it\n"
		 "  stop    stops it and waits until it is gone\n"
		 "  status  shows its state; exit status 1 if it is not running\n"
		 "  backup FILE   writes the whole database to one file, while workers go on\n"
		 "  restore FILE  fills an empty database from such a file\n"
		 "  upgrade       serves the data by a newer MariaDB, and keeps a copy of them\n"
		 "  move FILE     moves the database to the server of the option file FILE\n"
		 "  share         makes an account that may only read, for a colleague (--read-only, --remove)\n"
		 "  submit  runs it as a Slurm job that submits its successor: see jobstack server submit --help\n"
		 "  remove  deletes a server that is stopped, with its data, after a question",
	.table = table,
	.notes = "The directory may be on a shared file system, but only one host at a time runs a server on it.\n"
		 "The file `owner` in the directory names that host. Other hosts refuse to start or stop the server.\n"
		 "Two servers on one directory would destroy the data: give --takeover only if the other one is\n"
		 "gone for good.\n\n"
		 "  jobstack server start --bind \"$(hostname)\"\n"
		 "  jobstack server stop"};

/* Prints the error; then, if a signal has stopped this call, dies by it. */
static int fail_or_die(struct server *s)
{
	int status = server_fail(s);

	cli_die_by_signal();
	return status;
}

/* Only a login over TLS, with the file that clients will use, proves that a start has succeeded. */
static int verb_start(struct server *s)
{
	int status;

	cli_catch_signals();
	status = server_start(s);
	if (status >= 0 && server_try_login(s, s->client_file) == 0)
		return server_started(s, status == 1 ? "already running" : "running");
	return fail_or_die(s);
}

/* Starts the server in the foreground, and proves that clients can log in.  Returns 0; or the exit status, with the
 * reason printed, and no server runs. */
static int begin_run(struct server *s)
{
	int status, end;

	if (server_start(s) < 0)
		return server_fail(s);
	if (server_try_login(s, s->client_file) == 0)
		(void)server_started(s, "running");
	else if (cli_stop == 0) {
		status = server_fail(s);
		js_error_clear(&s->cli.error);
		(void)server_wait(s, 1, &end);
		return status;
	}
	js_error_clear(&s->cli.error); /* a signal has ended the login: the server is stopped as it would be later */
	return 0;
}

/* In a job of a chain: waits until the job before has ended completely, starts the server, submits the next job only
 * when this server can be used, and decides after the end whether that job may start. */
static int verb_run(struct server *s)
{
	int status, end = 0, is_job = s->successor.n > 0;
	int64_t began = js_clock_mono_us();

	cli_catch_signals();
	s->foreground = 1;
	if (is_job && chain_begin(s) != 0)
		return CLI_YES;
	status = begin_run(s);
	if (status != 0) {
		if (is_job)
			chain_end(s, 0, 0);
		cli_die_by_signal();
		return status;
	}
	if (is_job && cli_stop == 0)
		chain_submit_next(s);
	if (server_wait(s, 0, &end) != 0) {
		status = server_fail(s);
		status = end != 0 ? end : status;
	}
	if (is_job)
		chain_end(s, status == 0, js_clock_mono_us() - began);
	return status;
}

/* A chain is stopped first, or its next job would start the server again. */
static int verb_stop(struct server *s)
{
	int status, chain;

	cli_catch_signals();
	chain = chain_stop(s);
	status = chain < 0 ? chain : server_stop(s);
	if (status < 0)
		return fail_or_die(s);
	if (s->cli.json)
		return server_print_json(s);
	if (!s->cli.quiet)
		(void)printf(status == 1 && chain == 0 ? "not running: %s\n" : "stopped: %s\n", s->layout.dir);
	return CLI_YES;
}

static int verb_status(struct server *s)
{
	if (server_look(s) != 0)
		return server_fail(s);
	if (s->cli.json && server_print_json(s) != CLI_YES)
		return CLI_BUG;
	if (!s->cli.json && !s->cli.quiet)
		server_print(s);
	return s->state == JS_OWNER_ANSWERS ? CLI_YES : CLI_NO;
}

#define VERBS "start, stop, status, run, backup, restore, upgrade, move, share, submit, remove"

static const struct verb {
	const char *name;
	int (*run)(struct server *s);
	int takes_file;
} verbs[] = {{"start", verb_start, 0},	   {"run", verb_run, 0},       {"stop", verb_stop, 0},
	     {"status", verb_status, 0},   {"backup", verb_backup, 1}, {"restore", verb_restore, 1},
	     {"upgrade", verb_upgrade, 0}, {"move", verb_move, 1},     {"share", verb_share, 0},
	     {"remove", verb_remove, 0}};

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

/* Puts the host's name in the place of %h in --bind.  (A job's node is not known when the job is submitted.) */
static void expand_host(struct server *s)
{
	static char bind[300];
	const char *h = s->bind != NULL ? strstr(s->bind, "%h") : NULL;
	char host[256];

	js_owner_host(host);
	if (h != NULL &&
	    snprintf(bind, sizeof(bind), "%.*s%s%s", (int)(h - s->bind), s->bind, host, h + 2) < (int)sizeof(bind))
		s->bind = bind;
}

/* Reads the options, and finds the verb.  0, or the exit status. */
static int parse_server(struct server *s, int argc, char **argv, const struct verb **verb)
{
	struct cli *cli = &s->cli;
	int status = cli_parse(cli, &opts, argc, argv, NULL);

	if (status != CLI_GO_ON)
		return status;
	if (cli->words_n == 0)
		return cli_usage(cli, "give one of " VERBS);
	if (strcmp(cli->words[0], "submit") == 0)
		return cli_usage(cli, "put submit before its options: jobstack server submit [OPTION...]");
	*verb = find_verb(cli->words[0]);
	if (*verb == NULL)
		return cli_usage(cli, "unknown argument \"%s\": give one of " VERBS, cli->words[0]);
	if ((*verb)->takes_file && cli->words_n != 2)
		return cli_usage(cli, "%s takes one file", cli->words[0]);
	if (!(*verb)->takes_file && cli->words_n != 1)
		return cli_usage(cli, "too many arguments after %s (give one of " VERBS ")", cli->words[0]);
	cli->defaults_file = s->client_file; /* if it is given, the database is that of this file */
	if (s->successor.n > 0)
		expand_host(s);
	s->dir_given = s->data != NULL;
	status = server_paths(s);
	return status != 0 ? status : CLI_GO_ON;
}

/* Prints the option tables for `jobstack --spec`. */
static int print_spec(void)
{
	int status = cli_spec_table(&opts);

	return status != CLI_YES ? status : cli_spec_table(&server_submit_opts);
}

int main(int argc, char **argv)
{
	const struct verb *verb;
	int status;

	js_file_hold_streams();
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGCHLD, SIG_DFL);
	if (argc == 2 && strcmp(argv[1], "--spec") == 0)
		return print_spec();
	if (argc > 1 && strcmp(argv[1], "submit") == 0)
		return server_submit_main(argc - 1, argv + 1);
	status = parse_server(&server, argc, argv, &verb);
	if (status != CLI_GO_ON)
		return status;
	return cli_end(&server.cli, verb->run(&server));
}
