/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The stream of attempts: each attempt comes once, even if transactions are held up, lost, or arrive late.
 */
#define _GNU_SOURCE
#include "integration/proxy.h"

/* A reader: the attempts that it got, such as "7:1 9:2 ", and its last cursor. */
struct reader {
	char got[2000], cursor[100];
};

static int take_streamed(void *ctx, const struct jobstack_item *item)
{
	struct reader *r = ctx;
	size_t len = strlen(r->got);

	(void)snprintf(r->got + len, sizeof(r->got) - len, "%" PRIu64 ":%" PRIu32 " ", item->entry, item->attempt);
	(void)snprintf(r->cursor, sizeof(r->cursor), "%s", item->cursor);
	return 0;
}

static int read_on(struct jobstack *handle, const char *stack, struct reader *r, struct jobstack_error *error)
{
	struct jobstack_export_options o = JOBSTACK_EXPORT_OPTIONS_INIT;
	char after[100];

	(void)snprintf(after, sizeof(after), "%s", r->cursor[0] == '\0' ? "0" : r->cursor);
	o.after = after;
	r->got[0] = '\0';
	return jobstack_export(handle, stack, &o, take_streamed, r, error);
}

#define READS(r, stack, text)                                                                                          \
	do {                                                                                                           \
		OK(read_on(h, stack, r, &e));                                                                          \
		assert_string_equal((r)->got, text);                                                                   \
	} while (0)

static struct reader racing[2];

static int do_read(struct rival *r)
{
	return read_on(r->handle, r->stack, &racing[r->k], &r->error);
}

static void ready(struct rival *r, uint64_t entry, enum jobstack_verdict verdict)
{
	r->outcome[0] = outcome(entry, 1, verdict, verdict != JOBSTACK_DONE);
	r->n = 1;
}

/* The first worker's step began first, and is committed after that of the second was read. */
static void late_commit(void **state)
{
	struct reader r = {"", ""};
	struct rival a, b;

	(void)state;
	push_numbered("late", NULL, 4);
	a = rival_worker("late", 1);
	b = rival_worker("late", 1);
	ready(&a, 1, JOBSTACK_DONE);
	ready(&b, 2, JOBSTACK_DONE);
	hold_attempt("late", 1, 1); /* its worker's row is written and locked, and it is about to write the attempt */
	start(&a, do_step);
	until_waiting(1);
	OK(do_step(&b));
	READS(&r, "late", "2:1 ");
	READS(&r, "late", "");
	release();
	ENDS(&a, 0);
	READS(&r, "late", "1:1 ");
	READS(&r, "late", "");
	r.cursor[0] = '\0';
	READS(&r, "late", "2:1 1:1 ");
	audit("late", 2, 0, 2, 0);
	over(&a);
	over(&b);
}

/* The same, while the reader takes away what the first has written before: it waits for that row. */
static void reader_waits_for_a_step(void **state)
{
	struct rival w, reader;

	(void)state;
	memset(racing, 0, sizeof(racing));
	push_numbered("waits", NULL, 4);
	w = rival_worker("waits", 3);
	ready(&w, 1, JOBSTACK_DONE);
	OK(do_step(&w));
	ready(&w, 3, JOBSTACK_FAILED);
	hold_attempt("waits", 3, 1);
	start(&w, do_step);
	until_waiting(1);
	reader = rival("waits");
	start(&reader, do_read);
	until_waiting(2);
	release();
	ENDS(&w, 0);
	ENDS(&reader, 0);
	if (strcmp(racing[0].got, "1:1 ") == 0)
		READS(&racing[0], "waits", "3:1 ");
	else
		assert_string_equal(racing[0].got, "1:1 3:1 ");
	READS(&racing[0], "waits", "");
	over(&w);
	over(&reader);
}

/* Two readers make the same block: one of them finds the other's. */
static void two_readers(void **state)
{
	struct reader again = {"", ""};
	struct rival w, a, b;
	uint64_t id;

	(void)state;
	memset(racing, 0, sizeof(racing));
	push_numbered("readers", NULL, 4);
	id = id_of("readers");
	w = rival_worker("readers", 3);
	ready(&w, 2, JOBSTACK_DONE);
	OK(do_step(&w));
	a = rival("readers");
	b = rival("readers");
	b.k = 1;
	(void)sql(holder, "START TRANSACTION");
	(void)sql(holder, "INSERT INTO stream(stack_id,no,oldest,newest,list) VALUES(%" PRIu64 ",1,0,0,'')", id);
	start(&a, do_read);
	until_waiting(1);
	start(&b, do_read);
	until_waiting(2);
	release();
	ENDS(&a, 0);
	ENDS(&b, 0);
	assert_string_equal(racing[0].got, "2:1 ");
	assert_string_equal(racing[1].got, "2:1 ");
	assert_string_equal(racing[0].cursor, racing[1].cursor);
	READS(&again, "readers", "2:1 ");
	assert_int_equal(sql(holder, "SELECT COUNT(*) FROM stream WHERE stack_id=%" PRIu64, id), 1);
	over(&w);
	over(&a);
	over(&b);
}

