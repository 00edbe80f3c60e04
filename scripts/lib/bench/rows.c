/* SPDX-License-Identifier: BSD-2-Clause
 *
 * bench-rows [-f CNF] [-P PORT] -D DATABASE -t THREADS -k K -d SECONDS
 *
 * The other side of bench-ledger: the queue that everybody builds first, a row an entry in the table `queue`, popped
 *with
 *
 *	SELECT id, datapath FROM queue WHERE state=0 ORDER BY id LIMIT K FOR UPDATE SKIP LOCKED;
 *	UPDATE queue SET state=1, ... WHERE id IN (...);  COMMIT;
 *	UPDATE queue SET state=2, ... WHERE id IN (...);  COMMIT;
 *
 * Fair in that it has all that is known to help it: the index (state,id) serves the order, so nothing is sorted and no
 *more rows are locked than are taken; READ COMMITTED, so no gaps are; the K rows are claimed and closed in one
 *statement each; no BEGIN costs a trip; and a deadlock is tried again.  It keeps less than jobstack does (no fence, no
 *lease, no history). Prints a line of JSON (see crew.h).
 */
#define _GNU_SOURCE
#include "crew.h"

#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define K_MAX 500
#define DEADLOCK 1213
#define LOCK_WAIT 1205
#define EMPTY_MAX 3

static struct crew_orders orders = CREW_ORDERS_INIT;
static const char *database;
static unsigned k = 1;

struct hand {
	MYSQL *db;
	char ids[K_MAX * 21 + 1]; /* what is held: "1,2,3" */
	size_t ids_len;
	unsigned n, index, empty;
	char sql[K_MAX * 21 + 256];
};

/* 0; 1: the server asks to try the transaction again; -1 after a failure, which has been told. */
static int query(struct hand *h, const char *sql, size_t len)
{
	unsigned code;

	if (mysql_real_query(h->db, sql, (unsigned long)len) == 0)
		return 0;
	code = mysql_errno(h->db);
	if (code == DEADLOCK || code == LOCK_WAIT) {
		mysql_rollback(h->db);
		return 1;
	}
	crew_complain("bench-rows", mysql_error(h->db));
	return -1;
}

static int update(struct hand *h, const char *set)
{
	int len = snprintf(h->sql, sizeof(h->sql), "UPDATE queue SET %s WHERE id IN (%s)", set, h->ids);

	return query(h, h->sql, (size_t)len);
}

static int commit(struct hand *h)
{
	return query(h, "COMMIT", 6);
}

/* Reads what was selected: the ids, and the datapaths as a worker would. */
static int take(struct hand *h)
{
	MYSQL_RES *rows = mysql_store_result(h->db);
	MYSQL_ROW row;

	h->n = 0;
	h->ids_len = 0;
	if (rows == NULL)
		return -1;
	while ((row = mysql_fetch_row(rows)) != NULL && h->n < K_MAX) {
		int len =
			snprintf(h->ids + h->ids_len, sizeof(h->ids) - h->ids_len, "%s%s", h->n > 0 ? "," : "", row[0]);

		h->ids_len += (size_t)len;
		h->n++;
	}
	mysql_free_result(rows);
	return 0;
}

static int claim(struct hand *h)
{
	char sql[160], set[160];
	int len = snprintf(sql, sizeof(sql),
			   "SELECT id,datapath FROM queue FORCE INDEX (state_id) WHERE state=0 ORDER BY id LIMIT %u "
			   "FOR UPDATE SKIP LOCKED",
			   k);
	int status;

	snprintf(set, sizeof(set), "state=1,attempt=attempt+1,worker=%u,claimed=NOW(6)", h->index);
	do {
		status = query(h, sql, (size_t)len);
		if (status == 0)
			status = take(h);
		if (status == 0 && h->n > 0)
			status = update(h, set);
		if (status == 0)
			status = commit(h);
	} while (status == 1);
	return status;
}

static int close_held(struct hand *h)
{
	int status;

	if (h->n == 0)
		return 0;
	do {
		status = update(h, "state=2,ended=NOW(6),exit_code=0");
		if (status == 0)
			status = commit(h);
	} while (status == 1);
	return status;
}

static void end(void *state)
{
	struct hand *h = state;

	if (h->db != NULL && h->n > 0 && update(h, "state=0") == 0)
		commit(h);
	if (h->db != NULL)
		mysql_close(h->db);
	free(h);
}

static void *begin(unsigned index)
{
	struct hand *h = calloc(1, sizeof(*h));

	if (h == NULL || (h->db = mysql_init(NULL)) == NULL)
		abort();
	h->index = index;
	mysql_options(h->db, MYSQL_READ_DEFAULT_FILE, orders.cnf);
	if (mysql_real_connect(h->db, NULL, NULL, NULL, database, orders.port, NULL, 0) == NULL) {
		crew_complain("bench-rows", mysql_error(h->db));
		end(h);
		return NULL;
	}
	if (query(h, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", 54) != 0 ||
	    query(h, "SET autocommit=0", 16) != 0 || claim(h) != 0) {
		end(h);
		return NULL;
	}
	return h;
}

static int work(void *state, _Atomic uint64_t *closed)
{
	struct hand *h = state;
	unsigned n = h->n;

	if (close_held(h) != 0)
		return -1;
	crew_add(closed, n);
	if (claim(h) != 0)
		return -1;
	h->empty = h->n == 0 ? h->empty + 1 : 0;
	return h->empty >= EMPTY_MAX;
}

int main(int argc, char **argv)
{
	static const struct crew_trade trade = {begin, work, end};
	struct crew_result result = {0};
	int c;

	while ((c = getopt(argc, argv, CREW_OPTIONS "D:k:")) != -1)
		switch (c) {
		case 'D': database = optarg; break;
		case 'k': k = (unsigned)strtoul(optarg, NULL, 10); break;
		default:
			if (crew_order(&orders, c) != 0)
				return 2;
		}
	if (orders.cnf == NULL || database == NULL || orders.threads == 0 || k == 0 || k > K_MAX ||
	    orders.seconds <= 0) {
		fprintf(stderr, "usage: bench-rows -f CNF [-P PORT] -D DATABASE -t THREADS -k K -d SECONDS\n");
		return 2;
	}
	if (mysql_library_init(0, NULL, NULL) != 0 || crew_run(&trade, &orders, &result) != 0)
		_exit(1); /* not exit: threads may be on their way, in a client library that is then taken down */
	crew_end(&result);
}
