/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Backup and restore.  Promises: a file with the final name is whole; a database that is half restored is refused by
 * every program.
 *
 * The schema comes from the migrations, not from the dump: so it fits MariaDB and MySQL, and a later version of
 * jobstack can upgrade it after the restore.  The tables that a running worker's step looks at first (worker, stack)
 * are filled last: a step in the middle of a restore finds that the database was set back, and does not write into half
 * a table.
 */
#include "server/backup.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "frame/command.h"
#include "server/layout.h"
#include "server/logfile.h"
#include "server/program.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define BEGINS "-- jobstack backup\n"
#define ENDS "-- jobstack backup is complete\n"
#define BLOCK 65536
#define TAIL (sizeof(ENDS) - 1)
#define PARSE_ERROR 1064
/* every table; the test integration.server_backup compares this list with the database */
/* clang-format off */
#define TABLES(T) \
	T(attempt) T(claim) T(closed) T(entry) T(fact) T(name) T(path) T(push_range) T(running_limit) \
	T(set_aside) T(slurm_answer) T(span) T(stream) T(push) T(worker) T(stack)
/* clang-format on */
#define TABLE_WORD(name) #name " "
#define TABLE_DROP(name) "DROP TABLE IF EXISTS " #name ";\n"

/* A client program that runs: our end of the pipe to or from it, and a file in memory that gets its messages. */
struct client {
	char path[JS_LAYOUT_PATH];
	pid_t pid;
	int pipe, said;
};

/* In the child: makes the pipe its standard input.  (struct js_child has descriptors for its outputs only.) */
static const char *connect_input(const void *arg)
{
	return dup2(*(const int *)arg, 0) == 0 ? NULL : "connecting its input";
}

/* Starts the first of the programs NAMES with OPTIONS for the database, and the words behind it; with IN, the pipe is
 * its input.  Those beside the server understand its option file: MariaDB's and MySQL's have different options for TLS.
 */
static int start_client(const struct js_backup *b, const char *const names[], const char *options, const char *words,
			int in, struct client *c, struct jobstack_error *error)
{
	struct cli_words argv = {0};
	int fd[2], given;
	struct js_child child = {.group = JS_CHILD_GROUP, .death_signal = SIGTERM};

	if (js_program_client(b->program, names, c->path) != 0)
		return js_error_set(error, JOBSTACK_EFILE,
				    "%s was not found: install mariadb-client, or put it into $PATH", names[0]);
	c->said = memfd_create("jobstack", MFD_CLOEXEC);
	if (c->said < 0 || pipe2(fd, O_CLOEXEC) != 0)
		return js_error_file(error, "can't make a pipe for %s", c->path);
	given = fcntl(fd[!in], F_DUPFD_CLOEXEC, 10); /* behind those that the child arranges */
	(void)close(fd[!in]);
	cli_words_add(&argv, c->path);
	if (b->option_file != NULL)
		cli_words_format(&argv, "--defaults-file=%s", b->option_file);
	(void)cli_words_split(&argv, options);
	cli_words_add(&argv, b->database);
	(void)cli_words_split(&argv, words);
	child.argv = (const char *const *)argv.at;
	child.err = c->said;
	child.out = in ? c->said : given;
	child.enter = in ? connect_input : NULL;
	child.arg = &given;
	c->pipe = fd[in];
	c->pid = argv.failed ? js_error_memory(error) : js_child_start(&child, error);
	cli_words_free(&argv);
	(void)close(given);
	if (c->pid < 0) {
		js_file_close(&c->pipe);
		js_file_close(&c->said);
	}
	return c->pid < 0 ? (int)c->pid : 0;
}

/* Returns the number of the server's error in what a client program says, or 0.  The client prints "ERROR N (...) at
 * line ...", the dump program "... (N)".  A full disk has words only. */
static unsigned find_error_number(const char *text)
{
	const char *last = strrchr(text, '(');
	unsigned number = 0;

	if (sscanf(text, "ERROR %5u", &number) != 1 && last != NULL)
		(void)sscanf(last, "(%5u)", &number);
	return js_logfile_says_full(text) ? JS_LOGFILE_FULL : number;
}

/* Waits for the program's end, or brings it about if STATUS is an error of ours already.  If the program failed, its
 * first line that begins with "ERROR", else its last line, becomes our error's text. */
