/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Initialising the data.  Promise: a directory called data is whole.
 */
#include "server/internal.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "server/logfile.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INSTALL_LIMIT_US (900 * JS_SECOND_US) /* shared file systems are slow with many small files */
#define ARGS_MAX 16
#define DISK_MB 200 /* what fresh data takes, about */

/* The installer's arguments, and the space for those that are made up. */
struct arguments {
	const char *argv[ARGS_MAX + 1];
	char datadir[JS_LAYOUT_PATH + 16], basedir[JS_LAYOUT_PATH + 16], user[100], bootstrap[JS_LAYOUT_PATH + 32];
};

static void fill_installer_arguments(struct arguments *a, const struct js_program *program, const struct js_who *who,
				     const char *dir)
{
	const char *basedir = program->basedir[0] != '\0' ? a->basedir : NULL;
	const char *user = who->name[0] != '\0' ? a->user : NULL;
	const char *const mysql[ARGS_MAX] = {program->path, "--no-defaults", "--initialize-insecure", a->datadir,
					     /* the compiled-in directory need not exist */
					     "--secure-file-priv=NULL", basedir};
	const char *const mariadb[ARGS_MAX] = {
		program->installer, "--no-defaults", a->datadir, "--auth-root-authentication-method=socket",
		"--skip-test-db",
		/* its data directory: in /tmp any other server of this user that starts deletes its temporary tables */
		"--tmpdir=.", "--force", /* this host's name need not be known to the resolver */
		basedir != NULL ? basedir : user, basedir != NULL ? user : NULL};

	(void)snprintf(a->datadir, sizeof(a->datadir), "--datadir=%s", dir);
	(void)snprintf(a->basedir, sizeof(a->basedir), "--basedir=%s", program->basedir);
	(void)snprintf(a->user, sizeof(a->user), "--auth-root-socket-user=%s", who->name);
	/* else the installer would run the server in its default place */
	(void)snprintf(a->bootstrap, sizeof(a->bootstrap), "MYSQLD_BOOTSTRAP=%s", program->path);
	memcpy(a->argv, program->mysql ? mysql : mariadb, sizeof(mysql));
	a->argv[ARGS_MAX] = NULL;
}

static int run_installer(const struct js_work *work, const struct js_program *program, const char *dir,
			 struct jobstack_error *error)
{
	struct arguments a;
	struct js_task task = {.argv = a.argv, .who = &work->who, .dir = dir};
	struct js_buf said = {0};
	int status, end = 0;
	char **with;

	fill_installer_arguments(&a, program, &work->who, dir);
	with = js_task_env(work->env, a.bootstrap);
	if (with == NULL)
		return js_error_memory(error);
	task.env = with;
	status = js_task_run(&task, INSTALL_LIMIT_US, work->stop, &said, &end, error);
	if (status == 0 && end != 0) {
		int full = js_logfile_full(work->layout.dir, said.data);

		js_logfile_tell(work->log, said.data, 20);
		status = js_error_why(error, JOBSTACK_ENODB, full ? JS_LOGFILE_FULL : 0,
				      "%s could not initialise the data in %s%s", a.argv[0], work->layout.dir,
				      full ? ": the disk or your quota is full" : "");
	}
	free(with);
	js_buf_free(&said);
	return status;
}

int js_install_rename(const char *from, const char *to, struct jobstack_error *error)
{
	int fd = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	/* where root has no rights (NFS) root can't open it: then the flushes of the installer must suffice */
	int failed = fd >= 0 && syncfs(fd) != 0;

	js_file_close(&fd);
	if (failed)
		return js_error_errno(error, JOBSTACK_ENODB, "%s could not be written to disk", from);
	if (rename(from, to) != 0)
		return js_error_file(error, "%s can't be renamed to %s", from, to);
	return 0;
}

int js_install(const struct js_work *work, const struct js_program *program, struct jobstack_error *error)
{
	const struct js_layout *layout = &work->layout;
	const struct js_who *who = &work->who;
	char aside[JS_LAYOUT_PATH];
	struct stat st;
	int status = 0;

	js_layout_sweep(layout->dir, "data.new.", who); /* left by starts that were killed */
	if (lstat(layout->data, &st) == 0)
		return 0;
	js_log(work->log, JOBSTACK_LOG_INFO, "initialising the data in %s (%s %s)", layout->data,
	       program->mysql ? "MySQL" : "MariaDB", program->text);
	if (js_layout_full(layout->dir, DISK_MB))
		js_log(work->log, JOBSTACK_LOG_WARNING, "less than %d MB are free under %s", DISK_MB, layout->dir);
	/* a new name each time: an installer that outlived its killed parent must not write into this one */
	js_layout_join(aside, layout->dir, "data.new.XXXXXX");
	if (mkdtemp(aside) == NULL)
		return js_error_file(error, "can't make a directory in %s", layout->dir);
	if (who->change && lchown(aside, who->uid, who->gid) != 0)
		status = js_error_file(error, "can't make the user %s the owner of %s", who->name, aside);
	JS_THEN(status, run_installer(work, program, aside, error));
	JS_THEN(status, js_install_rename(aside, layout->data, error));
	if (status != 0)
		js_layout_remove(aside, who);
	return status;
}
