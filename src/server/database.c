/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack server backup, restore, move, remove.  Promises: a database in use is replaced only with --replace, and
 * never while workers are alive; if a restore fails, what the database had is put back, or is in a file; after a move
 * the new database has been checked and has the same numbers, or the old one is still the one in use; a removed server
 * is gone in one step, and what is left of it on the disk is deleted by the next call.
 */
#include "server/server.h"

#include "base/error.h"
#include "base/file.h"
#include "server/backup.h"
#include "server/chain.h"
#include "server/config.h"
#include "show/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is known of a database. */
struct database {
	struct cli *cli;		       /* its handle is connected to it */
	char database[256];		       /* its name */
	struct js_buf same;		       /* SQL: this is the same server and database */
	int schema, unread;		       /* there is a schema; its stacks can't be read */
	unsigned why;			       /* because of this (JS_ASIDE_...) */
	struct js_buf ledger;		       /* the counts of its stacks as text, a line for each */
	uint64_t stacks, entries, left, alive; /* left: entries to do; alive: its workers and pushes */
	struct js_backup backup;	       /* how the client programs reach it; its option_file is ours to free */
};

/* Notes the name of the database, and what tells its server from others, as a condition in SQL that the client programs
 * can check.  Values are written in hexadecimal, so nothing has to be quoted. */
static int note_fact(void *ctx, const char *name, const char *value)
{
	static const char *const sign[] = {"hostname", "port", "datadir"};
	struct database *p = ctx;

	if (strcmp(name, "database") == 0)
		(void)snprintf(p->database, sizeof(p->database), "%s", value);
	for (size_t i = 0; i < sizeof(sign) / sizeof(sign[0]); i++)
		if (strncmp(name, "variable.", 9) == 0 && strcmp(name + 9, sign[i]) == 0) {
			js_buf_printf(&p->same, " AND CONVERT(@@%s USING utf8mb4)=CONVERT(X'", sign[i]);
			for (const char *c = value; *c != '\0'; c++)
				js_buf_printf(&p->same, "%02x", (unsigned char)*c);
			js_buf_str(&p->same, "' USING utf8mb4)");
		}
	p->schema |= strcmp(name, "schema.version") == 0;
	return 0;
}

/* Adds a stack's counts as a line.  Two databases have the same ledger if these texts are equal. */
static int add_ledger_line(void *ctx, const struct jobstack_status *s)
{
	struct database *p = ctx;

	js_buf_printf(&p->ledger,
		      "%s %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
		      " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
		      s->stack, (int)s->state, s->pushed, s->ready, s->waiting, s->held, s->running, s->done, s->dead,
		      s->cancelled, s->moved, s->pruned);
	p->stacks++;
	p->entries += s->pushed;
	p->left += s->ready + s->waiting + s->held + s->running;
	p->alive += s->workers - s->silent + s->pushers;
	return 0;
}

static int read_ledger(struct database *p)
{
	js_buf_reset(&p->ledger);
	p->stacks = p->entries = p->left = p->alive = 0;
	return jobstack_status(p->cli->handle, NULL, add_ledger_line, p, &p->cli->error);
}

/* Checks that the client programs reach this server.  They do not read the group [jobstack] of the option file, so they
 * could reach another one, and a restore would fill that. */
static int check_client_programs(struct database *p)
{
	struct jobstack_error *error = &p->cli->error;
	int status = p->same.failed ? js_error_memory(error) : js_backup_ask(&p->backup, p->same.data, error);

	if (status == 1)
		status = js_error_set(
			error, JOBSTACK_ECONFLICT,
			"the programs of MariaDB or MySQL reach another server than jobstack does: put host, "
			"port, user and password into the group [client] of the option file");
	return status;
}

