/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Finding programs and running them.  Promise: if one is missing, the error says what to install.
 */
#include "server/program.h"

#include "base/clock.h"
#include "base/error.h"
#include "server/logfile.h"

#include <glob.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VERSION_LIMIT_US (30 * JS_SECOND_US)

/* Where servers are that are not in $PATH.  Below /opt they have a directory per package, or per version. */
#define USUAL                                                                                                          \
	"/usr/sbin:/usr/libexec:/usr/local/sbin:/usr/local/libexec:/usr/local/bin:/usr/local/mysql/bin:/usr/local/"    \
	"mariadb/bin:/usr/bin"
static const char *const usual_patterns[] = {"/opt/*/bin", "/opt/*/sbin", "/opt/*/*/bin", "/opt/rh/*/root/usr/libexec"};

static int is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* Looks for NAME in the directories of LIST (may be NULL). */
static int search_list(const char *list, const char *name, char out[JS_LAYOUT_PATH])
{
	struct js_buf file = {0};
	int found = 0;

	while (!found && list != NULL && js_child_next_path(&list, name, &file) > 0) {
		/* relative directories in a search path are ignored: they are mistakes, or traps */
		found = file.data[0] == '/' && file.len < JS_LAYOUT_PATH && is_program(file.data);
		if (found)
			memcpy(out, file.data, file.len + 1);
	}
	js_buf_free(&file);
	return found;
}

/* Looks for the first of NAMES in the directories of LIST (may be NULL). */
static int search_list_names(const char *list, const char *const names[], char out[JS_LAYOUT_PATH])
{
	for (size_t n = 0; names[n] != NULL; n++)
		if (search_list(list, names[n], out))
			return 1;
	return 0;
}

/* Appends the usual places to LIST. */
static void add_usual(struct js_buf *list)
{
	js_buf_str(list, USUAL);
	for (size_t i = 0; i < sizeof(usual_patterns) / sizeof(usual_patterns[0]); i++) {
		glob_t found;

		if (glob(usual_patterns[i], 0, NULL, &found) != 0)
			continue;
		for (size_t k = found.gl_pathc; k > 0; k--) /* the last name has the newest version in it */
			js_buf_printf(list, ":%s", found.gl_pathv[k - 1]);
		globfree(&found);
	}
}

/* Looks for the first of NAMES in the server's archive, if that is here, then in $PATH, then in the usual places. */
static int search_names(const char *const names[], char out[JS_LAYOUT_PATH])
{
	char archive[PATH_MAX + 64];
	struct js_buf usual = {0};
	int found;

	(void)snprintf(archive, sizeof(archive), "%s/" CLI_SERVER_ARCHIVE "/bin", js_child_program_dir());
	found = search_list_names(archive, names, out) || search_list_names(getenv("PATH"), names, out);
	if (!found) {
		add_usual(&usual);
		found = search_list_names(usual.data, names, out);
	}
	js_buf_free(&usual);
	return found;
}

/* Looks where the package of the server SERVER has its client programs. */
static int search_beside(const char *server, const char *name, char out[JS_LAYOUT_PATH])
{
	int dir = server != NULL && *server == '/' ? (int)(strrchr(server, '/') - server) : -1;

	return dir >= 0 && snprintf(out, JS_LAYOUT_PATH, "%.*s/../bin/%s", dir, server, name) < JS_LAYOUT_PATH &&
	       is_program(out);
}

int js_program_client(const char *server, const char *const names[], char out[JS_LAYOUT_PATH])
{
	for (size_t i = 0; names[i] != NULL; i++)
		if (search_beside(server, names[i], out))
			return 0;
	return search_names(names, out) ? 0 : -1;
}

/* Finds the directory into which the server was unpacked, if it is not /usr: the server finds its messages by it. */
static void find_basedir(struct js_program *program)
{
	char real[PATH_MAX], *dir = realpath(program->path, real);

	program->basedir[0] = '\0';
	if (dir != NULL)
		dir = dirname(dirname(dir));
	if (dir != NULL && dir[1] != '\0' && strcmp(dir, "/usr") != 0 && strlen(dir) < sizeof(program->basedir))
		memcpy(program->basedir, dir, strlen(dir) + 1);
}

static int find_installer(struct js_program *program, struct jobstack_error *error)
{
	static const char *const names[] = {"mariadb-install-db", "mysql_install_db", NULL};

	if (program->mysql)
		return 0;
	for (size_t i = 0; names[i] != NULL && program->basedir[0] != '\0';
	     i++) { /* as MariaDB's own archives have it */
		char dir[JS_LAYOUT_PATH];

		js_layout_join(dir, program->basedir, "scripts");
		js_layout_join(program->installer, dir, names[i]);
		if (is_program(program->installer))
			return 0;
	}
	if (js_program_client(program->path, names, program->installer) == 0)
		return 0;
	return js_error_set(
		error, JOBSTACK_EFILE,
		"mariadb-install-db, which %s needs, was not found: install the complete package mariadb-server",
		program->path);
}

