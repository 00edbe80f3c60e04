/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The worker's remedies.  Promise: advice alone; what is asked for is done as it stands.
 */
#include "worker/hints.h"

#include "base/error.h"
#include "proc/child.h"
#include "exec/env.h"
#include "exec/placeholder.h"
#include "frame/remedy.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Returns whether a placeholder for the name stands in TEXT. */
static int has_name(const struct config *c, const char *text)
{
	const struct js_template_syntax syntax = {.repl = c->replace,
						  .colsep = c->colsep.len > 0 ? c->colsep.data : NULL};
	struct js_spot spot;

	for (const char *p = text; *p != '\0'; p++)
		if (js_place_match(text, p, &syntax, &spot) > 0 && js_place_is_name(spot.place))
			return 1;
	return 0;
}

/* Returns whether WORD is in LIST, which ends with NULL. */
static int one_of(const char *word, const char *const *list)
{
	for (; *list != NULL; list++)
		if (strcmp(word, *list) == 0)
			return 1;
	return 0;
}

const char *hints_of_command(const struct config *c, unsigned why)
{
	const char *program = c->words > 0 ? c->command[0] : "";
	static char text[400];

	if (c->shell)
		return "";
	if (why == JS_WHY_NOT_EXECUTABLE)
		return ": make it executable with chmod +x, or put its interpreter before it";
	if (why != JS_WHY_NO_PROGRAM)
		return "";
	if (c->words == 1 && strchr(program, ' ') != NULL)
		return ": a command and its arguments are separate words: leave out the quotes around all of them, or "
		       "use --shell";
	if (strchr(program, '/') == NULL && access(program, F_OK) == 0) {
		(void)snprintf(text, sizeof(text), ": it is in this directory: write ./%.300s", program);
		return text;
	}
	for (size_t i = 1; i < c->words; i++)
		if (strcmp(c->command[i], "--") == 0)
			return ": options go before --, and -s names the stack";
	return strchr(program, '/') == NULL ? ": load its module, or give the full path" : "";
}

const char *hints_of_error(const struct config *c, const struct jobstack_error *error)
{
	const struct js_remedy about = {JS_REMEDY_WORKER,
					c->defaults_file != NULL ? c->defaults_file : "the option file", c->stack};
	const char *what = js_remedy(error, &about);
	static char text[PATH_MAX + 400];

	if (error->code == JOBSTACK_EFILE)
		return hints_of_command(c, error->server_errno);
	(void)snprintf(text, sizeof(text), "%s%s", what != NULL ? ": " : "", what != NULL ? what : "");
	return text;
}

static const char *const interpreters[] = {"sh",      "bash",	    "dash",   "ksh",	 "zsh", "python",
					   "python3", "perl",	    "ruby",   "Rscript", "R",	"julia",
					   "octave",  "octave-cli", "matlab", NULL};

/* Returns the interpreter that gets a datapath in its code, as in python3 -c '...{}...'; or NULL. */
static const char *name_in_code(const struct config *c)
{
	static const char *const begins[] = {"-c", "-lc", "-ec", "-ic", "-e", "-E", "-r", "-batch", "--eval", NULL};
	const char *program = "";

	for (size_t i = 0; i + 1 < c->words; i++) {
		const char *name = basename(c->command[i]);

		if (one_of(name, interpreters))
			program = name;
		else if (program[0] != '\0' && one_of(c->command[i], begins) && has_name(c, c->command[i + 1]))
			return program;
	}
	return NULL;
}

/* A script for a job array reads $SLURM_ARRAY_TASK_ID, which says nothing of the entry here (exec/env.h).  So it is
 * refused, with two command lines that do what was probably meant. */
void hints_of_array(const struct config *c, const struct js_program *program, struct js_buf *out)
{
	static const char name[] = JS_ENV_ARRAY_TASK;
	struct js_buf words = {0};
	const char *reader = NULL;
	int interpreted = c->shell, named = 0, uses;
	unsigned line = 1;

	for (size_t i = 0; i < c->words; i++) {
		const char *word = c->command[i];

		interpreted |= one_of(basename(word), interpreters);
		named |= has_name(c, word);
		js_buf_char(&words, ' ');
		js_buf_shell_word(&words, word, strlen(word));
	}
	uses = c->as_array || words.failed || words.len == 0 ? -1 : js_program_uses(words.data, name, &line);
	if (uses >= 0)
		reader = uses > 0 ? "CMD" : js_program_reader(program, name, interpreted, &line);
	if (reader != NULL)
		js_buf_printf(
			out,
			"%s reads %s (line %u), which is the number of this worker, and the same for all "
			"entries\n    --%s%s%s    # %s\n"
			"    --as-array --%s    # for names that are numbers, as from seq: %s is the entry's name\n",
			reader, name, line, named && !c->shell ? " env -u " JS_ENV_ARRAY_TASK : "", words.data,
			named ? "" : " {}",
			named && !c->shell ? "if it takes its file from {}, and can do without that variable"
					   : "if it takes the file's name from \"$1\" instead",
			words.data, name);
	js_buf_free(&words);
}

/* At most one doubt is reported, the most serious first.  Nothing is refused: each of these lines can be meant as it
 * is. */
const char *hints_of_line(const struct config *c)
{
	static const char *const of_shells[] = {"|", "||", "&&", "&", ";", ">", ">>", "<", "2>", "2>&1", NULL};
	const char *program = c->shell || c->words == 0 ? NULL : name_in_code(c);
	static char text[400];

	if ((c->shell || c->commands) && c->shell_program == NULL && !js_child_is_in_path("bash"))
		return "there is no bash in $PATH, so /bin/sh is used: of a pipeline, only the last part can fail";
	if (js_template_pipeline(c->template) == JS_PIPELINE_CONDITIONS)
		return "this script has || or a pipeline as a condition (if, while, until, !), so only the last part "
		       "of each "
		       "pipeline counts: to make all parts count, put `set -o pipefail;` in front (then a part that "
		       "`head` or `grep -q` cuts short fails, too)";
	if (!c->persistent && !js_template_has_name(c->template))
		return "CMD has {#} or {%}, so the name is not appended: write {} where CMD needs it";
	if (program != NULL) {
		(void)snprintf(text, sizeof(text),
			       "{} is put into the code of %s as it is, so a datapath with blanks or quotes breaks it: "
			       "let the code read the environment variable JOBSTACK_DATAPATH%s",
			       program,
			       strcmp(program, "sh") == 0 || strcmp(program, "bash") == 0
				       ? ", or use --shell, where {} is safe"
				       : "");
		return text;
	}
	for (size_t i = 1; i < c->words && !c->shell; i++)
		if (one_of(c->command[i], of_shells)) {
			(void)snprintf(text, sizeof(text),
				       "no shell runs the command, so %s is passed to %.200s as an argument: use "
				       "--shell to run CMD as a script",
				       c->command[i], c->command[0]);
			return text;
		}
	return NULL;
}
