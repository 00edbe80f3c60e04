/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Failures, grouped by cause and by node.  Promises: page by page on a primary key, from the highest numbers down; the
 * memory of some two hundred groups, however many failures and kinds of them there are; the sum of all counts is exact.
 */
#include "queue/queue.h"
#include "base/signal.h"
#include "history/similar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 1000    /* attempts read by one query */
#define GROUPS 256   /* in memory */
#define TAIL "600"   /* bytes of the tail that are read: the last line of most */
#define NODES 512    /* that are told apart */
#define LOOK_AT 5000 /* attempts by which nodes are compared, unless the caller wants more */

/* A group of failures.  FOLDED says what its members have in common:
 *
 *     0  everything: outcome, exit code or signal, reason, what was printed and, if asked for, the node
 *     1  all but what was printed
 *     2  outcome, and exit code or signal
 *     3  nothing but that they failed
 *
 * In the reason, and in what was printed, numbers and paths were made alike before. */
struct group {
	struct jobstack_failure f; /* its texts are these: */
	char reason[256], example[256], node[256];
	char reason_pattern[128], pattern[160]; /* the same for comparing */
	int folded, many_nodes;
};

struct grouping {
	struct jobstack *handle;
	struct js_stack stack;
	struct jobstack_failures_options options;
	struct group *group; /* GROUPS of them; N are used */
	size_t n;
	struct jobstack_failures_report report;
	uint64_t rows;		 /* of the page */
	uint64_t entry, attempt; /* the last one of the page: the next page goes on below it */
	uint64_t told;		 /* the last entry that was looked at */
};

static int is_same_group(const struct grouping *g, const struct group *a, const struct group *b)
{
	if (a->folded != b->folded)
		return 0;
	if (a->folded < 3 &&
	    (a->f.outcome != b->f.outcome || a->f.exit_code != b->f.exit_code || a->f.signal != b->f.signal))
		return 0;
	if (a->folded < 2 && (strcmp(a->reason_pattern, b->reason_pattern) != 0 ||
			      (g->options.by_node && strcmp(a->node, b->node) != 0)))
		return 0;
	return a->folded > 0 || strcmp(a->pattern, b->pattern) == 0;
}

/* What the two do not have in common is left out: -1 for the program, and a node only if it is the same for all. */
static void join_groups(struct group *to, const struct group *more)
{
	if (to->f.program != more->f.program)
		to->f.program = -1;
	to->many_nodes |= more->many_nodes || strcmp(to->node, more->node) != 0;
	to->f.count += more->f.count;
	if (to->f.ago_us < 0 || (more->f.ago_us >= 0 && more->f.ago_us < to->f.ago_us))
		to->f.ago_us = more->f.ago_us;
}

/* Adds a group to those before the Nth; gives how many there are then. */
static size_t add_failure_group(const struct grouping *g, size_t n, const struct group *one)
{
	for (size_t i = 0; i < n; i++)
		if (is_same_group(g, &g->group[i], one)) {
			join_groups(&g->group[i], one);
			return n;
		}
	g->group[n] = *one;
	return n + 1;
}

/* The table is full: the smallest groups are merged until a quarter of it is free.  A large group that was folded while
 * it was small appears again soon, and no failure is lost from the counts. */
static void fold_small_groups(struct grouping *g)
{
	for (uint64_t small = 1; g->n > GROUPS * 3 / 4; small *= 2) {
		size_t n = 0;

		for (size_t i = 0; i < g->n; i++) {
			struct group one = g->group[i];

			if (one.f.count <= small && one.folded < 3)
				one.folded++;
			n = add_failure_group(g, n, &one);
		}
		g->n = n;
	}
}

/* Copies a text.  Of a long one the end remains: the cause stands there. */
static void copy_cut(char *to, size_t size, const char *from, size_t len)
{
	size_t cut = len < size ? 0 : len - size + 1;

	len = from == NULL ? 0 : len - cut;
	memcpy(to, from == NULL ? "" : from + cut, len);
	to[len] = '\0';
}

