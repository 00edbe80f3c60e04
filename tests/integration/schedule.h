/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the tests of schedules share.
 *
 * A transaction of ours is one packet, so it is held from inside: a plain session of the test first takes a row (or a
 * key that is about to be inserted), the packet runs up to there and waits, with all that it has locked before.  A
 * rival is a thread with a handle of its own that makes one call of the library.  That somebody waits is seen in the
 * server, never assumed.
 */
#ifndef TESTS_INTEGRATION_SCHEDULE_H
#define TESTS_INTEGRATION_SCHEDULE_H

#include "integration/api.h"

#include <inttypes.h>
#include <mysql.h>
#include <pthread.h>
#include <time.h>

#define SPAN_COLUMNS "stack_id,class,`rank`,pos,lo,hi,ids,attempt,fails,losses,due,push_id"
#define BOUND_US 120000000 /* no condition is waited for any longer */

/* ------------------------------------------------------------------------------------------------ plain sessions */

/* A session as the test's own user, or as the server's administrator, who sees what others wait for. */
static inline MYSQL *plain(int admin)
{
	MYSQL *my = mysql_init(NULL);

	assert_non_null(my);
	(void)mysql_options(my, MYSQL_READ_DEFAULT_FILE,
			    getenv(admin ? "JOBSTACK_TEST_ADMIN_CNF" : "JOBSTACK_TEST_CNF"));
	(void)mysql_options(my, MYSQL_READ_DEFAULT_GROUP, "jobstack");
	if (mysql_real_connect(my, NULL, NULL, NULL, NULL, 0, NULL, 0) == NULL)
		fail_msg("a plain session: %s", mysql_error(my));
	return my;
}

/* Runs a statement; gives the first number of its answer, 0 if there is none. */
static inline uint64_t sql(MYSQL *my, const char *format, ...) __attribute__((format(printf, 2, 3)));
static inline uint64_t sql(MYSQL *my, const char *format, ...)
{
	char text[4000];
	MYSQL_RES *result;
	MYSQL_ROW row;
	uint64_t number = 0;
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (mysql_query(my, text) != 0)
		fail_msg("%s: %s", text, mysql_error(my));
	result = mysql_store_result(my);
	if (result == NULL)
		return 0;
	row = mysql_fetch_row(result);
	if (row != NULL && row[0] != NULL)
		number = strtoull(row[0], NULL, 10);
	mysql_free_result(result);
	return number;
}

static MYSQL *holder, *observer; /* who holds what a schedule needs; who looks */

static inline void nap(long ms)
{
	struct timespec t = {0, ms * 1000000};

	(void)nanosleep(&t, NULL);
}

static inline const char *database(void)
{
	static char name[100];

	if (name[0] == '\0') {
		MYSQL_RES *result;
		MYSQL_ROW row;

		assert_int_equal(mysql_query(holder, "SELECT DATABASE()"), 0);
		result = mysql_store_result(holder);
		row = mysql_fetch_row(result);
		(void)snprintf(name, sizeof(name), "%s", row[0]);
		mysql_free_result(result);
	}
	return name;
}

/* Waits until N transactions of the test's database are as CONDITION says (WHAT, in words).  The server
 * makes that table anew only when nobody has read it for a tenth of a second: hence the nap before each look, and hence
 * no two programs look at a time (the resource lock in CMakeLists.txt). */
static inline void until_transactions(uint64_t n, const char *condition, const char *what)
{
	int64_t until = jobstack_now_us() + BOUND_US;
	uint64_t seen;

	for (;;) {
		nap(110);
		seen = sql(observer,
			   "SELECT COUNT(*) FROM information_schema.innodb_trx t JOIN information_schema.processlist p "
			   "ON p.id=t.trx_mysql_thread_id WHERE p.db='%s' AND %s",
			   database(), condition);
		if (seen == n)
			return;
		if (jobstack_now_us() > until)
			fail_msg("%" PRIu64 " transactions %s, not %" PRIu64, seen, what, n);
	}
}

/* Waits until N sessions of the test's database wait for a lock. */
static inline void until_waiting(uint64_t n)
{
	until_transactions(n, "t.trx_state='LOCK WAIT'", "wait for a lock");
}

/* Waits until a statement gives the number N. */
static inline void until_number(uint64_t n, const char *statement)
{
	int64_t until = jobstack_now_us() + BOUND_US;
	uint64_t seen;

	while ((seen = sql(holder, "%s", statement)) != n) {
		if (jobstack_now_us() > until)
			fail_msg("%s: %" PRIu64 ", not %" PRIu64, statement, seen, n);
		nap(5);
	}
}

static inline uint64_t id_of(const char *stack)
{
	return sql(holder, "SELECT stack_id FROM stack WHERE name='%s'", stack);
}

/* Holds a row, by what it is; or the key of an attempt's or a claim's row that somebody is about to insert. */
static inline void hold(const char *rows, ...) __attribute__((format(printf, 1, 2)));
static inline void hold(const char *rows, ...)
{
	char text[1000];
	va_list args;

	va_start(args, rows);
	(void)vsnprintf(text, sizeof(text), rows, args);
	va_end(args);
	(void)sql(holder, "START TRANSACTION");
	if (sql(holder, "SELECT 1 FROM %s FOR UPDATE", text) == 0)
		fail_msg("nothing to hold: %s", text);
}

