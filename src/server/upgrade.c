/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Serving the data by a newer server.  Promise: until the newer one has answered, the data as the older one left them
 * are in the directory, and come back if it does not.
 */
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "server/internal.h"
#include "server/logfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STEP_LIMIT_US (3600 * JS_SECOND_US)
#define SERVED_BY "jobstack_served_by" /* in the data: the newest server that an upgrade started on them */

/* The version that a file in the data names, as in js_program; 0: none. */
static unsigned read_version(const struct js_layout *layout, const char *file, char text[64])
{
	unsigned major = 0, minor = 0;
	char path[JS_LAYOUT_PATH];
	struct js_buf t = {0};

	js_layout_join(path, layout->data, file);
	if (js_file_read(path, &t) == 0 && t.len > 0 && sscanf(t.data, "%3u.%3u", &major, &minor) == 2)
		(void)snprintf(text, 64, "%.*s", (int)strspn(t.data, "0123456789."), t.data);
	js_buf_free(&t);
	return major * 100 + minor;
}

/* The version of the server's own tables, as the installer or mariadb-upgrade has noted it; 0: not known. */
static unsigned tables_version(const struct js_layout *layout, char text[64])
{
	unsigned version = read_version(layout, "mariadb_upgrade_info", text);

	return version != 0 ? version : read_version(layout, "mysql_upgrade_info", text);
}

/* The version of the server that wrote the data last; 0: not known. */
static unsigned data_version(const struct js_layout *layout, char text[64])
{
	char served_text[64];
	unsigned tables = tables_version(layout, text), served = read_version(layout, SERVED_BY, served_text);

	if (served <= tables)
		return tables;
	memcpy(text, served_text, sizeof(served_text));
	return served;
}

/* The copy of the data that an upgrade keeps. */
static void name_copy(const struct js_layout *layout, const char *text, char kept[JS_LAYOUT_PATH])
{
	char name[80];

	(void)snprintf(name, sizeof(name), "data.%s", text);
	js_layout_join(kept, layout->dir, name);
}

static int refuse_newer_data(const char *text, const struct js_program *program, struct jobstack_error *error)
{
	return js_error_set(error, JOBSTACK_ECONFLICT,
			    "the data are of MariaDB %s, and %s is older (%s): name a newer one with --program", text,
			    program->path, program->text);
}

int js_upgrade_check(const struct js_layout *layout, const struct js_program *program, struct jobstack_error *error)
{
	char text[64] = "", kept[JS_LAYOUT_PATH];
	unsigned had = data_version(layout, text);

	if (had == 0 || program->mysql || program->version == had)
		return 0;
	if (had >= 500 && had < 1000) /* after 5.5 came 10.0 */
		return js_error_set(error, JOBSTACK_ECONFLICT,
				    "%s has data of MySQL %s: name its server with --program, or another directory "
				    "with --data",
				    layout->data, text);
	if (program->version < had)
		return refuse_newer_data(text, program, error);
	name_copy(layout, text, kept);
	if (access(kept, F_OK) == 0) /* upgraded, or about to be */
		return 0;
	return js_error_why(error, JOBSTACK_ECONFLICT, JS_WHY_OLD_DATA,
			    "the data are of MariaDB %s, and %s is newer (%s)", text, program->path, program->text);
}

struct serving {
	char path[JS_LAYOUT_PATH];
	const char *text;
};

static int write_served_by(const void *arg)
{
	const struct serving *by = arg;

	return js_file_replace(by->path, 0644, by->text, strlen(by->text)) != 0 ? errno : 0;
}

int js_upgrade_begin(const struct js_work *work, const struct js_program *program, struct jobstack_error *error)
{
	struct serving by = {.text = program->text};
	char text[64];
	unsigned had = data_version(&work->layout, text);
	int failed;

	if (had == 0 || program->mysql || program->version <= had)
		return 0;
	js_layout_join(by.path, work->layout.data, SERVED_BY);
	failed = js_who_call(&work->who, write_served_by, &by);
	errno = failed > 0 && failed < 255 ? failed : EPERM;
	return failed != 0 ? js_error_file(error, "%s can't be written", by.path) : 0;
}

/* WHO: as this user; NULL: as ourselves. */
static int run_step(const struct js_work *work, const struct js_who *who, const char *const *argv,
		    struct jobstack_error *error)
{
	const struct js_task task = {.argv = argv, .env = work->env, .who = who};
	struct js_buf said = {0};
	int end = 0, status = js_task_run(&task, STEP_LIMIT_US, work->stop, &said, &end, error);

