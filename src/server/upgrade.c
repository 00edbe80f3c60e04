/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Serving the data by a newer MariaDB: a backup, a start, and mariadb-upgrade.  The backup is a copy of the directory
 * `data`, made while no server runs, so nothing that was committed is missing in it.  Promise: if the newer server does
 * not start, the copy takes the place of the data again, or the command to type is printed.
 *
 * All of it happens under the directory's lock.  The data say from the start of the newer server on that they are its
 * own, so no older one opens them any more.
 */
#include "server/server.h"

#include "base/clock.h"
#include "base/error.h"
#include "show/text.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STEP_LIMIT_US (3600 * JS_SECOND_US)
#define SCHEDULER_LIMIT_US (60 * JS_SECOND_US)

/* Runs the client program NAME as the server's administrator, with ARGUMENT and MORE (may be NULL).  PATIENT: a signal
 * does not end it. */
static int run_client(struct server *s, const char *name, const char *argument, const char *more, int patient)
{
	char path[JS_LAYOUT_PATH], defaults[JS_LAYOUT_PATH + 32];
	const char *argv[] = {path, defaults, argument, more, NULL};
	const char *const names[] = {name, NULL};
	struct js_who us;
	const struct js_tool tool = {.argv = argv,
				     .who = &us,
				     .limit_us = patient ? SCHEDULER_LIMIT_US : STEP_LIMIT_US,
				     .patient = patient,
				     .failed = "failed"};

	js_who_self(&us);
	(void)snprintf(defaults, sizeof(defaults), "--defaults-file=%s", s->layout.root);
	if (js_program_client(s->program.path, names, path) != 0)
		return js_error_set(&s->cli.error, JOBSTACK_EFILE, "%s was not found (package mariadb-client)", name);
	return js_program_run(&s->cli, &tool, s->layout.dir);
}

/* Upgrades the server's own tables.  It works with those of an older version, too, so a failure is printed, and nothing
 * else. */
static void upgrade_tables(struct server *s)
{
	/* seen with 10.11: its scheduler and the change of the table of events waited for each other for ever */
	(void)run_client(s, "mariadb", "--execute=SET GLOBAL event_scheduler=OFF", NULL, 1);
	js_error_clear(&s->cli.error);
	if (run_client(s, "mariadb-upgrade", "--upgrade-system-tables", "--force", 0) != 0)
		cli_tell(
			&s->cli,
			"the server runs, but its own tables are still those of an older version: %s; repeat `jobstack "
			"server upgrade`",
			s->cli.error.text);
	js_error_clear(&s->cli.error);
	/* also after a signal: without its scheduler the server does not look after accounts that may only read */
	(void)run_client(s, "mariadb", "--execute=SET GLOBAL event_scheduler=ON", NULL, 1);
	js_error_clear(&s->cli.error);
}

/* Refuses what can't be upgraded, before anything is changed.  0, or ECONFLICT or EFILE. */
static int check_upgrade(struct server *s, const char *kept)
{
	struct jobstack_error *error = &s->cli.error;
	uint64_t need = js_layout_size(s->layout.data) >> 20;
	int status = server_data_check(s);

	if (error->server_errno != JS_WHY_OLD_DATA)
		return status;
	js_error_clear(error);
	if (access(kept, F_OK) == 0)
		return js_error_set(
			error, JOBSTACK_ECONFLICT,
			"%s, the copy of an earlier upgrade, is there: move it away, and repeat the command", kept);
	if (js_layout_full(s->layout.dir, need))
		return js_error_set(error, JOBSTACK_EFILE,
				    "less than %" PRIu64 " MB are free under %s, which the copy of the data needs",
				    need, s->layout.dir);
	return server_address(s);
}

/* Puts the copy KEPT in the place of the data, which become FAILED.  Returns 0; 1 if the data are back, but what the
 * newer server left is in KEPT; -1 if they are not back. */
static int swap_data(const char *data, const char *kept, const char *failed)
{
	/* in one step where the file system can: a start would make empty data if there were no directory called data
	 */
	if (renameat2(AT_FDCWD, kept, AT_FDCWD, data, RENAME_EXCHANGE) == 0)
		return rename(kept, failed) == 0 ? 0 : 1;
	/* NFS can't, but no start comes between, because we hold the directory's lock */
	if (rename(data, failed) != 0)
		return -1;
	if (rename(kept, data) == 0)
		return 0;
	(void)rename(failed, data);
	return -1;
}

/* Appends BEFORE, and PATH as a shell reads it. */
static void add_path(struct js_buf *line, const char *before, const char *path)
{
	js_buf_str(line, before);
	show_quote_line(line, path, strlen(path));
}

/* Appends the command that does what swap_data could not do. */
static void add_moves(struct js_buf *line, const char *data, const char *kept, const char *failed, int is_back)
{
	if (!is_back && access(data, F_OK) == 0) {
		add_path(line, "mv ", data);
		add_path(line, " ", failed);
		js_buf_str(line, " && ");
	}
	add_path(line, "mv ", kept);
	add_path(line, " ", is_back ? failed : data);
}