static inline void hold_attempt(const char *stack, uint64_t entry, unsigned attempt)
{
	uint64_t id = id_of(stack);

	(void)sql(holder, "START TRANSACTION");
	(void)sql(holder,
		  "INSERT INTO attempt(stack_id,entry_id,attempt,worker_id,outcome,final,ended) VALUES(%" PRIu64
		  ",%" PRIu64 ",%u,0,3,0,UTC_TIMESTAMP(6))",
		  id, entry, attempt);
}

static inline void hold_claim(const char *stack, uint64_t worker, uint64_t no)
{
	uint64_t id = id_of(stack);

	(void)sql(holder, "START TRANSACTION");
	(void)sql(holder,
		  "INSERT INTO claim VALUES(%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",1,1,NULL,1,1,0,0,0,UTC_TIMESTAMP(6))",
		  id, worker, no);
}

static inline void release(void)
{
	(void)sql(holder, "ROLLBACK");
}

/* -------------------------------------------------------------------------------------------------------- rivals */

struct rival {
	struct jobstack *handle;
	const char *stack, *to;
	struct jobstack_worker *worker;
	struct jobstack_outcome outcome[8];
	size_t n, k;
	struct jobstack_batch batch;
	uint64_t id, seq, taken;
	struct jobstack_requeue_result requeued;
	struct jobstack_push_options push;
	struct jobstack_bytes *names;
	size_t names_n;
	struct jobstack_push_result pushed;
	struct jobstack_filter filter;
	struct jobstack_check_report checked;
	/* how it went */
	int (*call)(struct rival *);
	pthread_t thread;
	int status;
	struct jobstack_error error;
};

static inline int do_step(struct rival *r)
{
	return take_step(r->worker, r->outcome, r->n, r->k, r->k > 0 ? &r->batch : NULL, NULL, &r->error);
}

static inline int do_end(struct rival *r)
{
	return jobstack_worker_end(r->worker, r->outcome, r->n, JOBSTACK_CAUSE_NONE, "over", &r->error);
}

static inline int do_recover(struct rival *r)
{
	return jobstack_recover(r->handle, r->stack, (struct jobstack_seen){r->id, r->seq}, JOBSTACK_CAUSE_WORKER,
				"silent", &r->taken, &r->error);
}

static inline int do_pop(struct rival *r)
{
	return jobstack_pop(r->handle, r->stack, NULL, r->k, &r->batch, &r->error);
}

static inline int do_close(struct rival *r)
{
	return jobstack_close(r->handle, r->stack, r->outcome, r->n, NULL, &r->error);
}

static inline int do_requeue(struct rival *r)
{
	return jobstack_requeue(r->handle, r->stack, &r->filter, 0, &r->requeued, &r->error);
}

/* To the stack r->to. */
static inline int do_move(struct rival *r)
{
	struct jobstack_move_options o = JOBSTACK_MOVE_OPTIONS_INIT;

	o.to = r->to;
	return jobstack_move(r->handle, r->stack, &r->filter, &o, &r->requeued, &r->error);
}

static inline int do_cancel(struct rival *r)
{
	return jobstack_cancel(r->handle, r->stack, &r->filter, NULL, &r->requeued, &r->error);
}

static inline int do_promote(struct rival *r)
{
	return jobstack_promote(r->worker, &r->error);
}

static inline int do_push(struct rival *r)
{
	return jobstack_push_many(r->handle, r->stack, &r->push, r->names, r->names_n, &r->pushed, &r->error);
}

static inline int do_renew(struct rival *r)
{
	return jobstack_renew(r->handle, r->stack, r->outcome[0].entry, r->outcome[0].attempt, 0, &r->error);
}

static inline void *rival_main(void *ctx)
{
	struct rival *r = ctx;

	r->status = r->call(r);
	return NULL;
}

static inline struct rival rival(const char *stack)
{
	struct rival r = {.handle = open_one(), .stack = stack};

	r.push = (struct jobstack_push_options)JOBSTACK_PUSH_OPTIONS_INIT;
	r.filter = (struct jobstack_filter)JOBSTACK_FILTER_INIT;
	r.batch = (struct jobstack_batch)JOBSTACK_BATCH_INIT;
	r.requeued = (struct jobstack_requeue_result)JOBSTACK_REQUEUE_RESULT_INIT;
	r.pushed = (struct jobstack_push_result)JOBSTACK_PUSH_RESULT_INIT;
	r.checked = (struct jobstack_check_report)JOBSTACK_CHECK_REPORT_INIT;
	return r;
}

/* A rival that is a worker, with K entries claimed. */
static inline struct rival rival_worker(const char *stack, size_t k)
{
	struct rival r = rival(stack);

	OK(jobstack_worker_begin(r.handle, stack, NULL, &r.worker, &e));
	r.id = jobstack_worker_id(r.worker);
	if (k > 0) {
		OK(take_step(r.worker, NULL, 0, k, &r.batch, NULL, &e));
		assert_int_equal(r.batch.count, k);
		r.seq = 1;
		jobstack_batch_free(&r.batch);
	}
	return r;
}