	if (status == 0 && end != 0) {
		int full = js_logfile_full(work->layout.dir, said.data);

		js_logfile_tell(work->log, said.data, 12);
		status = js_error_why(error, JOBSTACK_ENODB, full ? JS_LOGFILE_FULL : 0, "%s failed%s", argv[0],
				      full ? ": the disk or your quota is full" : "");
	}
	js_buf_free(&said);
	return status;
}

/* Takes the directory's lock, so that nobody starts a server meanwhile.  Returns it, or an error; ECONFLICT: a server
 * runs. */
static int lock_stopped(const struct js_work *work, struct jobstack_error *error)
{
	int lock = js_layout_lock(&work->layout, work->log, work->stop, error), status;
	enum js_owner_state owns;
	struct js_owner owner;

	if (lock < 0)
		return lock;
	status = js_owner_read(&work->layout, &owner, &owns, error);
	if (status == 0 && (owns == JS_OWNER_ALIVE || owns == JS_OWNER_ELSEWHERE))
		status = js_error_set(error, JOBSTACK_ECONFLICT, "another command has started the server meanwhile");
	if (status != 0)
		js_file_close(&lock);
	return status != 0 ? status : lock;
}

/* The copy has its name only when it is whole; js_install removes one that is not. */
static int copy_data(const struct js_work *work, const char *kept, struct jobstack_error *error)
{
	char aside[JS_LAYOUT_PATH], from[JS_LAYOUT_PATH];
	const char *argv[] = {"/bin/cp", "-a", "--reflink=auto", from, aside, NULL};
	int lock = lock_stopped(work, error), status;

	if (lock < 0)
		return lock;
	js_layout_join(from, work->layout.data, ".");
	/* a new name each time: a cp that outlived its killed parent must not write into this one */
	js_layout_sweep(work->layout.dir, "data.new.", &work->who);
	js_layout_join(aside, work->layout.dir, "data.new.XXXXXX");
	if (mkdtemp(aside) == NULL)
		status = js_error_file(error, "can't make a directory in %s", work->layout.dir);
	else if (work->who.change && lchown(aside, work->who.uid, work->who.gid) != 0)
		status = js_error_file(error, "can't make the user %s the owner of %s", work->who.name, aside);
	else
		status = run_step(work, &work->who, argv, error);
	JS_THEN(status, js_install_rename(aside, kept, error));
	if (status != 0)
		js_layout_remove(aside, &work->who);
	(void)close(lock);
	return status;
}

/* Runs TOOL of the server's clients as its administrator, with ARGUMENT. */
static int run_client(const struct js_work *work, const struct js_program *program, const char *tool,
		      const char *argument, struct jobstack_error *error)
{
	char path[JS_LAYOUT_PATH], defaults[JS_LAYOUT_PATH + 32];
	const char *argv[] = {path, defaults, argument, NULL};

	(void)snprintf(defaults, sizeof(defaults), "--defaults-file=%s", work->layout.root);
	if (js_program_beside(program->path, tool, path) != 0 && js_program_search(tool, work->search, path) != 0)
		return js_error_set(error, JOBSTACK_EFILE, "%s was not found (package mariadb-client)", tool);
	return run_step(work, NULL, argv, error);
}

/* The server works with tables of an older version too, so a failure is only told. */
void js_upgrade_finish(const struct js_work *work, const struct js_program *program)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT, none = JOBSTACK_ERROR_INIT;
	char text[64];
	unsigned had = tables_version(&work->layout, text);

	if (had == 0 || program->mysql || program->version <= had)
		return;
	/* seen with 10.11: its scheduler and the change of the table of events waited for each other for ever */
	(void)run_client(work, program, "mariadb", "--execute=SET GLOBAL event_scheduler=OFF", &none);
	(void)run_client(work, program, "mariadb-upgrade", "--upgrade-system-tables", &error);
	(void)run_client(work, program, "mariadb", "--execute=SET GLOBAL event_scheduler=ON", &none);
	if (error.code != 0)
		js_log(work->log, JOBSTACK_LOG_WARNING,
		       "the server's own tables are still those of MariaDB %s: %s; the next `jobstack server start` "
		       "tries again",
		       text, error.text);
}