/* Connects, and reads what the database has.  0, or the exit status.  A database without (our) schema has no stacks. */
static int open_database(struct database *p, struct cli *cli, struct server *s)
{
	const char *file = cli_option_file(cli);
	int status = cli_connect(cli, 0);

	*p = (struct database){.cli = cli};
	if (status != 0)
		return status;
	js_buf_str(&p->same, "TRUE");
	status = jobstack_server_facts(cli->handle, note_fact, p, &cli->error);
	if (status == 0 && read_ledger(p) != 0) {
		status = cli->error.code == JOBSTACK_ESCHEMA ? 0 : cli->error.code;
		p->unread = p->schema;
		p->why = cli->error.server_errno;
		js_error_clear(&cli->error);
	}
	if (status != 0)
		return cli_fail(cli);
	p->backup =
		(struct js_backup){.option_file = file != NULL ? strdup(file) : NULL, /* that is in a static buffer */
				   .database = p->database,
				   .schema_dir = cli_schema_dir(),
				   .program = s->owner.program,
				   .stop = &cli_stop};
	if (file != NULL && p->backup.option_file == NULL)
		return cli_no_memory(cli);
	return check_client_programs(p) != 0 ? cli_fail(cli) : 0;
}

static void close_database(struct database *p)
{
	js_buf_free(&p->same);
	js_buf_free(&p->ledger);
	free((char *)(uintptr_t)p->backup.option_file);
}

/* Refuses if workers or pushes are alive: until its next step, a live worker would go on with entries that are ready
 * for others when the database is set back. */
static int refuse_alive(const struct database *p)
{
	if (p->alive == 0)
		return 0;
	cli_tell(p->cli,
		 "%" PRIu64 " workers and pushes are alive in the database %s: let them end first (SIGTERM drains a "
		 "worker), or `jobstack recover -s NAME` if they are dead",
		 p->alive, p->database);
	return CLI_NO;
}

/* Refuses a database that is used, unless the user says --replace. */
static int refuse_used(struct database *p, int replace)
{
	int status;

	JS_TRY(refuse_alive(p));
	status = replace     ? 0
		 : p->schema ? p->stacks > 0 || p->unread
			     : js_backup_ask(&p->backup,
					     "(SELECT COUNT(*) FROM information_schema.tables WHERE "
					     "table_schema=DATABASE())=0",
					     &p->cli->error);
	if (status < 0)
		return cli_fail(p->cli);
	if (status > 0 && (!p->schema || p->unread))
		cli_tell(p->cli,
			 "the database %s has tables, but no stacks that can be read: --replace deletes jobstack's "
			 "tables",
			 p->database);
	else if (status > 0)
		cli_tell(p->cli, "the database %s has %" PRIu64 " stack%s: --replace deletes what it has", p->database,
			 p->stacks, show_plural(p->stacks));
	return status > 0 ? CLI_NO : 0;
}

/* Begins a verb.  The client programs beside the server are preferred, if it is the one of the directory; that it is
 * not is no error. */
static void begin_verb(struct server *s)
{
	cli_catch_signals();
	(void)server_look(s);
	js_error_clear(&s->cli.error);
}

int verb_backup(struct server *s)
{
	struct cli *cli = &s->cli;
	const char *file = cli->words[1];
	struct database p;
	struct stat st;
	int status;

	begin_verb(s);
	status = open_database(&p, cli, s);
	if (status == 0) {
		if (read_ledger(&p) != 0 || js_backup_write(&p.backup, file, &cli->error) != 0)
			status = cli_fail(cli);
		else if (!cli->quiet && stat(file, &st) == 0)
			(void)printf("%s: %" PRIu64 " stack%s, %" PRIu64 " entries, %.1f MB\n", file, p.stacks,
				     show_plural(p.stacks), p.entries, (double)st.st_size / 1048576.0);
	}
	close_database(&p);
	return status;
}

/* Compares each stack's counters with its rows, in a database that was just filled, and reads its numbers anew.  The
 * connection is made anew, because the tables are others now. */
static int check_filled(struct database *p)
{
	struct cli *cli = p->cli;
	int status;

	jobstack_disconnect(cli->handle);
	status = read_ledger(p);
	for (char *rest = p->ledger.data, *line; status == 0 && rest != NULL && (line = strsep(&rest, "\n")) != NULL;) {
		char name[JOBSTACK_STACK_MAX + 1];

		(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(line, " "), line);
		if (*name != '\0')
			status = jobstack_check(cli->handle, name, NULL, NULL, NULL, &cli->error);
		if (status == JOBSTACK_NOTHING)
			status = js_error_set(
				&cli->error, JOBSTACK_ECONFLICT,
				"the stack \"%s\" does not balance after the restore: see `jobstack check -s %s`", name,
				name);
	}
	return status < 0 ? cli_fail(cli) : read_ledger(p) != 0 ? cli_fail(cli) : 0;
}