static int end_client(struct client *c, int status, struct jobstack_error *error)
{
	char text[1000] = "", *line, *last = text;
	unsigned number;
	ssize_t n;
	int end;

	js_file_close(&c->pipe);
	if (status != 0 && status != JOBSTACK_ENODB) /* ENODB: it ended first, and says why */
		(void)kill(-c->pid, SIGTERM);
	end = js_child_wait(c->pid);
	if (end != 0 && (status == 0 || status == JOBSTACK_ENODB)) {
		off_t size = lseek(c->said, 0, SEEK_END);

		n = pread(c->said, text, sizeof(text) - 1, size > 999 ? size - 999 : 0);
		text[n > 0 ? n : 0] = '\0';
		for (char *rest = text; (line = strsep(&rest, "\n")) != NULL;)
			last = *line != '\0' && strncmp(last, "ERROR", 5) != 0 ? line : last; /* it may quote several */
		number = find_error_number(last);
		status = js_error_why(error, JOBSTACK_ENODB, number, "%s failed: %s", c->path, last);
	}
	js_file_close(&c->said);
	return status;
}

static int is_stopped(const struct js_backup *b, struct jobstack_error *error)
{
	return b->stop != NULL && *b->stop != 0 ? js_error_set(error, JOBSTACK_ESTOPPED, "stopped") : 0;
}

static int put_text(gzFile out, const char *text, size_t len, struct jobstack_error *error)
{
	errno = EIO;
	return len == 0 || gzwrite(out, text, (unsigned)len) == (int)len
		       ? 0
		       : js_error_file(error, "no backup was made: the file can't be written");
}

/* Writes the schema: the file from which `jobstack init` creates it, too. */
static int put_schema(const struct js_backup *b, gzFile out, struct jobstack_error *error)
{
	char path[JS_LAYOUT_PATH];
	struct js_buf text = {0};
	int status;

	js_layout_join(path, b->schema_dir, "jobstack.sql");
	status = js_file_read(path, &text) != 0 ? js_error_file(error, "%s can't be read", path)
						: put_text(out, text.data, text.len, error);
	js_buf_free(&text);
	return status;
}

/* Writes what the dump program prints, line by line.  MySQL's client does not understand the line that MariaDB puts
 * first, so that is left out. */
static int put_dump(const struct js_backup *b, gzFile out, struct jobstack_error *error)
{
	static const char *const names[] = {"mariadb-dump", "mysqldump", NULL};
	static const char options[] =
		"--single-transaction --no-tablespaces --no-create-info --complete-insert --hex-blob --skip-triggers "
		"--skip-add-locks --skip-disable-keys --skip-comments --max-allowed-packet=1G "
		"--loose-set-gtid-purged=OFF --loose-column-statistics=0";
	struct client c;
	char *line = NULL;
	size_t size = 0;
	ssize_t n;
	FILE *in;
	int status = start_client(b, names, options, TABLES(TABLE_WORD), 0, &c, error);

	if (status != 0)
		return status;
	in = fdopen(c.pipe, "r");
	if (in == NULL)
		status = js_error_memory(error);
	while (status == 0 && (n = getline(&line, &size, in)) > 0) {
		if (strncmp(line, "/*M!999999", 10) != 0)
			status = put_text(out, line, (size_t)n, error);
		JS_THEN(status, is_stopped(b, error));
	}
	if (status == 0 && !feof(in))
		status = js_error_file(error, "what %s says can't be read", c.path);
	if (in != NULL) {
		(void)fclose(in);
		c.pipe = -1;
	}
	free(line);
	return end_client(&c, status, error);
}

/* Writes the parts of a backup in the order in which a restore executes them: the mark that the database is half
 * restored; the end of the old tables; the schema; the rows; the end of the mark. */