/* After a failed start.  At no moment is there no directory called data, for a start would make an empty one. */
static int put_back(const struct js_work *work, const char *kept, const char *had, const char *text,
		    struct jobstack_error *error)
{
	struct jobstack_error why = JOBSTACK_ERROR_INIT;
	char aside[JS_LAYOUT_PATH];
	int lock = lock_stopped(work, &why);

	if (lock < 0) { /* it runs: what failed came behind its start, such as writing the client's file */
		js_log(work->log, JOBSTACK_LOG_WARNING, "%s: nothing is put back; the data of %s are in %s", why.text,
		       text, kept);
		return error->code;
	}
	js_layout_join(aside, work->layout.dir, "data.new.failed");
	if (renameat2(AT_FDCWD, kept, AT_FDCWD, work->layout.data, RENAME_EXCHANGE) == 0)
		(void)rename(kept, aside);
	else if (rename(work->layout.data, aside) != 0 || rename(kept, work->layout.data) != 0) {
		(void)js_error_set(&why, JOBSTACK_EFILE,
				   "the data of %s could not be put back: rename %s to %s before the next start", text,
				   kept, work->layout.data);
		*error = why;
	}
	(void)close(lock);
	js_layout_remove(aside, &work->who);
	if (why.code == 0)
		js_log(work->log, JOBSTACK_LOG_WARNING,
		       "the data of %s are back as they were: `jobstack server start --program %s` starts them with "
		       "the older server",
		       text, *had != '\0' ? had : "FILE");
	return error->code;
}

int js_server_upgrade(const struct js_server_options *options, struct js_server_info *info, char kept[JS_LAYOUT_PATH],
		      struct jobstack_error *error)
{
	struct js_work work = {.log = &options->log, .stop = options->stop, .search = options->search_path};
	struct js_server_options start = *options;
	struct js_program program;
	struct js_server_info old;
	struct js_net net;
	char text[64] = "";
	uint64_t need;
	unsigned had;
	int status;

	JS_TRY(js_layout_set(&work.layout, options->data, error));
	JS_TRY(js_layout_who(&work.layout, options->user, &work.who, error));
	JS_TRY(js_server_status(options, &old, error));
	work.env = js_task_env(options->environment, NULL);
	if (work.env == NULL)
		return js_error_memory(error);
	status = js_program_find(options->program, options->search_path, work.env, &work.who, &program, error);
	had = data_version(&work.layout, text);
	if (status == 0 && (had == 0 || program.mysql))
		status = js_error_set(
			error, JOBSTACK_ECONFLICT, "%s has no data of MariaDB%s", work.layout.data,
			program.mysql ? ", or the program is MySQL's, which upgrades its data at each start" : "");
	else if (status == 0 && program.version < had)
		status = refuse_newer_data(text, &program, error);
	name_copy(&work.layout, text, kept);
	if (status == 0 && program.version > had && access(kept, F_OK) == 0)
		status = js_error_set(error, JOBSTACK_ECONFLICT,
				      "%s, the copy of an earlier upgrade, is there: finish that upgrade by `jobstack "
				      "server start`, or move the copy away",
				      kept);
	need = js_layout_size(work.layout.data) >> 20;
	if (status == 0 && program.version > had && js_layout_full(work.layout.dir, need))
		status = js_error_set(error, JOBSTACK_EFILE,
				      "less than %" PRIu64 " MB are free under %s, which the copy of the data needs",
				      need, work.layout.dir);
	if (start.bind == NULL && old.owner.bind[0] != '\0')
		start.bind = old.owner.bind;
	else if (status == 0 && program.version > had)
		status = js_server_address(&work.layout, start.bind, &net, error);
	if (status != 0 || program.version == had) {
		free(work.env);
		return status != 0 ? status : 1;
	}
	status = js_server_stop(options, info, error);
	status = status > 0 ? 0 : status; /* it did not run */
	js_log(work.log, JOBSTACK_LOG_INFO, "copying the data of MariaDB %s to %s", text, kept);
	JS_THEN(status, copy_data(&work, kept, error));
	if (status != 0)
		js_log(work.log, JOBSTACK_LOG_WARNING,
		       "not upgraded, and the server may be stopped: repeat the command, or `jobstack server start`");
	start.program = program.path;
	if (status == 0 && js_server_start(&start, info, error) < 0)
		status = put_back(&work, kept, strcmp(old.owner.program, program.path) != 0 ? old.owner.program : "",
				  text, error);
	free(work.env);
	return status;
}
