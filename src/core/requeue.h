/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Choosing dead, done or cancelled entries and doing something with them, group by group: requeue.c puts them back,
 * move.c elsewhere, cancel.c gives dead ones up.
 */
#pragma once

#include "core/core.h"
#include "core/span.h"

#define JS_GROUP_MAX JS_IDS_MAX

/* Entries with the same priority, ascending, and their last attempts. */
struct js_group {
	uint64_t ids[JS_GROUP_MAX], attempts[JS_GROUP_MAX];
	size_t n;
	int mixed; /* the attempts are not all the same (only if that is no matter) */
	int64_t rank;
	int relative; /* one has a relative name (only looked at if names are wanted) */
	/* of the search: all up to last is done with, all up to next when this group is */
	uint64_t last, next, seen;
	size_t rows, want, base;
	int full;
};

struct js_requeue;

/* Puts r->group where it belongs, in one transaction. 0; JOBSTACK_NOTHING if somebody else took some of it meanwhile;
 * 2 if a try of ours whose reply was lost did; or an error. */
typedef int js_group_fn(struct js_requeue *r, struct jobstack_error *error);

struct js_requeue {
	struct jobstack *handle;
	struct js_stack from;
	struct jobstack_filter filter;
	unsigned kind; /* choose among the entries in this state: JOBSTACK_IS_DEAD, _DONE or _CANCELLED */
	int dry_run;
	int names; /* their names are wanted */
	int mixes; /* a group's attempts need not be the same */
	js_group_fn *put;
	js_group_fn
		*look; /* after JOBSTACK_NOTHING: the stacks, as they are now; an error if it can't be done any more */
	struct jobstack_requeue_result result;
	struct js_group group;
};

/* Takes what the caller of a public function gave: 0, or JOBSTACK_EUSAGE. */
int js_requeue_begin(struct js_requeue *r, const struct jobstack_filter *filter, struct jobstack_requeue_result *result,
		     struct jobstack_error *error);

/* Puts all that the filter chooses, and counts it. */
int js_requeue_all(struct js_requeue *r, struct jobstack_error *error);

/* Looked at again, the stack must be the one with this ID still, and no other that has its name by now: 0, or
 * JOBSTACK_ECONFLICT. */
int js_requeue_same(const struct js_requeue *r, uint64_t id, struct jobstack_error *error);

/* Counts the named entries that were refused or do not exist. */
int js_requeue_count(struct js_requeue *r, struct jobstack_error *error);
