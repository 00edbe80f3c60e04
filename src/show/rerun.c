/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The line that reruns an attempt.  It parses the arguments of the worker with the worker's own option table and
 * templates, so the command is the one that ran, with its placeholders filled in.  The slot is 1.
 */
#include "show/rerun.h"

#include "show/text.h"
#include "exec/persist.h"
#include "exec/template.h"
#include "exec/worker_options.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Splits a NUL-separated list into an array of words, for the caller to free. */
static char **split_words(const struct jobstack_bytes *list, int *n)
{
	const char *p = list->data, *end = p + list->len;
	char **words, **to;
	char *copy;

	*n = 1;
	for (const char *q = p; q < end; q++)
		*n += *q == '\0';
	words = malloc(((size_t)*n + 1) * sizeof(*words) + list->len + 1);
	if (words == NULL)
		return NULL;
	copy = (char *)(words + *n + 1);
	memcpy(copy, p, list->len);
	copy[list->len] = '\0';
	to = words;
	for (char *q = copy; q < copy + list->len; q += strlen(q) + 1)
		*to++ = q;
	*to = NULL;
	*n = (int)(to - words);
	return words;
}

/* Makes the template of the command that the worker was started with.  *PERSISTENT: it was a persistent one.  NULL: the
 * command is unknown. */
static struct js_template *make_template(int n, char *words[], int *persistent)
{
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_template_syntax syntax = {.shell = js_template_usual_shell()};
	struct js_template *template = NULL;
	struct js_buf colsep = {0};
	int key, shell = 0, lines = 0, status = 0;
	const char *arg;

	optind = 0;
	while ((key = js_opt_next(&js_worker_opts, n, words, &arg, &error)) != -1) {
		if (key == '?' || status != 0)
			break;
		if (key == 'I')
			syntax.repl = arg;
		if (key == JS_WORKER_COLSEP) {
			js_buf_reset(&colsep);
			status = js_template_colsep(arg, &colsep, &error);
			syntax.colsep = colsep.data;
		}
		shell |= key == JS_WORKER_SHELL;
		if (key == JS_WORKER_SHELL && *arg != '\0')
			syntax.shell = arg;
		syntax.no_pipefail |= key == JS_WORKER_NO_PIPEFAIL;
		lines |= key == JS_WORKER_COMMANDS;
		*persistent |= key == JS_WORKER_PERSISTENT;
	}
	if (key == -1 && status == 0 && lines)
		status = js_template_line(&template, syntax.shell, &error);
	else if (key != -1 || status != 0 || optind >= n)
		status = -1;
	else
		status =
			*persistent ? js_template_persistent(&template, words + optind, (size_t)(n - optind), shell,
							     &syntax, &error)
			: shell ? js_template_shell(&template, words + optind, (size_t)(n - optind), &syntax, &error)
				: js_template_command(&template, words + optind, (size_t)(n - optind), &syntax, &error);
	js_buf_free(&colsep);
	return status == 0 ? template : NULL;
}

/* Appends what gives a persistent command the entry's line on its standard input. */
static void add_request(struct js_buf *line, const struct js_template_values *values)
{
	char request[JS_PERSIST_REQUEST];
	size_t len = js_persist_encode(request, values->entry, values->attempt, values->datapath, values->datapath_len);

	js_buf_str(line, "printf '%s\\n' ");
	show_quote_line(line, request, len > 0 ? len - 1 : 0);
	js_buf_str(line, " | ");
}

/* What `jobstack pop` has claimed was run by a script, and arguments that were cut may lack the end of the command: of
 * neither is the command known. */
void show_rerun(const char *stack, const struct jobstack_item *item, struct js_buf *line)
{
	struct js_template_values values = {
		item->datapath.data, item->datapath.len, item->entry, item->attempt, 1, stack, item->worker};
	struct js_template *template = NULL;
	char *const *argv = NULL;
	char **words = NULL;
	int n = 0, persistent = 0;

	js_buf_reset(line);
	if (item->argv.len > 0 && item->argv.len < SHOW_ARGV_CUT)
		words = split_words(&item->argv, &n);
	if (words != NULL && !(n > 1 && strcmp(words[0], "jobstack") == 0 && strcmp(words[1], "pop") == 0))
		template = make_template(n, words, &persistent);
	if (template != NULL && js_template_fits(template, &values))
		argv = js_template_argv(template, &values);
	if (argv != NULL) {
		if (item->cwd != NULL) {
			js_buf_str(line, "cd ");
			show_quote_line(line, item->cwd, strlen(item->cwd));
			js_buf_str(line, " && ");
		}
		if (persistent)
			add_request(line, &values);
		js_buf_printf(line, "JOBSTACK_STACK=%s ", stack);
		if (!persistent)
			js_buf_printf(line, "JOBSTACK_ENTRY=%" PRIu64 " JOBSTACK_ATTEMPT=%" PRIu32 " ", item->entry,
				      item->attempt);
		js_buf_printf(line, "JOBSTACK_SLOT=1 JOBSTACK_WORKER=%" PRIu64 " %s", item->worker,
			      persistent ? "JOBSTACK_PERSISTENT=1" : "JOBSTACK_DATAPATH=");
		if (!persistent)
			show_quote_line(line, item->datapath.data, item->datapath.len);
		for (; *argv != NULL; argv++) {
			js_buf_char(line, ' ');
			show_quote_line(line, *argv, strlen(*argv));
		}
	}
	js_template_free(template);
	free(words);
}