/* Reads "mariadbd  Ver 10.11.6-MariaDB-0+deb12u1 for ..." or "/usr/sbin/mysqld  Ver 8.0.36 for Linux on x86_64 (MySQL
 * ...)". */
static int parse_version(const char *said, struct js_program *program)
{
	const char *p = strstr(said, " Ver ");
	unsigned major, minor;

	if (p == NULL)
		p = strstr(said, " from "); /* as MariaDB 11 words it in its other programs */
	if (p == NULL)
		return -1;
	p = strchr(p + 1, ' ') + 1;
	if (sscanf(p, "%3u.%3u", &major, &minor) != 2)
		return -1;
	program->mysql = strstr(said, "MariaDB") == NULL;
	program->version = major * 100 + minor;
	(void)snprintf(program->text, sizeof(program->text), "%.*s", (int)strcspn(p, " ,\n"), p);
	return 0;
}

/* In the child: becomes the user that the tool runs as. */
static const char *enter_tool(const void *arg)
{
	const struct js_tool *tool = arg;
	const char *bad = js_who_enter(tool->who, tool->dir);

	if (tool->variable != NULL)
		(void)putenv((char *)(uintptr_t)tool->variable);
	return bad;
}

/* Runs TOOL, and collects what it says. */
static int collect_output(const struct js_tool *tool, struct js_buf *said, int *end, struct jobstack_error *error)
{
	const struct js_child child = {.argv = tool->argv,
				       .enter = enter_tool,
				       .arg = tool,
				       .stop = tool->patient ? NULL : &cli_stop,
				       JS_WHO_CHILD};

	return js_child_run(&child, said, said, tool->limit_us, end, error);
}

/* What the tool said is shown only if it failed: installers are talkative. */
int js_program_run(struct cli *cli, const struct js_tool *tool, const char *dir)
{
	struct js_buf said = {0};
	int end = 0, status = collect_output(tool, &said, &end, &cli->error);

	if (status == 0 && end != 0) {
		int full = js_logfile_full(dir, said.data);

		js_logfile_tell(cli, said.data, 20);
		status = js_error_why(&cli->error, JOBSTACK_ENODB, full ? JS_LOGFILE_FULL : 0, "%s %s%s", tool->argv[0],
				      tool->failed, full ? ": the disk or your quota is full" : "");
	}
	js_buf_free(&said);
	return status;
}

static int ask_version(const struct js_who *who, struct js_program *program, struct jobstack_error *error)
{
	const char *argv[] = {program->path, "--no-defaults", "--version", NULL};
	const struct js_tool tool = {.argv = argv, .who = who, .limit_us = VERSION_LIMIT_US};
	struct js_buf said = {0};
	int end = 0, status = collect_output(&tool, &said, &end, error);

	if (status == 0 && (said.failed || said.data == NULL || end != 0 || parse_version(said.data, program) != 0))
		status = js_error_set(error, JOBSTACK_EFILE,
				      "%s is not a MariaDB or MySQL server: with --version it prints \"%.100s\"",
				      program->path, said.data != NULL ? said.data : "");
	if (status == 0 && program->version < (program->mysql ? 800U : 1005U))
		status = js_error_set(error, JOBSTACK_EFILE, "%s is too old (%s): MariaDB 10.5 or MySQL 8.0 is needed",
				      program->path, program->text);
	js_buf_free(&said);
	return status;
}

/* A name without a slash is searched for, as a shell does.  The program is run before it is trusted: only its own words
 * tell MariaDB from MySQL, and which version it is. */
int js_program_find(const char *given, const struct js_who *who, struct js_program *program,
		    struct jobstack_error *error)
{
	const char *const ours[] = {"mariadbd", "mysqld", NULL}, *const theirs[] = {given, NULL};

	memset(program, 0, sizeof(*program));
	if (given != NULL && strchr(given, '/') != NULL) {
		JS_TRY(js_layout_absolute(program->path, given, error));
		if (!is_program(program->path))
			return js_error_set(error, JOBSTACK_EFILE,
					    "the server program %s does not exist or is not executable", given);
	} else if (given != NULL) {
		if (!search_names(theirs, program->path))
			return js_error_set(error, JOBSTACK_EFILE, "the server program %s was not found", given);
	} else if (!search_names(ours, program->path))
		return js_error_set(error, JOBSTACK_EFILE,
				    "no MariaDB or MySQL server (mariadbd, mysqld) was found: install mariadb-server "
				    "(Debian, Ubuntu: apt install mariadb-server; RHEL, Rocky, Alma: dnf install "
				    "mariadb-server), or name one with --program");
	JS_TRY(ask_version(who, program, error));
	find_basedir(program);
	return find_installer(program, error);
}
