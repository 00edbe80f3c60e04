/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack server: a private MariaDB or MySQL server.  src/server does the work; this file parses options and prints. A
 * start succeeds only after a login over TLS with the client file that was written.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/utf8.h"
#include "cli/spec.h"
#include "server/database.h"
#include "server/chain.h"
#include "server/server.h"
#include "view/amount.h"
#include "view/json.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct js_server_options server;
static uint64_t port;
static struct cli_words again;
static int replace, given_file;
static const char *read_only, *removed;

static int take_again_word(struct cli *cli, void *ctx, int key, const char *arg)
{
	(void)cli;
	(void)key;
	cli_words_add(ctx, arg);
	return 0;
}

static const struct js_opt table[] = {
	{0, "data", "DIR",
	 "the server's directory (default: that of the clients' option file,\n"
	 "else ~/.local/share/jobstack/server; for root: " CLI_SERVER_ROOT_DATA ")",
	 CLI_NAME(&server.data)},
	{0, "bind", "HOST",
	 "the name or address at which the compute nodes reach this host\n"
	 "(default: that of the last start, else " JS_SERVER_BIND ", only this host)",
	 CLI_NAME(&server.bind)},
	{0, "port", "N", "the TCP port (default: a free one, kept for later starts)",
	 CLI_NUMBER(&port, 1, 65535, CLI_SERVER_PORT)},
	{0, "program", "FILE", "the server program (default: searches for mariadbd or mysqld)",
	 CLI_NAME(&server.program)},
	{0, "client-file", "FILE",
	 "write the option file for clients here, and ca.pem beside it\n"
	 "(default: ~/.config/jobstack/client.cnf, where clients look for it)",
	 CLI_NAME(&server.client_file)},
	{0, "user", "NAME", "as root: run the server as this user (default: mysql, else nobody)",
	 CLI_NAME(&server.user)},
	{0, "memory", "SIZE",
	 "the server's cache, innodb_buffer_pool_size\n(default: that of the last start, else 256M)",
	 CLI_BY(cli_server_memory, &server.memory)},
	{0, "takeover", NULL,
	 "start although a server on another host has the directory;\n"
	 "only if you are sure that this other server is gone for good",
	 CLI_FLAG(&server.takeover)},
	{0, "replace", NULL, "restore, move: delete what the database has", CLI_FLAG(&replace)},
	{0, "read-only", "FILE", "share: write the option file of an account that may only read", CLI_NAME(&read_only)},
	{0, "remove", "NAME", "share: remove the account read-NAME", CLI_NAME(&removed)},
	{0, "again", "WORD", NULL,
	 CLI_BY(take_again_word, &again)}, /* a word of the command that submits the next job; `submit` writes these */
	CLI_OPTS_JSON,
	CLI_OPTS_ALWAYS,
	CLI_OPTS_END};

static const struct js_opts opts = {
	.command = "jobstack server",
	.usage = "start|stop|status|run|backup|restore|upgrade|move|share|submit [FILE] [OPTION...]",
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
		 "  submit  runs it as a Slurm job that submits its successor: see jobstack server submit --help",
	.table = table,
	.notes = "The directory may be on a shared file system, but only one host at a time runs a server on it.\n"
		 "The file `owner` in the directory names that host. Other hosts refuse to start or stop the server.\n"
		 "Two servers on one directory would destroy the data: give --takeover only if the other one is\n"
		 "gone for good.\n\n"
		 "  jobstack server start --bind \"$(hostname)\"\n"
		 "  jobstack server stop"};

static const char *const state_word[] = {[JS_SERVER_STOPPED] = "stopped",
					 [JS_SERVER_CRASHED] = "crashed",
					 [JS_SERVER_STARTING] = "starting",
					 [JS_SERVER_RUNNING] = "running",
					 [JS_SERVER_ELSEWHERE] = "elsewhere"};
_Static_assert(sizeof(state_word) / sizeof(state_word[0]) == JS_SERVER_STATES, "a word for each state");

