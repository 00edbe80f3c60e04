/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The public API against a real server: the schema, and what gets onto a stack.  A fresh database a run, with the
 * rights of docs/grants.sql.
 */
#define _GNU_SOURCE
#include "integration/api.h"

#include <sys/wait.h>
#include <unistd.h>

static void no_schema_yet(void **state)
{
	(void)state;
	GIVES(JOBSTACK_ESCHEMA, jobstack_push(h, "s", NULL, "/x", &e));
	assert_non_null(strstr(e.text, "no jobstack schema"));
	GIVES(JOBSTACK_ESCHEMA, jobstack_status(h, NULL, take_status, NULL, &e));
}

static void twenty_inits(void **state)
{
	struct jobstack_init_report r = JOBSTACK_INIT_REPORT_INIT;
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

struct seen {
	int version, schema, clock, rights, settings;
	int stop_at, n;
};

static int take_fact(void *ctx, const char *name, const char *value)
{
	struct seen *s = ctx;

	assert_non_null(value);
	s->version += strcmp(name, "version") == 0;
	s->rights += strcmp(name, "right") == 0;
	s->clock += strcmp(name, "clock.ahead_us") == 0 && labs(strtol(value, NULL, 10)) < 60000000;
	s->schema += strcmp(name, "schema.version") == 0 && strtoul(value, NULL, 10) == jobstack_schema_version();
	s->settings += strcmp(name, "variable.max_connections") == 0 && strtol(value, NULL, 10) > 0;
	return ++s->n == s->stop_at;
}

/* With the rights of docs/grants.sql, which hide some: no error. */
static void facts(void **state)
{
	struct seen s = {.stop_at = -1}, first = {.stop_at = 1};

	(void)state;
	OK(jobstack_server_facts(h, take_fact, &s, &e));
	assert_true(s.version == 1 && s.schema == 1 && s.clock == 1 && s.settings == 1 && s.rights >= 1);
	GIVES(JOBSTACK_ESTOPPED, jobstack_server_facts(h, take_fact, &first, &e));
	assert_int_equal(first.n, 1);
}

static void empty_and_missing(void **state)
{
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;

	(void)state;
	REFUSES(JOBSTACK_EMISSING, JOBSTACK_WHY_NO_STACK, jobstack_status(h, "nosuch", take_status, NULL, &e));
	REFUSES(JOBSTACK_EMISSING, JOBSTACK_WHY_NO_STACK, jobstack_pop(h, "nosuch", NULL, 1, &b, &e));
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
	char all[260], *names[] = {"/with\nnewline",
				   "/it's \"quoted\"",
				   "/per%cent;semi\\back",
				   "/\xff\xfe not utf8",
				   "/-dash",
				   "/ ",
				   "/x' OR 1=1; DROP TABLE entry; -- "};
	struct jobstack_bytes v[8];
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;
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
		assert_int_equal(jobstack_batch_entry(&b, i)->datapath_len, v[i].len);
		assert_memory_equal(jobstack_batch_entry(&b, i)->datapath, v[i].data, v[i].len);
		assert_int_equal(jobstack_batch_entry(&b, i)->datapath[v[i].len], 0);
	}
	jobstack_batch_free(&b);
	list("bytes", JOBSTACK_IS_RUNNING);
	assert_int_equal(items_n, 8);
	look("bytes");
	assert_true(st.running == 8);
}

static void bad_names(void **state)
{
	static char big[JOBSTACK_DATAPATH_MAX + 1];
	struct jobstack_push_result r = JOBSTACK_PUSH_RESULT_INIT;
	struct jobstack_bytes v[3] = {{"/a", 2}, {"/b\0c", 4}, {"/d", 2}};
	struct jobstack_push_options atomic = JOBSTACK_PUSH_OPTIONS_INIT;

	(void)state;
	GIVES(JOBSTACK_EINPUT, jobstack_push_many(h, "bad", NULL, v, 3, &r, &e));
	assert_true(r.bad == 2 && r.pushed == 1);
	memset(big, 'x', sizeof(big));
	big[0] = '/';
	v[1] = (struct jobstack_bytes){big, sizeof(big)};
	GIVES(JOBSTACK_EINPUT, jobstack_push_many(h, "bad", NULL, v, 3, &r, &e));
	assert_true(r.bad == 2 && r.pushed == 1);
	v[1].len = JOBSTACK_DATAPATH_MAX;
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
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;

	(void)state;
	o.lifo = 1;
	push_numbered("lifo", &o, 5);
	push_numbered("lifo", &o, 2); /* entries 6 and 7 */
	OK(jobstack_pop(h, "lifo", NULL, 1, &b, &e));
	assert_true(jobstack_batch_entry(&b, 0)->entry == 7);
	jobstack_batch_free(&b);
	OK(jobstack_pop(h, "lifo", NULL, 10, &b, &e));
	assert_true(b.count == 1 && jobstack_batch_entry(&b, 0)->entry == 6); /* a pop takes from one span */
	jobstack_batch_free(&b);
	OK(jobstack_pop(h, "lifo", NULL, 2, &b, &e));
	assert_true(b.count == 2 && jobstack_batch_entry(&b, 0)->entry == 4 && jobstack_batch_entry(&b, 1)->entry == 5);
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
		assert_true(jobstack_batch_entry(&b, 0)->entry == want[i]);
		jobstack_batch_free(&b);
	}
	GIVES(JOBSTACK_NOTHING, jobstack_pop(h, "prio", NULL, 1, &b, &e));
	look("lifo");
	look("prio");
}