static int put_backup(const struct js_backup *b, gzFile out, struct jobstack_error *error)
{
	struct js_buf text = {0};
	int status;

	/* The mark comes before the first table goes, and stays until the last row is there: never is there a part of
	 * a database that a program takes for a whole one. */
	js_buf_printf(&text,
		      BEGINS
		      "CREATE TABLE IF NOT EXISTS jobstack_version(version INT UNSIGNED NOT NULL,installed "
		      "DATETIME(6) NOT NULL,PRIMARY KEY(version)) ENGINE=InnoDB;\n"
		      "REPLACE INTO jobstack_version VALUES(%u,UTC_TIMESTAMP(6));\n"
		      "DROP VIEW IF EXISTS JobManagement;\nDROP TABLE IF EXISTS moved_stack;\n" TABLES(TABLE_DROP),
		      JS_ASIDE_HALF);
	status = text.failed ? js_error_memory(error) : put_text(out, text.data, text.len, error);
	JS_THEN(status, put_schema(b, out, error));
	JS_THEN(status, put_text(out, "\n", 1, error));
	JS_THEN(status, put_dump(b, out, error));
	js_buf_reset(&text);
	js_buf_printf(&text, "DELETE FROM jobstack_version WHERE version<>%u;\n", JS_ASIDE_HALF);
	js_buf_printf(&text, "INSERT INTO jobstack_version VALUES(%u,UTC_TIMESTAMP(6));\n", jobstack_schema_version());
	js_buf_printf(&text, "DELETE FROM jobstack_version WHERE version=%u;\n" ENDS, JS_ASIDE_HALF);
	JS_THEN(status, text.failed ? js_error_memory(error) : put_text(out, text.data, text.len, error));
	js_buf_free(&text);
	return status;
}

/* Reads the backup to its end, and gives each block to the descriptor TO, unless it is -1.  Only the words at the end
 * say that it is whole, so the last bytes of each block are kept in front of the next one. */
static int read_backup(const struct js_backup *b, const char *file, int to, struct jobstack_error *error)
{
	static char block[TAIL + BLOCK + 1]; /* the last bytes of what came before, and what comes */
	gzFile in = gzopen(file, "rbe");
	int n, status = 0, begun = 0;

	if (in == NULL)
		return js_error_file(error, "%s can't be read", file);
	memset(block, 0, sizeof(block));
	while (status == 0 && (n = gzread(in, block + TAIL, BLOCK)) > 0) {
		if (!begun && strncmp(block + TAIL, BEGINS, strlen(BEGINS)) != 0)
			break;
		begun = 1;
		if (to >= 0 && js_file_write_all(to, block + TAIL, (size_t)n) != 0)
			status = JOBSTACK_ENODB; /* the client has ended, and says why */
		if (b != NULL)
			JS_THEN(status, is_stopped(b, error));
		memmove(block, block + n, TAIL);
	}
	if ((gzclose(in) != Z_OK || memcmp(block, ENDS, TAIL) != 0) && status == 0)
		status = js_error_set(error, JOBSTACK_EFILE,
				      begun ? "the backup %s is not whole: it was cut short or damaged"
					    : "%s is not a backup made by `jobstack server backup`",
				      file);
	return status;
}

int js_backup_check(const char *file, struct jobstack_error *error)
{
	return read_backup(NULL, file, -1, error);
}

/* Refuses a FILE that is there and is not a backup: to replace it would be a slip of the fingers. */
static int refuse_other_file(const char *file, struct jobstack_error *error)
{
	char text[sizeof(BEGINS)] = "";
	struct stat st;
	gzFile in = stat(file, &st) != 0 || S_ISREG(st.st_mode) ? gzopen(file, "rbe") : NULL; /* a FIFO would wait */
	int n = in != NULL ? gzread(in, text, sizeof(BEGINS) - 1) : errno == ENOENT ? 0 : -1;

	if (in != NULL)
		(void)gzclose(in);
	if (n != 0 && strcmp(text, BEGINS) != 0)
		return js_error_set(error, JOBSTACK_ECONFLICT, "%s exists and is not a backup: give another name",
				    file);
	return 0;
}

/* The backup is written to FILE.tmp, synced, and renamed.  The lock on FILE.tmp keeps two backups from writing it; and
 * since a name may be exchanged between open and flock, what was locked is compared with what is there. */
