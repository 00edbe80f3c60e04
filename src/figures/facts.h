/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The facts of a stack (versions of programs, file systems, platforms) in memory.
 */
#pragma once

#include "jobstack/jobstack.h"

#include <stddef.h>

struct figures_fact {
	struct jobstack_stack_fact f;
	char *text; /* f.text points to it */
};

/* Start it as {0}. */
struct figures_facts {
	struct figures_fact *at; /* sorted by kind and time */
	size_t n, capacity;
	int failed;
};

/* Reads those of STACK.  0, or a JOBSTACK_E code with ERROR filled. */
int figures_facts_read(struct figures_facts *facts, struct jobstack *handle, const char *stack,
		       struct jobstack_error *error);
void figures_facts_free(struct figures_facts *facts);

/* Return the text of a fact, or NULL; and how many facts of a kind there are. */
const char *figures_facts_text(const struct figures_facts *facts, enum jobstack_fact_kind kind, int64_t number);
size_t figures_facts_count(const struct figures_facts *facts, enum jobstack_fact_kind kind);