/* Returns whether a reason only repeats the exit code or the signal, so that a table need not show both. */
static int repeats_exit(const char *reason, const struct jobstack_failure *f)
{
	char words[JS_ENDING_WORDS];

	js_ending_words(words, f->exit_code, f->signal);
	return strcmp(reason, words) == 0;
}

#define AGO "TIMESTAMPDIFF(MICROSECOND,a.ended,UTC_TIMESTAMP(6))"

/* Columns: entry, attempt, outcome, exit code, signal, reason, node, tail, datapath, time since its end, program,
 * cause. */
static void take_failure(struct grouping *g, const struct js_row *row)
{
	struct group one = {.folded = 0};
	const char *line = NULL;
	size_t len = row->col[7] == NULL ? 0 : js_similar_last(row->col[7], row->len[7], &line);

	one.f = (struct jobstack_failure){.count = 1,
					  .outcome = (int)js_row_opt(row, 2),
					  .exit_code = (int32_t)js_row_opt(row, 3),
					  .signal = (int32_t)js_row_i64(row, 4),
					  .entry = js_row_u64(row, 0),
					  .attempt = (uint32_t)js_row_u64(row, 1),
					  .ago_us = js_row_opt(row, 9),
					  .program = js_row_opt(row, 10),
					  .cause = (enum jobstack_cause)js_row_u64(row, 11)};
	if (row->col[5] != NULL && !repeats_exit(row->col[5], &one.f)) {
		copy_cut(one.reason, sizeof(one.reason), row->col[5], row->len[5]);
		js_similar(row->col[5], row->len[5], NULL, 0, one.reason_pattern, sizeof(one.reason_pattern));
	}
	copy_cut(one.node, sizeof(one.node), row->col[6], row->len[6]);
	copy_cut(one.example, sizeof(one.example), line, len);
	if (len > 0)
		js_similar(line, len, row->col[8], row->len[8], one.pattern, sizeof(one.pattern));
	if (g->n == GROUPS)
		fold_small_groups(g);
	g->n = add_failure_group(g, g->n, &one);
	g->report.failures++;
}

/* Returns whether an interruption with this CAUSE came from the attempt itself: its command asked to be tried later, or
 * failed on a node that may be bad. */
static int is_put_off(uint64_t cause)
{
	return cause == JOBSTACK_CAUSE_DEFERRED || cause == JOBSTACK_CAUSE_NODE;
}

/* Of all attempts, only an entry's last one counts, and only if it failed.  (Rows of set_aside are last ones.) */
static void take_row(void *ctx, const struct js_row *row)
{
	struct grouping *g = ctx;
	int outcome;

	if (row == NULL)
		return;
	g->rows++;
	g->entry = js_row_u64(row, 0);
	g->attempt = js_row_u64(row, 1);
	outcome = (int)js_row_opt(row, 2);
	if (!g->options.all || (g->told != g->entry && (outcome == JOBSTACK_FAILED || outcome == JOBSTACK_LOST ||
							is_put_off(js_row_u64(row, 11)))))
		take_failure(g, row);
	g->told = g->entry; /* downwards the first of an entry's attempts is its last */
}

