/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Filters in SQL.  Promises: the LIKE pattern for a glob matches all that the glob matches, and the datapaths that come
 * back are matched again here; no query has more than NAMES numbers or looks at more than NUMBERS.
 */
#include "queue/filter.h"

#include "base/glob.h"
#include "queue/span.h"

#include <string.h>

#define NUMBERS 20000 /* entry numbers that a query looks at */
#define NAMES 2000    /* named entries in a query */
#define FEW 8	      /* up to this many named entries are searched in each set by the server */

int js_filter_take(struct jobstack_filter *f, const struct jobstack_filter *given, struct jobstack_error *error)
{
	const char *why;

	*f = (struct jobstack_filter)JOBSTACK_FILTER_INIT;
	JS_TRY(js_grow_in(f, given, "jobstack_filter", error));
	why = f->match == NULL ? NULL : js_glob_fault(f->match, strlen(f->match));
	if (why != NULL)
		return js_error_set(error, JOBSTACK_EUSAGE, "\"%.300s\" is not a valid glob: %s", f->match, why);
	for (size_t i = 0; i < f->exit_codes_n; i++)
		if (f->exit_codes[i].low > f->exit_codes[i].high)
			return js_error_set(error, JOBSTACK_EUSAGE, "a range of exit codes goes backwards");
	if (f->older_us < 0 || f->newer_us < 0)
		return js_error_set(error, JOBSTACK_EUSAGE, "the age of an attempt can't be negative");
	return 0;
}

int js_filter_of_end(const struct jobstack_filter *f)
{
	return f->exit_codes_n > 0 || f->signals_n > 0 || f->reason != NULL || f->older_us > 0 || f->newer_us > 0 ||
	       f->programs != NULL;
}

/* Adds the condition that the node or the host of w is one of the nodes. */
static void nodes_sql(struct js_sql *sql, const struct jobstack_filter *f)
{
	for (int column = 0; column < 2; column++) {
		js_sql_add(sql, column == 0 ? " AND (w.node IN("
					    : ") OR JSON_UNQUOTE(JSON_EXTRACT(w.identity,'$.host')) IN(");
		for (size_t i = 0; i < f->nodes_n; i++)
			js_sql_add(sql, i == 0 ? "%s" : ",%s", f->nodes[i]);
	}
	js_sql_add(sql, "))");
}

void js_filter_sql(struct js_sql *sql, const struct jobstack_filter *f)
{
	if (f->exit_codes_n > 0) {
		for (size_t i = 0; i < f->exit_codes_n; i++)
			js_sql_add(sql,
				   i == 0 ? " AND (a.exit_code BETWEEN %d AND %d" : " OR a.exit_code BETWEEN %d AND %d",
				   (int64_t)f->exit_codes[i].low, (int64_t)f->exit_codes[i].high);
		js_sql_add(sql, ")");
	}
	if (f->signals_n > 0) {
		for (size_t i = 0; i < f->signals_n; i++)
			js_sql_add(sql, i == 0 ? " AND a.signo IN(%d" : ",%d", (int64_t)f->signals[i]);
		js_sql_add(sql, ")");
	}
	if (f->nodes_n > 0)
		nodes_sql(sql, f);
	if (f->reason != NULL)
		js_sql_add(sql, " AND LOCATE(%s,a.reason)>0", f->reason);
	if (f->programs != NULL) {
		js_sql_add(sql, " AND a.program IN(NULL");
		js_sql_numbers(sql, f->programs, f->programs_n);
		js_sql_add(sql, ")");
	}
	if (f->older_us > 0)
		js_sql_add(sql, " AND a.ended<UTC_TIMESTAMP(6)-INTERVAL %d MICROSECOND", f->older_us);
	if (f->newer_us > 0)
		js_sql_add(sql, " AND a.ended>=UTC_TIMESTAMP(6)-INTERVAL %d MICROSECOND", f->newer_us);
	if (f->match != NULL) {
		struct js_buf like = {0};

		js_glob_like(&like, f->match, strlen(f->match));
		js_sql_add(sql, " AND e.datapath LIKE %x ESCAPE '|'", (const void *)like.data, like.len);
		sql->text.failed |= like.failed;
		js_buf_free(&like);
	}
}

