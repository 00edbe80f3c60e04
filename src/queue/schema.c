/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The schema: which version is there, and making it the one this library works with.  Promises: many calls at once are
 * safe (one migrates under a named lock of the server, the others find it done), also on several nodes of a cluster,
 * which share no such lock; after an interruption the next call continues.
 */
#include "queue/queue.h"

#include "base/error.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SCHEMA_VERSION 13
#define LOCK_SECONDS 20 /* per try; shorter than the connection waits for an answer */
#define LOCK_TRIES 9
#define NAMED_WORKERS 5
#define UPGRADE_TRIES 20   /* how often a migration is started again */
#define NO_USER_LOCKS 1235 /* what a Galera cluster answers to GET_LOCK */

unsigned jobstack_schema_version(void)
{
	return SCHEMA_VERSION;
}

/* Reads the version that is there; 0 for a database without our tables. */
static int version_now(struct js_db *db, unsigned *version, struct jobstack_error *error)
{
	struct js_sql sql = {0};
	struct jobstack_error none = JOBSTACK_ERROR_INIT;
	uint64_t found;
	int status;

	js_sql_stmt(&sql, "SELECT MAX(version) FROM jobstack_version");
	status = js_db_query(db, &sql, js_row_number, &found, &none);
	*version = status == 0 ? (unsigned)found : 0;
	if (status == JOBSTACK_ESCHEMA) /* no such table, no such database */
		return 0;
	if (status != 0)
		js_error_pass(error, &none);
	return status;
}

int js_schema_check(struct jobstack *handle, struct jobstack_error *error)
{
	unsigned version;

	if (handle->schema_known)
		return 0;
	JS_TRY(version_now(handle->db, &version, error));
	if (version == 0)
		return js_error_set(error, JOBSTACK_ESCHEMA, "the database has no jobstack schema yet");
	if (version >= JS_ASIDE_MOVING)
		return js_error_why(
			error, JOBSTACK_ESCHEMA, version, "%s",
			version == JS_ASIDE_MOVED ? "the database was moved to another server by `jobstack server move`"
			: version == JS_ASIDE_MOVING ? "a move of the database is under way, or was cut short"
						     : "a restore of the database is under way, or was cut short");
	if (version != SCHEMA_VERSION)
		return js_error_why(error, JOBSTACK_ESCHEMA, version > SCHEMA_VERSION ? JOBSTACK_WHY_SCHEMA_NEWER : 0,
				    "the database has schema version %u, %s than the version %u of this program",
				    version, version > SCHEMA_VERSION ? "newer" : "older", SCHEMA_VERSION);
	handle->schema_known = 1;
	js_db_expect_tables(handle->db);
	return 0;
}

/* Finds the migration to this version.  There is one only from versions that people have kept data in. */
static int find_migration(const char *dir, unsigned version, struct js_buf *path, struct jobstack_error *error)
{
	char prefix[16];
	struct dirent *d;
	DIR *list = opendir(dir);

	if (list == NULL)
		return js_error_set(error, JOBSTACK_EFILE, "the schema directory %s can't be read: %s", dir,
				    strerror(errno));
	(void)snprintf(prefix, sizeof(prefix), "%04u_", version);
	while ((d = readdir(list)) != NULL) {
		size_t len = strlen(d->d_name);

		if (strncmp(d->d_name, prefix, strlen(prefix)) == 0 && len > 4 &&
		    strcmp(d->d_name + len - 4, ".sql") == 0) {
			js_buf_printf(path, "%s/%s", dir, d->d_name);
			break;
		}
	}
	(void)closedir(list);
	if (path->failed)
		return js_error_memory(error);
	if (path->len == 0)
		return js_error_set(
			error, JOBSTACK_ECONFLICT,
			"this program can't change schema version %u into its own: save with the program that "
			"made it what you need (`jobstack export`, `jobstack list -o datapath -0`), then run "
			"`jobstack init` with an empty database",
			version - 1);
	return 0;
}

int js_schema_next(const char **text, struct js_buf *statement)
{
	size_t len;

	js_buf_reset(statement);
	for (const char *line = *text; *line != '\0'; line = *text) {
		len = strcspn(line, "\n");
		*text = line + len + (line[len] != '\0');
		if (len == 0 || strncmp(line, "--", 2) == 0)
			continue;
		js_buf_printf(statement, "%.*s", (int)(line[len - 1] == ';' ? len - 1 : len + 1), line);
		if (line[len - 1] == ';')
			return !statement->failed;
	}
	return 0;
}

