/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Command templates.  Promise: an expansion holds the bytes of a name exactly as they are, and the words of the command
 * are never split or joined by them.
 */
#include "exec/template.h"

#include "base/array.h"
#include "base/error.h"
#include "proc/child.h"
#include "exec/pipeline.h"
#include "exec/script.h"

#include <stdlib.h>
#include <string.h>

/* A template is a list of pieces: text, placeholders, and word ends (text that is one NUL).  The texts of all pieces
 * lie one behind the other in LITERALS.  `cp {} out/{/}` has the pieces
 *
 *   text "cp\0"   {}   text "\0out/"   {/}   text "\0"
 *
 * An expansion copies them one after the other, and the NULs end the words of the argv. */
struct piece {
	struct js_spot spot; /* JS_PLACE_NONE: text */
	size_t at, len;	     /* where in the literals */
};

struct js_template {
	struct js_buf literals;
	struct piece *pieces;
	size_t pieces_n, pieces_room;
	size_t words;
	/* a placeholder stands in the program's name; one other than {%} anywhere; any */
	int program_varies, varies, placed;
	unsigned last_field;			 /* the highest number of a field; 0: none */
	unsigned whole;				 /* the placeholders of whole names in it, as bits */
	enum js_pipeline pipeline;		 /* of a script for bash */
	char *colsep;				 /* or NULL */
	const struct js_template_syntax *syntax; /* only while it is made */
	struct js_template_words own;
};

/* Adds a piece.  Text behind text makes the last piece longer, so an expansion has few pieces to go through. */
static void add_piece(struct js_template *t, const struct js_spot *spot, const void *text, size_t len)
{
	struct piece *last = t->pieces_n > 0 ? &t->pieces[t->pieces_n - 1] : NULL;
	size_t at = t->literals.len;

	js_buf_add(&t->literals, text, len);
	if (spot->place == JS_PLACE_NONE && last != NULL && last->spot.place == JS_PLACE_NONE) {
		last->len += len; /* literals stand in the order of the pieces */
		return;
	}
	if (js_array_grow(&t->pieces, &t->pieces_room, t->pieces_n + 1, sizeof(*t->pieces)) != 0) {
		t->literals.failed = 1;
		return;
	}
	t->pieces[t->pieces_n++] = (struct piece){*spot, at, len};
}

static void add_literal(struct js_template *t, const void *text, size_t len)
{
	static const struct js_spot none = {JS_PLACE_NONE, 0};

	add_piece(t, &none, text, len);
}

/* Adds a placeholder, and notes what it means for the whole template. */
static void add_placeholder(struct js_template *t, const struct js_spot *spot)
{
	add_piece(t, spot, NULL, 0);
	t->placed = 1;
	t->varies |= spot->place != JS_PLACE_SLOT;
	t->program_varies |= t->words == 0;
	t->whole |= spot->field == 0 ? 1u << spot->place : 0;
	if (spot->field > t->last_field)
		t->last_field = spot->field;
}

/* Adds TEXT: its placeholders, and what stands between them. */
static int parse_template(struct js_template *t, const char *text, struct jobstack_error *error)
{
	const char *from = text, *p = text;
	struct js_spot spot;
	size_t len;

	while (*p != '\0') {
		len = js_place_match(text, p, t->syntax, &spot);
		if (len == 0) {
			p++;
			continue;
		}
		if (js_place_check(p, len, &spot, t->syntax, error) != 0)
			return JOBSTACK_EUSAGE;
		add_literal(t, from, (size_t)(p - from));
		add_placeholder(t, &spot);
		p += len;
		from = p;
	}
	add_literal(t, from, (size_t)(p - from));
	return 0;
}

static void end_word(struct js_template *t)
{
	add_literal(t, "", 1);
	t->words++;
}

