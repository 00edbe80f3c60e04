/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Stacks as the commands hold them: the ledger's row with texts of its own, and its words.
 */
#ifndef JS_INSIGHT_STACK_H
#define JS_INSIGHT_STACK_H

#include "base/buf.h"
#include "cli/cli.h"

#include <stdint.h>

struct insight_stack {
	struct jobstack_status s; /* its own texts are NULL */
	char name[JOBSTACK_STACK_MAX + 1];
	struct js_buf cwd, note; /* as they are; of length 0: none */
};

/* Takes a copy; -1 without memory.  Free it with insight_stack_free. */
int insight_stack_copy(struct insight_stack *stack, const struct jobstack_status *s);
void insight_stack_free(struct insight_stack *stack);

/* Reads the stack of this call into the empty STACK: 0, or a JOBSTACK_E code with cli->error filled. */
int cli_stack(struct cli *cli, struct insight_stack *stack);

/* "open", "paused", "cancelled", "dropping". */
const char *view_stack_word(enum jobstack_stack_state state);

/* What has not come to its end. */
uint64_t insight_stack_left(const struct jobstack_status *s);

#endif