int js_backup_write(const struct js_backup *b, const char *file, struct jobstack_error *error)
{
	char path[JS_LAYOUT_PATH], dir[JS_LAYOUT_PATH];
	struct stat ours, there;
	int status, fd, closed;
	gzFile out;

	JS_TRY(js_layout_absolute(path, file, error));
	JS_TRY(refuse_other_file(path, error));
	memcpy(dir, path, strlen(path) + 1);
	(void)dirname(dir);
	memcpy(path + strlen(path), ".tmp", 5);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (fd < 0 && errno != ENXIO) /* ENXIO: a FIFO that nobody reads */
		return js_error_access(error, "%s can't be made", path);
	/* not the file that another backup has just renamed, nor one that somebody else laid there to read it */
	if (fd < 0 || (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) || fstat(fd, &ours) != 0 ||
	    lstat(path, &there) != 0 || ours.st_ino != there.st_ino || ours.st_uid != geteuid() ||
	    !S_ISREG(ours.st_mode) || fchmod(fd, 0600) != 0) {
		js_file_close(&fd);
		return js_error_set(error, JOBSTACK_ECONFLICT,
				    "another backup is writing %s, or it is not a regular file of yours: try again, or "
				    "give another name",
				    path);
	}
	out = ftruncate(fd, 0) == 0 ? gzdopen(fcntl(fd, F_DUPFD_CLOEXEC, 3), "wb1") : NULL;
	status = out == NULL ? js_error_memory(error) : put_backup(b, out, error);
	errno = EIO; /* some file systems say only at the end that they are full */
	closed = out == NULL || gzclose(out) == Z_OK;
	if (status == 0 && (!closed || fsync(fd) != 0 || rename(path, file) != 0 || js_file_sync_dir(dir) < 0))
		status = js_error_file(error, "no backup was made: %s can't be written", file);
	if (status != 0)
		(void)unlink(path);
	(void)close(fd);
	return status;
}

/* Gives the client program a backup, or SQL.  In binary mode it executes none of its own commands, so a file can't run
 * a shell or another file; nor may it read files of this host by LOAD DATA LOCAL. */
static int feed_client(const struct js_backup *b, const char *file, const char *sql, struct jobstack_error *error)
{
	static const char *const names[] = {"mariadb", "mysql", NULL};
	static const char options[] = "--batch --binary-mode --local-infile=0 --default-character-set=utf8mb4 "
				      "--max-allowed-packet=1G";
	struct client c;
	int status = start_client(b, names, options, "", 1, &c, error);

	if (status != 0)
		return status;
	if (sql != NULL)
		status = js_file_write_all(c.pipe, sql, strlen(sql)) == 0 ? 0 : JOBSTACK_ENODB;
	else
		status = read_backup(b, file, c.pipe, error);
	return end_client(&c, status, error);
}

/* The client's error decides whose fault it is: without a number, or with one for wrong SQL, it is the file's; else the
 * server's. */
int js_backup_load(const struct js_backup *b, const char *file, struct jobstack_error *error)
{
	struct jobstack_error own = JOBSTACK_ERROR_INIT;
	int status = feed_client(b, file, NULL, &own);

	/* a file with something else than SQL is wrong itself, so the server is not to blame */
	if (status == JOBSTACK_ENODB)
		return js_error_why(error,
				    own.server_errno == 0 || own.server_errno == PARSE_ERROR ? JOBSTACK_EFILE : status,
				    own.server_errno, "the backup %s can't be restored: %s", file, own.text);
	js_error_pass(error, &own);
	return status;
}

int js_backup_sql(const struct js_backup *b, const char *sql, struct jobstack_error *error)
{
	return feed_client(b, NULL, sql, error);
}

/* The client's output would have to be read for an answer, so the answer is in its failure: an SQL mode that does not
 * exist makes it fail with that mode's name.  A condition that can't be tested fails with other words. */
int js_backup_ask(const struct js_backup *b, const char *condition, struct jobstack_error *error)
{
	struct jobstack_error own = JOBSTACK_ERROR_INIT;
	struct js_buf sql = {0};
	int status;

	js_buf_printf(&sql, "SET SESSION sql_mode=IF(%s,@@sql_mode,'jobstack_no');\n", condition);
	status = sql.failed ? js_error_memory(&own) : js_backup_sql(b, sql.data, &own);
	js_buf_free(&sql);
	if (status != 0 && strstr(own.text, "'jobstack_no'") != NULL)
		return 1;
	js_error_pass(error, &own);
	return status;
}