/* Makes schema *VERSION the next one, or in an empty database (0) the newest, statement by statement. */
static int run_schema_file(struct js_db *db, const char *dir, unsigned *version, struct jobstack_error *error)
{
	struct js_buf path = {0}, text = {0}, statement = {0};
	unsigned next = *version == 0 ? SCHEMA_VERSION : *version + 1;
	struct js_sql done = {0};
	int status = 0;
	const char *rest;

	if (*version == 0)
		js_buf_printf(&path, "%s/jobstack.sql", dir);
	else
		status = find_migration(dir, next, &path, error);
	if (status == 0 && path.failed)
		status = js_error_memory(error);
	if (status == 0 && js_file_read(path.data, &text) != 0)
		status = js_error_set(error, JOBSTACK_EFILE, "the schema file %s can't be read: %s", path.data,
				      strerror(errno));
	rest = text.data;
	while (status == 0 && rest != NULL && js_schema_next(&rest, &statement))
		status = js_db_schema(db, statement.data, statement.len, error);
	if (status == 0 && statement.failed)
		status = js_error_memory(error);
	if (status == 0) {
		js_sql_stmt(&done, "INSERT IGNORE INTO jobstack_version VALUES(%u,UTC_TIMESTAMP(6))", (uint64_t)next);
		status = js_db_query(db, &done, NULL, NULL, error);
	}
	if (status == 0)
		*version = next;
	js_sql_free(&done);
	js_buf_free(&statement);
	js_buf_free(&text);
	js_buf_free(&path);
	return status;
}

/* Takes (or gives back) the server-wide lock of this database's schema.  Its name has at most 64 characters, so it has
 * a hash of the database's name.  A Galera cluster refuses GET_LOCK.  There two migrations may run at once: each
 * statement can be run again, and an error that says that a change is there already is no error (is_done_by_another).
 */
static int lock_schema(struct js_db *db, int take, struct jobstack_error *error)
{
	uint64_t got = 0;
	struct jobstack_error now = JOBSTACK_ERROR_INIT;
	int status = 0;

	for (int tries = 0; status == 0 && got != 1 && tries < (take ? LOCK_TRIES : 1); tries++) {
		struct js_sql sql = {0};

		if (take)
			js_sql_stmt(&sql, "SELECT GET_LOCK(LEFT(CONCAT('jobstack:',SHA2(DATABASE(),224)),64),%u)",
				    (uint64_t)LOCK_SECONDS);
		else
			js_sql_stmt(&sql, "SELECT RELEASE_LOCK(LEFT(CONCAT('jobstack:',SHA2(DATABASE(),224)),64))");
		status = js_db_query(db, &sql, js_row_number, &got, &now);
	}
	if (status != 0 && js_db_errno(db) == NO_USER_LOCKS)
		return 0;
	if (status != 0)
		js_error_pass(error, &now);
	if (status == 0 && take && got != 1)
		return js_error_set(error, JOBSTACK_ECONFLICT,
				    "another `jobstack init` has been running on this database for over %d s",
				    LOCK_SECONDS * LOCK_TRIES);
	return status;
}

/* Returns whether the error says that somebody else made just this change a moment ago: there is such a table, column
 * or key already, or it is gone. */
static int is_done_by_another(unsigned number)
{
	return number == 1050 || number == 1060 || number == 1061 || number == 1091;
}

/* Brings the schema from the version that is there to ours, under the lock, on one connection.  If that is lost, the
 * lock is gone, and so are the variables of a migration that is under way: JS_DB_LOST, and all begins again. */
static int upgrade_once(struct js_db *db, const char *dir, unsigned *version, struct jobstack_error *error)
{
	int status;

	js_db_pin(db, 1);
	status = version_now(db, version, error);
	while (status == 0 && *version < SCHEMA_VERSION)
		status = run_schema_file(db, dir, version, error);
	js_db_pin(db, 0);
	return status;
}

/* Some of the workers that are alive, and how many there are. */
struct alive {
	struct js_buf text; /* the first NAMED_WORKERS of them */
	uint64_t n, total;
};

