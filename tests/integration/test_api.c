/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The public API against a real server: a fresh database a run, with the rights of docs/grants.sql.
 */
#define _GNU_SOURCE
#include "jobstack/jobstack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct jobstack *h;
static struct jobstack_error e;
static struct jobstack_status st;
static char st_cwd[300];
static struct jobstack_item items[64];
static char item_path[64][300];
static size_t items_n;

#define OK(call)                                                                                                       \
	do {                                                                                                           \
		int ok_status;                                                                                         \
		memset(&e, 0, sizeof(e));                                                                              \
		ok_status = (call);                                                                                    \
		if (ok_status != 0)                                                                                    \
			fail_msg("%s: %d: %s", #call, ok_status, e.text);                                              \
	} while (0)
#define GIVES(code, call)                                                                                              \
	do {                                                                                                           \
		int gives_status;                                                                                      \
		memset(&e, 0, sizeof(e));                                                                              \
		gives_status = (call);                                                                                 \
		if (gives_status != (code))                                                                            \
			fail_msg("%s: %d, not %d: %s", #call, gives_status, (int)(code), e.text);                      \
	} while (0)

static struct jobstack *open_one(void)
{
	struct jobstack_options o = JOBSTACK_OPTIONS_INIT;
	struct jobstack *one = NULL;

	o.defaults_file = getenv("JOBSTACK_TEST_CNF");
	o.patience_us = 10000000;
	OK(jobstack_open(&one, &o, &e));
	return one;
}

static const char *schema(void)
{
	static char dir[4096];

	(void)snprintf(dir, sizeof(dir), "%s/schema", getenv("JOBSTACK_SOURCE"));
	return dir;
}

static int take_status(void *ctx, const struct jobstack_status *s)
{
	(void)ctx;
	st = *s;
	(void)snprintf(st_cwd, sizeof(st_cwd), "%s", s->cwd == NULL ? "" : s->cwd);
	return 0;
}

/* The ledger balances, whatever was done before. */
static void look(const char *stack)
{
	OK(jobstack_status(h, stack, take_status, NULL, &e));
	assert_true(st.pushed == st.ready + st.waiting + st.held + st.running + st.done + st.dead + st.cancelled);
}

static int take_item(void *ctx, const struct jobstack_item *item)
{
	(void)ctx;
	if (items_n == 64)
		return 1;
	(void)snprintf(item_path[items_n], sizeof(item_path[0]), "%.*s", (int)item->datapath.len, (const char *)item->datapath.data);
	items[items_n++] = *item;
	return 0;
}

static void list(const char *stack, unsigned states)
{
	struct jobstack_filter f = JOBSTACK_FILTER_INIT;

	f.states = states;
	items_n = 0;
	OK(jobstack_list(h, stack, &f, take_item, NULL, &e));
}

static void push_numbered(const char *stack, const struct jobstack_push_options *o, size_t n)
{
	struct jobstack_bytes *v = calloc(n, sizeof(*v));
	struct jobstack_push_result r;

	for (size_t i = 0; i < n; i++) {
		char *name;

		assert_true(asprintf(&name, "/d/%zu", i + 1) > 0);
		v[i] = (struct jobstack_bytes){name, strlen(name)};
	}
	OK(jobstack_push_many(h, stack, o, v, n, &r, &e));
	assert_true(r.pushed + r.skipped == n);
	for (size_t i = 0; i < n; i++)
		free((void *)(uintptr_t)v[i].data);
	free(v);
}

static struct jobstack_outcome outcome(uint64_t entry, uint32_t attempt, enum jobstack_verdict verdict, int exit_code)
{
	struct jobstack_outcome o = JOBSTACK_OUTCOME_INIT;

	o.entry = entry;
	o.attempt = attempt;
	o.verdict = verdict;
	o.exit_code = exit_code;
	return o;
}

/* --------------------------------------------------------------------------------------------------------------------- */

static void no_schema_yet(void **state)
{
	(void)state;
	GIVES(JOBSTACK_ESCHEMA, jobstack_push(h, "s", NULL, "/x", &e));
	assert_non_null(strstr(e.text, "no jobstack schema"));
	GIVES(JOBSTACK_ESCHEMA, jobstack_status(h, NULL, take_status, NULL, &e));
}

static void twenty_inits(void **state)
{
	struct jobstack_init_report r;
	int made = 0;

	(void)state;
	for (int i = 0; i < 20; i++)
		if (fork() == 0) {
			struct jobstack *mine = open_one();
			int status = jobstack_init(mine, schema(), &r, NULL);

			jobstack_free(mine);
			_exit(status != 0 ? 2 : r.before == r.after ? 0 : 1);
		}
	for (int i = 0; i < 20; i++) {
		int status;

		assert_true(wait(&status) > 0);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
		made += WEXITSTATUS(status);
	}
	assert_int_equal(made, 1);
	OK(jobstack_init(h, schema(), &r, &e));
	assert_true(r.before == r.after && r.after == jobstack_schema_version());
}

static void empty_and_missing(void **state)
{
	struct jobstack_batch b;

	(void)state;
	GIVES(JOBSTACK_EMISSING, jobstack_status(h, "nosuch", take_status, NULL, &e));
	GIVES(JOBSTACK_EMISSING, jobstack_pop(h, "nosuch", NULL, 1, &b, &e));
	GIVES(JOBSTACK_NOTHING, jobstack_push_many(h, "nosuch", NULL, NULL, 0, NULL, &e));
	GIVES(JOBSTACK_EMISSING, jobstack_status(h, "nosuch", take_status, NULL, &e)); /* a push of nothing made none */
	GIVES(JOBSTACK_EUSAGE, jobstack_push(h, "a/b", NULL, "/x", &e));
	GIVES(JOBSTACK_EUSAGE, jobstack_push(h, "", NULL, "/x", &e));
	GIVES(JOBSTACK_EUSAGE, jobstack_push(h, "-s", NULL, "/x", &e));
	GIVES(JOBSTACK_EUSAGE, jobstack_push(h, "a'; DROP TABLE stack; --", NULL, "/x", &e));
	GIVES(JOBSTACK_EUSAGE, jobstack_push(h, "a\xff", NULL, "/x", &e));
}

static void any_bytes(void **state)
{
	char all[260], *names[] = {"/with\nnewline", "/it's \"quoted\"", "/per%cent;semi\\back", "/\xff\xfe not utf8", "/-dash", "/ ",
				   "/x' OR 1=1; DROP TABLE entry; -- "};
	struct jobstack_bytes v[8];
	struct jobstack_batch b;
	uint64_t found;

	(void)state;
	all[0] = '/';
	for (int i = 1; i < 256; i++)
		all[i] = (char)i;
	for (size_t i = 0; i < 7; i++)
		v[i] = (struct jobstack_bytes){names[i], strlen(names[i])};
	v[7] = (struct jobstack_bytes){all, 256};
	OK(jobstack_push_many(h, "bytes", NULL, v, 8, NULL, &e));
	OK(jobstack_find(h, "bytes", v[7], &found, &e));
	assert_true(found == 8);
	OK(jobstack_pop(h, "bytes", NULL, 8, &b, &e));
	assert_int_equal(b.count, 8);
	for (size_t i = 0; i < 8; i++) {
		assert_int_equal(b.entries[i].datapath_len, v[i].len);
		assert_memory_equal(b.entries[i].datapath, v[i].data, v[i].len);
		assert_int_equal(b.entries[i].datapath[v[i].len], 0);
	}
	jobstack_batch_free(&b);
	list("bytes", JOBSTACK_IS_RUNNING);
	assert_int_equal(items_n, 8);
	look("bytes");
	assert_true(st.running == 8);
}

static void bad_names(void **state)
{
	static char big[4097];
	struct jobstack_push_result r;
	struct jobstack_bytes v[3] = {{"/a", 2}, {"/b\0c", 4}, {"/d", 2}};
	struct jobstack_push_options atomic = JOBSTACK_PUSH_OPTIONS_INIT;

	(void)state;
	GIVES(JOBSTACK_EINPUT, jobstack_push_many(h, "bad", NULL, v, 3, &r, &e));
	assert_true(r.bad == 2 && r.pushed == 1);
	memset(big, 'x', sizeof(big));
	big[0] = '/';
	v[1] = (struct jobstack_bytes){big, 4097};
	GIVES(JOBSTACK_EINPUT, jobstack_push_many(h, "bad", NULL, v, 3, &r, &e));
	assert_true(r.bad == 2 && r.pushed == 1);
	v[1].len = 4096;
	OK(jobstack_push_many(h, "bad", NULL, v, 3, &r, &e));
	v[1] = (struct jobstack_bytes){"", 0};
	GIVES(JOBSTACK_EINPUT, jobstack_push_many(h, "bad", NULL, v, 3, &r, &e));
	v[1] = (struct jobstack_bytes){"relative", 8};
	GIVES(JOBSTACK_EINPUT, jobstack_push_many(h, "bad", NULL, v, 3, &r, &e));
	look("bad");
	assert_true(st.pushed == 7);
	/* with atomic nothing at all is left of it */
	atomic.atomic = 1;
	GIVES(JOBSTACK_EINPUT, jobstack_push_many(h, "bad", &atomic, v, 3, &r, &e));
	assert_true(r.pushed == 0);
	look("bad");
	assert_true(st.pushed == 7 && st.held == 0);
}

static void relative_names(void **state)
{
	struct jobstack_push_options o = JOBSTACK_PUSH_OPTIONS_INIT;

	(void)state;
	o.cwd = "/here";
	OK(jobstack_push(h, "rel", &o, "a/b", &e));
	look("rel");
	assert_string_equal(st_cwd, "/here");
	o.cwd = "/there";
	GIVES(JOBSTACK_ECONFLICT, jobstack_push(h, "rel", &o, "a/c", &e));
	assert_non_null(strstr(e.text, "/here"));
	OK(jobstack_push(h, "rel", &o, "/absolute", &e));
	look("rel");
	assert_true(st.pushed == 2);
}

static void orders(void **state)
{
	struct jobstack_push_options o = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_batch b;

	(void)state;
	o.lifo = 1;
	push_numbered("lifo", &o, 5);
	push_numbered("lifo", &o, 2); /* entries 6 and 7 */
	OK(jobstack_pop(h, "lifo", NULL, 1, &b, &e));
	assert_true(b.entries[0].entry == 7);
	jobstack_batch_free(&b);
	OK(jobstack_pop(h, "lifo", NULL, 10, &b, &e));
	assert_true(b.count == 1 && b.entries[0].entry == 6); /* a pop takes from one span */
	jobstack_batch_free(&b);
	OK(jobstack_pop(h, "lifo", NULL, 2, &b, &e));
	assert_true(b.count == 2 && b.entries[0].entry == 4 && b.entries[1].entry == 5);
	jobstack_batch_free(&b);
	o = (struct jobstack_push_options)JOBSTACK_PUSH_OPTIONS_INIT;
	push_numbered("prio", &o, 2);
	o.priority = 5;
	push_numbered("prio", &o, 1);
	o.priority = -5;
	push_numbered("prio", &o, 1);
	for (uint64_t i = 0; i < 4; i++) {
		static const uint64_t want[] = {3, 1, 2, 4};

		OK(jobstack_pop(h, "prio", NULL, 1, &b, &e));
		assert_true(b.entries[0].entry == want[i]);
		jobstack_batch_free(&b);
	}
	GIVES(JOBSTACK_NOTHING, jobstack_pop(h, "prio", NULL, 1, &b, &e));
	look("lifo");
	look("prio");
}

static void unique_names(void **state)
{
	struct jobstack_push_options plain = JOBSTACK_PUSH_OPTIONS_INIT, o = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_push_result r;
	struct jobstack_bytes twice[] = {{"/new", 4}, {"/d/7", 4}, {"/new", 4}, {"/newer", 6}};

	(void)state;
	o.unique = 1;
	push_numbered("uniq", &plain, 3000); /* before anybody said unique */
	push_numbered("uniq", &o, 3010);
	look("uniq");
	assert_true(st.pushed == 3010);
	OK(jobstack_push_many(h, "uniq", &o, twice, 4, &r, &e));
	assert_true(r.pushed == 2 && r.skipped == 2);
	push_numbered("uniq", &plain, 5); /* not unique: doubled on purpose */
	look("uniq");
	assert_true(st.pushed == 3017);
	push_numbered("uniq", &o, 3010);
	look("uniq");
	assert_true(st.pushed == 3017);
}

/* Eight processes push the same names at once, uniquely. */
static void unique_races(void **state)
{
	(void)state;
	for (int i = 0; i < 8; i++)
		if (fork() == 0) {
			struct jobstack_push_options o = JOBSTACK_PUSH_OPTIONS_INIT;

			o.unique = 1;
			h = open_one();
			push_numbered("race", &o, 5000);
			jobstack_free(h);
			_exit(0);
		}
	for (int i = 0; i < 8; i++) {
		int status;

		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	look("race");
	assert_true(st.pushed == 5000 && st.ready == 5000);
}

static void scripts(void **state)
{
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_outcome o, many[2];
	struct jobstack_worker *w;
	struct jobstack_batch b, c;
	int results[2];

	(void)state;
	push.max_attempts = 2;
	push.retry_delay_us = 0;
	push_numbered("script", &push, 4);
	OK(jobstack_pop(h, "script", NULL, 1, &b, &e));
	assert_true(b.entries[0].entry == 1 && b.entries[0].attempt == 1);
	OK(jobstack_renew(h, "script", 1, 1, 1000000, &e));
	o = outcome(1, 1, JOBSTACK_DONE, 0);
	OK(jobstack_close(h, "script", &o, 1, NULL, &e));
	OK(jobstack_close(h, "script", &o, 1, NULL, &e)); /* again is harmless */
	o = outcome(1, 1, JOBSTACK_FAILED, 3);
	GIVES(JOBSTACK_NOTHING, jobstack_close(h, "script", &o, 1, NULL, &e));
	assert_non_null(strstr(e.text, "done"));
	GIVES(JOBSTACK_NOTHING, jobstack_renew(h, "script", 1, 1, 0, &e));
	o = outcome(2, 1, JOBSTACK_DONE, 0);
	GIVES(JOBSTACK_EMISSING, jobstack_close(h, "script", &o, 1, NULL, &e));
	assert_non_null(strstr(e.text, "never popped"));
	o = outcome(99, 1, JOBSTACK_DONE, 0);
	GIVES(JOBSTACK_EMISSING, jobstack_close(h, "script", &o, 1, NULL, &e));
	jobstack_batch_free(&b);
	/* two at once, closed in one call; one fails twice and is dead */
	OK(jobstack_pop(h, "script", NULL, 2, &b, &e));
	assert_true(b.count == 2 && b.entries[0].entry == 2);
	many[0] = outcome(2, 1, JOBSTACK_FAILED, 5);
	many[1] = outcome(3, 1, JOBSTACK_DONE, 0);
	OK(jobstack_close(h, "script", many, 2, results, &e));
	assert_true(results[0] == 0 && results[1] == 0);
	jobstack_batch_free(&b);
	OK(jobstack_pop(h, "script", NULL, 1, &b, &e));
	OK(jobstack_pop(h, "script", NULL, 1, &c, &e));
	assert_true(b.entries[0].entry + c.entries[0].entry == 6);
	o = outcome(2, 2, JOBSTACK_FAILED, 6);
	OK(jobstack_close(h, "script", &o, 1, NULL, &e));
	look("script");
	assert_true(st.dead == 1 && st.done == 2 && st.running == 1);
	list("script", JOBSTACK_IS_DEAD);
	assert_true(items_n == 1 && items[0].exit_code == 6 && items[0].attempt == 2);
	jobstack_batch_free(&b);
	jobstack_batch_free(&c);
	/* one that a worker holds is the worker's to close */
	OK(jobstack_push(h, "script", NULL, "/held", &e));
	OK(jobstack_worker_begin(h, "script", NULL, &w, &e));
	OK(jobstack_step(w, NULL, 0, 1, NULL, 0, &b, NULL, &e));
	assert_int_equal(b.count, 1);
	o = outcome(b.entries[0].entry, 1, JOBSTACK_DONE, 0);
	GIVES(JOBSTACK_ECONFLICT, jobstack_close(h, "script", &o, 1, NULL, &e));
	OK(jobstack_worker_end(w, &o, 1, "over", &e));
	jobstack_worker_free(w);
	jobstack_batch_free(&b);
	look("script");
	assert_true(st.done == 3);
}

static void worker_steps(void **state)
{
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_step_report report;
	struct jobstack_outcome o[4];
	struct jobstack_worker *w;
	struct jobstack_batch b;
	struct jobstack_idle idle;

	(void)state;
	push.retry_delay_us = 0;
	push_numbered("steps", &push, 10);
	OK(jobstack_worker_begin(h, "steps", NULL, &w, &e));
	OK(jobstack_step(w, NULL, 0, 6, NULL, 0, &b, &report, &e));
	assert_true(b.count == 6 && report.state == JOBSTACK_OPEN && report.cwd == NULL);
	o[0] = outcome(1, 1, JOBSTACK_DONE, 0);
	o[1] = outcome(3, 1, JOBSTACK_FAILED, 1);
	o[2] = outcome(5, 1, JOBSTACK_UNSTARTED, -1);
	o[3] = outcome(6, 1, JOBSTACK_INTERRUPTED, -1);
	OK(jobstack_step(w, o, 4, 0, NULL, 0, NULL, &report, &e));
	GIVES(JOBSTACK_EUSAGE, jobstack_step(w, o, 1, 0, NULL, 0, NULL, NULL, &e)); /* not in its hands any more */
	look("steps");
	assert_true(st.done == 1 && st.waiting == 1 && st.ready == 6 && st.running == 2);
	OK(jobstack_worker_idle(w, &idle, &e));
	assert_true(idle.ready == 6 && idle.running == 0 && idle.eldest && idle.workers == 1 && idle.waiting == 1);
	OK(jobstack_promote(w, &e));
	look("steps");
	assert_true(st.waiting == 0 && st.ready == 7);
	/* a fatal failure is dead at once; what is open at the end goes back */
	o[0] = outcome(2, 1, JOBSTACK_FAILED, 9);
	o[0].fatal = 1;
	OK(jobstack_worker_end(w, o, 1, "enough", &e));
	jobstack_worker_free(w);
	jobstack_batch_free(&b);
	look("steps");
	assert_true(st.dead == 1 && st.done == 1 && st.ready == 8 && st.running == 0 && st.workers == 0);
	list("steps", JOBSTACK_IS_READY);
	assert_int_equal(items_n, 8);
	for (size_t i = 0; i < items_n; i++)
		if (items[i].entry == 3)
			assert_true(items[i].attempt == 1 && items[i].outcome == JOBSTACK_FAILED);
}

static uint64_t seen_worker, seen_seq;

static int take_worker(void *ctx, const struct jobstack_worker_row *w)
{
	(void)ctx;
	seen_worker = w->worker;
	seen_seq = w->seq;
	return 0;
}

static void fence_and_recovery(void **state)
{
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_outcome o = outcome(1, 1, JOBSTACK_DONE, 0);
	struct jobstack_worker *w, *other;
	struct jobstack_batch b, c;
	uint64_t taken;

	(void)state;
	push.max_losses = 2;
	push_numbered("fence", &push, 3);
	OK(jobstack_worker_begin(h, "fence", NULL, &w, &e));
	OK(jobstack_step(w, NULL, 0, 2, NULL, 0, &b, NULL, &e));
	OK(jobstack_workers(h, "fence", take_worker, NULL, &e));
	assert_true(seen_worker == jobstack_worker_id(w) && seen_seq == 1);
	GIVES(JOBSTACK_NOTHING, jobstack_recover(h, "fence", seen_worker, seen_seq + 1, "guess", &taken, &e)); /* it moved */
	OK(jobstack_step(w, &o, 1, 0, NULL, 0, NULL, NULL, &e));
	GIVES(JOBSTACK_NOTHING, jobstack_recover(h, "fence", seen_worker, seen_seq, "too late", &taken, &e));
	OK(jobstack_recover(h, "fence", seen_worker, seen_seq + 1, "silent", &taken, &e));
	assert_true(taken == 1);
	GIVES(JOBSTACK_NOTHING, jobstack_recover(h, "fence", seen_worker, seen_seq + 1, "twice", &taken, &e));
	/* the zombie: nothing it does counts */
	o = outcome(2, 1, JOBSTACK_DONE, 0);
	GIVES(JOBSTACK_NOTHING, jobstack_step(w, &o, 1, 1, NULL, 0, &c, NULL, &e));
	GIVES(JOBSTACK_NOTHING, jobstack_step(w, NULL, 0, 0, NULL, 0, NULL, NULL, &e));
	GIVES(JOBSTACK_NOTHING, jobstack_worker_end(w, &o, 1, "zombie", &e));
	jobstack_worker_free(w);
	jobstack_batch_free(&b);
	look("fence");
	assert_true(st.done == 1 && st.ready == 2 && st.running == 0);
	/* what was lost before comes alone, and is set aside after its second loss */
	OK(jobstack_worker_begin(h, "fence", NULL, &other, &e));
	OK(jobstack_step(other, NULL, 0, 10, NULL, 0, &b, NULL, &e));
	assert_true(b.count == 1 && b.entries[0].entry == 2 && b.entries[0].attempt == 2 && b.entries[0].losses == 1);
	OK(jobstack_recover(h, "fence", jobstack_worker_id(other), 1, "again", &taken, &e));
	jobstack_worker_free(other);
	jobstack_batch_free(&b);
	look("fence");
	assert_true(st.dead == 1 && st.ready == 1);
	list("fence", JOBSTACK_IS_LOST);
	assert_true(items_n == 1 && items[0].entry == 2 && items[0].attempt == 2);
}

/* What went back unstarted is not the worker's any more, whoever recovers it. */
static void partly_given_back(void **state)
{
	struct jobstack_outcome back[2] = {outcome(3, 1, JOBSTACK_UNSTARTED, -1), outcome(2, 1, JOBSTACK_UNSTARTED, -1)};
	struct jobstack_worker *w, *other;
	struct jobstack_batch b, c;
	uint64_t taken;

	(void)state;
	push_numbered("part", NULL, 4);
	OK(jobstack_worker_begin(h, "part", NULL, &w, &e));
	OK(jobstack_step(w, NULL, 0, 4, NULL, 0, &b, NULL, &e));
	OK(jobstack_step(w, back, 2, 0, NULL, 0, NULL, NULL, &e));
	list("part", JOBSTACK_IS_RUNNING);
	assert_true(items_n == 2 && items[0].entry == 1 && items[1].entry == 4);
	OK(jobstack_worker_begin(h, "part", NULL, &other, &e));
	OK(jobstack_step(other, NULL, 0, 4, NULL, 0, &c, NULL, &e));
	assert_true(c.count == 2);
	OK(jobstack_recover(h, "part", jobstack_worker_id(w), 2, "dead", &taken, &e));
	assert_true(taken == 2);
	look("part");
	assert_true(st.ready == 2 && st.running == 2);
	OK(jobstack_worker_end(other, NULL, 0, NULL, &e));
	look("part");
	assert_true(st.ready == 4 && st.running == 0);
	jobstack_worker_free(w);
	jobstack_worker_free(other);
	jobstack_batch_free(&b);
	jobstack_batch_free(&c);
}

/* The dead with different numbers of attempts all come back. */
static void requeue_mixed(void **state)
{
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_filter none = JOBSTACK_FILTER_INIT;
	struct jobstack_requeue_result r;
	uint64_t nothing = 0;

	(void)state;
	push.max_attempts = 1;
	push_numbered("mixed", &push, 7);
	for (int round = 0; round < 2; round++) {
		struct jobstack_batch b;

		while (jobstack_pop(h, "mixed", NULL, 1, &b, NULL) == 0) {
			struct jobstack_outcome o = outcome(b.entries[0].entry, b.entries[0].attempt, JOBSTACK_FAILED, 1);

			OK(jobstack_close(h, "mixed", &o, 1, NULL, &e));
			jobstack_batch_free(&b);
		}
		if (round == 0) { /* every other one gets a second attempt */
			uint64_t odd[] = {1, 3, 5};
			struct jobstack_filter f = {sizeof(f), JOBSTACK_IS_DEAD, odd, 3, 0};

			OK(jobstack_requeue(h, "mixed", &f, 0, &r, &e));
			assert_true(r.requeued == 3);
		}
	}
	look("mixed");
	assert_true(st.dead == 7);
	none.entries = &nothing;
	OK(jobstack_requeue(h, "mixed", &none, 0, &r, &e)); /* an empty list is nobody, not everybody */
	assert_true(r.requeued == 0);
	OK(jobstack_requeue(h, "mixed", NULL, 0, &r, &e));
	assert_true(r.requeued == 7);
	look("mixed");
	assert_true(st.dead == 0 && st.ready == 7);
}

static void requeues(void **state)
{
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_filter f = JOBSTACK_FILTER_INIT;
	struct jobstack_requeue_result r;
	struct jobstack_outcome o[9];
	struct jobstack_batch b;
	uint64_t some[] = {2, 9, 77};

	(void)state;
	push.max_attempts = 1;
	push_numbered("req", &push, 9);
	OK(jobstack_pop(h, "req", NULL, 8, &b, &e));
	for (uint64_t i = 0; i < 8; i++)
		o[i] = outcome(i + 1, 1, i % 2 == 0 ? JOBSTACK_FAILED : JOBSTACK_DONE, i % 2 == 0);
	OK(jobstack_close(h, "req", o, 8, NULL, &e));
	jobstack_batch_free(&b);
	look("req");
	assert_true(st.dead == 4 && st.done == 4 && st.ready == 1);
	OK(jobstack_requeue(h, "req", NULL, 1, &r, &e)); /* a dry run */
	assert_true(r.requeued == 4);
	look("req");
	assert_true(st.dead == 4);
	OK(jobstack_requeue(h, "req", NULL, 0, &r, &e));
	assert_true(r.requeued == 4);
	OK(jobstack_requeue(h, "req", NULL, 0, &r, &e));
	assert_true(r.requeued == 0);
	f.entries = some;
	f.entries_n = 3;
	OK(jobstack_requeue(h, "req", &f, 0, &r, &e)); /* a done one, one in line, one that is not there */
	assert_true(r.requeued == 1 && r.refused == 1 && r.missing == 1);
	look("req");
	assert_true(st.dead == 0 && st.done == 3 && st.ready == 6);
	OK(jobstack_pop(h, "req", NULL, 9, &b, &e)); /* the lists that came back: 1,3,5,7 at rank and pos of their own */
	assert_true(b.entries[0].attempt == 2 || b.entries[0].entry == 9);
	jobstack_batch_free(&b);
	GIVES(JOBSTACK_EMISSING, jobstack_attempts(h, "req", 77, take_item, NULL, &e));
	items_n = 0;
	OK(jobstack_attempts(h, "req", 1, take_item, NULL, &e));
	assert_true(items_n >= 1 && items[0].outcome == JOBSTACK_FAILED);
}

/* Eight requeue the same dead at once: each entry goes back once. */
static void requeue_races(void **state)
{
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_outcome o[300];
	struct jobstack_batch b;

	(void)state;
	push.max_attempts = 1;
	push_numbered("rr", &push, 300);
	OK(jobstack_pop(h, "rr", NULL, 300, &b, &e));
	for (uint64_t i = 0; i < 300; i++)
		o[i] = outcome(i + 1, 1, JOBSTACK_FAILED, 1);
	OK(jobstack_close(h, "rr", o, 300, NULL, &e));
	jobstack_batch_free(&b);
	for (int i = 0; i < 8; i++)
		if (fork() == 0) {
			struct jobstack *mine = open_one();
			int status = jobstack_requeue(mine, "rr", NULL, 0, NULL, NULL);

			jobstack_free(mine);
			_exit(status == 0 ? 0 : 1);
		}
	for (int i = 0; i < 8; i++) {
		int status;

		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	look("rr");
	assert_true(st.ready == 300 && st.dead == 0);
}

static void pauses(void **state)
{
	struct jobstack_batch b;

	(void)state;
	push_numbered("pause", NULL, 1);
	OK(jobstack_pause(h, "pause", 1, &e));
	OK(jobstack_pause(h, "pause", 1, &e));
	GIVES(JOBSTACK_NOTHING, jobstack_pop(h, "pause", NULL, 1, &b, &e));
	look("pause");
	assert_true(st.state == JOBSTACK_PAUSED && st.ready == 1);
	OK(jobstack_pause(h, "pause", 0, &e));
	OK(jobstack_pop(h, "pause", NULL, 1, &b, &e));
	jobstack_batch_free(&b);
}

/* Twenty processes drain one stack, each entry by one of them. */
static void many_poppers(void **state)
{
	enum { N = 3000, P = 20 };

	(void)state;
	push_numbered("many", NULL, N);
	for (int i = 0; i < P; i++)
		if (fork() == 0) {
			struct jobstack_outcome o[37];
			struct jobstack_worker *w;
			struct jobstack_batch b;
			size_t n = 0;

			h = open_one();
			OK(jobstack_worker_begin(h, "many", NULL, &w, &e));
			do {
				OK(jobstack_step(w, o, n, 37, NULL, 0, &b, NULL, &e));
				n = b.count;
				for (size_t k = 0; k < n; k++)
					o[k] = outcome(b.entries[k].entry, b.entries[k].attempt, JOBSTACK_DONE, 0);
				jobstack_batch_free(&b);
			} while (n > 0);
			OK(jobstack_worker_end(w, NULL, 0, NULL, &e));
			jobstack_worker_free(w);
			jobstack_free(h);
			_exit(0);
		}
	for (int i = 0; i < P; i++) {
		int status;

		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	look("many");
	assert_true(st.done == N && st.ready == 0 && st.running == 0 && st.workers == 0);
}

static int open_fixture(void **state)
{
	(void)state;
	h = open_one();
	return 0;
}

static int close_fixture(void **state)
{
	(void)state;
	jobstack_free(h);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_schema_yet), cmocka_unit_test(twenty_inits), cmocka_unit_test(empty_and_missing),
		cmocka_unit_test(any_bytes), cmocka_unit_test(bad_names), cmocka_unit_test(relative_names), cmocka_unit_test(orders),
		cmocka_unit_test(unique_names), cmocka_unit_test(unique_races), cmocka_unit_test(scripts),
		cmocka_unit_test(worker_steps), cmocka_unit_test(fence_and_recovery), cmocka_unit_test(partly_given_back), cmocka_unit_test(requeue_mixed),
		cmocka_unit_test(requeues),
		cmocka_unit_test(requeue_races), cmocka_unit_test(pauses), cmocka_unit_test(many_poppers)};

	return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