/* What R waits for has been done, but it does not learn that, and tries again. */
static void lose_reply(struct rival *r)
{
	proxy_caught(&between);
	proxy_settle(&between);
	proxy_drop_client(&between);
	ENDS(r, 0);
	proxy_finish(&between);
}

/* A worker's step is sent twice, since its reply was lost; its attempts are named once, in its row, in a row of their
 * own, and at its end. */
static void step_sent_twice(void **state)
{
	struct reader r = {"", ""};
	struct rival w;

	(void)state;
	push_numbered("twice", NULL, 200);
	w = distant(&between, "twice");
	OK(do_begin(&w));
	w.id = jobstack_worker_id(w.worker);
	OK(take_step(w.worker, NULL, 0, 100, &w.batch, NULL, &e));
	jobstack_batch_free(&w.batch);
	for (uint64_t entry = 1; entry <= 99; entry += 2) { /* its row is full, and emptied, several times */
		ready(&w, entry, JOBSTACK_DONE);
		w.outcome[1] = outcome(entry + 1, 1, JOBSTACK_DONE, 0);
		w.n = 2;
		proxy_arm(&between, PROXY_SWALLOW, 0);
		start(&w, do_step);
		lose_reply(&w);
	}
	OK(read_on(h, "twice", &r, &e));
	assert_int_equal(sql(holder, "SELECT COUNT(*) FROM closed WHERE stack_id=%" PRIu64, id_of("twice")), 0);
	(void)snprintf(r.cursor, sizeof(r.cursor), "0");
	OK(read_on(h, "twice", &r, &e));
	for (unsigned i = 0, words = 0; r.got[i] != '\0'; i++) {
		words += r.got[i] == ' ';
		if (r.got[i + 1] == '\0')
			assert_int_equal(words, 100);
	}
	w.n = 0;
	OK(do_end(&w));
	READS(&r, "twice", "");
	over(&w);
}

/* The same of a reader: its block is there once. */
static void block_sent_twice(void **state)
{
	struct reader r = {"", ""};
	struct rival w, reader;

	(void)state;
	memset(racing, 0, sizeof(racing));
	push_numbered("block", NULL, 4);
	w = rival_worker("block", 3);
	ready(&w, 2, JOBSTACK_DONE);
	OK(do_step(&w));
	reader = distant(&between, "block");
	proxy_arm(&between, PROXY_SWALLOW, 0);
	start(&reader, do_read);
	lose_reply(&reader);
	assert_string_equal(racing[0].got, "2:1 ");
	READS(&r, "block", "2:1 ");
	/* and one that comes late finds its pieces gone */
	ready(&w, 3, JOBSTACK_DONE);
	OK(do_step(&w));
	proxy_arm(&between, PROXY_KEEP, 0);
	start(&reader, do_read);
	proxy_caught(&between);
	proxy_drop_client(&between);
	ENDS(&reader, 0);
	assert_string_equal(racing[0].got, "3:1 ");
	ready(&w, 1, JOBSTACK_DONE);
	OK(do_step(&w));
	proxy_deliver(&between);
	READS(&r, "block", "3:1 1:1 ");
	READS(&r, "block", "");
	over(&w);
	over(&reader);
}

/* Recovery, a script's closes, kill, and what was not run. */
static void all_who_record(void **state)
{
	struct reader r = {"", ""};
	struct rival w, dead, script;
	char expected[30];

	(void)state;
	push_numbered("all", NULL, 9);
	w = rival_worker("all", 3);
	ready(&w, 2, JOBSTACK_FAILED);
	OK(do_step(&w));
	dead = rival_recover(&w);
	OK(do_recover(&dead));
	READS(&r, "all", "1:1 2:1 3:1 ");
	script = rival("all");
	script.k = 3;
	OK(do_pop(&script));
	assert_true(script.batch.count > 0);
	for (size_t i = 0; i < script.batch.count; i++) {
		script.outcome[0] = outcome(jobstack_batch_entry(&script.batch, i)->entry, 2, JOBSTACK_DONE, 0);
		script.n = 1;
		OK(do_close(&script));
		OK(do_close(&script)); /* which changes nothing */
		(void)snprintf(expected, sizeof(expected), "%" PRIu64 ":2 ", script.outcome[0].entry);
		READS(&r, "all", expected);
	}
	over(&w);
	w = rival_worker("all", 1);
	OK(do_end(&w)); /* nothing was run */
	READS(&r, "all", "");
	over(&w);
	over(&dead);
	over(&script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SCHEDULE(late_commit),	   SCHEDULE(reader_waits_for_a_step), SCHEDULE(two_readers),
		SCHEDULE(step_sent_twice), SCHEDULE(block_sent_twice),	      SCHEDULE(all_who_record),
	};

	return cmocka_run_group_tests(tests, lost_setup, lost_teardown);
}