static int read_failures_page(struct grouping *g, uint64_t limit, struct jobstack_error *error)
{
	struct js_sql sql = {0};

	if (g->options.all) /* the primary key of attempt, backwards */
		js_sql_stmt(&sql,
			    "SELECT a.entry_id,a.attempt,a.outcome,a.exit_code,a.signo,a.reason,"
			    "w.node,IF(a.outcome>0,RIGHT(a.err_tail," TAIL "),NULL),e.datapath," AGO
			    ",a.program,a.cause FROM attempt a LEFT JOIN worker w ON w.worker_id=a.worker_id LEFT JOIN "
			    "entry e ON e.stack_id=a.stack_id AND e.entry_id=a.entry_id WHERE a.stack_id=%u AND "
			    "a.entry_id<=%u AND (a.entry_id<%u OR a.attempt<%u) ORDER BY a.stack_id DESC,a.entry_id "
			    "DESC,a.attempt DESC LIMIT %u",
			    g->stack.id, g->entry, g->entry, g->attempt, limit);
	else /* the primary keys of set_aside, backwards, and of attempt */
		js_sql_stmt(
			&sql,
			"SELECT d.entry_id,d.attempt,a.outcome,a.exit_code,a.signo,IF(a.entry_id IS "
			"NULL,d.reason,a.reason),w.node,RIGHT(a.err_tail," TAIL "),e.datapath," AGO
			",a.program,a.cause FROM set_aside d LEFT JOIN attempt a ON a.stack_id=d.stack_id AND "
			"a.entry_id=d.entry_id AND a.attempt=d.attempt LEFT JOIN worker w ON w.worker_id=a.worker_id "
			"LEFT JOIN entry e ON e.stack_id=d.stack_id AND e.entry_id=d.entry_id WHERE d.stack_id=%u AND "
			"d.entry_id<%u AND d.state=0 ORDER BY d.stack_id DESC,d.entry_id "
			"DESC LIMIT %u",
			g->stack.id, g->entry, limit);
	return js_db_query(g->handle->db, &sql, take_row, g, error);
}

static int compare_sizes(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->f.count != y->f.count)
		return x->f.count < y->f.count ? 1 : -1;
	return (x->f.entry > y->f.entry) - (x->f.entry < y->f.entry);
}

static int report_groups(struct grouping *g, jobstack_failure_fn *fn, void *ctx)
{
	qsort(g->group, g->n, sizeof(*g->group), compare_sizes);
	for (size_t i = 0; fn != NULL && i < g->n; i++) {
		struct group *one = &g->group[i];

		one->f.various = one->folded > 0;
		one->f.reason = one->folded < 2 && one->reason[0] != '\0' ? one->reason : NULL;
		one->f.pattern = one->folded < 1 && one->pattern[0] != '\0' ? one->pattern : NULL;
		one->f.example = one->example[0] != '\0' ? one->example : NULL;
		one->f.node = !one->many_nodes && one->node[0] != '\0' ? one->node : NULL;
		if (one->folded == 3) {
			one->f.exit_code = -1;
			one->f.signal = 0;
		}
		if (fn(ctx, &one->f) != 0)
			return JOBSTACK_ESTOPPED;
	}
	return 0;
}

int jobstack_failures(struct jobstack *handle, const char *stack, const struct jobstack_failures_options *options,
		      jobstack_failure_fn *fn, void *ctx, struct jobstack_failures_report *report,
		      struct jobstack_error *error)
{
	struct grouping g = {
		.handle = handle, .options = JOBSTACK_FAILURES_OPTIONS_INIT, .report = JOBSTACK_FAILURES_REPORT_INIT};
	uint64_t limit;
	int status = js_grow_in(&g.options, options, "jobstack_failures_options", error);

	JS_THEN(status, js_grow_begin(report, &g.report, "jobstack_failures_report", error));
	JS_THEN(status, js_stack_find(handle, stack, &g.stack, error));
	if (status != 0)
		return status;
	g.group = calloc(GROUPS, sizeof(*g.group));
	if (g.group == NULL)
		return js_error_memory(error);
	g.entry = g.stack.tail + 1;
	do {
		limit = g.options.look_at == 0 || g.options.look_at - g.report.looked > PAGE
				? PAGE
				: g.options.look_at - g.report.looked;
		g.rows = 0;
		status = js_db_nap(handle->db, 0, error);
		if (status == 0 && limit > 0)
			status = read_failures_page(&g, limit, error);
		g.report.looked += g.rows;
	} while (status == 0 && limit > 0 && g.rows == limit);
	g.report.whole = limit > 0;
	g.report.groups = g.n;
	if (status == 0) {
		js_grow_out(report, &g.report);
		status = report_groups(&g, fn, ctx);
	}
	free(g.group);
	return status;
}

/* --------------------------------------------------------------------------------------------------- by the node */

struct node {
	char name[256];
	uint64_t failed, attempts;
	int bad;
};

