/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Events over time in flat memory.  Each length of a step is a multiple of the one before, so that no count is ever
 * divided.
 */
#include "base/timeline.h"

#include "base/clock.h"

#include <string.h>

/* 1 s, 5 s, 10 s, 30 s, 1 min, 5, 10, 30 min, 1 h, 2, 6, 12 h, a day, a week; then twice as long again and again. */
static const int64_t longer[] = {5, 2, 3, 2, 5, 2, 3, 2, 2, 3, 2, 2, 7};

static int is_empty_step(const struct js_timeline *t, size_t i)
{
	for (size_t kind = 0; kind < JS_TIMELINE_KINDS; kind++)
		if (t->count[i][kind] != 0)
			return 0;
	return 1;
}

int js_timeline_range(const struct js_timeline *t, size_t *from, size_t *to)
{
	*from = 0;
	*to = JS_TIMELINE_STEPS - 1;
	while (*from < JS_TIMELINE_STEPS && is_empty_step(t, *from))
		++*from;
	if (*from == JS_TIMELINE_STEPS)
		return -1;
	while (is_empty_step(t, *to))
		--*to;
	return 0;
}

/* Makes count[0] the step FIRST, with steps that are FACTOR times as long.  All counts must fit in. */
static void move_counts(struct js_timeline *t, int64_t factor, int64_t first)
{
	uint64_t old[JS_TIMELINE_STEPS][JS_TIMELINE_KINDS];

	memcpy(old, t->count, sizeof(old));
	memset(t->count, 0, sizeof(t->count));
	for (int64_t i = 0; i < JS_TIMELINE_STEPS; i++) {
		const int64_t to = (t->first + i) / factor - first;

		for (size_t kind = 0; to >= 0 && to < JS_TIMELINE_STEPS && kind < JS_TIMELINE_KINDS; kind++)
			t->count[to][kind] += old[i][kind];
	}
	t->first = first;
}

/* Makes the steps longer, so that the same number of them covers more time. */
static void widen_steps(struct js_timeline *t)
{
	int64_t factor = t->level < sizeof(longer) / sizeof(longer[0]) ? longer[t->level] : 2;

	move_counts(t, factor, t->first / factor);
	t->step_us *= factor;
	t->level++;
}

/* Makes the timeline reach to AT_US. */
static void extend_to(struct js_timeline *t, int64_t at_us)
{
	size_t from, to;

	while (at_us / t->step_us < t->first || at_us / t->step_us >= t->first + JS_TIMELINE_STEPS) {
		int64_t at = at_us / t->step_us, low = at, high = at;

		if (js_timeline_range(t, &from, &to) == 0) {
			low = t->first + (int64_t)from < at ? t->first + (int64_t)from : at;
			high = t->first + (int64_t)to > at ? t->first + (int64_t)to : at;
		}
		if (high - low < JS_TIMELINE_STEPS)
			move_counts(t, 1, low);
		else
			widen_steps(t);
	}
}

/* The same; the first event of all decides where the timeline begins. */
static void reach_to(struct js_timeline *t, int64_t at_us)
{
	if (t->step_us == 0) {
		t->step_us = JS_SECOND_US;
		t->first = at_us / t->step_us;
	}
	extend_to(t, at_us);
}

void js_timeline_add(struct js_timeline *t, int64_t at_us, unsigned kind)
{
	reach_to(t, at_us);
	t->count[at_us / t->step_us - t->first][kind % JS_TIMELINE_KINDS]++;
}

void js_timeline_add_time(struct js_timeline *t, int64_t from_us, int64_t to_us, unsigned kind)
{
	if (to_us <= from_us)
		return;
	/* a count keeps its step: so that both ends are reached at once */
	js_timeline_add(t, from_us, kind);
	reach_to(t, to_us - 1);
	t->count[from_us / t->step_us - t->first][kind % JS_TIMELINE_KINDS]--;
	for (int64_t at = from_us, end; at < to_us; at = end) {
		end = (at / t->step_us + 1) * t->step_us;
		end = end < to_us ? end : to_us;
		t->count[at / t->step_us - t->first][kind % JS_TIMELINE_KINDS] += (uint64_t)(end - at);
	}
}

void js_timeline_fit(struct js_timeline *t, size_t steps)
{
	size_t from, to;

	while (js_timeline_range(t, &from, &to) == 0 && to - from + 1 > (steps < 2 ? 2 : steps))
		widen_steps(t);
}