/* Begins a template, which is freed by finish_template if it can't be completed. */
static int begin_template(struct js_template **made, const struct js_template_syntax *syntax,
			  struct jobstack_error *error)
{
	*made = NULL;
	if (syntax != NULL && syntax->repl != NULL && syntax->repl[0] == '\0')
		return js_error_set(error, JOBSTACK_EUSAGE, "the word that stands for the datapath (-I) is empty");
	if (syntax != NULL && syntax->colsep != NULL && syntax->colsep[0] == '\0')
		return js_error_set(error, JOBSTACK_EUSAGE, "the separator of fields (--colsep) is empty");
	*made = calloc(1, sizeof(**made));
	if (*made == NULL)
		return js_error_memory(error);
	(*made)->syntax = syntax;
	if (syntax != NULL && syntax->colsep != NULL && ((*made)->colsep = strdup(syntax->colsep)) == NULL)
		(*made)->literals.failed = 1;
	return 0;
}

/* Ends the making of a template.  If it is complete, returns 0; else frees it and returns RC. */
static int finish_template(struct js_template **made, int rc, struct jobstack_error *error)
{
	struct js_template *t = *made;

	if (rc == 0 && t->literals.failed)
		rc = js_error_memory(error);
	if (rc != 0) {
		js_template_free(t);
		*made = NULL;
		return rc;
	}
	t->syntax = NULL;
	return 0;
}

/* Makes a command.  Without a placeholder the name is appended, unless BARE. */
static int make_command(struct js_template **made, char *const words[], size_t n,
			const struct js_template_syntax *syntax, int bare, struct jobstack_error *error)
{
	int rc = 0;

	*made = NULL;
	if (n == 0 || words[0][0] == '\0')
		return js_error_set(error, JOBSTACK_EUSAGE, "%s",
				    n == 0 ? "there is no command" : "the command's name is empty");
	JS_TRY(begin_template(made, syntax, error));
	for (size_t i = 0; rc == 0 && i < n; i++) {
		rc = parse_template(*made, words[i], error);
		end_word(*made);
	}
	if (!bare && !(*made)->placed) {
		add_placeholder(*made, &(struct js_spot){JS_PLACE_DATAPATH, 0});
		end_word(*made);
	}
	return finish_template(made, rc, error);
}

int js_template_command(struct js_template **made, char *const words[], size_t n,
			const struct js_template_syntax *syntax, struct jobstack_error *error)
{
	return make_command(made, words, n, syntax, 0, error);
}

/* Bash, where it is: only with bash can each part of a pipeline count. */
const char *js_template_usual_shell(void)
{
	return js_child_is_in_path("bash") ? "bash" : "/bin/sh";
}

int js_template_line(struct js_template **made, const char *shell, struct jobstack_error *error)
{
	static char option[] = "-c", line[] = "{}";
	char *const words[] = {(char *)(uintptr_t)shell, option, line};

	return js_template_command(made, words, 3, NULL, error);
}

/* Returns which of the shells that read sh's language the program SHELL is, of whatever version: "bash" for bash-5.2;
 * or NULL. */
static const char *name_shell(const char *shell)
{
	static const char *const names[] = {"bash", "sh", "dash", "ash", "ksh", "mksh", "zsh", "yash"};
	const char *name = basename(shell);
	size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz");

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == len && strncmp(names[i], name, len) == 0)
			return names[i];
	return NULL;
}

/* Adds the words up to the script, and what bash needs before it. */
static int add_shell(struct js_template *t, const char *script, int bare, struct jobstack_error *error)
{
	static const char *const options[] = {"-o", "pipefail", "-c"};
	const char *shell = t->syntax != NULL && t->syntax->shell != NULL ? t->syntax->shell : "/bin/sh";
	const char *name = name_shell(shell), *code;
	int watch;

	if (name == NULL)
		return js_error_set(error, JOBSTACK_EUSAGE,
				    "--shell takes a shell that reads sh's language (bash, sh, dash, ksh, zsh), not "
				    "\"%.100s\": write `-- %.100s -c ...` for another one",
				    shell, shell);
	watch = strcmp(name, "bash") == 0 && !t->syntax->no_pipefail;
	t->pipeline = watch && !bare ? js_pipeline_find(script) : JS_PIPELINE_NONE;
	watch &= t->pipeline != JS_PIPELINE_CONDITIONS;
	add_literal(t, shell, strlen(shell));
	end_word(t);
	for (int i = watch ? 0 : 2; i < 3; i++) {
		add_literal(t, options[i], strlen(options[i]));
		end_word(t);
	}
	code = js_pipeline_watch(t->pipeline);
	add_literal(t, code, strlen(code));
	return 0;
}

