/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A push under way, for the files that make it: push.c takes the names in, chunk.c brings them to the stack, unique.c
 * knows which names are there already, held_names.c waits for another push that holds them, discard.c removes what an
 * atomic push wrote and nobody will publish.
 */
#pragma once

#include "queue/queue.h"

/* What one INSERT takes; and what one LOAD takes, in names and in bytes, as far as the names before the last are
 * counted. */
#define JS_PART_NAMES 2000
#define JS_PART_BYTES (512 * 1024)
#define JS_CHUNK_NAMES 65536
#define JS_CHUNK_BYTES (4 * 1024 * 1024)
/* The first LOAD to a stack of unique names has so many.  The size of the later ones follows from how long they take.
 */
#define JS_CHUNK_FIRST 4096

struct js_pushed_name {
	size_t at;
	uint32_t len;
	int drop; /* it is known, or comes a second time in this part: it is not sent */
};

/* Whether names may go by LOAD: the server has not been asked; it takes them; it does not, or one has failed. */
enum js_loads { JS_LOADS_UNASKED, JS_LOADS_YES, JS_LOADS_NO };

struct js_pushing {
	struct jobstack *handle;
	const char *stack_name;
	const struct jobstack_push_options *options;
	struct js_stack stack; /* as it was read last */
	int begun;	       /* the push has a row */
	uint64_t push_id, seq; /* of that row: (token, seq) is the fence, as for a worker */
	unsigned char token[16];
	int64_t beat_us, shown_us; /* the last beat, and the last js_push_lock */
	enum js_loads loads;
	size_t most;	     /* names in a LOAD */
	struct js_buf bytes; /* the chunk's names, each with a NUL behind it */
	struct js_pushed_name names[JS_CHUNK_NAMES];
	size_t n;
	int64_t first_us;	  /* when its first name came */
	size_t from, to, dropped; /* the part of it that is being sent, and how many of that are dropped */
	int all_new;		  /* none was known of the part before */
	int relative;		  /* the chunk has a relative name */
	struct jobstack_push_result result;
	uint64_t parts; /* that are there, each in a span of its own */
};

/* Puts the chunk onto the stack: by a LOAD if it is too large for an INSERT, else, or if none is taken, part by part.
 * Each part is there wholly or not at all, once.  Counts in p->result what was pushed and skipped. */
int js_chunk_put(struct js_pushing *p, struct jobstack_error *error);

/* Explains why the fence stopped the push: another one has ended it, or the database was set back and has forgotten
 * what it had confirmed.  Returns JOBSTACK_ECONFLICT, or another error. */
int js_chunk_refuse(const struct js_pushing *p, struct jobstack_error *error);

/* Gives every entry of the stack its row in name, step by step, until none is left out. */
int js_unique_complete(struct js_pushing *p, struct jobstack_error *error);

/* Drops from the part second times, and, if ASK, what the stack has; then p->all_new says whether that was nothing.  A
 * name that another push --atomic holds is not one that the stack has: *HOLDER is the push_id of one that holds names
 * of the part, or 0, and *HELD how many names are so held. */
int js_unique_drop(struct js_pushing *p, int ask, uint64_t *holder, uint64_t *held, struct jobstack_error *error);

/* Adds the INSERT of the rows in `name` for the N entries after @js_t.  SORTED: in the order of their keys, so that of
 * two pushes that bring the same names only one waits for the other, and that neighbours go into a page together.  For
 * the few names of an INSERT the sort costs more than it saves. */
void js_unique_names_sql(const struct js_pushing *p, struct js_sql *sql, uint64_t n, int sorted);

/* Shows that this push is alive, if it is time to: by its row's beat, and by js_push_lock. */
int js_push_beat(struct js_pushing *p, struct jobstack_error *error);

/* Shows to others, by a user lock of the server that ends with our connection, that this push --atomic is alive. */
int js_push_lock(struct js_pushing *p, struct jobstack_error *error);

/* Adds the same, as the first statement of a transaction that takes long: that may run again on another connection. */
void js_push_lock_sql(const struct js_pushing *p, struct js_sql *sql);

/* Gives that lock back, when the push has ended. */
void js_push_unlock(struct js_pushing *p);

/* Push HOLDER holds HELD names that we push, too. Waits until it has ended, and ends it if it is dead. 0: the names
 * must be checked again; JOBSTACK_ECONFLICT: it is alive and continues. */
int js_held_names_wait(struct js_pushing *p, uint64_t holder, uint64_t held, struct jobstack_error *error);

#define JS_DISCARD_MINUTES 60 /* a push that has been silent for this long is over */

/* Ends push ID of a stack (ONLY_SILENT: if it has been silent for that long and has not ended), and removes what it
 * holds. */
int js_discard(struct jobstack *handle, const struct js_stack *stack, uint64_t id, int only_silent,
	       struct jobstack_error *error);

/* Ends push ID, which was found dead, if it has not moved since its row had SEQ and BEAT_US (else JOBSTACK_NOTHING),
 * and removes what it holds. */
int js_discard_dead(struct jobstack *handle, const struct js_stack *stack, uint64_t id, uint64_t seq, int64_t beat_us,
		    struct jobstack_error *error);

/* Removes what push ID, which has ended, still holds. */
int js_discard_held(struct jobstack *handle, const struct js_stack *stack, uint64_t id, struct jobstack_error *error);

/* Does js_discard for every atomic push of the stack that was abandoned. */
int js_discard_abandoned(struct jobstack *handle, const struct js_stack *stack, struct jobstack_error *error);
