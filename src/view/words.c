/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The words for states, outcomes and endings.
 */
#include "view/words.h"

#include "base/clock.h"
#include "insight/stack.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int is_word(const char *word, const char *text, size_t len)
{
	return strlen(word) == len && strncmp(word, text, len) == 0;
}

static const struct {
	const char *word;
	unsigned state;
} states[] = {{"ready", JOBSTACK_IS_READY},	{"waiting", JOBSTACK_IS_WAITING}, {"held", JOBSTACK_IS_HELD},
	      {"running", JOBSTACK_IS_RUNNING}, {"done", JOBSTACK_IS_DONE},	  {"dead", JOBSTACK_IS_DEAD},
	      {"failed", JOBSTACK_IS_FAILED},	{"lost", JOBSTACK_IS_LOST},	  {"cancelled", JOBSTACK_IS_CANCELLED},
	      {"moved", JOBSTACK_IS_MOVED}};
#define STATES (sizeof(states) / sizeof(states[0]))

const char *view_state_word(unsigned state)
{
	for (size_t i = 0; i < STATES; i++)
		if (states[i].state == state)
			return states[i].word;
	return "?";
}

unsigned view_state_bit(const char *word, size_t len)
{
	for (size_t i = 0; i < STATES; i++)
		if (is_word(states[i].word, word, len))
			return states[i].state;
	return 0;
}

static const char *const outcomes[] = {[JOBSTACK_DONE] = "done",
				       [JOBSTACK_FAILED] = "failed",
				       [JOBSTACK_LOST] = "lost",
				       [JOBSTACK_INTERRUPTED] = "interrupted"};
#define OUTCOMES ((int)(sizeof(outcomes) / sizeof(outcomes[0])))

const char *view_outcome_word(int outcome)
{
	if (outcome < 0)
		return NULL;
	return outcome < OUTCOMES ? outcomes[outcome] : "?";
}

int view_outcome(const char *word, size_t len)
{
	for (int i = 0; i < OUTCOMES; i++)
		if (is_word(outcomes[i], word, len))
			return i;
	return -1;
}

static struct view_amount format_ending(int outcome, int32_t exit_code, int32_t signal)
{
	struct view_amount how;

	if (outcome == JOBSTACK_FAILED && signal > 0)
		(void)snprintf(how.text, sizeof(how.text), "signal %" PRId32, signal);
	else if (outcome == JOBSTACK_FAILED && exit_code > 0)
		(void)snprintf(how.text, sizeof(how.text), "exit %" PRId32, exit_code);
	else
		(void)snprintf(how.text, sizeof(how.text), "%s", outcome < 0 ? "-" : view_outcome_word(outcome));
	return how;
}

struct view_amount view_item_how(const struct jobstack_item *item)
{
	return format_ending(item->outcome, item->exit_code, item->signal);
}

struct view_amount view_failure_how(const struct jobstack_failure *f)
{
	return format_ending(f->outcome, f->exit_code, f->signal);
}

int64_t view_item_took(const struct jobstack_item *item)
{
	int64_t end = item->ended_us;

	if (item->started_us < 0)
		return -1;
	if (item->outcome < 0 && item->state == JOBSTACK_IS_RUNNING)
		end = js_clock_wall_us();
	if (end < 0)
		return -1;
	return end > item->started_us ? end - item->started_us : 0;
}

const char *view_stack_word(enum jobstack_stack_state state)
{
	static const char *const word[] = {[JOBSTACK_OPEN] = "open",
					   [JOBSTACK_PAUSED] = "paused",
					   [JOBSTACK_CANCELLED] = "cancelled",
					   [JOBSTACK_DROPPING] = "dropping"};

	return (size_t)state < sizeof(word) / sizeof(word[0]) ? word[state] : "?";
}

const char *view_stack_state(const struct jobstack_status *s)
{
	return s->state == JOBSTACK_OPEN && insight_stack_is_over(s) ? "finished" : view_stack_word(s->state);
}

const char *view_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

const char *view_are(uint64_t n)
{
	return n == 1 ? "is" : "are";
}