/* Makes a command that runs the words as a shell script.  Its placeholders become arguments after the script, in the
 * order of their positional parameters.  BARE: nothing is appended, and the parameters for the name stay empty. */
static int make_shell(struct js_template **made, char *const words[], size_t n, const struct js_template_syntax *syntax,
		      int bare, struct jobstack_error *error)
{
	struct js_script script = {.places = {{JS_PLACE_NONE, 0}}};
	struct js_buf source = {0};
	int rc;

	*made = NULL;
	if (n == 0)
		return js_error_set(error, JOBSTACK_EUSAGE, "there is no command");
	JS_TRY(begin_template(made, syntax, error));
	for (size_t i = 0; i < n; i++) {
		js_buf_str(&source, i > 0 ? " " : "");
		js_buf_str(&source, words[i]);
	}
	rc = source.failed ? js_error_memory(error) : js_script_make(source.data, syntax, bare, &script, error);
	JS_THEN(rc, add_shell(*made, source.data, bare, error));
	if (rc == 0) {
		add_literal(*made, script.text.data, script.text.len);
		end_word(*made);
		add_literal(*made, "jobstack", strlen("jobstack"));
		end_word(*made);
	}
	/* these words become the parameters ${1}, ${2}... of the script */
	for (size_t i = 0; rc == 0 && script.places[i].place != JS_PLACE_NONE; i++) {
		if (!bare || script.places[i].place == JS_PLACE_SLOT)
			add_placeholder(*made, &script.places[i]);
		end_word(*made);
	}
	js_buf_free(&source);
	js_buf_free(&script.text);
	return finish_template(made, rc, error);
}

int js_template_shell(struct js_template **made, char *const words[], size_t n, const struct js_template_syntax *syntax,
		      struct jobstack_error *error)
{
	return make_shell(made, words, n, syntax, 0, error);
}

/* Refuses placeholders that differ from entry to entry. */
static int refuse_varying(char *const words[], size_t n, const struct js_template_syntax *syntax,
			  struct jobstack_error *error)
{
	struct js_spot spot;
	size_t len;

	for (size_t i = 0; i < n; i++)
		for (const char *p = words[i]; *p != '\0'; p += len > 0 ? len : 1) {
			len = js_place_match(words[i], p, syntax, &spot);
			if (len > 0 && spot.place != JS_PLACE_SLOT)
				return js_error_set(error, JOBSTACK_EUSAGE,
						    "%.*s can't be used in a persistent command, only {%%} can: such a "
						    "command starts once per slot, and reads entries from its standard "
						    "input (if the text is meant literally, rename {} with -I)",
						    (int)len, p);
		}
	return 0;
}

int js_template_persistent(struct js_template **made, char *const words[], size_t n, int shell,
			   const struct js_template_syntax *syntax, struct jobstack_error *error)
{
	*made = NULL;
	JS_TRY(refuse_varying(words, n, syntax, error));
	return shell ? make_shell(made, words, n, syntax, 1, error) : make_command(made, words, n, syntax, 1, error);
}

int js_template_string(struct js_template **made, const char *text, const struct js_template_syntax *syntax,
		       struct jobstack_error *error)
{
	*made = NULL;
	if (text[0] == '\0')
		return js_error_set(error, JOBSTACK_EUSAGE, "the name of a file is empty");
	JS_TRY(begin_template(made, syntax, error));
	return finish_template(made, parse_template(*made, text, error), error);
}

void js_template_free(struct js_template *made)
{
	if (made == NULL)
		return;
	js_buf_free(&made->literals);
	js_template_words_free(&made->own);
	free(made->colsep);
	free(made->pieces);
	free(made);
}

