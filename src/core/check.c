/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The check: proves that a stack's ledger balances.  Promises: everything is read in one view of the data, without a
 * lock; the rows themselves are counted and no counter is believed; the entry numbers are looked at window by window,
 * so memory is flat.
 *
 * In a window each number has a small record: which span and which open claim hold it, its last attempt, whether it is
 * dead. When the tables have been read into it, each number must have just one place.
 */
#include "core/places.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW (UINT64_C(1) << 19)
/* numbers in one query: its answer is kept in memory, and must come within the read timeout */
#define PAGE (UINT64_C(1) << 15)

enum { IS_THERE = 1, IS_DONE = 2, IS_DEAD = 4, IS_MOVED = 8, IS_CANCELLED = 16 };

struct number {
	uint32_t span, claim;  /* places in their lists, plus 1; 0: none */
	uint32_t last;	       /* the highest attempt on record */
	uint32_t failed, lost; /* attempts that ended so */
	uint32_t dead;	       /* the attempt that its dead row names */
	unsigned char flags;
};

struct checking {
	struct js_checked c;
	const char *stack; /* NULL: rows of no stack */
	int exists;
	struct number *number;
	uint64_t low, high; /* the window */
	struct js_places spans, claims;
	int64_t worker_done, worker_dead; /* of those that have not ended */
	uint64_t moved, pruned, cancelled;
	int limited, has_gate;	       /* it has a limit; it has the row in `gate` for that */
	uint64_t stray_names;	       /* rows in name for entries that are not there */
	uint64_t names, named_entries; /* rows in `name`; entries that have such a row */
	uint64_t unnamed;
	const char *table; /* the table whose stray rows are being read */
};

#define FOUND(k, fault, ...) js_found(&(k)->c.findings, JOBSTACK_FAULT_##fault, __VA_ARGS__)

static struct number *number_record(struct checking *k, uint64_t entry)
{
	return &k->number[entry - k->low];
}

/* -------------------------------------------------------------------------------------------------------- places */

static void report_doubled(struct checking *k, uint64_t entry, const struct js_place *a, const struct js_place *b)
{
	char x[JS_PLACE_NAME], y[JS_PLACE_NAME];

	FOUND(k, DOUBLED, entry, "it is in %s, and in %s too", js_place_name(a, x), js_place_name(b, y));
}

static void in_span(void *ctx, size_t index, uint64_t entry)
{
	struct checking *k = ctx;
	struct number *n = number_record(k, entry);

	if (n->span != 0)
		report_doubled(k, entry, &k->spans.list[n->span - 1], &k->spans.list[index]);
	else
		n->span = (uint32_t)index + 1;
}

/* An entry of a claim is open in it if its attempt with the claim's number is not on record. */
static void in_claim(void *ctx, size_t index, uint64_t entry)
{
	static const char *const who[] = {[JS_ENDED] = "which has ended",
					  [JS_MISSING] = "which does not exist",
					  [JS_FOREIGN] = "which is another stack's"};
	struct checking *k = ctx;
	struct js_place *h = &k->claims.list[index];
	struct number *n = number_record(k, entry);
	char text[JS_PLACE_NAME];

	if (h->attempt <= n->last)
		return;
	h->seen++;
	k->c.report.running++;
	if (h->keeper != JS_ALIVE)
		FOUND(k, CLAIM, entry, "it is in %s, %s", js_place_name(h, text), who[h->keeper]);
	if (n->claim != 0)
		report_doubled(k, entry, &k->claims.list[n->claim - 1], h);
	else
		n->claim = (uint32_t)index + 1;
}

/* ---------------------------------------------------------------------------------------------------- the tables */

static void take_there(void *ctx, const struct js_row *row)
{
	struct checking *k = ctx;

	if (row == NULL)
		return;
	number_record(k, js_row_u64(row, 0))->flags |= IS_THERE;
}