/* Backs up what the database has to the file KEPT, before it is replaced. */
static int back_up_replaced(struct database *p, struct server *s, const char *file, char kept[JS_LAYOUT_PATH])
{
	struct jobstack_error *error = &p->cli->error;
	struct stat had, given;
	int status;

	(void)snprintf(kept, JS_LAYOUT_PATH, "%s", chain_beside(s->layout.dir, ".replaced"));
	(void)js_file_make_parent(kept, 0700); /* the database need not be that of our server */
	if (stat(kept, &had) == 0 && stat(file, &given) == 0 && had.st_dev == given.st_dev &&
	    had.st_ino == given.st_ino)
		status = js_error_set(error, JOBSTACK_ECONFLICT,
				      "rename %s first: the restore saves the present database there", file);
	else
		status = js_backup_write(&p->backup, kept, error);
	if (status != 0) {
		cli_tell(p->cli, "not restored: the database is as it was");
		return cli_fail(p->cli);
	}
	return 0;
}

/* Restores what the database had before a restore that failed.  KEPT is that file; "": the database had no stacks, or
 * could not be read. */
static void restore_replaced(struct database *p, const char *kept)
{
	struct jobstack_error why = JOBSTACK_ERROR_INIT;

	p->backup.stop = NULL; /* also if it was stopped */
	if (*kept == '\0')
		cli_tell(p->cli, "not restored: every program refuses the database until a restore with --replace "
				 "succeeds");
	else if (js_backup_load(&p->backup, kept, &why) == 0)
		cli_tell(p->cli, "not restored: the database has again what it had before");
	else
		cli_tell(p->cli,
			 "not restored, and what the database had could not be put back (%s): repeat `jobstack server "
			 "restore %s --replace%s%s`",
			 why.text, kept, p->cli->defaults_file != NULL ? " --client-file " : "",
			 p->cli->defaults_file != NULL ? p->cli->defaults_file : "");
}

/* The order: the whole file is checked before anything is touched; what the database has is backed up; then the
 * restore, which marks the database as half filled until its end; then a check of every stack. */
int verb_restore(struct server *s)
{
	struct cli *cli = &s->cli;
	const char *file = cli->words[1];
	char kept[JS_LAYOUT_PATH] = "";
	struct database p;
	int status;

	begin_verb(s);
	if (js_backup_check(file, &cli->error) != 0)
		return cli_fail(cli);
	status = open_database(&p, cli, s);
	JS_THEN(status, refuse_used(&p, s->replace));
	if (status == 0 && p.stacks > 0)
		status = back_up_replaced(&p, s, file, kept);
	if (status == 0 && js_backup_load(&p.backup, file, &cli->error) != 0) {
		restore_replaced(&p, kept);
		status = cli_fail(cli);
	}
	JS_THEN(status, check_filled(&p));
	if (status == 0 && !cli->quiet)
		(void)printf("restored and checked: %" PRIu64 " stack%s, %" PRIu64 " entries\n", p.stacks,
			     show_plural(p.stacks), p.entries);
	if (status == 0)
		cli_say(cli,
			"entries that ran at the time of the backup return to the queue when their workers' leases "
			"end, or by `jobstack recover`");
	if (status == 0 && *kept != '\0')
		cli_say(cli, "what the database had before is in %s", kept);
	close_database(&p);
	return status;
}

/* Adds or removes the row of jobstack_version that makes every program refuse the database. */
static int set_aside(struct database *p, unsigned why, int on)
{
	char sql[120];

	if (on)
		(void)snprintf(sql, sizeof(sql), "REPLACE INTO jobstack_version VALUES(%u,UTC_TIMESTAMP(6));\n", why);
	else
		(void)snprintf(sql, sizeof(sql), "DELETE FROM jobstack_version WHERE version=%u;\n", why);
	return js_backup_sql(&p->backup, sql, &p->cli->error);
}

/* Programs that are connected already do not look at the version again, so the old numbers are read once more when the
 * new database is complete. */
static int compare_again(struct database *from, struct database *to)
{
	if (read_ledger(from) != 0)
		return cli_fail(from->cli);
	if (from->alive == 0 && from->ledger.len == to->ledger.len &&
	    (from->ledger.len == 0 || memcmp(from->ledger.data, to->ledger.data, to->ledger.len) == 0))
		return 0;
	cli_tell(from->cli, "the two databases differ: a program changed the old one during the move");
	return CLI_NO;
}