/* A name is copied byte for byte: nothing here knows of quotes or encodings. */
int js_template_text(const struct js_template *made, const struct js_template_values *values, struct js_buf *out)
{
	for (size_t i = 0; i < made->pieces_n; i++) {
		const struct piece *piece = &made->pieces[i];

		if (piece->spot.place == JS_PLACE_NONE)
			js_buf_add(out, made->literals.data + piece->at, piece->len);
		else
			js_place_add(out, &piece->spot, values, made->colsep);
	}
	return out->failed ? JOBSTACK_EBUG : 0;
}

/* The words lie one behind the other in one buffer, each ended by the NUL that is a piece of the template. */
char *const *js_template_argv_in(const struct js_template *made, const struct js_template_values *values,
				 struct js_template_words *words)
{
	char *word;

	js_buf_reset(&words->text);
	if (js_template_text(made, values, &words->text) != 0)
		return NULL;
	if (js_array_grow(&words->argv, &words->room, made->words + 1, sizeof(*words->argv)) != 0)
		return NULL;
	/* names have no NUL, so that the NULs in the text are the word ends */
	word = words->text.data;
	for (size_t i = 0; i < made->words; i++) {
		words->argv[i] = word;
		word += strlen(word) + 1;
	}
	words->argv[made->words] = NULL;
	return words->argv;
}

char *const *js_template_argv(struct js_template *made, const struct js_template_values *values)
{
	return js_template_argv_in(made, values, &made->own);
}

void js_template_words_free(struct js_template_words *words)
{
	js_buf_free(&words->text);
	free(words->argv);
	*words = (struct js_template_words){.argv = NULL};
}

const char *js_template_program(const struct js_template *made)
{
	return made->program_varies ? NULL : made->literals.data;
}

enum js_pipeline js_template_pipeline(const struct js_template *made)
{
	return made->pipeline;
}

int js_template_varies(const struct js_template *made)
{
	return made->varies;
}

int js_template_has_name(const struct js_template *made)
{
	return (made->whole & ((1u << JS_PLACE_NUMBER) - 1)) != 0 || made->last_field > 0;
}

/* The directory and the base name together are the whole name, but for slashes that mean nothing. */
int js_template_separates(const struct js_template *made)
{
	const unsigned one = 1u << JS_PLACE_DATAPATH | 1u << JS_PLACE_NUMBER;
	const unsigned both = 1u << JS_PLACE_DIR | 1u << JS_PLACE_BASE;

	return (made->whole & one) != 0 || (made->whole & both) == both;
}

unsigned js_template_last_field(const struct js_template *made)
{
	return made->last_field;
}

int js_template_fits(const struct js_template *made, const struct js_template_values *values)
{
	return made->last_field <= 1 ||
	       js_template_fields(values->datapath, values->datapath_len, made->colsep) >= made->last_field;
}

static int parse_hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* A NUL can't separate fields, since names have none. */
int js_template_colsep(const char *text, struct js_buf *colsep, struct jobstack_error *error)
{
	static const char letters[] = "tnr\\", meant[] = "\t\n\r\\";

	for (const char *p = text; *p != '\0'; p++) {
		const char *letter = p[0] == '\\' && p[1] != '\0' ? strchr(letters, p[1]) : NULL;
		int high = p[0] == '\\' && p[1] == 'x' ? parse_hex_digit(p[2]) : -1,
		    low = high < 0 ? -1 : parse_hex_digit(p[3]);

		if (p[0] != '\\')
			js_buf_char(colsep, *p);
		else if (letter != NULL)
			js_buf_char(colsep, meant[letter - letters]);
		else if (low >= 0 && high + low > 0)
			js_buf_char(colsep, (char)(high << 4 | low));
		else
			return js_error_set(error, JOBSTACK_EUSAGE,
					    "--colsep takes a string, which may contain \\t, \\n, \\r, \\\\ and \\xHH "
					    "(not \\x00), not \"%s\"",
					    text);
		p += letter != NULL ? 1 : low >= 0 ? 3 : 0;
	}
	if (colsep->failed)
		return js_error_memory(error);
	return colsep->len > 0
		       ? 0
		       : js_error_set(error, JOBSTACK_EUSAGE,
				      "--colsep takes a string of at least one byte, which separates the fields");
}