struct nodes {
	struct node node[NODES];
	size_t n;
	uint64_t looked;
};

/* Counts an attempt for its node. */
static void take_end(void *ctx, const struct js_row *row)
{
	struct nodes *all = ctx;
	size_t i = 0;

	if (row == NULL) {
		all->n = all->looked = 0;
		return;
	}
	all->looked++;
	while (i < all->n && strcmp(all->node[i].name, row->col[0]) != 0)
		i++;
	if (i == NODES)
		return; /* it is one of many, and has a few of them at most */
	if (i == all->n) {
		all->node[all->n++] = (struct node){.failed = 0};
		copy_cut(all->node[i].name, sizeof(all->node[i].name), row->col[0], row->len[0]);
	}
	all->node[i].attempts++;
	all->node[i].failed += js_row_u64(row, 1) != JOBSTACK_DONE;
}

/* Wilson's bound of the share that FAILED of N shows, three standard errors below or above.  Unlike the plain share, it
 * says little where N is small: one failure of one attempt is no bad node. */
static double share_bound(uint64_t failed, uint64_t n, int above)
{
	double z2 = 9, m = (double)n, p = (double)failed / m;
	double wide = 3 * sqrt(p * (1 - p) / m + z2 / (4 * m * m));

	return (p + z2 / (2 * m) + (above ? wide : -wide)) / (1 + z2 / m);
}

/* Finds the worst node that is not known to be bad, if that is beyond chance: the share that surely fails there is at
 * least ten percentage points above the share that can fail elsewhere.  A node that was found is left out of
 * "elsewhere" from then on. */
static struct node *find_worst_node(struct nodes *all, struct jobstack_bad_node *found)
{
	struct node *worst = NULL;
	uint64_t failed = 0, attempts = 0;

	for (size_t i = 0; i < all->n; i++) {
		struct node *one = &all->node[i];

		if (one->bad)
			continue;
		failed += one->failed;
		attempts += one->attempts;
		if (worst == NULL ||
		    share_bound(one->failed, one->attempts, 0) > share_bound(worst->failed, worst->attempts, 0))
			worst = one;
	}
	if (worst == NULL || attempts == worst->attempts)
		return NULL;
	*found = (struct jobstack_bad_node){worst->name, worst->failed, worst->attempts, failed - worst->failed,
					    attempts - worst->attempts};
	if (share_bound(found->failed, found->attempts, 0) <
	    0.1 + share_bound(found->failed_elsewhere, found->attempts_elsewhere, 1))
		return NULL;
	worst->bad = 1;
	return worst;
}

int jobstack_bad_nodes(struct jobstack *handle, const char *stack, uint64_t look_at, jobstack_bad_node_fn *fn,
		       void *ctx, uint64_t *looked, struct jobstack_error *error)
{
	struct nodes *all = calloc(1, sizeof(*all));
	struct jobstack_bad_node found;
	struct js_stack s;
	int status = all == NULL ? js_error_memory(error) : js_stack_find(handle, stack, &s, error);

	/* the primary key of attempt, LIMIT rows of it; interrupted attempts say nothing about the node, unless
	 * it was their fault */
	if (status == 0)
		status = js_handle_ask(
			handle, take_end, all, error,
			"SELECT COALESCE(w.node,'?'),a.outcome FROM (SELECT worker_id,IF(outcome=3 AND cause=%u"
			",1,outcome) outcome FROM attempt WHERE stack_id=%u ORDER BY stack_id DESC,entry_id "
			"DESC,attempt DESC LIMIT %u) a JOIN worker w ON w.worker_id=a.worker_id WHERE a.outcome<3",
			(uint64_t)JOBSTACK_CAUSE_NODE, s.id, look_at == 0 ? (uint64_t)LOOK_AT : look_at);
	if (status == 0 && looked != NULL)
		*looked = all->looked;
	while (status == 0 && find_worst_node(all, &found) != NULL)
		if (fn(ctx, &found) != 0)
			status = JOBSTACK_ESTOPPED;
	free(all);
	return status;
}