/* The messages of src/server. */
static void print_server_log(void *ctx, enum jobstack_level level, const char *text)
{
	const struct cli *cli = ctx;

	if (level == JOBSTACK_LOG_ERROR || level == JOBSTACK_LOG_WARNING)
		(void)fprintf(stderr, "jobstack server: %s\n", text);
	else if (level == JOBSTACK_LOG_INFO || cli->verbose)
		cli_say(cli, "%s", text);
}

/* A path as JSON; with '?' for bytes that are not UTF-8. */
static json_t *path_json(const char *string)
{
	char text[JS_LAYOUT_PATH];
	json_t *value = *string == '\0' ? json_null() : json_string(string);

	if (value != NULL)
		return value;
	(void)snprintf(text, sizeof(text), "%s", string);
	js_utf8_clean(text);
	return json_string(text);
}

static int print_server_json(const struct js_server_info *i)
{
	char jobs[64];

	cli_server_jobs(i->data, jobs);
	return CLI_PRINT(KEY_TEXT("state", state_word[i->state]), KEY_FLAG("running", i->state == JS_SERVER_RUNNING),
			 KEY_JSON("host", path_json(i->owner.host)), KEY_INT("pid", i->owner.pid, i->owner.pid > 0),
			 KEY_JSON("bind", path_json(i->owner.bind)), KEY_INT("port", i->owner.port, i->owner.port > 0),
			 KEY_JSON("data", path_json(i->data)), KEY_JSON("client_file", path_json(i->owner.client_file)),
			 KEY_JSON("log", path_json(i->log)), KEY_JSON("program", path_json(i->owner.program)),
			 KEY_JSON("version", path_json(i->owner.version)), KEY_JSON("user", path_json(i->user)),
			 KEY_TIME("started", i->owner.began_us > 0 ? i->owner.began_us : -1),
			 KEY_SPAN("uptime_seconds", i->uptime_us), KEY_JSON("job", path_json(i->owner.job)),
			 KEY_JSON("jobs", path_json(jobs)), KEY_COUNT("bytes", i->bytes));
}

static void print_where(const char *what, const struct js_server_info *i)
{
	(void)printf("%s: %s:%u (pid %ld on %s, version %s)\n", what, i->owner.bind, i->owner.port, (long)i->owner.pid,
		     i->owner.host, i->owner.version);
	(void)printf("data: %s\nclients: %s\n", i->data, i->owner.client_file);
	if (i->owner.job[0] != '\0')
		(void)printf("job: %s\n", i->owner.job);
}

/* The jobs of `server submit`, except the one that runs the server. */
static void print_waiting_jobs(const struct js_server_info *i)
{
	char jobs[64], *rest = jobs, *job;

	cli_server_jobs(i->data, jobs);
	while ((job = strsep(&rest, " ")) != NULL)
		if (*job != '\0' && strcmp(job, i->owner.job) != 0)
			(void)printf("waiting: job %s\n", job);
}

static void print_status(const struct js_server_info *i)
{
	const char *job_log =
		i->state == JS_SERVER_STOPPED || i->state == JS_SERVER_CRASHED ? cli_server_job_log(i->data) : NULL;

	if (i->state == JS_SERVER_STOPPED && i->owner.host[0] == '\0')
		(void)printf("stopped\ndata: %s%s\n", i->data, i->bytes == 0 ? " (none yet)" : "");
	else if (i->state == JS_SERVER_CRASHED)
		(void)printf("crashed (pid %ld is gone): the next start recovers the data\ndata: %s\n",
			     (long)i->owner.pid, i->data);
	else if (i->state == JS_SERVER_ELSEWHERE)
		(void)printf("unknown: the server is on the host %s (pid %ld, %s:%u), and this host can't see it\n"
			     "data: %s\n",
			     i->owner.host, (long)i->owner.pid, i->owner.bind, i->owner.port, i->data);
	else
		print_where(state_word[i->state], i);
	if (i->uptime_us >= 0)
		(void)printf("up: %s, since %s\n", view_duration(i->uptime_us).text,
			     view_moment(i->owner.began_us).text);
	print_waiting_jobs(i);
	if (job_log != NULL)
		(void)printf("log of the last job: %s\n", job_log);
	if (i->bytes > 0)
		(void)printf("on disk: %.1f MB\nlog: %s\n", (double)i->bytes / 1048576.0, i->log);
}

