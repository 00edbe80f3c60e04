/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Facts in memory.
 */
#include "figures/facts.h"

#include "base/array.h"
#include "base/error.h"

#include <stdlib.h>
#include <string.h>

/* Copies a fact, whose text is valid only during this call. */
static int copy_fact(void *ctx, const struct jobstack_stack_fact *fact)
{
	struct figures_facts *all = ctx;
	char *text = strdup(fact->text);

	all->failed |= text == NULL || js_array_grow(&all->at, &all->capacity, all->n + 1, sizeof(*all->at)) != 0;
	if (all->failed) {
		free(text);
		return 1;
	}
	all->at[all->n] = (struct figures_fact){*fact, text};
	all->at[all->n++].f.text = text;
	return 0;
}

int figures_facts_read(struct figures_facts *all, struct jobstack *handle, const char *stack,
		       struct jobstack_error *error)
{
	int status = jobstack_stack_facts(handle, stack, copy_fact, all, error);

	return all->failed ? js_error_memory(error) : status;
}

void figures_facts_free(struct figures_facts *all)
{
	for (size_t i = 0; i < all->n; i++)
		free(all->at[i].text);
	free(all->at);
	*all = (struct figures_facts){.n = 0};
}

const char *figures_facts_text(const struct figures_facts *all, enum jobstack_fact_kind kind, int64_t number)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->at[i].f.kind == kind && all->at[i].f.number == number)
			return all->at[i].text;
	return NULL;
}

size_t figures_facts_count(const struct figures_facts *all, enum jobstack_fact_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++)
		n += all->at[i].f.kind == kind;
	return n;
}
