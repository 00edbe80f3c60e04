/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What the tests of the public API share: a handle, looking at a stack.  Each test program has its own.
 */
#ifndef TESTS_INTEGRATION_API_H
#define TESTS_INTEGRATION_API_H

#include "integration/says.h"

static struct jobstack *h;
static struct jobstack_status st;
static char st_cwd[300], st_note[300];
static struct jobstack_item items[64];
static char item_path[64][300];
static size_t items_n;

static inline int take_status(void *ctx, const struct jobstack_status *s)
{
	(void)ctx;
	st = *s;
	(void)snprintf(st_cwd, sizeof(st_cwd), "%s", s->cwd == NULL ? "" : s->cwd);
	(void)snprintf(st_note, sizeof(st_note), "%s", s->note == NULL ? "" : s->note);
	return 0;
}

/* The ledger balances, whatever was done before. */
static inline void look(const char *stack)
{
	OK(jobstack_status(h, stack, take_status, NULL, &e));
	assert_true(st.pushed == st.ready + st.waiting + st.held + st.running + st.done + st.dead + st.cancelled +
					 st.moved + st.pruned);
}

static inline int take_item(void *ctx, const struct jobstack_item *item)
{
	(void)ctx;
	if (items_n == 64)
		return 1;
	(void)snprintf(item_path[items_n], sizeof(item_path[0]), "%.*s", (int)item->datapath.len,
		       (const char *)item->datapath.data);
	items[items_n++] = *item;
	return 0;
}

static inline void list(const char *stack, unsigned states)
{
	struct jobstack_filter f = JOBSTACK_FILTER_INIT;

	f.states = states;
	items_n = 0;
	OK(jobstack_list(h, stack, &f, take_item, NULL, &e));
}

static inline void push_numbered(const char *stack, const struct jobstack_push_options *o, size_t n)
{
	struct jobstack_bytes *v = calloc(n, sizeof(*v));
	struct jobstack_push_result r = JOBSTACK_PUSH_RESULT_INIT;

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

static inline struct jobstack_outcome outcome(uint64_t entry, uint32_t attempt, enum jobstack_verdict verdict,
					      int exit_code)
{
	struct jobstack_outcome o = JOBSTACK_OUTCOME_INIT;

	o.entry = entry;
	o.attempt = attempt;
	o.verdict = verdict;
	o.exit_code = exit_code;
	return o;
}

/* N entries (at most as many as one pop takes), dead by one attempt with exit 1. */
static inline void make_dead(const char *stack, size_t n)
{
	struct jobstack_push_options push = JOBSTACK_PUSH_OPTIONS_INIT;
	struct jobstack_policy policy = JOBSTACK_POLICY_INIT;
	struct jobstack_outcome *o = calloc(n, sizeof(*o));
	struct jobstack_batch b = JOBSTACK_BATCH_INIT;

	push.policy = &policy;
	policy.max_attempts = 1;
	push_numbered(stack, &push, n);
	OK(jobstack_pop(h, stack, NULL, n, &b, &e));
	for (size_t i = 0; i < n; i++)
		o[i] = outcome(i + 1, 1, JOBSTACK_FAILED, 1);
	OK(jobstack_close(h, stack, o, n, NULL, &e));
	jobstack_batch_free(&b);
	free(o);
}

static uint64_t seen_worker, seen_seq;

static inline int take_worker(void *ctx, const struct jobstack_worker_row *w)
{
	(void)ctx;
	seen_worker = w->worker;
	seen_seq = w->seq;
	return 0;
}

static inline int open_fixture(void **state)
{
	(void)state;
	h = open_one();
	return 0;
}

/* The same, with the schema. */
static inline int init_fixture(void **state)
{
	(void)open_fixture(state);
	OK(jobstack_init(h, schema(), NULL, &e));
	return 0;
}

static inline int close_fixture(void **state)
{
	(void)state;
	jobstack_free(h);
	return 0;
}

#endif
