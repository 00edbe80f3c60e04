/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The stack that belongs to a command.  Promise: other commands, directories and OS users have other stacks.
 */
#include "cli/run_stack.h"

#include "base/home.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Sets BASE to the program's name, without its directory and without bytes that a stack's name can't have.  PROGRAM may
 * be a whole script for a shell; then its first word counts. */
static void name_base(struct cli_run_stack *o, const char *program)
{
	size_t len = strcspn(program, " \t\n"), n = 0;
	const char *end = program + len, *slash = memrchr(program, '/', len);

	for (const char *p = slash != NULL ? slash + 1 : program; p < end && n + 1 < sizeof(o->base); p++)
		if (isalnum((unsigned char)*p) || (n > 0 && strchr("._-+", *p) != NULL))
			o->base[n++] = *p;
	(void)snprintf(o->base + n, sizeof(o->base) - n, "%s", n == 0 ? "run" : "");
}

/* Returns whether the command ends with a {} that could be left out: a worker appends the datapath to a command without
 * placeholders.  Both ways to write it must lead to the same stack. */
static int ends_alike(char *const words[], size_t n)
{
	for (size_t i = 0; i + 1 < n; i++)
		if (strchr(words[i], '{') != NULL)
			return 0;
	return n > 1 && strcmp(words[n - 1], "{}") == 0;
}

/* Between user, directory and words there is a NUL, which none of them can contain: so two commands never give the same
 * text. */
void cli_run_stack_make(struct cli_run_stack *o, const char *dir, char *const words[], size_t n)
{
	js_buf_str(&o->text, js_home_user());
	js_buf_char(&o->text, '\0');
	js_buf_str(&o->text, dir);
	for (size_t i = 0; i < n - (size_t)ends_alike(words, n); i++) {
		js_buf_char(&o->text, '\0');
		js_buf_str(&o->text, words[i]);
	}
	name_base(o, words[0]);
}

int cli_run_stack_find(struct cli *cli, struct cli_run_stack *o)
{
	int found;

	o->pushed = (struct jobstack_bytes){o->text.data, o->text.len};
	if (o->text.failed)
		return cli_no_memory(cli);
	cli->stack = o->name;
	found = jobstack_of_origin(cli->handle, o->pushed, o->base, o->name, &cli->error);
	o->found = found == 0;
	return found < 0 ? cli_fail(cli) : 0;
}