/* Who made what; and one stack for an origin. */
static void owners(void **state)
{
	static const char *const hers = "one+two-1";
	struct jobstack_options o = test_options();
	struct jobstack_push_options p = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_bytes origin = {"/dir\0cmd", 8}, other = {"/dir\0other", 10};
	char name[JOBSTACK_STACK_MAX + 1];
	struct jobstack *her = NULL;

	(void)state;
	GIVES(JOBSTACK_NOTHING, jobstack_newest(h, name, &e)); /* it does not say who it is */
	o.os_user = "her";
	OK(jobstack_open(&her, &o, &e));
	GIVES(JOBSTACK_NOTHING, jobstack_newest(her, name, &e));
	GIVES(JOBSTACK_NOTHING, jobstack_of_origin(her, origin, "one+two", name, &e));
	assert_string_equal(name, hers);
	p.origin = &origin;
	OK(jobstack_push(her, name, &p, "/1", &e));
	OK(jobstack_push(her, name, &p, "/2", &e));
	OK(jobstack_push(h, "later", NULL, "/1", &e));
	OK(jobstack_newest(her, name, &e));
	assert_string_equal(name, hers);
	OK(jobstack_of_origin(h, origin, "another", name, &e));
	assert_string_equal(name, hers);
	GIVES(JOBSTACK_NOTHING, jobstack_of_origin(h, other, "one+two", name, &e));
	assert_string_equal(name, "one+two-2");
	GIVES(JOBSTACK_ECONFLICT, jobstack_push(h, "one+two-2", &p, "/1", &e)); /* it has its stack */
	p.origin = &other;
	GIVES(JOBSTACK_ECONFLICT, jobstack_push(h, hers, &p, "/1", &e));
	GIVES(JOBSTACK_EUSAGE, jobstack_of_origin(h, other, "a/b", name, &e));
	look(hers);
	assert_int_equal(st.pushed, 2);
	OK(jobstack_drop(h, hers, NULL, NULL, &e));
	GIVES(JOBSTACK_NOTHING, jobstack_newest(her, name, &e));
	jobstack_free(her);
}

static void unique_names(void **state)
{
	struct jobstack_push_options plain = JOBSTACK_PUSH_OPTIONS_INIT, o = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_push_result r = JOBSTACK_PUSH_RESULT_INIT;
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

struct held_push {
	struct jobstack *other;
	unsigned given;
	char name[32];
};

/* A chunk; then somebody else pushes one of its names, not uniquely; then the push fails. */
static int next_held(void *ctx, struct jobstack_bytes *datapath)
{
	struct held_push *p = ctx;

	if (p->given == 2500) {
		OK(jobstack_push(p->other, "given", NULL, "/h/7", &e));
		return -1;
	}
	(void)snprintf(p->name, sizeof(p->name), "/h/%u", p->given++);
	*datapath = (struct jobstack_bytes){p->name, strlen(p->name)};
	return 0;
}

/* A name that an atomic push has taken away again is still kept unique for who else has pushed it. */
static void unique_beside_a_failed_push(void **state)
{
	struct jobstack_push_options o = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_bytes again = {"/h/7", 4};
	struct held_push p = {.other = open_one()};
	struct jobstack_push_result r = JOBSTACK_PUSH_RESULT_INIT;

	(void)state;
	o.unique = 1;
	push_numbered("given", &o, 3);
	o.atomic = 1;
	GIVES(JOBSTACK_ESTOPPED, jobstack_push_from(h, "given", &o, next_held, &p, &r, &e));
	look("given");
	assert_true(st.pushed == 4 && st.held == 0);
	OK(jobstack_check(h, "given", NULL, NULL, NULL, &e));
	o.atomic = 0;
	OK(jobstack_push_many(h, "given", &o, &again, 1, &r, &e));
	assert_true(r.pushed == 0 && r.skipped == 1);
	OK(jobstack_check(h, "given", NULL, NULL, NULL, &e));
	jobstack_free(p.other);
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

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(no_schema_yet),
					   cmocka_unit_test(twenty_inits),
					   cmocka_unit_test(facts),
					   cmocka_unit_test(empty_and_missing),
					   cmocka_unit_test(any_bytes),
					   cmocka_unit_test(bad_names),
					   cmocka_unit_test(relative_names),
					   cmocka_unit_test(orders),
					   cmocka_unit_test(owners),
					   cmocka_unit_test(unique_names),
					   cmocka_unit_test(unique_beside_a_failed_push),
					   cmocka_unit_test(unique_races)};

	return cmocka_run_group_tests(tests, open_fixture, close_fixture);
}
