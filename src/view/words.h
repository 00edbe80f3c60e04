/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The words for states, outcomes and endings: the same wherever they are shown.
 */
#pragma once

#include "jobstack/jobstack.h"
#include "view/amount.h"

#include <stddef.h>

/* A state of an entry (one JOBSTACK_IS_ bit), and back: 0 if the LEN bytes at WORD name none. */
const char *view_state_word(unsigned state);
unsigned view_state_bit(const char *word, size_t len);

/* An outcome (enum jobstack_verdict; NULL for -1), and back: -1 if the LEN bytes at WORD name none. */
const char *view_outcome_word(int outcome);
int view_outcome(const char *word, size_t len);

/* How the last attempt ended, in a word or two: "done", "exit 3", "signal 9", "lost"; "-" if it has not. */
struct view_amount view_item_how(const struct jobstack_item *item);
struct view_amount view_failure_how(const struct jobstack_failure *f);

/* How long an attempt took in microseconds; one that runs: so far, by this host's clock; -1: not known. */
int64_t view_item_took(const struct jobstack_item *item);

/* "open", "paused", "cancelled", "dropping"; and the same for people, to whom a stack with nothing left is
 * "finished". */
const char *view_stack_word(enum jobstack_stack_state state);
const char *view_stack_state(const struct jobstack_status *s);

/* "s" behind what is not one, and "is" or "are". */
const char *view_plural(uint64_t n);
const char *view_are(uint64_t n);
