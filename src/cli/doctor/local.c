/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack doctor: what this host gives.  Promise: the file that it writes, to see whether it can, is gone afterwards.
 */
#include "cli/doctor/doctor.h"

#include "base/clock.h"
#include "base/file.h"
#include "frame/command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define MB 1048576.0
#define LIMIT_US (10 * JS_SECOND_US)
#define FILES_WANTED 1024
#define PROCESSES_WANTED 256
#define SERVER_DAYS 180

/* Checks the option file: that there is one, that it can be read, and that nobody else can read the password in it. */
static void check_option_file(struct doctor *d)
{
	const char *file = cli_option_file(d->cli);
	struct stat st;

	if (file == NULL)
		doctor_warn(d, "option file",
			    "start a private server with `jobstack server start`, or put the address of your centre's "
			    "server into ~/.my.cnf",
			    "not found: no --defaults-file, no $JOBSTACK_DEFAULTS_FILE, no private server's file, no "
			    "~/.my.cnf");
	else if (stat(file, &st) != 0)
		doctor_fail(d, "option file", "name a file that exists, also on the compute nodes", "%s: %s", file,
			    strerror(errno));
	else if (access(file, R_OK) != 0)
		doctor_fail(d, "option file", "correct its owner and mode (chmod 600)", "can't read %s: %s", file,
			    strerror(errno));
	else if ((st.st_mode & 077) != 0)
		doctor_warn(d, "option file", "chmod 600 it: jobstack refuses the file if it contains a password",
			    "%s can be read by others (mode %03o)", file, (unsigned)st.st_mode & 0777);
	else
		doctor_ok(d, "option file", "%s, mode %03o", file, (unsigned)st.st_mode & 0777);
}

/* Checks that the worker beside this program runs, and is of the same version: both talk to one schema. */
static void check_worker_program(struct doctor *d)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct cli_words words = {0};
	struct js_buf out = {0};
	const struct cli_command command = {.words = &words, .out = &out, .err = &out, .limit_us = LIMIT_US};
	static const char remedy[] = "install jobstack and jobstack-worker together";
	char program[PATH_MAX + 32], want[128];
	const char *said;
	int status;

	(void)snprintf(want, sizeof(want), "jobstack-worker %s (schema %u)", jobstack_version(),
		       jobstack_schema_version());
	(void)snprintf(program, sizeof(program), "%s/jobstack-worker", js_child_program_dir());
	cli_words_add(&words, program);
	cli_words_add(&words, "--version");
	status = cli_command(&command, &error);
	said = cli_first_line(&out, "");
	if (status != 0)
		doctor_fail(d, "worker", remedy, "%s does not run: %s", program, status < 0 ? error.text : said);
	else if (strcmp(said, want) != 0)
		doctor_fail(d, "worker", remedy, "%s has another version: \"%s\", not \"%s\"", program, said, want);
	else
		doctor_ok(d, "worker", "%s: version %s", program, jobstack_version());
	cli_words_free(&words);
	js_buf_free(&out);
}

/* The server's data directory can't be entered by others, so the search goes up until a directory can be looked at.  A
 * file system may also run out of inodes. */
void doctor_disk(struct doctor *d, const char *check, const char *path, double warn, double fail, const char *remedy)
{
	char dir[PATH_MAX], *slash;
	struct statvfs fs;
	double left;
	int above = 0;

	(void)snprintf(dir, sizeof(dir), "%s", path);
	while (statvfs(dir, &fs) != 0) {
		slash = strrchr(dir, '/');
		if ((errno != EACCES && errno != ENOENT) || slash == NULL || slash == dir)
			return;
		*slash = '\0';
		above = 1;
	}
	left = (double)fs.f_bavail * (double)fs.f_frsize;
	doctor_say(d,
		   left < fail	 ? DOCTOR_FAIL
		   : left < warn ? DOCTOR_WARN
				 : DOCTOR_OK,
		   check, remedy, "%.0f MB are free on the disk of %s%s", left / MB, path,
		   above ? " (measured at the nearest directory above it that exists)" : "");
	if (fs.f_files > 0 && fs.f_favail < 1000)
		doctor_warn(d, check, remedy, "only %lu more files can be created on the disk of %s",
			    (unsigned long)fs.f_favail, path);
}

