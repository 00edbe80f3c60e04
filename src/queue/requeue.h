/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Choosing dead, done or cancelled entries and doing something with them, group by group: requeue.c puts them back,
 * move.c elsewhere, cancel.c gives dead ones up.
 */
#pragma once

#include "queue/queue.h"
#include "queue/span.h"

#define JS_GROUP_MAX JS_IDS_MAX

/* Entries with the same priority, ascending, and the numbers of their last attempts. */
struct js_group {
	uint64_t ids[JS_GROUP_MAX], attempts[JS_GROUP_MAX];
	size_t n;
	int mixed; /* the numbers of their attempts differ; only with js_requeue.mixes */
	int64_t rank;
	int relative; /* one of them has a relative name; only known if js_requeue.names */
	/* of the search: */
	uint64_t last; /* all entries up to this one are dealt with */
	uint64_t next; /* all up to this one will be when the group has been put */
	uint64_t seen; /* the last entry that was looked at */
	size_t rows;   /* of the last query */
	size_t want;   /* entries that the group may have: JS_GROUP_MAX, or what is left of the limit */
	size_t base;   /* how many it had before the query */
	int full;      /* the last row belongs to the next group */
};

struct js_requeue;

/* Puts r->group where it belongs, in one transaction.  0; JOBSTACK_NOTHING if somebody else took some of it meanwhile;
 * 2 if a try of ours whose reply was lost did; or an error. */
typedef int js_group_fn(struct js_requeue *r, struct jobstack_error *error);

/* What is done to which entries.  The caller sets the first members. */
struct js_requeue {
	unsigned able;	  /* what the filter may ask for: JOBSTACK_IS_ bits; FAILED and LOST mean dead entries */
	const char *only; /* behind "only ": the error if it asks for other states; NULL: these choose nothing */
	unsigned unnamed; /* what is meant if it asks for none and names no entry; named ones: all of `able` */
	enum jobstack_stack_state refuses; /* a stack in this state, or in a later one */
	int dry_run;
	int names; /* their names are wanted */
	int mixes; /* a group's attempts need not be the same */
	js_group_fn *put;
	js_group_fn *check; /* whether it can be done, with the stacks as they are now; may be NULL */
	js_group_fn *rest;  /* does the same with what is not dead, done or cancelled; may be NULL */
	/* The rest is the frame's. */
	struct jobstack *handle;
	struct js_stack from;
	struct jobstack_filter filter;
	unsigned kind; /* chosen at the moment: JOBSTACK_IS_DEAD, _DONE or _CANCELLED */
	struct jobstack_requeue_result result;
	struct js_group group;
};

/* Takes what the caller of a public function gave: 0, or JOBSTACK_EUSAGE. */
int js_requeue_begin(struct js_requeue *r, struct jobstack *handle, const struct jobstack_filter *filter,
		     struct jobstack_requeue_result *result, struct jobstack_error *error);

/* Puts all that the filter chooses in STACK, and counts it; and the named entries that were refused or do not exist. */
int js_requeue_run(struct js_requeue *r, const char *stack, struct jobstack_error *error);

/* Looks at the stack again, after others were faster.  It must be the same one, and no other that has its name by now:
 * 0, or an error if it can't be done any more. */
int js_requeue_look(struct js_requeue *r, struct jobstack_error *error);

/* Settles a group that a guard stopped, after a try whose reply was lost.  SQL is a count that is WANT if that try was
 * committed.  Returns 2 if it was, JOBSTACK_NOTHING if not, or an error. */
int js_requeue_settle(struct js_requeue *r, struct js_sql *sql, uint64_t want, struct jobstack_error *error);
