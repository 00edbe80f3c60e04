/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A queue with one row per entry.  See rowqueue.h.
 */
#include "rowqueue.h"

#include "crew.h"

#include <mysql.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define DEADLOCK 1213
#define LOCK_WAIT 1205

struct rowqueue {
	MYSQL *db;
	unsigned worker;
	char sql[ROWQUEUE_MAX * 21 + 256];
};

static int complain(struct rowqueue *q)
{
	crew_complain("row queue", mysql_error(q->db));
	return -1;
}

/* 0; 1: the server asks to try the transaction again; -1 after a failure, which has been told. */
static int query(struct rowqueue *q, const char *sql, size_t len)
{
	unsigned code;

	if (mysql_real_query(q->db, sql, (unsigned long)len) == 0)
		return 0;
	code = mysql_errno(q->db);
	if (code == DEADLOCK || code == LOCK_WAIT) {
		mysql_rollback(q->db);
		return 1;
	}
	return complain(q);
}

static int commit(struct rowqueue *q)
{
	return query(q, "COMMIT", 6);
}

static int update(struct rowqueue *q, const char *set, const uint64_t *ids, size_t n)
{
	int len = snprintf(q->sql, sizeof(q->sql), "UPDATE queue SET %s WHERE id IN (", set);

	for (size_t i = 0; i < n; i++)
		len += snprintf(q->sql + len, sizeof(q->sql) - (size_t)len, "%llu%s", (unsigned long long)ids[i],
				i + 1 < n ? "," : ")");
	return query(q, q->sql, (size_t)len);
}

/* Reads what was selected. */
static int read_rows(struct rowqueue *q, size_t k, uint64_t *ids, size_t *n)
{
	MYSQL_RES *rows = mysql_store_result(q->db);
	MYSQL_ROW row;

	if (rows == NULL)
		return complain(q);
	while (*n < k && (row = mysql_fetch_row(rows)) != NULL)
		ids[(*n)++] = strtoull(row[0], NULL, 10);
	mysql_free_result(rows);
	return 0;
}

int rowqueue_claim(struct rowqueue *q, size_t k, uint64_t *ids, size_t *n)
{
	char sql[160], set[160];
	int len = snprintf(sql, sizeof(sql),
			   "SELECT id,datapath FROM queue FORCE INDEX (state_id) WHERE state=0 ORDER BY id LIMIT %zu "
			   "FOR UPDATE SKIP LOCKED",
			   k);
	int status;

	snprintf(set, sizeof(set), "state=1,attempt=attempt+1,worker=%u,claimed=NOW(6)", q->worker);
	do {
		*n = 0;
		status = query(q, sql, (size_t)len);
		if (status == 0)
			status = read_rows(q, k, ids, n);
		if (status == 0 && *n > 0)
			status = update(q, set, ids, *n);
		if (status == 0)
			status = commit(q);
	} while (status == 1);
	return status;
}

static int set_all(struct rowqueue *q, const char *set, const uint64_t *ids, size_t n)
{
	int status = 0;

	if (n == 0)
		return 0;
	do {
		status = update(q, set, ids, n);
		if (status == 0)
			status = commit(q);
	} while (status == 1);
	return status;
}

int rowqueue_close(struct rowqueue *q, const uint64_t *ids, size_t n)
{
	return set_all(q, "state=2,ended=NOW(6),exit_code=0", ids, n);
}

int rowqueue_return(struct rowqueue *q, const uint64_t *ids, size_t n)
{
	return set_all(q, "state=0", ids, n);
}

void rowqueue_free(struct rowqueue *q)
{
	if (q == NULL)
		return;
	mysql_close(q->db);
	free(q);
}

static void start_library(void)
{
	if (mysql_library_init(0, NULL, NULL) != 0)
		abort();
}

int rowqueue_open(struct rowqueue **out, const char *cnf, unsigned port, const char *database, unsigned worker)
{
	static pthread_once_t library = PTHREAD_ONCE_INIT;
	struct rowqueue *q = calloc(1, sizeof(*q));

	pthread_once(&library, start_library); /* which is not safe in several threads at once */

	*out = NULL;
	if (q == NULL || (q->db = mysql_init(NULL)) == NULL)
		abort();
	q->worker = worker;
	mysql_options(q->db, MYSQL_READ_DEFAULT_FILE, cnf);
	if (mysql_real_connect(q->db, NULL, NULL, NULL, database, port, NULL, 0) == NULL) {
		complain(q);
		rowqueue_free(q);
		return -1;
	}
	if (query(q, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", 54) != 0 ||
	    query(q, "SET autocommit=0", 16) != 0) {
		rowqueue_free(q);
		return -1;
	}
	*out = q;
	return 0;
}
