/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The words for states, outcomes and endings: the same wherever they are shown.
 */
#pragma once

#include "jobstack/jobstack.h"
#include "base/buf.h"
#include "show/amount.h"

#include <stddef.h>

/* The word for a state of an entry (one JOBSTACK_IS_ bit), and the state for a word; 0 if the LEN bytes at WORD are not
 * a state. */
const char *show_state_word(unsigned state);
unsigned show_state_bit(const char *word, size_t len);

/* The word of a cause in list, export and JSON; NULL for NONE. */
const char *show_cause_word(enum jobstack_cause cause);

/* The word for an outcome (enum jobstack_verdict; NULL for -1), and the outcome for a word; -1 if it is not an outcome.
 */
const char *show_outcome_word(int outcome);
int show_outcome(const char *word, size_t len);

/* Return how the last attempt ended, in a word or two: "done", "exit 3", "signal 9", "lost"; "-" if it has not. */
struct show_amount show_item_how(const struct jobstack_item *item);
struct show_amount show_failure_how(const struct jobstack_failure *f);

/* "open", "paused", "cancelled", "dropping"; and the same for people: a stack with nothing left is "finished". */
const char *show_stack_word(enum jobstack_stack_state state);
const char *show_stack_state(const struct jobstack_status *s);

/* Appends what failed and why, in one line: data/f13.nc (exit 3: "bad magic").  REASON may be NULL; the last words are
 * the last line of TAIL, the end of what it printed on stderr. */
void show_failed(struct js_buf *out, const void *path, size_t len, const char *reason, const char *tail,
		 size_t tail_len);

/* "s" unless N is 1; "is" if N is 1, else "are". */
const char *show_plural(uint64_t n);
const char *show_are(uint64_t n);

/* For "%" PRIu64 " %s": "1 entry", "2 entries"; "1 name", "2 names". */
#define SHOW_ENTRIES(n) (n), (n) == 1 ? "entry" : "entries"
#define SHOW_NAMES(n) (n), (n) == 1 ? "name" : "names"