static void take_alive(void *ctx, const struct js_row *row)
{
	struct alive *a = ctx;

	if (row == NULL) {
		js_buf_reset(&a->text);
		a->n = a->total = 0;
		return;
	}
	js_buf_printf(&a->text, "%s%s on %s (stack \"%s\")", a->n++ == 0 ? "" : ", ", row->col[0], row->col[1],
		      row->col[2]);
	a->total = js_row_u64(row, 3);
}

/* Workers know one schema only.  Those that have not been silent for their lease would fail behind the upgrade, so
 * there is no upgrade while they live.  A pop of a script has no process that would fail. */
static int refuse_old_workers(struct js_db *db, unsigned version, struct jobstack_error *error)
{
	struct js_sql sql = {0};
	struct alive alive = {0};
	char more[40] = "";
	int status;

	js_sql_stmt(&sql,
		    "SELECT w.worker_id,COALESCE(w.node,'?'),s.name,COUNT(*) OVER() FROM worker w JOIN stack s "
		    "USING(stack_id) WHERE w.ended IS NULL AND w.kind=0 AND "
		    "w.beat>UTC_TIMESTAMP(6)-INTERVAL w.lease_us MICROSECOND ORDER BY w.worker_id LIMIT %u",
		    (uint64_t)NAMED_WORKERS);
	status = js_db_query(db, &sql, take_alive, &alive, error);
	if (alive.total > alive.n)
		(void)snprintf(more, sizeof(more), " and %" PRIu64 " more", alive.total - alive.n);
	if (status == 0 && alive.text.failed)
		status = js_error_memory(error);
	else if (status == 0 && alive.n > 0)
		status = js_error_why(error, JOBSTACK_ECONFLICT, JOBSTACK_WHY_OLD_WORKERS,
				      "workers of the older schema version %u are alive and would fail after the "
				      "upgrade: worker %s%s",
				      version, alive.text.data, more);
	js_buf_free(&alive.text);
	return status;
}

/* The same, until it went through: each statement can be run again, and the version is read again each time.  *BEFORE
 * becomes the version that was there at first. */
static int upgrade_schema(struct js_db *db, const char *dir, unsigned *before, unsigned *version,
			  struct jobstack_error *error)
{
	struct jobstack_error now;
	unsigned number;
	int status;

	for (unsigned tries = 1;; tries++) {
		js_error_clear(&now);
		status = lock_schema(db, 1, &now);
		if (status != 0)
			break;
		if (tries == 1)
			status = version_now(db, before, &now);
		if (status == 0 && tries == 1 && *before > 0 && *before < SCHEMA_VERSION)
			status = refuse_old_workers(db, *before, &now);
		JS_THEN(status, upgrade_once(db, dir, version, &now));
		number = js_db_errno(db);
		if (status != JS_DB_LOST)
			(void)lock_schema(db, 0, NULL);
		if (status == 0 || status == JOBSTACK_ECONFLICT || tries == UPGRADE_TRIES ||
		    (status != JS_DB_LOST && !is_done_by_another(number)))
			break;
	}
	if (status == JS_DB_LOST)
		status = js_error_set(&now, JOBSTACK_ENODB,
				      "the connection was lost again and again while the schema was changed");
	if (status != 0)
		js_error_pass(error, &now);
	return status;
}

/* A version that is newer than ours is refused by js_schema_check, which has the words for it. */
int jobstack_init(struct jobstack *handle, const char *schema_dir, struct jobstack_init_report *report,
		  struct jobstack_error *error)
{
	struct jobstack_init_report done = JOBSTACK_INIT_REPORT_INIT;
	unsigned version = 0, before = 0;
	int status = 0;

	JS_TRY(js_grow_begin(report, &done, "jobstack_init_report", error));
	JS_TRY(js_db_create(handle->db, &done.created_database, error));
	JS_TRY(version_now(handle->db, &before, error));
	version = before;
	if (before < SCHEMA_VERSION)
		status = upgrade_schema(handle->db, schema_dir, &before, &version, error);
	if (status == 0 && version > SCHEMA_VERSION)
		return js_schema_check(handle, error);
	done.before = before;
	done.after = version;
	js_grow_out(report, &done);
	return status;
}