/* Marks the entries that exist. Usually that is all of the page, and then a count is enough. */
static int read_entries(struct checking *k, uint64_t low, uint64_t high, struct jobstack_error *error)
{
	uint64_t n;

	JS_TRY(js_handle_ask_number(k->c.handle, &n, error,
				    "SELECT COUNT(*) FROM entry WHERE stack_id=%u AND entry_id BETWEEN %u AND %u",
				    k->c.id, low, high));
	k->c.report.entries += n;
	for (uint64_t e = low; n == high - low + 1 && e <= high; e++)
		number_record(k, e)->flags |= IS_THERE;
	return n == 0 || n == high - low + 1
		       ? 0
		       : js_handle_ask(k->c.handle, take_there, k, error,
				       "SELECT entry_id FROM entry WHERE stack_id=%u AND entry_id BETWEEN %u AND %u",
				       k->c.id, low, high);
}

static void take_attempts(void *ctx, const struct js_row *row)
{
	struct checking *k = ctx;
	uint64_t entry, n, finals, final;
	struct number *x;

	if (row == NULL)
		return;
	entry = js_row_u64(row, 0);
	n = js_row_u64(row, 1);
	finals = js_row_u64(row, 6);
	final = js_row_u64(row, 7);
	x = number_record(k, entry);
	x->last = (uint32_t)js_row_u64(row, 3);
	x->failed = (uint32_t)js_row_u64(row, 4);
	x->lost = (uint32_t)js_row_u64(row, 5);
	if (final == x->last && finals > 0)
		x->flags |= IS_DONE;
	k->c.report.attempts += n;
	k->c.report.done += finals;
	if (n != x->last || js_row_u64(row, 2) != 1)
		FOUND(k, ATTEMPT, entry,
		      "its attempts should be numbered from 1 to %" PRIu32 ", but %" PRIu64 " are on record", x->last,
		      n);
	if (finals > 1)
		FOUND(k, ATTEMPT, entry, "%" PRIu64 " of its attempts are marked as final", finals);
	else if (finals == 1 && final != x->last)
		FOUND(k, ATTEMPT, entry,
		      "its attempt %" PRIu64 " is marked as final, but attempt %" PRIu32 " is on record too", final,
		      x->last);
	if (js_row_u64(row, 8) > 0)
		FOUND(k, ATTEMPT, entry, "an attempt that is not done is marked as final");
}

static void take_dead_row(void *ctx, const struct js_row *row)
{
	struct checking *k = ctx;
	struct number *x;

	if (row == NULL)
		return;
	x = number_record(k, js_row_u64(row, 0));
	x->dead = (uint32_t)js_row_u64(row, 1);
	if (row->col[2] != NULL) {
		x->flags |= IS_MOVED;
		k->c.report.moved++;
	} else if (js_row_u64(row, 3) != 0) {
		x->flags |= IS_CANCELLED;
		k->c.report.cancelled++;
	} else {
		x->flags |= IS_DEAD;
		k->c.report.dead++;
	}
}

static void take_names(void *ctx, const struct js_row *row)
{
	struct checking *k = ctx;

	if (row == NULL)
		return;
	k->unnamed = js_row_u64(row, 0);
	k->named_entries += js_row_u64(row, 1);
}

static void take_unnamed(void *ctx, const struct js_row *row)
{
	if (row != NULL)
		FOUND((struct checking *)ctx, NAME, js_row_u64(row, 0), "the table `name` has no row for its datapath");
}

#define NAMES_OF                                                                                                       \
	"FROM entry e LEFT JOIN name n ON n.stack_id=e.stack_id AND n.hash=UNHEX(SHA2(e.datapath,256)) "               \
	"WHERE e.stack_id=%u AND e.entry_id BETWEEN %u AND %u"