/* LIKE has no brackets, so js_glob_like has made each of them match any byte. */
int js_filter_fits(const struct jobstack_filter *f, const char *datapath)
{
	return f->match == NULL || js_glob_match(f->match, datapath);
}

/* Of a few entries the server searches each set, so that no other set is sent.  For many, that would cost more than to
 * send all lists and the intervals between the first and the last. */
void js_filter_sets_sql(struct js_sql *sql, const struct jobstack_filter *f)
{
	char text[JS_IDS_WIDTH];

	if (f->entries == NULL || f->entries_n == 0)
		return;
	if (f->entries_n > FEW) {
		js_sql_add(sql, " AND (t.ids IS NOT NULL OR (t.lo<=%u AND t.hi>=%u))", f->entries[f->entries_n - 1],
			   f->entries[0]);
		return;
	}
	for (size_t i = 0; i < f->entries_n; i++) {
		js_span_write_ids(text, &f->entries[i], 1);
		js_sql_add(sql, i == 0 ? " AND (" : " OR ");
		js_sql_add(sql, "IF(t.ids IS NULL,%u BETWEEN t.lo AND t.hi,LOCATE(%x,t.ids)>0)", f->entries[i],
			   (const void *)text, sizeof(text));
	}
	js_sql_add(sql, ")");
}

/* ------------------------------------------------------------------------------------------------------- windows */

void js_window_begin(struct js_window *w, const struct jobstack_filter *f, uint64_t low, uint64_t high)
{
	size_t from;

	*w = (struct js_window){.last = low - 1, .high = high, .end = low - 1};
	if (f->entries == NULL)
		return;
	from = js_span_find(f->entries, f->entries_n, sizeof(uint64_t), low);
	w->ids = f->entries + from;
	w->n = js_span_find(w->ids, f->entries_n - from, sizeof(uint64_t), high + 1);
}

void js_window_begin_ids(struct js_window *w, const struct jobstack_filter *f, uint64_t *ids, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		size_t at = f->entries == NULL ? 0 : js_span_find(f->entries, f->entries_n, sizeof(uint64_t), ids[i]);

		if (f->entries == NULL || (at < f->entries_n && f->entries[at] == ids[i]))
			ids[kept++] = ids[i];
	}
	*w = (struct js_window){.ids = ids, .n = kept, .high = UINT64_MAX};
}

int js_window_next(struct js_window *w)
{
	if (w->ids != NULL) {
		while (w->n > 0 && w->ids[0] <= w->last) {
			w->ids++;
			w->n--;
		}
		w->take = w->n < NAMES ? w->n : NAMES;
		w->end = w->take > 0 ? w->ids[w->take - 1] : w->last;
		return w->take > 0;
	}
	if (w->last >= w->high)
		return 0;
	w->end = w->high - w->last > NUMBERS ? w->last + NUMBERS : w->high;
	return 1;
}

void js_window_sql(struct js_sql *sql, const struct js_window *w, const char *column)
{
	js_sql_add(sql, " AND ");
	js_sql_add(sql, column); /* one of the callers' own words */
	if (w->ids != NULL)
		js_sql_list(sql, " IN(", w->ids, w->take);
	else
		js_sql_add(sql, " BETWEEN %u AND %u", w->last + 1, w->end);
}

void js_window_done(struct js_window *w, int full, uint64_t last)
{
	w->last = full ? last : w->end;
}

int js_window_jump(struct js_window *w, struct jobstack *handle, const char *query, uint64_t stack,
		   struct jobstack_error *error)
{
	uint64_t next;

	if (w->ids != NULL || w->last >= w->high)
		return 0;
	JS_TRY(js_handle_ask_number(handle, &next, error, query, stack, w->last));
	w->last = next > w->high ? w->high : next - 1; /* UINT64_MAX: nothing is left */
	return 0;
}