/* Puts the data back after a start of the newer server that failed, or says what to type. */
static void put_data_back(struct server *s, const char *kept, const char *text, const char *older)
{
	struct jobstack_error ignored = JOBSTACK_ERROR_INIT;
	struct js_buf start = {0}, move = {0};
	char failed[JS_LAYOUT_PATH];
	int swapped;

	js_layout_join(failed, s->layout.dir, "data.new.failed"); /* which the next start removes */
	if (js_owner_read(&s->layout, &s->owner, &s->state, &ignored) == 0 && s->state == JS_OWNER_ALIVE) {
		cli_tell(&s->cli, "the newer server runs, so nothing is put back; the data of %s are in %s", text,
			 kept);
		return;
	}
	swapped = swap_data(s->layout.data, kept, failed);
	add_moves(&move, s->layout.data, kept, failed, swapped >= 0);
	add_path(&start, "jobstack server start --program ", older);
	if (swapped < 0)
		cli_tell(&s->cli, "type `%s` to put the data of %s back, before you start a server", move.data, text);
	else
		cli_tell(&s->cli, "the data of %s are back as they were: `%s` starts them with the older server", text,
			 start.data);
	if (swapped > 0)
		cli_tell(&s->cli, "what the newer server made of the data is still in %s: type `%s`", kept, move.data);
	js_buf_free(&start);
	js_buf_free(&move);
}

/* Under the lock: stops the server, copies the data, notes in them that they are the newer server's, and starts that.
 * If this process is killed:
 *
 *     while it copies               the data are as they were; the next start removes the part of a copy
 *     before the note is written    the next upgrade asks to move the copy away
 *     after that                    the next start serves the data by the newer server; the copy is kept */
static int upgrade_data(struct server *s, const char *kept, const char *text)
{
	char older[JS_LAYOUT_PATH] = "FILE";
	int status;

	if (cli_stop != 0)
		return js_error_set(&s->cli.error, JOBSTACK_ESTOPPED, "stopped before the upgrade");
	status = server_end(s);
	if (s->owner.program[0] != '\0' && strcmp(s->owner.program, s->program.path) != 0)
		(void)snprintf(older, sizeof(older), "%s", s->owner.program);
	if (status < 0)
		return status;
	cli_say(&s->cli, "copying the data of MariaDB %s to %s", text, kept);
	status = server_data_copy(s, kept);
	JS_THEN(status, server_data_note(s));
	if (status != 0) {
		cli_tell(&s->cli,
			 "not upgraded, and the server is stopped: repeat the command, or `jobstack server start "
			 "--program` with the older server");
		return status;
	}
	status = server_serve(s);
	if (status < 0)
		put_data_back(s, kept, text, older);
	return status;
}

/* If the data are of this version already, an earlier upgrade may have been stopped before its last step: then the
 * server is started, and only its system tables are upgraded. */
int verb_upgrade(struct server *s)
{
	char text[64], name[80], kept[JS_LAYOUT_PATH], bind[sizeof(s->owner.bind)];
	int status, lock = -1, is_older;

	cli_catch_signals();
	status = server_prepare(s);
	JS_THEN(status, server_look(s));
	if (status == 0 && (server_data_version(s, text) == 0 || s->program.mysql))
		status = js_error_set(
			&s->cli.error, JOBSTACK_ECONFLICT, "%s has no data of MariaDB%s", s->layout.data,
			s->program.mysql ? ", or the program is MySQL's, which upgrades its data at each start" : "");
	if (status != 0)
		return server_fail(s);
	(void)snprintf(bind, sizeof(bind), "%s", s->owner.bind);
	if (s->bind == NULL && bind[0] != '\0') /* it stays where it is */
		s->bind = bind;
	is_older = server_data_version(s, text) != s->program.version;
	(void)snprintf(name, sizeof(name), "data.%s", text);
	js_layout_join(kept, s->layout.dir, name);
	status = check_upgrade(s, kept);
	JS_THEN(status, lock = js_layout_lock(&s->layout, &s->cli));
	if (status >= 0)
		status = is_older ? upgrade_data(s, kept, text) : server_serve(s);
	if (status >= 0)
		upgrade_tables(s);
	if (lock >= 0)
		(void)close(lock);
	if (status < 0 || server_try_login(s, s->client_file) != 0)
		status = server_fail(s);
	else {
		if (is_older)
			cli_say(&s->cli, "the data of the older version are in %s: remove them when all works", kept);
		else
			cli_say(&s->cli, "nothing to upgrade: the data are of this version already");
		status = server_started(s, "running");
	}
	cli_die_by_signal(); /* also if it has only ended mariadb-upgrade */
	return status;
}