/* Of a stack with unique names: each entry's datapath has its row. Whether a row has no entry is found by counting. */
static int read_names(struct checking *k, uint64_t low, uint64_t high, struct jobstack_error *error)
{
	if (!k->c.has_names)
		return 0;
	JS_TRY(js_handle_ask(k->c.handle, take_names, k, error,
			     "SELECT COALESCE(SUM(n.hash IS NULL AND e.entry_id<=%u),0),"
			     "COALESCE(SUM(n.entry_id=e.entry_id),0) " NAMES_OF,
			     k->c.named, k->c.id, low, high));
	return k->unnamed == 0 ? 0
			       : js_handle_ask(k->c.handle, take_unnamed, k, error,
					       "SELECT e.entry_id " NAMES_OF " AND e.entry_id<=%u AND n.hash IS NULL",
					       k->c.id, low, high, k->c.named);
}

static int read_numbers_page(struct checking *k, uint64_t low, uint64_t high, struct jobstack_error *error)
{
	JS_TRY(read_entries(k, low, high, error));
	JS_TRY(js_handle_ask(
		k->c.handle, take_attempts, k, error,
		"SELECT entry_id,COUNT(*),MIN(attempt),MAX(attempt),SUM(outcome=1),SUM(outcome=2),SUM(final<>0),"
		"MAX(IF(final<>0,attempt,0)),SUM(final<>0 AND outcome<>0) FROM attempt WHERE stack_id=%u AND "
		"entry_id BETWEEN %u AND %u GROUP BY entry_id",
		k->c.id, low, high));
	JS_TRY(js_handle_ask(
		k->c.handle, take_dead_row, k, error,
		"SELECT entry_id,attempt,to_stack,cancelled FROM dead WHERE stack_id=%u AND entry_id BETWEEN %u AND %u",
		k->c.id, low, high));
	return read_names(k, low, high, error);
}

/* ----------------------------------------------------------------------------------------------------- judgement */

/* Reports all the places of an entry that does not have exactly one. */
static void judge_places(struct checking *k, uint64_t entry, const struct number *x)
{
	char span[JS_PLACE_NAME], claim[JS_PLACE_NAME], done[60];
	const char *place[6];
	unsigned n = 0;

	if (x->span != 0)
		place[n++] = js_place_name(&k->spans.list[x->span - 1], span);
	if (x->claim != 0)
		place[n++] = js_place_name(&k->claims.list[x->claim - 1], claim);
	if ((x->flags & IS_DONE) != 0) {
		(void)snprintf(done, sizeof(done), "the done entries (by attempt %" PRIu32 ")", x->last);
		place[n++] = done;
	}
	if ((x->flags & IS_DEAD) != 0)
		place[n++] = "the dead entries";
	if ((x->flags & IS_MOVED) != 0)
		place[n++] = "the entries moved to another stack";
	if ((x->flags & IS_CANCELLED) != 0)
		place[n++] = "the cancelled entries";
	if ((x->flags & IS_THERE) == 0) {
		if (n > 0 || x->last > 0)
			FOUND(k, STRAY, entry, "there is no such entry, but its number is in %s",
			      n > 0 ? place[0] : "the attempts");
	} else if (n == 0)
		FOUND(k, LOST, entry,
		      "it is nowhere: not queued, not claimed, not done, not dead, not cancelled (attempts on record: "
		      "%" PRIu32 ")",
		      x->last);
	for (unsigned i = 1; i < n; i++)
		FOUND(k, DOUBLED, entry, "it is in %s, and in %s too", place[0], place[i]);
}

