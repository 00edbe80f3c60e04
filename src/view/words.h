/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The words for states, outcomes and endings: the same wherever they are shown.
 */
#pragma once

#include "jobstack/jobstack.h"
#include "view/amount.h"

#include <stddef.h>

/* The word for a state of an entry (one JOBSTACK_IS_ bit), and the state for a word; 0 if the LEN bytes at WORD are not
 * a state. */
const char *view_state_word(unsigned state);
unsigned view_state_bit(const char *word, size_t len);

/* The word for an outcome (enum jobstack_verdict; NULL for -1), and the outcome for a word; -1 if it is not an outcome.
 */
const char *view_outcome_word(int outcome);
int view_outcome(const char *word, size_t len);

/* How the last attempt ended, in a word or two: "done", "exit 3", "signal 9", "lost"; "-" if it has not. */
struct view_amount view_item_how(const struct jobstack_item *item);
struct view_amount view_failure_how(const struct jobstack_failure *f);

/* How long an attempt took in microseconds; a running one: until now, by this host's clock; -1: unknown. */
int64_t view_item_took(const struct jobstack_item *item);

/* "open", "paused", "cancelled", "dropping"; and the same for people: a stack with nothing left is "finished". */
const char *view_stack_word(enum jobstack_stack_state state);
const char *view_stack_state(const struct jobstack_status *s);

/* "s" unless N is 1; "is" if N is 1, else "are". */
const char *view_plural(uint64_t n);
const char *view_are(uint64_t n);
