/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Finding an entry by its datapath: by the table `name` where that has it, else by a search through all entries.
 */
#include "base/clock.h"
#include "queue/queue.h"

#include <inttypes.h>

/* A search through all entries: numbers in a query at first, at least and at most; how long one should take; how often
 * progress is reported. */
#define FIND_FIRST 131072
#define FIND_LEAST 8192
#define FIND_MOST 524288
#define FIND_US JS_SECOND_US
#define FIND_TELL_US (2 * JS_SECOND_US)

/* Finds an entry by its row in the table `name`.  Returns 0; JOBSTACK_NOTHING if there is no such row; 2 if there is,
 * but its entry was pruned. */
static int find_name(struct jobstack *handle, const struct js_stack *s, struct jobstack_bytes datapath, uint64_t *entry,
		     struct jobstack_error *error)
{
	JS_TRY(js_handle_ask_number(
		handle, entry, error,
		"SELECT IF(e.entry_id IS NULL,%u,n.entry_id) FROM name n LEFT JOIN entry e ON e.stack_id=n.stack_id "
		"AND e.entry_id=n.entry_id WHERE n.stack_id=%u AND n.hash=UNHEX(SHA2(%x,256))",
		(uint64_t)0, s->id, datapath.data, datapath.len));
	if (*entry == 0)
		return 2;
	if (*entry != UINT64_MAX)
		return 0;
	*entry = 0;
	return JOBSTACK_NOTHING;
}

/* No index serves it: entries are looked through in windows of numbers, the last ones first, so that no query takes
 * long, even if the search does. Progress is reported. */
static int find_by_scan(struct jobstack *handle, const struct js_stack *s, struct jobstack_bytes datapath,
			uint64_t *entry, struct jobstack_error *error)
{
	int64_t begin = js_clock_mono_us(), told = begin, from, now = begin;
	uint64_t last = s->tail, high, size = FIND_FIRST, low;
	int status = js_stack_last(handle, s->id, &last, error);

	high = last;
	for (; status == 0 && *entry == 0 && high > 0; high = low - 1) {
		low = high > size ? high - size + 1 : 1;
		from = now;
		JS_TRY(js_db_nap(handle->db, 0, error));
		status = js_handle_ask_number(
			handle, entry, error,
			"SELECT MAX(entry_id) FROM entry WHERE stack_id=%u AND entry_id BETWEEN %u AND %u AND "
			"datapath=%x",
			s->id, low, high, datapath.data, datapath.len);
		now = js_clock_mono_us();
		if (now - from < FIND_US / 2 && size < FIND_MOST)
			size *= 2;
		else if (now - from > FIND_US && size > FIND_LEAST)
			size /= 2;
		if (now - told < FIND_TELL_US || *entry != 0 || low == 1)
			continue;
		told = now;
		js_log(js_db_log(handle->db), JOBSTACK_LOG_PROGRESS,
		       "searching for this name: %" PRIu64 " of %" PRIu64 " entries read in %" PRId64
		       " s (a search by entry number is immediate)",
		       last - low + 1, last, (now - begin) / JS_SECOND_US);
	}
	return status;
}

int jobstack_find(struct jobstack *handle, const char *stack, struct jobstack_bytes datapath, uint64_t *entry,
		  struct jobstack_error *error)
{
	struct js_stack s;
	int status = 2;

	*entry = 0;
	JS_TRY(js_stack_find(handle, stack, &s, error));
	if (s.named) /* the primary key of name */
		status = find_name(handle, &s, datapath, entry, error);
	if (status != 2)
		return status;
	/* The datapath has no row in `name`, or that row's entry was pruned.  Then only a later push without --unique
	 * can have added it again. */
	*entry = 0;
	JS_TRY(find_by_scan(handle, &s, datapath, entry, error));
	return *entry == 0 ? JOBSTACK_NOTHING : 0;
}