/* The place names the next attempt, or the last one; the attempts on record must match. */
static void judge_attempts(struct checking *k, uint64_t entry, const struct number *x)
{
	const struct js_place *h[2] = {x->span != 0 ? &k->spans.list[x->span - 1] : NULL,
				       x->claim != 0 ? &k->claims.list[x->claim - 1] : NULL};
	char text[JS_PLACE_NAME];

	for (int i = 0; i < 2; i++) {
		if (h[i] == NULL)
			continue;
		if (h[i]->attempt != (uint64_t)x->last + 1)
			FOUND(k, ATTEMPT, entry,
			      "%s continues with attempt %" PRIu32 ", but the last one on record is %" PRIu32,
			      js_place_name(h[i], text), h[i]->attempt, x->last);
		if (h[i]->fails > x->failed || h[i]->losses > x->lost)
			FOUND(k, ATTEMPT, entry,
			      "%s counts %" PRIu32 " failures and %" PRIu32 " losses of this entry, but %" PRIu32
			      " failures and %" PRIu32 " losses are on record",
			      js_place_name(h[i], text), h[i]->fails, h[i]->losses, x->failed, x->lost);
	}
	if ((x->flags & (IS_DEAD | IS_MOVED | IS_CANCELLED)) != 0 && x->dead != x->last)
		FOUND(k, ATTEMPT, entry,
		      "it is marked as dead after attempt %" PRIu32 ", but the last one on record is %" PRIu32, x->dead,
		      x->last);
}

static int check_window(struct checking *k, struct jobstack_error *error)
{
	const struct js_held_window spans = {k->low, k->high, in_span, k}, claims = {k->low, k->high, in_claim, k};

	memset(k->number, 0, (k->high - k->low + 1) * sizeof(*k->number));
	for (uint64_t low = k->low; low <= k->high; low += PAGE)
		JS_TRY(read_numbers_page(k, low, low + PAGE - 1 < k->high ? low + PAGE - 1 : k->high, error));
	JS_TRY(js_check_places(&k->c, 0, &spans, &k->spans, error));
	JS_TRY(js_check_places(&k->c, 1, &claims, &k->claims, error));
	for (uint64_t e = k->low; e <= k->high; e++) {
		const struct number *x = number_record(k, e);

		judge_places(k, e, x);
		if ((x->flags & IS_THERE) != 0)
			judge_attempts(k, e, x);
	}
	return 0;
}

/* ------------------------------------------------------------------------------------------ the stack as a whole */

#define OF_WORKERS(column) "(SELECT SUM(" column ") FROM worker w WHERE w.stack_id=s.stack_id AND ended IS NULL)"
/* clang-format off */
#define STACK_COLUMNS(X)                                                                                               \
	X(c.id, "s.stack_id", U64) X(c.report.state, "s.state", U32) X(c.lifo, "s.lifo", FLAG) X(c.tail, "s.tail", U64) \
	X(c.pushed, "s.pushed", U64) X(c.has_names, "s.named IS NOT NULL", FLAG) X(c.named, "s.named", U64)            \
	X(c.done, "s.done", I64) X(c.dead, "s.dead", I64) X(moved, "s.moved", U64) X(pruned, "s.pruned", U64)          \
	X(cancelled, "s.cancelled", U64)                                                                               \
	X(worker_done, OF_WORKERS("done"), I64) X(worker_dead, OF_WORKERS("dead"), I64)                                \
	X(names, "(SELECT COUNT(*) FROM name n WHERE n.stack_id=s.stack_id)", U64)                                     \
	X(c.last, "LEAST(s.tail,COALESCE((SELECT MAX(entry_id) FROM entry e WHERE e.stack_id=s.stack_id),0))", U64)    \
	X(limited, "s.max_running IS NOT NULL", FLAG)                                                                  \
	X(has_gate, "EXISTS(SELECT 1 FROM gate g WHERE g.stack_id=s.stack_id)", FLAG)
/* clang-format on */

static void take_checked_stack(void *ctx, const struct js_row *row)
{
	struct checking *to = ctx;
	unsigned c = 1;

	to->exists = row != NULL;
	if (row == NULL)
		return;
	STACK_COLUMNS(JS_COLUMN_READ)
}

static int read_checked_stack(struct checking *k, struct jobstack_error *error)
{
	JS_TRY(js_handle_ask(k->c.handle, take_checked_stack, k, error,
			     "SELECT 1" STACK_COLUMNS(JS_COLUMN_NAME) " FROM stack s WHERE name=%s", k->stack));
	return k->exists ? 0 : js_stack_refuse_missing(k->stack, error);
}

