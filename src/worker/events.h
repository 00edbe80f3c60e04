/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Events: a line of JSON for each attempt, once the database has taken it, for those who watch many stacks (--events).
 * Best effort: whoever can't read them fast enough misses some, and sees that by their numbers.  A line says nothing of
 * datapaths, arguments and people.
 */
#pragma once

#include "jobstack/jobstack.h"
#include "exec/packages.h"
#include "exec/site.h"

#include <stdint.h>

struct events;

/* The worker whose events they are.  The texts must live as long as the events; NULL: not known. */
struct events_source {
	const char *stack, *node, *cluster, *job, *array_job, *array_task, *program;
	struct js_packages *packages; /* NULL: they are not recorded; it must live until events_end */
	const struct js_site *site;   /* set if the site asked for the events: only its public packages are named */
	uint64_t worker;
	int64_t wall_us; /* what the times of outcomes must be increased by */
};

/* Starts the thread that writes to TARGET: a file, to which lines are appended, or "syslog".  NULL with ERROR. */
struct events *events_begin(const char *target, const struct events_source *source, struct jobstack_error *error);

/* Makes the events of N OUTCOMES.  It never waits; EVENTS NULL is harmless.  Only one thread may call it. */
void events_send(struct events *events, const struct jobstack_outcome *outcomes, size_t n);

/* Waits until all is written, but not longer than two seconds without success, and frees EVENTS (NULL is harmless). */
void events_end(struct events *events);