/* The data are an older MariaDB's: says how to upgrade them with the options of this call.  A job's address is its
 * node's, and the upgrade runs elsewhere. */
static int fail_old_data(struct cli *cli)
{
	struct cli_words line = {0};
	struct js_buf text = {0};

	cli_words_add(&line, "jobstack");
	cli_words_add(&line, "server");
	cli_words_add(&line, "upgrade");
	for (int i = 1; i < cli->argc; i++)
		if (cli->argv[i] != cli->words[0] && strncmp(cli->argv[i], "--again=", 8) != 0 &&
		    (again.n == 0 || strncmp(cli->argv[i], "--bind=", 7) != 0))
			cli_words_add(&line, cli->argv[i]);
	cli_words_quote(&text, &line);
	cli_tell(cli, "%s: `%s` keeps a copy of the data and starts it", cli->error.text,
		 text.failed || line.failed ? "jobstack server upgrade" : text.data);
	if (again.n > 0)
		cli_say(cli, "type that on a login node, then `jobstack server stop`, and `jobstack server submit` "
			     "with its options as before");
	cli_words_free(&line);
	js_buf_free(&text);
	return CLI_NO;
}

/* Like cli_fail, but without its advice to start a server when no database answers. */
static int fail_server(struct cli *cli)
{
	if (cli->error.server_errno == JS_WHY_OLD_DATA)
		return fail_old_data(cli);
	if (cli->error.code != JOBSTACK_ENODB)
		return cli_fail(cli);
	(void)fprintf(stderr, "jobstack server: %s%s\n", cli->error.text,
		      js_error_is_disk(cli->error.server_errno) ? "; free space, then repeat the command" : "");
	return CLI_NODB;
}

/* Logs in with the clients' file, to prove that they can. */
static int try_login(struct cli *cli, const struct js_server_info *info)
{
	struct jobstack_options options = JOBSTACK_OPTIONS_INIT;
	struct jobstack *handle = NULL;
	int status;

	options.defaults_file = info->owner.client_file;
	status = jobstack_open(&handle, &options, &cli->error);
	jobstack_free(handle);
	return status;
}

static int print_started(struct cli *cli, const struct js_server_info *info, const char *what)
{
	if (cli->json)
		return print_server_json(info);
	if (!cli->quiet)
		print_where(what, info);
	(void)fflush(stdout);
	return CLI_YES;
}

static int run_server_start(struct cli *cli, const struct js_server_options *options)
{
	struct js_server_info info;
	int status;

	cli_catch_signals();
	status = js_server_start(options, &info, &cli->error);
	if (status >= 0 && try_login(cli, &info) == 0)
		return print_started(cli, &info, status == 1 ? "already running" : "running");
	status = fail_server(cli);
	cli_die_by_signal();
	return status;
}