static void take_stray(void *ctx, const struct js_row *row)
{
	struct checking *k = ctx;

	if (row == NULL)
		return;
	k->c.report.entries += *k->table == 'e';
	k->c.report.dead += *k->table == 'd';
	k->c.report.attempts += *k->table == 'a' ? js_row_u64(row, 1) : 0;
	k->c.report.done += *k->table == 'a' ? js_row_u64(row, 2) : 0;
	FOUND(k, STRAY, js_row_u64(row, 0),
	      *k->table == 'e' ? "its number is above the last one that the stack assigned, %" PRIu64
	      : *k->table == 'a'
		      ? "attempts are on record for this entry number, but the stack's last entry is %" PRIu64
		      : "this entry number is marked as dead, but the stack's last entry is %" PRIu64,
	      k->c.last);
}

/* Rows with numbers above the windows. */
static int read_strays(struct checking *k, struct jobstack_error *error)
{
	static const struct {
		const char *table, *query;
	} strays[] = {
		{"entry", "SELECT entry_id FROM entry WHERE stack_id=%u AND entry_id>%u ORDER BY entry_id"},
		{"attempt",
		 "SELECT entry_id,COUNT(*),SUM(final<>0) FROM attempt WHERE stack_id=%u AND entry_id>%u GROUP "
		 "BY entry_id"},
		{"dead", "SELECT entry_id FROM dead WHERE stack_id=%u AND entry_id>%u ORDER BY entry_id"},
	};

	for (size_t i = 0; i < sizeof(strays) / sizeof(strays[0]); i++) {
		k->table = strays[i].table;
		JS_TRY(js_handle_ask(k->c.handle, take_stray, k, error, strays[i].query, k->c.id, k->c.last));
	}
	return 0;
}

/* An entry that was pruned leaves its name, so that it is not pushed again: as many may be without an entry. */
static void take_stray_name(void *ctx, const struct js_row *row)
{
	struct checking *k = ctx;

	if (row == NULL)
		return;
	if (js_row_u64(row, 1) == 0)
		FOUND(k, NAME, js_row_u64(row, 0), "its row in the table `name` has the hash of another datapath");
	else if (++k->stray_names > k->pruned)
		FOUND(k, NAME, js_row_u64(row, 0), "there is no such entry, but the table `name` has a row for it");
}

/* Rows in name whose entry is not there, or has another name; read only if the counts show that there are some. */
static int read_stray_names(struct checking *k, struct jobstack_error *error)
{
	unsigned char first, last[32];

	memset(last, 0xff, sizeof(last));
	for (unsigned i = 0; k->names != k->named_entries && i < 256; i++) {
		first = last[0] = (unsigned char)i;
		JS_TRY(js_handle_ask(k->c.handle, take_stray_name, k, error,
				     "SELECT n.entry_id,e.entry_id IS NULL FROM name n LEFT JOIN entry e ON "
				     "e.stack_id=n.stack_id AND e.entry_id=n.entry_id WHERE n.stack_id=%u AND "
				     "n.hash BETWEEN %x AND %x AND "
				     "(e.entry_id IS NULL OR n.hash<>UNHEX(SHA2(e.datapath,256)))",
				     k->c.id, (const void *)&first, (size_t)1, (const void *)last, sizeof(last)));
	}
	return 0;
}

/* One counter against the rows. */
static void compare_counter(struct checking *k, const char *what, int64_t said, uint64_t counted)
{
	if (said != (int64_t)counted)
		FOUND(k, COUNTER, 0, "%s: %" PRId64 " by the counters, %" PRIu64 " by the rows", what, said, counted);
}

