/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Events over time in flat memory, in whatever order they come and over whatever time they spread: exact counts in
 * steps of equal length, which become longer (1 s, 5 s, 10 s, 30 s, 1 min, ... an hour, ... a day, a week) when they
 * don't reach any more.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define JS_TIMELINE_STEPS 512
#define JS_TIMELINE_KINDS 5

/* Starts as {0}. */
struct js_timeline {
	unsigned level;	 /* how often the steps were made longer */
	int64_t step_us; /* 0: nothing has come yet */
	int64_t first;	 /* the step at count[0], counted from 1970 */
	uint64_t count[JS_TIMELINE_STEPS][JS_TIMELINE_KINDS];
};

/* Counts an event of KIND at AT_US, microseconds since 1970 (not negative). */
void js_timeline_add(struct js_timeline *timeline, int64_t at_us, unsigned kind);

/* Adds a time from FROM_US to TO_US, in microseconds, to the steps that it touches. */
void js_timeline_add_time(struct js_timeline *timeline, int64_t from_us, int64_t to_us, unsigned kind);

/* Finds the first and the last step with an event. 0, or -1 if there is no event. */
int js_timeline_range(const struct js_timeline *timeline, size_t *from, size_t *to);

/* Makes the steps longer until at most STEPS (at least 2) of them reach from the first event to the last. */
void js_timeline_fit(struct js_timeline *timeline, size_t steps);
