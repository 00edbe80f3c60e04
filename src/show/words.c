/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The words for states, outcomes and endings.
 */
#include "show/words.h"

#include "figures/stack.h"
#include "show/term.h"
#include "show/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LAST_WORDS 100 /* columns */
#define LAST_NAME 200  /* bytes: of a longer name the end is shown */

/* Returns whether the LEN bytes at TEXT are WORD. */
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

const char *show_state_word(unsigned state)
{
	for (size_t i = 0; i < STATES; i++)
		if (states[i].state == state)
			return states[i].word;
	return "?";
}

unsigned show_state_bit(const char *word, size_t len)
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

const char *show_outcome_word(int outcome)
{
	if (outcome < 0)
		return NULL;
	return outcome < OUTCOMES ? outcomes[outcome] : "?";
}

int show_outcome(const char *word, size_t len)
{
	for (int i = 0; i < OUTCOMES; i++)
		if (is_word(outcomes[i], word, len))
			return i;
	return -1;
}

/* Returns the most telling word: a cause of ours, else the signal, else the exit status, else only the outcome. */
static struct show_amount format_ending(int outcome, int32_t exit_code, int32_t signal, enum jobstack_cause cause)
{
	struct show_amount how;

	if (outcome == JOBSTACK_FAILED && cause == JOBSTACK_CAUSE_TIMEOUT)
		(void)snprintf(how.text, sizeof(how.text), "timeout"); /* else only its last signal would be seen */
	else if (outcome == JOBSTACK_FAILED && cause == JOBSTACK_CAUSE_KILLED)
		(void)snprintf(how.text, sizeof(how.text), "killed");
	else if (outcome == JOBSTACK_FAILED && signal > 0)
		(void)snprintf(how.text, sizeof(how.text), "signal %" PRId32, signal);
	else if (outcome == JOBSTACK_FAILED && exit_code > 0)
		(void)snprintf(how.text, sizeof(how.text), "exit %" PRId32, exit_code);
	else
		(void)snprintf(how.text, sizeof(how.text), "%s", outcome < 0 ? "-" : show_outcome_word(outcome));
	return how;
}

struct show_amount show_item_how(const struct jobstack_item *item)
{
	return format_ending(item->outcome, item->exit_code, item->signal, item->cause);
}

struct show_amount show_failure_how(const struct jobstack_failure *f)
{
	return format_ending(f->outcome, f->exit_code, f->signal, f->cause);
}

const char *show_stack_word(enum jobstack_stack_state state)
{
	static const char *const word[] = {[JOBSTACK_OPEN] = "open",
					   [JOBSTACK_PAUSED] = "paused",
					   [JOBSTACK_CANCELLED] = "cancelled",
					   [JOBSTACK_DROPPING] = "dropping"};

	return (size_t)state < sizeof(word) / sizeof(word[0]) ? word[state] : "?";
}

/* "Finished" is no state in the database: an open stack may get more entries at any time. */
const char *show_stack_state(const struct jobstack_status *s)
{
	return s->state == JOBSTACK_OPEN && figures_stack_is_over(s) ? "finished" : show_stack_word(s->state);
}

const char *show_cause_word(enum jobstack_cause cause)
{
	static const char *const word[JOBSTACK_CAUSES] = {
		[JOBSTACK_CAUSE_EXIT] = "exit",		  [JOBSTACK_CAUSE_SIGNAL] = "signal",
		[JOBSTACK_CAUSE_TIMEOUT] = "timeout",	  [JOBSTACK_CAUSE_MEMORY] = "memory",
		[JOBSTACK_CAUSE_KILLED] = "killed",	  [JOBSTACK_CAUSE_DEFERRED] = "deferred",
		[JOBSTACK_CAUSE_NODE] = "node",		  [JOBSTACK_CAUSE_RESULT] = "result",
		[JOBSTACK_CAUSE_START] = "start",	  [JOBSTACK_CAUSE_OUTPUT] = "output",
		[JOBSTACK_CAUSE_WALL_TIME] = "wall_time", [JOBSTACK_CAUSE_STOPPED] = "stopped",
		[JOBSTACK_CAUSE_LEASE] = "lease",	  [JOBSTACK_CAUSE_NODE_FAILED] = "node_failed",
		[JOBSTACK_CAUSE_PREEMPTED] = "preempted", [JOBSTACK_CAUSE_CANCELLED] = "cancelled",
		[JOBSTACK_CAUSE_WORKER] = "worker",	  [JOBSTACK_CAUSE_PAUSED] = "paused",
		[JOBSTACK_CAUSE_OTHER] = "other",
	};

	return cause < JOBSTACK_CAUSES ? word[cause] : NULL;
}

const char *show_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

const char *show_are(uint64_t n)
{
	return n == 1 ? "is" : "are";
}

/* Appends the last line of TEXT that is not blank, in quotes. */
static void add_last_words(struct js_buf *out, const char *text, size_t len)
{
	struct js_buf safe = {0};
	const char *line;

	while (len > 0 && strchr(" \t\r\n", text[len - 1]) != NULL)
		len--;
	if (len == 0)
		return;
	line = memrchr(text, '\n', len);
	for (line = line != NULL ? line + 1 : text; *line == ' ' || *line == '\t'; line++)
		;
	show_safe(&safe, line, (size_t)(text + len - line));
	js_buf_str(out, ": \"");
	show_cut_inside(out, safe.data != NULL ? safe.data : "", safe.len, LAST_WORDS, 0);
	js_buf_char(out, '"');
	js_buf_free(&safe);
}

/* Of a long name the end is shown, where the file is; of a long message, too, where the cause mostly is. */
void show_failed(struct js_buf *out, const void *path, size_t len, const char *reason, const char *tail,
		 size_t tail_len)
{
	size_t cut = len > LAST_NAME ? len - LAST_NAME : 0;

	js_buf_str(out, cut > 0 ? "..." : "");
	show_safe(out, (const char *)path + cut, len - cut);
	js_buf_str(out, " (");
	show_safe_words(out, reason != NULL && *reason != '\0' ? reason : "failed");
	add_last_words(out, tail, tail_len);
	js_buf_char(out, ')');
}
