/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The data: made, copied, and which server may serve them.  Promise: a directory called data, or a copy of one, is
 * whole; it is made under another name and renamed when it is on disk.  If that is killed, the next call starts from
 * the beginning.
 */
#include "server/server.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INSTALL_LIMIT_US (900 * JS_SECOND_US) /* shared file systems are slow with many small files */
#define COPY_LIMIT_US (3600 * JS_SECOND_US)
#define ARGS_MAX 16
#define DISK_MB 200 /* what fresh data takes, about */

/* Flushes the new directory FROM to disk, and then renames it: its final name says that it is complete. */
static int rename_whole(const char *from, const char *to, struct jobstack_error *error)
{
	int fd = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	/* where root has no rights (NFS) root can't open it: then the flushes of the installer must suffice */
	int failed = fd >= 0 && syncfs(fd) != 0;

	js_file_close(&fd);
	if (failed)
		return js_error_errno(error, JOBSTACK_ENODB, "%s could not be written to disk", from);
	return rename(from, to) == 0 ? 0 : js_error_file(error, "%s can't be renamed to %s", from, to);
}

/* Makes the directory TO by FILL.  It has a new name each time: a program that outlived its killed parent must not
 * write into this one. */
static int make_whole(struct server *s, const char *to, int (*fill)(struct server *s, const char *dir))
{
	char aside[JS_LAYOUT_PATH];
	int status = 0;

	js_layout_join(aside, s->layout.dir, "data.new.XXXXXX");
	if (mkdtemp(aside) == NULL)
		return js_error_file(&s->cli.error, "can't make a directory in %s", s->layout.dir);
	if (s->who.change && lchown(aside, s->who.uid, s->who.gid) != 0)
		status = js_error_file(&s->cli.error, "can't make the user %s the owner of %s", s->who.name, aside);
	JS_THEN(status, fill(s, aside));
	JS_THEN(status, rename_whole(aside, to, &s->cli.error));
	if (status != 0)
		js_layout_remove(aside, &s->who);
	return status;
}

/* The installer's arguments, and the space for those that are made up. */
struct arguments {
	const char *argv[ARGS_MAX + 1];
	char datadir[JS_LAYOUT_PATH + 16], basedir[JS_LAYOUT_PATH + 16], user[100], bootstrap[JS_LAYOUT_PATH + 32];
	char failed[JS_LAYOUT_PATH + 64];
};

static void fill_installer_arguments(struct arguments *a, const struct server *s, const char *dir)
{
	const struct js_program *program = &s->program;
	const char *basedir = program->basedir[0] != '\0' ? a->basedir : NULL;
	const char *user = s->who.name[0] != '\0' ? a->user : NULL;
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
	(void)snprintf(a->user, sizeof(a->user), "--auth-root-socket-user=%s", s->who.name);
	/* else the installer would run the server in its default place */
	(void)snprintf(a->bootstrap, sizeof(a->bootstrap), "MYSQLD_BOOTSTRAP=%s", program->path);
	(void)snprintf(a->failed, sizeof(a->failed), "could not initialise the data in %s", s->layout.dir);
	memcpy(a->argv, program->mysql ? mysql : mariadb, sizeof(mysql));
	a->argv[ARGS_MAX] = NULL;
}

static int run_installer(struct server *s, const char *dir)
{
	struct arguments a;
	const struct js_tool tool = {.argv = a.argv,
				     .who = &s->who,
				     .dir = dir,
				     .variable = a.bootstrap,
				     .limit_us = INSTALL_LIMIT_US,
				     .failed = a.failed};

	fill_installer_arguments(&a, s, dir);
	return js_program_run(&s->cli, &tool, s->layout.dir);
}

int server_install(struct server *s)
{
	struct stat st;

	js_layout_sweep(s->layout.dir, "data.new.", &s->who); /* left by starts that were killed */
	if (lstat(s->layout.data, &st) == 0)
		return 0;
	cli_say(&s->cli, "initialising the data in %s (%s %s)", s->layout.data, s->program.mysql ? "MySQL" : "MariaDB",
		s->program.text);
	if (js_layout_full(s->layout.dir, DISK_MB))
		cli_tell(&s->cli, "less than %d MB are free under %s", DISK_MB, s->layout.dir);
	return make_whole(s, s->layout.data, run_installer);
}

static int run_copy(struct server *s, const char *dir)
{
	char from[JS_LAYOUT_PATH];
	const char *argv[] = {"/bin/cp", "-a", "--reflink=auto", from, dir, NULL};
	const struct js_tool tool = {
		.argv = argv, .who = &s->who, .limit_us = COPY_LIMIT_US, .failed = "could not copy the data"};

	js_layout_join(from, s->layout.data, ".");
	return js_program_run(&s->cli, &tool, s->layout.dir);
}

int server_data_copy(struct server *s, const char *to)
{
	js_layout_sweep(s->layout.dir, "data.new.", &s->who);
	return make_whole(s, to, run_copy);
}

/* The note of the data's version, which the installer, mariadb-upgrade or we have written. */
static void name_note(const struct server *s, char path[JS_LAYOUT_PATH])
{
	js_layout_join(path, s->layout.data, "mariadb_upgrade_info");
	if (access(path, F_OK) != 0) /* before MariaDB 11 */
		js_layout_join(path, s->layout.data, "mysql_upgrade_info");
}

unsigned server_data_version(const struct server *s, char text[64])
{
	unsigned major = 0, minor = 0;
	char path[JS_LAYOUT_PATH];
	struct js_buf t = {0};

	text[0] = '\0';
	name_note(s, path);
	if (js_file_read(path, &t) == 0 && t.len > 0 && sscanf(t.data, "%3u.%3u", &major, &minor) == 2)
		(void)snprintf(text, 64, "%.*s", (int)strspn(t.data, "0123456789."), t.data);
	js_buf_free(&t);
	return major * 100 + minor;
}

int server_data_check(struct server *s)
{
	const struct js_program *program = &s->program;
	struct jobstack_error *error = &s->cli.error;
	char text[64];
	unsigned had = server_data_version(s, text);

	if (had == 0 || program->mysql || program->version == had)
		return 0;
	if (had >= 500 && had < 1000) /* after 5.5 came 10.0 */
		return js_error_set(error, JOBSTACK_ECONFLICT,
				    "%s has data of MySQL %s: name its server with --program, or another directory "
				    "with --data",
				    s->layout.data, text);
	if (program->version < had)
		return js_error_set(error, JOBSTACK_ECONFLICT,
				    "the data are of MariaDB %s, and %s is older (%s): name a newer one with --program",
				    text, program->path, program->text);
	return js_error_why(error, JOBSTACK_ECONFLICT, JS_WHY_OLD_DATA,
			    "the data are of MariaDB %s, and %s is newer (%s)", text, program->path, program->text);
}

struct note {
	char path[JS_LAYOUT_PATH];
	const char *text;
};

static int write_note(const void *arg)
{
	const struct note *note = arg;

	return js_file_replace(note->path, 0644, note->text, strlen(note->text)) != 0 ? errno : 0;
}

int server_data_note(struct server *s)
{
	struct note note = {.text = s->program.text};
	int failed;

	name_note(s, note.path);
	failed = js_who_call(&s->who, write_note, &note);
	errno = failed > 0 && failed < 255 ? failed : EPERM;
	return failed != 0 ? js_error_file(&s->cli.error, "%s can't be written", note.path) : 0;
}