static inline int do_begin(struct rival *r)
{
	return jobstack_worker_begin(r->handle, r->stack, NULL, &r->worker, &r->error);
}

/* A rival that takes back what another holds, at the seq where it is. */
static inline struct rival rival_recover(const struct rival *dead)
{
	struct rival r = rival(dead->stack);

	r.id = dead->id;
	r.seq = sql(holder, "SELECT seq FROM worker WHERE worker_id=%" PRIu64, dead->id);
	return r;
}

static inline void start(struct rival *r, int (*call)(struct rival *))
{
	r->call = call;
	memset(&r->error, 0, sizeof(r->error));
	assert_int_equal(pthread_create(&r->thread, NULL, rival_main, r), 0);
}

/* Waits for its call's end: it must have given WANT. */
#define ENDS(r, want)                                                                                                  \
	do {                                                                                                           \
		struct timespec ends_until;                                                                            \
		(void)clock_gettime(CLOCK_REALTIME, &ends_until);                                                      \
		ends_until.tv_sec += 2 * BOUND_US / 1000000;                                                           \
		if (pthread_timedjoin_np((r)->thread, NULL, &ends_until) != 0)                                         \
			fail_msg("a rival does not come back");                                                        \
		if ((r)->status != (want))                                                                             \
			fail_msg("%s: %d, not %d: %s", #r, (r)->status, (int)(want), (r)->error.text);                 \
	} while (0)

static inline void over(struct rival *r)
{
	jobstack_batch_free(&r->batch);
	jobstack_worker_free(r->worker);
	jobstack_free(r->handle);
}

/* What the tables hold, in a number. */
static inline uint64_t digest(void)
{
	static const char statement[] =
		"CHECKSUM TABLE stack,push,push_range,name,entry,span,worker,claim,attempt,set_aside";
	uint64_t sum = 0;
	MYSQL_RES *result;
	MYSQL_ROW row;

	if (mysql_query(holder, statement) != 0)
		fail_msg("%s: %s", statement, mysql_error(holder));
	result = mysql_store_result(holder);
	while ((row = mysql_fetch_row(result)) != NULL)
		sum = sum * 31 + strtoull(row[1] == NULL ? "0" : row[1], NULL, 10);
	mysql_free_result(result);
	return sum;
}

/* A stack of six: 1 is dead (of one attempt), 2 failed once and is due, 3 to 6 are ready. */
static inline void six(const char *stack)
{
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_policy policy = JOBSTACK_POLICY_INIT;
	struct jobstack_outcome o[2] = {outcome(1, 1, JOBSTACK_FAILED, 1), outcome(2, 1, JOBSTACK_FAILED, 1)};
	struct jobstack_worker *w;
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;

	push.policy = &policy;
	policy.retry_delay_us = 0;
	push_numbered(stack, &push, 6);
	OK(jobstack_worker_begin(h, stack, NULL, &w, &e));
	OK(take_step(w, NULL, 0, 2, &b, NULL, &e));
	o[0].fatal = 1;
	OK(jobstack_worker_end(w, o, 2, JOBSTACK_CAUSE_NONE, NULL, &e));
	jobstack_worker_free(w);
	jobstack_batch_free(&b);
}

/* ------------------------------------------------------------------------------------------------------------ the
 * audit */

static inline int print_finding(void *ctx, const struct jobstack_finding *f)
{
	print_error("%s: %s: entry %" PRIu64 ": %s\n", (const char *)ctx, f->kind, f->entry, f->text);
	return 0;
}

/* The ledger balances, and says so many of each. */
static inline void audit(const char *stack, uint64_t ready, uint64_t running, uint64_t done, uint64_t dead)
{
	struct jobstack_check_report r = JOBSTACK_CHECK_REPORT_INIT;
	char name[200];

	(void)snprintf(name, sizeof(name), "%s", stack);
	OK(jobstack_check(h, stack, print_finding, name, &r, &e));
	if (r.ready + r.waiting + r.held != ready || r.running != running || r.done != done || r.dead != dead)
		fail_msg("%s: %" PRIu64 " ready, waiting or held, %" PRIu64 " running, %" PRIu64 " done, %" PRIu64
			 " dead; not %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %" PRIu64,
			 stack, r.ready + r.waiting + r.held, r.running, r.done, r.dead, ready, running, done, dead);
	OK(jobstack_check(h, NULL, print_finding, name, NULL, &e));
}

static inline int schedule_setup(void **state)
{
	(void)init_fixture(state);
	holder = plain(0);
	(void)sql(holder, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"); /* it holds rows, and no gaps */
	observer = plain(1);
	return 0;
}

/* A test that failed may have left something held, which the next one would wait for. */
static inline int let_go(void **state)
{
	(void)state;
	release();
	return 0;
}
#define SCHEDULE(test) cmocka_unit_test_teardown(test, let_go)

static inline int schedule_teardown(void **state)
{
	mysql_close(holder);
	mysql_close(observer);
	return close_fixture(state);
}

#endif