static int run_server_run(struct cli *cli, struct js_server_options *options, const struct cli_words *next)
{
	int64_t began = js_clock_mono_us();
	struct js_server_info info;
	int status, end = 0, lost;

	cli_catch_signals();
	options->foreground = 1;
	if (next->n > 0 && cli_server_job_begin(cli, options) != 0)
		return CLI_YES;
	status = js_server_start(options, &info, &cli->error);
	if (status < 0) {
		status = fail_server(cli);
		if (next->n > 0)
			cli_server_job_end(cli, options, 0, 0);
		cli_die_by_signal();
		return status;
	}
	lost = try_login(cli, &info) != 0;
	if (lost && cli_stop == 0) {
		/* nobody could use it: stop it, and say why */
		static const int now = 1;

		status = fail_server(cli);
		options->stop = &now;
		cli->error = (struct jobstack_error)JOBSTACK_ERROR_INIT;
		(void)js_server_wait(options, &info, &end, &cli->error);
		if (next->n > 0)
			cli_server_job_end(cli, options, 0, 0);
		return status;
	}
	cli->error = (struct jobstack_error)JOBSTACK_ERROR_INIT;
	if (!lost)
		(void)print_started(cli, &info, "running");
	if (next->n > 0 && cli_stop == 0)
		cli_server_job_next(cli, options, next);
	status = js_server_wait(options, &info, &end, &cli->error);
	if (status != 0)
		(void)fail_server(cli);
	if (next->n > 0)
		cli_server_job_end(cli, options, status == 0, js_clock_mono_us() - began);
	return status == 0 ? CLI_YES : end != 0 ? end : CLI_NODB;
}

/* The name of the account: the name of the file, without .cnf. */
static int run_server_share(struct cli *cli, const struct js_server_options *options)
{
	struct js_server_info info;
	char name[300];

	if ((read_only == NULL) == (removed == NULL))
		return cli_usage(cli, "give one of --read-only FILE and --remove NAME");
	(void)snprintf(name, sizeof(name), "%s", removed != NULL ? removed : basename(read_only));
	if (removed == NULL && strlen(name) > 4 && strcmp(name + strlen(name) - 4, ".cnf") == 0)
		name[strlen(name) - 4] = '\0';
	if (js_server_share(options, name, read_only, &info, &cli->error) != 0)
		return fail_server(cli);
	if (removed != NULL) {
		cli_say(cli, "the account read-%s is gone", name);
		return CLI_YES;
	}
	(void)snprintf(info.owner.client_file, sizeof(info.owner.client_file), "%s", read_only);
	if (try_login(cli, &info) != 0)
		return fail_server(cli);
	if (!cli->quiet)
		(void)printf(
			"the account read-%s may only read\nhand over both files, to be kept in one directory, mode "
			"600: %s and its certificate %.*s-ca.pem\n`jobstack server share --remove %s` ends it\n",
			name, read_only, (int)(basename(read_only) - read_only + (long)strlen(name)), read_only, name);
	return CLI_YES;
}

static int run_server_upgrade(struct cli *cli, const struct js_server_options *options)
{
	struct js_server_info info;
	char kept[JS_LAYOUT_PATH];
	int status;

	cli_catch_signals();
	status = js_server_upgrade(options, &info, kept, &cli->error);
	if (status == 1) {
		cli_say(cli, "nothing to upgrade: the data are of this version already");
		return CLI_YES;
	}
	if (status < 0 || try_login(cli, &info) != 0)
		return fail_server(cli);
	cli_say(cli, "the data of the older version are in %s: remove them when all works", kept);
	return print_started(cli, &info, "running");
}

static int run_server_stop(struct cli *cli, const struct js_server_options *options)
{
	struct js_server_info info;
	int status, chain;

	cli_catch_signals();
	chain = cli_server_job_stop(cli, options);
	status = chain < 0 ? chain : js_server_stop(options, &info, &cli->error);
	if (status < 0) {
		status = fail_server(cli);
		cli_die_by_signal();
		return status;
	}
	if (cli->json)
		return print_server_json(&info);
	if (!cli->quiet)
		(void)printf(status == 1 && chain == 0 ? "not running: %s\n" : "stopped: %s\n", info.data);
	return CLI_YES;
}

static int run_server_status(struct cli *cli, const struct js_server_options *options)
{
	struct js_server_info info;

	if (js_server_status(options, &info, &cli->error) != 0)
		return fail_server(cli);
	if (cli->json && print_server_json(&info) != CLI_YES)
		return CLI_BUG;
	if (!cli->json && !cli->quiet)
		print_status(&info);
	return info.state == JS_SERVER_RUNNING ? CLI_YES : CLI_NO;
}