static void judge_counters(struct checking *k)
{
	const struct jobstack_check_report *r = &k->c.report;
	char text[JS_PLACE_NAME];

	compare_counter(k, "pushed", (int64_t)k->c.pushed, r->entries + k->pruned);
	compare_counter(k, "done", k->c.done + k->worker_done, r->done);
	compare_counter(k, "dead", k->c.dead + k->worker_dead, r->dead);
	compare_counter(k, "moved", (int64_t)k->moved, r->moved);
	compare_counter(k, "cancelled", (int64_t)k->cancelled, r->cancelled);
	if (k->limited && !k->has_gate)
		FOUND(k, COUNTER, 0,
		      "it has a limit of running entries, but no row in the table `gate`: the limit is not enforced");
	if (k->c.named > k->c.tail)
		compare_counter(k, "named", (int64_t)k->c.named, k->c.tail);
	for (size_t i = 0; i < k->claims.n; i++) {
		const struct js_place *h = &k->claims.list[i];

		if (h->open != h->seen)
			FOUND(k, CLAIM, h->first,
			      "the counter of %s, which begins with this entry, says %" PRIu64
			      " unfinished entries, but there are %" PRIu64,
			      js_place_name(h, text), h->open, h->seen);
		if (h->keeper != JS_ALIVE && h->seen == 0)
			FOUND(k, CLAIM, h->first, "%s, which begins with this entry, belongs to no live worker",
			      js_place_name(h, text));
	}
}

/* The whole check of one stack, in the view. */
static int check_ledger(void *ctx, struct jobstack_error *error)
{
	struct checking *k = ctx;

	/* a view that was lost may have left some */
	js_findings_free(&k->c.findings);
	k->c.report = (struct jobstack_check_report)JOBSTACK_CHECK_REPORT_INIT;
	k->named_entries = k->stray_names = 0;
	JS_TRY(read_checked_stack(k, error));
	if (k->c.report.state == JOBSTACK_DROPPING) /* a stack that is half gone proves nothing */
		return 0;
	JS_TRY(js_check_places(&k->c, 0, NULL, &k->spans, error));
	JS_TRY(js_check_places(&k->c, 1, NULL, &k->claims, error));
	free(k->number);
	k->number = calloc(k->c.last < WINDOW ? k->c.last + 1 : WINDOW, sizeof(*k->number));
	if (k->number == NULL)
		return js_error_memory(error);
	for (k->low = 1; k->low <= k->c.last; k->low += WINDOW) {
		k->high = k->c.last - k->low < WINDOW ? k->c.last : k->low + WINDOW - 1;
		JS_TRY(check_window(k, error));
	}
	JS_TRY(read_strays(k, error));
	JS_TRY(read_stray_names(k, error));
	judge_counters(k);
	return js_findings_paths(&k->c.findings, k->c.handle, k->c.id, error);
}

static int check_orphans(void *ctx, struct jobstack_error *error)
{
	return js_check_orphans(&((struct checking *)ctx)->c, error);
}

int jobstack_check(struct jobstack *handle, const char *stack, jobstack_finding_fn *fn, void *ctx,
		   struct jobstack_check_report *report, struct jobstack_error *error)
{
	struct checking k = {.c = {.handle = handle}, .stack = stack};
	uint64_t found = 0;
	int status;

	k.c.report = (struct jobstack_check_report)JOBSTACK_CHECK_REPORT_INIT;
	status = js_grow_begin(report, &k.c.report, "jobstack_check_report", error);
	if (status == 0 && stack != NULL)
		status = js_stack_check_name(stack, error);
	JS_THEN(status, js_schema_check(handle, error));
	JS_THEN(status, js_db_view(handle->db, stack == NULL ? check_orphans : check_ledger, &k, error));
	for (size_t i = 0; i < JOBSTACK_FAULTS; i++)
		found += k.c.report.found[i] = k.c.findings.found[i];
	if (status == 0) {
		js_grow_out(report, &k.c.report);
		status = js_findings_tell(&k.c.findings, fn, ctx);
	}
	js_findings_free(&k.c.findings);
	free(k.number);
	js_buf_free(&k.spans.memory);
	js_buf_free(&k.claims.memory);
	return status == 0 && found > 0 ? JOBSTACK_NOTHING : status;
}
