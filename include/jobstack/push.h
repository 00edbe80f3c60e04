/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Pushing entries.
 * Programs include jobstack.h.  It explains the words, and the rules for results, structs, threads and ownership.
 */
#ifndef JOBSTACK_PUSH_H
#define JOBSTACK_PUSH_H

#include "jobstack/handle.h"

JOBSTACK_BEGIN

/* ---------------------------------------------------------------------------------------------------------- push */

struct jobstack_push_options {
	size_t size;
	int unique;	  /* skip datapaths that the stack has already, from any push */
	int atomic;	  /* no entry can be popped before the whole push has succeeded */
	int32_t priority; /* larger goes first; 0 */
	int lifo;	  /* if the stack is created: last in, first out */
	const char *cwd;  /* the directory of relative datapaths; NULL: they are refused with JOBSTACK_EINPUT */
	const struct jobstack_policy
		*policy; /* set for the stack, new or not; its priority is ignored.  NULL: as it is */
	/* If the stack is created: what it is for, any bytes (a directory and a command).  jobstack_of_origin finds it
	 * by them, so there is one stack per origin: if another one has it, or if the stack NAME was created for
	 * something else, the push fails with ECONFLICT.  NULL: nothing. */
	const struct jobstack_bytes *origin;
};
/* clang-format off */
#define JOBSTACK_PUSH_OPTIONS_INIT {sizeof(struct jobstack_push_options), 0, 0, 0, 0, NULL, NULL, NULL}
/* clang-format on */

struct jobstack_push_result {
	size_t size;
	uint64_t pushed;  /* committed entries */
	uint64_t skipped; /* the stack had them already (unique) */
	uint64_t before;  /* how many entries the stack had before this push */
	uint64_t bad;	  /* with JOBSTACK_EINPUT: the number, from 1, of the datapath that was refused; else 0 */
};
/* clang-format off */
#define JOBSTACK_PUSH_RESULT_INIT {sizeof(struct jobstack_push_result), 0, 0, 0, 0}
/* clang-format on */

/* Gives the next datapath in *DATAPATH, valid until the next call, and returns 0.  Returns 1 at the end; 2 if there is
 * no datapath at the moment (then what was gathered is pushed, and the function is called again); a negative value to
 * stop with JOBSTACK_ESTOPPED.  It may use the handle of the push, but for another push. */
typedef int jobstack_next_fn(void *ctx, struct jobstack_bytes *datapath);

/* Pushes the datapaths that NEXT gives onto STACK, and creates the stack if it does not exist.  It pushes in chunks,
 * which can be popped while the push goes on, and needs the same memory for any number of them.  OPTIONS NULL:
 * defaults. RESULT (may be NULL) is correct at every return: after an error it says what was committed, which with
 * `atomic` is nothing.  To continue an interrupted push, repeat it with `unique`.  A push without any datapath returns
 * JOBSTACK_NOTHING and creates no stack.  Errors: EINPUT (a datapath is empty, longer than JOBSTACK_DATAPATH_MAX,
 * contains NUL, or is relative although the options have no `cwd`), EUSAGE (an invalid stack name), ECONFLICT (the
 * stack is cancelled, is being dropped or has no entry numbers left; its relative names belong to another directory;
 * another atomic push holds some of the names; the push was silent for so long that others ended it; the database was
 * set back to an earlier state), ESTOPPED, ENODB. */
int jobstack_push_from(struct jobstack *handle, const char *stack, const struct jobstack_push_options *options,
		       jobstack_next_fn *next, void *ctx, struct jobstack_push_result *result,
		       struct jobstack_error *error);

/* The same for N datapaths in memory, and for one (a NUL-terminated string). */
int jobstack_push_many(struct jobstack *handle, const char *stack, const struct jobstack_push_options *options,
		       const struct jobstack_bytes *datapaths, size_t n, struct jobstack_push_result *result,
		       struct jobstack_error *error);
int jobstack_push(struct jobstack *handle, const char *stack, const struct jobstack_push_options *options,
		  const char *datapath, struct jobstack_error *error);

JOBSTACK_END
#endif