/* Replaces %h by the host's name.  (A job's node is unknown when it is submitted.) */
static int expand_host(const char *bind, char *out, size_t size)
{
	const char *h = strstr(bind, "%h");
	char host[256] = "";

	if (h == NULL || gethostname(host, sizeof(host) - 1) != 0)
		return -1;
	return snprintf(out, size, "%.*s%s%s", (int)(h - bind), bind, host, h + 2) < (int)size ? 0 : -1;
}

/* For `jobstack --spec`. */
static int print_spec(void)
{
	int status = cli_spec_table(&opts);

	return status != CLI_YES ? status : cli_spec_table(&cli_server_submit_opts);
}

#define VERBS "start, stop, status, run, backup, restore, upgrade, move, share, submit"

static int takes_file(const char *verb)
{
	return strcmp(verb, "backup") == 0 || strcmp(verb, "restore") == 0 || strcmp(verb, "move") == 0;
}

static int parse_server(struct cli *cli, int argc, char **argv)
{
	int status = cli_parse(cli, &opts, argc, argv, NULL);

	if (status != CLI_GO_ON)
		return status;
	server.port = (unsigned)port;
	if (cli->words_n == 0)
		return cli_usage(cli, "give one of " VERBS);
	if (cli->words_n != (takes_file(cli->words[0]) ? 2 : 1))
		return cli_usage(cli,
				 takes_file(cli->words[0]) ? "%s takes one file"
							   : "too many arguments after %s (give one of " VERBS ")",
				 cli->words[0]);
	given_file = server.client_file != NULL;
	JS_TRY(cli_server_paths(cli, &server));
	return CLI_GO_ON;
}

int main(int argc, char **argv)
{
	extern char **environ;
	struct cli cli;
	const char *verb;
	char bind[300];
	int status;

	js_file_hold_streams();
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGCHLD, SIG_DFL);
	if (argc == 2 && strcmp(argv[1], "--spec") == 0)
		return print_spec();
	if (argc > 1 && strcmp(argv[1], "submit") == 0)
		return cli_server_submit_main(argc - 1, argv + 1);
	server = (struct js_server_options){.search_path = getenv("PATH"),
					    .environment = environ,
					    .stop = &cli_stop,
					    .log = {.fn = print_server_log, .ctx = &cli}};
	status = parse_server(&cli, argc, argv);
	if (status != CLI_GO_ON)
		return status;
	if (given_file)
		cli.defaults_file = server.client_file;
	verb = cli.words[0];
	if (again.n > 0 && server.bind != NULL && expand_host(server.bind, bind, sizeof(bind)) == 0)
		server.bind = bind;
	if (strcmp(verb, "start") == 0)
		status = run_server_start(&cli, &server);
	else if (strcmp(verb, "run") == 0)
		status = run_server_run(&cli, &server, &again);
	else if (strcmp(verb, "stop") == 0)
		status = run_server_stop(&cli, &server);
	else if (strcmp(verb, "status") == 0)
		status = run_server_status(&cli, &server);
	else if (strcmp(verb, "share") == 0)
		status = run_server_share(&cli, &server);
	else if (strcmp(verb, "upgrade") == 0)
		status = run_server_upgrade(&cli, &server);
	else if (strcmp(verb, "backup") == 0)
		status = cli_server_backup(&cli, &server, cli.words[1]);
	else if (strcmp(verb, "restore") == 0)
		status = cli_server_restore(&cli, &server, cli.words[1], replace);
	else if (strcmp(verb, "move") == 0)
		status = cli_server_move(&cli, &server, cli.words[1], replace);
	else
		return cli_usage(&cli,
				 strcmp(verb, "submit") == 0
					 ? "put %s before its options: jobstack server submit [OPTION...]"
					 : "unknown argument \"%s\": give one of " VERBS,
				 verb);
	return cli_end(&cli, status);
}