/* Fills the other database, while the old one refuses everybody.  At each moment at most one of them can be used:
 *
 *     step                             the old one          the new one
 *     mark the old one (MOVING)        refuses              empty
 *     back up, load, check, compare    refuses              refuses (HALF) until it is filled
 *     mark the old one (MOVED)         refuses for good     can be used
 *     a failure anywhere               can be used again    refuses (HALF) */
static int fill_other(struct database *from, struct database *to, const char *kept)
{
	int status = set_aside(from, JS_ASIDE_MOVING, 1) != 0 ? cli_fail(from->cli) : 0, filled;

	if (status == 0 && js_backup_write(&from->backup, kept, &from->cli->error) != 0)
		status = cli_fail(from->cli);
	filled = status == 0;
	if (status == 0 && js_backup_load(&to->backup, kept, &to->cli->error) != 0)
		status = cli_fail(to->cli);
	JS_THEN(status, check_filled(to));
	JS_THEN(status, compare_again(from, to));
	if (status == 0 && set_aside(from, JS_ASIDE_MOVED, 1) != 0)
		status = cli_fail(from->cli);
	if (status == 0) { /* programs that are still connected can't use it without this table */
		(void)js_backup_sql(&from->backup, "RENAME TABLE stack TO moved_stack;\n", NULL);
		return 0;
	}
	js_error_clear(&to->cli->error);
	js_error_clear(&from->cli->error);
	if (filled)
		(void)set_aside(to, JS_ASIDE_HALF, 1);
	if (set_aside(from, JS_ASIDE_MOVING, 0) == 0)
		cli_tell(from->cli, "not moved: the old database is still in use");
	else
		cli_tell(from->cli, "not moved: the old database refuses everybody until this command is repeated (%s)",
			 from->cli->error.text);
	return status;
}

/* If an earlier move was killed, its mark (MOVING) on the old database is removed first, since this call begins anew.
 */
int verb_move(struct server *s)
{
	struct cli *cli = &s->cli, other = *cli;
	const char *file = cli->words[1];
	struct database from = {0}, to = {0};
	char here[600], there[600], kept[JS_LAYOUT_PATH], name[JS_LAYOUT_PATH];
	int status;

	begin_verb(s);
	if (js_layout_absolute(name, file, &cli->error) != 0)
		return cli_fail(cli);
	other.defaults_file = name;
	other.handle = NULL;
	(void)snprintf(kept, sizeof(kept), "%s", chain_beside(s->layout.dir, ".moved"));
	status = open_database(&from, cli, s);
	JS_THEN(status, open_database(&to, &other, s));
	if (status == 0) {
		jobstack_describe(cli->handle, here, sizeof(here));
		jobstack_describe(other.handle, there, sizeof(there));
		if (strcmp(here, there) == 0)
			status = cli_usage(cli, "%s is the option file of the old server: name that of the new one",
					   file);
		else if ((from.why == JS_ASIDE_MOVING && set_aside(&from, JS_ASIDE_MOVING, 0) != 0) ||
			 read_ledger(&from) != 0)
			status = cli_fail(cli);
		else
			status = refuse_alive(&from);
	}
	JS_THEN(status, refuse_used(&to, s->replace));
	if (status == 0)
		status = fill_other(&from, &to, kept);
	if (status == 0 && !cli->quiet)
		(void)printf("moved and checked: %" PRIu64 " stack%s, %" PRIu64
			     " entries\nfrom now on, for users and workers:\n    export JOBSTACK_DEFAULTS_FILE=%s\n"
			     "the old server refuses from now on: `jobstack server stop` ends it\nthe backup of the "
			     "move: %s\n",
			     to.stacks, show_plural(to.stacks), to.entries, name, kept);
	jobstack_free(other.handle);
	close_database(&from);
	close_database(&to);
	return status;
}