/* Writes a file in DIR through to the disk, and removes it.  Returns NULL, or what failed. */
static const char *try_write(const char *dir)
{
	char name[PATH_MAX];
	int fd, bad;

	if (snprintf(name, sizeof(name), "%s/.jobstack-doctor-XXXXXX", dir) >= (int)sizeof(name))
		return "its name is too long";
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		return strerror(errno);
	bad = write(fd, "jobstack\n", 9) != 9 || fsync(fd) != 0 ? errno : 0;
	(void)close(fd);
	(void)unlink(name);
	return bad != 0 ? strerror(bad) : NULL;
}

/* Checks the directories in which workers would write: for logs and spools, and for the output of running commands. */
static void check_directory(struct doctor *d)
{
	static const char for_output[] =
		"set TMPDIR to a directory with more space: a worker keeps there what its commands print";
	char cwd[PATH_MAX], dir[PATH_MAX + 32];
	const char *bad, *tmp = getenv("TMPDIR");
	struct stat st;

	if (getcwd(cwd, sizeof(cwd)) == NULL) {
		doctor_fail(d, "logs", "change to a directory that exists", "can't find the working directory: %s",
			    strerror(errno));
		return;
	}
	(void)snprintf(dir, sizeof(dir), "%s/jobstack-logs", cwd);
	if (stat(dir, &st) != 0)
		(void)snprintf(dir, sizeof(dir), "%s", cwd);
	bad = try_write(dir);
	if (bad != NULL)
		doctor_fail(d, "logs", "start workers in a directory where they can write, or give them --log-dir",
			    "can't write logs and outcomes in %s: %s", dir, bad);
	else {
		doctor_ok(d, "logs", "logs and outcomes can be written in %s", dir);
		doctor_disk(d, "logs", dir, 1024 * MB, 16 * MB, "free some space, or give workers another --log-dir");
	}
	if (tmp != NULL && access(tmp, F_OK) != 0)
		doctor_warn(d, "temporary", "make it, or unset TMPDIR",
			    "TMPDIR is %s, which does not exist: workers use /tmp instead", tmp);
	tmp = tmp != NULL && access(tmp, F_OK) == 0 ? tmp : "/tmp";
	bad = try_write(tmp);
	if (bad != NULL)
		doctor_fail(d, "temporary", for_output, "%s can't be written: %s", tmp, bad);
	else
		doctor_disk(d, "temporary", tmp, 256 * MB, MB, for_output);
}

/* Checks the limits that a worker would inherit from this shell. */
static void check_limits(struct doctor *d)
{
	struct rlimit files = {0, 0}, processes = {0, 0};

	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < FILES_WANTED)
		doctor_warn(d, "limits", "run ulimit -n 1024 or more: a worker needs some files per slot",
			    "only %lu open files are allowed", (unsigned long)files.rlim_cur);
	if (getrlimit(RLIMIT_NPROC, &processes) == 0 && processes.rlim_cur < PROCESSES_WANTED)
		doctor_warn(d, "limits", "run ulimit -u 4096: the limit counts all processes of this user on the host",
			    "only %lu processes are allowed", (unsigned long)processes.rlim_cur);
	if (files.rlim_cur >= FILES_WANTED && processes.rlim_cur >= PROCESSES_WANTED)
		doctor_ok(d, "limits", "enough open files and processes are allowed");
}

/* Checks the age of the server that came with jobstack, if there is one: its archive says up to which day it has its
 * security fixes. */
static void check_server_age(struct doctor *d)
{
	char path[PATH_MAX + 64];
	struct js_buf day = {0};
	struct tm tm = {0};

	(void)snprintf(path, sizeof(path), "%s/" CLI_SERVER_ARCHIVE "/DAY", js_child_program_dir());
	if (js_file_read(path, &day) == 0 && day.data != NULL && strptime(day.data, "%Y-%m-%d", &tm) != NULL) {
		int64_t days = js_clock_wall_us() / (24 * 3600 * JS_SECOND_US) - timegm(&tm) / (24 * 3600);

		doctor_warn_if(days > SERVER_DAYS, d, "server",
			       "unpack a newer archive jobstack-server-... over this one, and start the server again",
			       "the server that came with jobstack has the security fixes up to %.10s, %lld days ago",
			       day.data, (long long)days);
	}
	js_buf_free(&day);
}

void doctor_local(struct doctor *d)
{
	check_worker_program(d);
	check_server_age(d);
	check_directory(d);
	check_limits(d);
	check_option_file(d);
}
