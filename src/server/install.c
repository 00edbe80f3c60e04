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

static void add_installer_words(struct cli_words *words, const struct server *s, const char *dir)
{
	const struct js_program *program = &s->program;

	cli_words_add(words, program->mysql ? program->path : program->installer);
	cli_words_add(words, "--no-defaults");
	cli_words_format(words, "--datadir=%s", dir);
	if (program->basedir[0] != '\0')
		cli_words_format(words, "--basedir=%s", program->basedir);
	if (program->mysql) {
		cli_words_add(words, "--initialize-insecure");
		cli_words_add(words, "--secure-file-priv=NULL"); /* the compiled-in directory need not exist */
		return;
	}
	/* --tmpdir is its data directory: in /tmp any other server of this user that starts deletes its temporary
	 * tables.  --force: this host's name need not be known to the resolver. */
	(void)cli_words_split(words, "--auth-root-authentication-method=socket --skip-test-db --tmpdir=. --force");
	if (s->who.name[0] != '\0')
		cli_words_format(words, "--auth-root-socket-user=%s", s->who.name);
}

/* The installer starts the server program itself, so it must be told which one. */
static int run_installer(struct server *s, const char *dir)
{
	char server[JS_LAYOUT_PATH + 32], failed[JS_LAYOUT_PATH + 64];
	struct cli_words words = {0};
	struct js_tool tool = {
		.who = &s->who, .dir = dir, .variable = server, .limit_us = INSTALL_LIMIT_US, .failed = failed};
	int status;

	add_installer_words(&words, s, dir);
	/* else the installer would run the server in its default place */
	(void)snprintf(server, sizeof(server), "MYSQLD_BOOTSTRAP=%s", s->program.path);
	(void)snprintf(failed, sizeof(failed), "could not initialise the data in %s", s->layout.dir);
	tool.argv = (const char *const *)words.at;
	status = words.failed ? js_error_memory(&s->cli.error) : js_program_run(&s->cli, &tool, s->layout.dir);
	cli_words_free(&words);
	return status;
}

/* Under the directory's lock no other start can be making data, so what is left of them is swept away. */
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

/* By cp, which keeps owners and modes, and copies nothing at all where the file system can share blocks. */
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
	return make_whole(s, to, run_copy);
}

/* Finds the note of the data's version, which the installer, mariadb-upgrade or we have written. */
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

/* A server that is older than its data would damage them or not start; a newer one would change them so that there is
 * no way back, so that needs a copy (`upgrade`). */
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

/* Writes the note as the user of the data (js_who_call).  Returns 0, or errno. */
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