/* Starts the server to count what it has, and stops it again.  Without an answer HAS stays as it is. */
static int count_stacks(struct server *s, char *has, size_t size)
{
	struct database p = {.cli = &s->cli, .database = "of the stopped server (`jobstack server start` starts it)"};
	int status = server_prepare(s);

	s->foreground = 1; /* it ends if we are killed */
	JS_THEN(status, server_serve(s));
	status = status != 0 ? server_fail(s) : cli_connect(&s->cli, 0);
	if (status == 0 && read_ledger(&p) != 0)
		status = cli_fail(&s->cli);
	if (status == 0)
		(void)snprintf(has, size, "stacks: %" PRIu64 ", entries left: %" PRIu64, p.stacks, p.left);
	jobstack_free(s->cli.handle);
	s->cli.handle = NULL;
	js_error_clear(&s->cli.error);
	js_buf_free(&p.ledger);
	return server_end(s) < 0 ? server_fail(s) : refuse_alive(&p);
}

/* Asks, and gives the directory another name: from then on there is no server.  The lock, which is held to the end of
 * the process, keeps everybody from starting it meanwhile. */
static int ask_and_rename(struct server *s, const char *gone)
{
	static char file[JS_LAYOUT_PATH]; /* the clients' own may name another server */
	char has[80] = "its stacks could not be counted";
	struct chain chain;

	chain_read(s->layout.dir, &chain);
	js_layout_join(file, s->layout.dir, "remove.cnf");
	s->client_file = s->cli.defaults_file = file;
	if (js_layout_lock(&s->layout, &s->cli) < 0 || server_look(s) != 0)
		return server_fail(s);
	if (chain.jobs[0] != '\0' || (s->state != JS_OWNER_STOPPED && s->state != JS_OWNER_CRASHED)) {
		cli_tell(&s->cli, "the server runs: `jobstack server stop --data '%s'` first", s->layout.dir);
		return CLI_NO;
	}
	JS_TRY(count_stacks(s, has, sizeof(has)));
	JS_TRY(cli_confirm(&s->cli, "delete %s (%.1f MB; %s)", s->layout.dir,
			   (double)js_layout_size(s->layout.dir) / 1048576.0, has));
	if (cli_stop == 0 && rename(s->layout.dir, gone) == 0)
		return 0;
	(void)js_error_file(&s->cli.error, "%s was not renamed to %s", s->layout.dir, gone);
	return server_fail(s);
}

/* Deletes what ask_and_rename has left, now or in a call that was killed.  The data are deleted as their owner. */
static int delete_renamed(struct server *s, const char *gone)
{
	struct js_layout left;
	struct js_who us;

	JS_TRY(js_layout_set(&left, gone, &s->cli.error));
	JS_TRY(js_layout_who(&left, s->user, &s->who, &s->cli.error));
	js_who_self(&us);
	js_layout_sweep(gone, "data", &s->who);
	js_layout_sweep(gone, "run", &s->who);
	js_layout_remove(gone, &us);
	if (access(gone, F_OK) != 0)
		return 0;
	return js_error_set(&s->cli.error, JOBSTACK_EFILE, "%s could not be deleted: repeat the command", gone);
}

int verb_remove(struct server *s)
{
	const char *file = s->client_file, *data;
	const int known = config_server_of(file, &data) >= 0 && data != NULL;
	const int ours = known && strcmp(data, s->layout.dir) == 0;
	char gone[JS_LAYOUT_PATH];

	cli_catch_signals();
	(void)snprintf(gone, sizeof(gone), "%s", chain_beside(s->layout.dir, ".removed"));
	if (!ours && !s->dir_given && (known || s->cli.defaults_file != NULL))
		return cli_usage(&s->cli, "%s is not of the server in %s: give --data DIR", file, s->layout.dir);
	if (!s->cli.yes && !cli_asks(&s->cli))
		return cli_usage(&s->cli, "this is not a terminal, so --yes is required");
	if (js_layout_exists(&s->layout) == 0 && access(gone, F_OK) != 0)
		return cli_usage(&s->cli, "there is no server in %s", s->layout.dir);
	if (delete_renamed(s, gone) != 0)
		return server_fail(s);
	if (js_layout_exists(&s->layout) != 0)
		JS_TRY(ask_and_rename(s, gone));
	if (delete_renamed(s, gone) != 0)
		return server_fail(s);
	if (ours)
		(void)unlink(file);
	cli_say(&s->cli, "%s is deleted", s->layout.dir);
	return CLI_YES;
}
