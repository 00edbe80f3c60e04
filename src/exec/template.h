/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Command templates: parsed once, expanded for each entry.
 *
 *   {}    the datapath (or the word given with -I)    {.}   the datapath without the extension of its base name
 *   {/}   its base name                               {/.}  the base name without extension
 *   {//}  its directory: "." if it has none           {#}   the entry's number      {%}   the slot
 *   {+/}  the same, but nothing if it has none        {+.}  its extension, without the dot
 *   {..} {/..} {+..}, {...} {/...} {+...}  the same with its last two or three extensions; if it has fewer, none goes
 *
 * Where a separator is given (--colsep, a string of one byte or more) a datapath has fields: {1} is the first, {1/},
 * {1//}, {1.} and {1/.} what these are of {}, {2} the second and so on, up to {999}; {} stays the whole.  A field may
 * be empty.  Without a separator {1} is {}, and {2} is refused; but with -I alone both are text.
 *
 * They may stand inside a word, and several times.  A command in which none stands gets the datapath as its last
 * argument.  Names are passed byte for byte: one that begins with '-' stays so (a command
 * that would take it for an option is given ./{} or -- {}).
 *
 * An extension is what begins with the last dot of the base name, unless nothing but dots stands before it
 * (.profile and .. have none).  Slashes at the end belong to neither base name nor directory: a/b/ has the base
 * name b in a.
 *
 * As a shell script (js_template_shell) the words are joined with spaces and run as SHELL -c SCRIPT jobstack
 * DATAPATH PLACEHOLDER... (the others that stand in it) where each placeholder in SCRIPT has become a quoted positional
 * parameter: the shell never parses a byte of a name.  What the script itself hands to an interpreter (eval, a second
 * sh -c, bash's [[ {} -eq 1 ]]) is beyond this.
 *
 * bash runs it with pipefail: a pipeline fails if any part of it does, but for what exec/pipeline.h says.
 */
#pragma once

#include "exec/pipeline.h"
#include "exec/placeholder.h"

/* Makes a separator of what a person typed: \t, \n, \r, \\ and \xHH are understood; appended to the empty COLSEP.
 * Returns 0, or JOBSTACK_EUSAGE: nothing, a NUL, or a backslash before something else. */
int js_template_colsep(const char *text, struct js_buf *colsep, struct jobstack_error *error);

struct js_template;

/* Parses the command WORDS (N of them) into *TEMPLATE, to be freed with js_template_free.  Nothing of the arguments is
 * kept.  Returns 0, or JOBSTACK_EUSAGE: no command, an empty program, an empty word for {}, a field without a
 * separator.
 */
int js_template_command(struct js_template **made, char *const words[], size_t n,
			const struct js_template_syntax *syntax, struct jobstack_error *error);

/* Does the same with a shell script.  JOBSTACK_EUSAGE also for quotes that do not end, and for a placeholder where it
 * is not certain how the shell reads it: in `...`, ${...}, "$(...)", ((...)), $'...' or after <<; the text says what to
 * type; and for a shell that does not read sh's language. */
int js_template_shell(struct js_template **made, char *const words[], size_t n, const struct js_template_syntax *syntax,
		      struct jobstack_error *error);

/* Does the same with a command that is started once and gets its entries on its standard input (exec/persist.h):
 * nothing is appended, and no placeholder but {%} may stand in it; SHELL: the words are a shell script. JOBSTACK_EUSAGE
 * also for another placeholder. */
int js_template_persistent(struct js_template **made, char *const words[], size_t n, int shell,
			   const struct js_template_syntax *syntax, struct jobstack_error *error);

/* Makes the template of entries that are command lines themselves, which SHELL runs (--commands). */
int js_template_line(struct js_template **made, const char *shell, struct jobstack_error *error);

/* Returns the shell for those who name none: bash if it is in $PATH, else /bin/sh. */
const char *js_template_usual_shell(void);

/* Parses one string (--output, --error, --creates), to which nothing is appended.  Expand with
 * js_template_text. */
int js_template_string(struct js_template **made, const char *text, const struct js_template_syntax *syntax,
		       struct jobstack_error *error);

/* Frees it; NULL is harmless. */
void js_template_free(struct js_template *made);

/* Expands a command into a NULL-terminated argv, which belongs to the template and is valid until the next expansion.
 * Allocates only while its buffer still grows.  NULL: no memory. */
char *const *js_template_argv(struct js_template *made, const struct js_template_values *values);

/* Does the same into WORDS (all 0 at first, freed with js_template_words_free), to which the argv belongs: threads may
 * expand a template at the same time, each into words of its own. */
struct js_template_words {
	struct js_buf text;
	char **argv;
	size_t room;
};
char *const *js_template_argv_in(const struct js_template *made, const struct js_template_values *values,
				 struct js_template_words *words);
void js_template_words_free(struct js_template_words *words);

/* Appends the expansion of a string to OUT.  Returns 0, or JOBSTACK_EBUG: no memory. */
int js_template_text(const struct js_template *made, const struct js_template_values *values, struct js_buf *out);

/* Returns the program, if every expansion has the same; NULL if a placeholder stands in it. */
const char *js_template_program(const struct js_template *made);

/* Returns what a script for bash, made without no_pipefail, has of pipelines. */
enum js_pipeline js_template_pipeline(const struct js_template *made);

/* Returns whether expansions differ from entry to entry: a placeholder other than {%} stands in it. */
int js_template_varies(const struct js_template *made);

/* Returns whether the name, or a part of it, stands in it. */
int js_template_has_name(const struct js_template *made);

/* Returns whether two names never expand to the same text, whatever they are: {}, {#}, or both {//} and {/} stand in
 * it. */
int js_template_separates(const struct js_template *made);

/* Returns the highest field number in it; 0: it has no fields.  The second returns whether the values have that many: a
 * missing field expands to nothing, so other values are not for this template. */
unsigned js_template_last_field(const struct js_template *made);
int js_template_fits(const struct js_template *made, const struct js_template_values *values);
