/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Command templates.  Promise: an expansion holds the bytes of a name exactly as they are, and the words of the command
 * are never split or joined by them.
 */
#include "run/template.h"

#include "base/error.h"
#include "run/place.h"
#include "run/script.h"

#include <stdlib.h>
#include <string.h>

/* A template is a list of pieces: text, placeholders, and word ends (text that is one NUL). */
struct piece {
	enum js_place place; /* JS_PLACE_NONE: text */
	size_t at, len;	     /* where in the literals */
};

struct js_template {
	struct js_buf literals;
	struct piece *pieces;
	size_t pieces_n, pieces_room;
	size_t words;
	int program_varies, varies, named; /* a placeholder in word 0; any but {%}; one for the name */
	const char *repl;		   /* only while it is made */
	struct js_buf out;
	char **argv;
};

static void add_piece(struct js_template *t, enum js_place place, const void *text, size_t len)
{
	struct piece *last = t->pieces_n > 0 ? &t->pieces[t->pieces_n - 1] : NULL, *grown;
	size_t at = t->literals.len, room;

	js_buf_add(&t->literals, text, len);
	if (place == JS_PLACE_NONE && last != NULL && last->place == JS_PLACE_NONE) {
		last->len += len; /* literals stand in the order of the pieces */
		return;
	}
	if (t->pieces_n == t->pieces_room) {
		room = t->pieces_room > 0 ? 2 * t->pieces_room : 16;
		grown = realloc(t->pieces, room * sizeof(*grown));
		if (grown == NULL) {
			t->literals.failed = 1;
			return;
		}
		t->pieces = grown;
		t->pieces_room = room;
	}
	t->pieces[t->pieces_n++] = (struct piece){place, at, len};
}

static void add_place(struct js_template *t, enum js_place place)
{
	add_piece(t, place, NULL, 0);
	t->named |= js_place_is_name(place);
	t->varies |= place != JS_PLACE_SLOT;
	t->program_varies |= t->words == 0;
}

static void parse(struct js_template *t, const char *text)
{
	const char *from = text, *p = text;
	enum js_place place;
	size_t len;

	while (*p != '\0') {
		len = js_place_match(p, t->repl, &place);
		if (len == 0) {
			p++;
			continue;
		}
		add_piece(t, JS_PLACE_NONE, from, (size_t)(p - from));
		add_place(t, place);
		p += len;
		from = p;
	}
	add_piece(t, JS_PLACE_NONE, from, (size_t)(p - from));
}

static void end_word(struct js_template *t)
{
	add_piece(t, JS_PLACE_NONE, "", 1);
	t->words++;
}

static int begin(struct js_template **made, const char *repl, struct jobstack_error *error)
{
	*made = NULL;
	if (repl != NULL && repl[0] == '\0')
		return js_error_set(error, JOBSTACK_EUSAGE, "the word that stands for the datapath (-I) is empty");
	*made = calloc(1, sizeof(**made));
	if (*made == NULL)
		return js_error_memory(error);
	(*made)->repl = repl;
	return 0;
}

/* The end of making: gives out what was made whole, or frees it and gives RC. */
static int finish(struct js_template **made, int rc, struct jobstack_error *error)
{
	struct js_template *t = *made;

	if (rc == 0 && !t->literals.failed)
		t->argv = calloc(t->words + 1, sizeof(*t->argv));
	if (rc == 0 && (t->literals.failed || t->argv == NULL))
		rc = js_error_memory(error);
	if (rc != 0) {
		js_template_free(t);
		*made = NULL;
		return rc;
	}
	t->repl = NULL;
	return 0;
}

/* A command; BARE: nothing is appended. */
static int make_command(struct js_template **made, char *const words[], size_t n, const char *repl, int bare,
			struct jobstack_error *error)
{
	int rc;

	*made = NULL;
	if (n == 0 || words[0][0] == '\0')
		return js_error_set(error, JOBSTACK_EUSAGE, "%s",
				    n == 0 ? "there is no command" : "the command's name is empty");
	rc = begin(made, repl, error);
	if (rc != 0)
		return rc;
	for (size_t i = 0; i < n; i++) {
		parse(*made, words[i]);
		end_word(*made);
	}
	if (!bare && !(*made)->named) {
		add_place(*made, JS_PLACE_DATAPATH);
		end_word(*made);
	}
	return finish(made, 0, error);
}

int js_template_command(struct js_template **made, char *const words[], size_t n, const char *repl,
			struct jobstack_error *error)
{
	return make_command(made, words, n, repl, 0, error);
}

/* As a shell script; BARE: nothing is appended, and the parameters for the name stay empty. */
static int make_shell(struct js_template **made, char *const words[], size_t n, const char *repl, int bare,
		      struct jobstack_error *error)
{
	static const char *const before[] = {"/bin/sh", "-c", NULL, "jobstack"};
	struct js_buf source = {0}, script = {0};
	int rc;

	*made = NULL;
	if (n == 0)
		return js_error_set(error, JOBSTACK_EUSAGE, "there is no command");
	rc = begin(made, repl, error);
	if (rc != 0)
		return rc;
	for (size_t i = 0; i < n; i++) {
		js_buf_str(&source, i > 0 ? " " : "");
		js_buf_str(&source, words[i]);
	}
	rc = source.failed ? js_error_memory(error) : js_script_make(source.data, repl, bare, &script, error);
	for (size_t i = 0; rc == 0 && i < sizeof(before) / sizeof(before[0]); i++) {
		const char *word = before[i] != NULL ? before[i] : script.data;

		add_piece(*made, JS_PLACE_NONE, word, strlen(word));
		end_word(*made);
	}
	for (int i = JS_PLACE_DATAPATH; rc == 0 && i < JS_PLACE_COUNT; i++) {
		if (!bare || i == JS_PLACE_SLOT)
			add_place(*made, (enum js_place)i);
		end_word(*made);
	}
	js_buf_free(&source);
	js_buf_free(&script);
	return finish(made, rc, error);
}

int js_template_shell(struct js_template **made, char *const words[], size_t n, const char *repl,
		      struct jobstack_error *error)
{
	return make_shell(made, words, n, repl, 0, error);
}

/* Refuses placeholders that differ from entry to entry. */
static int refuse_varying(char *const words[], size_t n, const char *repl, struct jobstack_error *error)
{
	enum js_place place;
	size_t len;

	for (size_t i = 0; i < n; i++)
		for (const char *p = words[i]; *p != '\0'; p += len > 0 ? len : 1) {
			len = js_place_match(p, repl, &place);
			if (len > 0 && place != JS_PLACE_SLOT)
				return js_error_set(error, JOBSTACK_EUSAGE,
						    "%.*s can't stand in a persistent command, which is started once a slot and reads its "
						    "entries from its standard input: only {%%} can (-I gives {} another name)",
						    (int)len, p);
		}
	return 0;
}

int js_template_persistent(struct js_template **made, char *const words[], size_t n, int shell, const char *repl,
			   struct jobstack_error *error)
{
	int rc;

	*made = NULL;
	if (repl != NULL && repl[0] == '\0')
		return js_template_command(made, words, n, repl, error); /* which says so */
	rc = refuse_varying(words, n, repl, error);
	if (rc != 0)
		return rc;
	return shell ? make_shell(made, words, n, repl, 1, error) : make_command(made, words, n, repl, 1, error);
}

int js_template_string(struct js_template **made, const char *text, const char *repl, struct jobstack_error *error)
{
	int rc;

	*made = NULL;
	if (text[0] == '\0')
		return js_error_set(error, JOBSTACK_EUSAGE, "the name of a file is empty");
	rc = begin(made, repl, error);
	if (rc != 0)
		return rc;
	parse(*made, text);
	return finish(made, 0, error);
}

void js_template_free(struct js_template *made)
{
	if (made == NULL)
		return;
	js_buf_free(&made->literals);
	js_buf_free(&made->out);
	free(made->pieces);
	free(made->argv);
	free(made);
}

int js_template_text(const struct js_template *made, const struct js_template_values *values, struct js_buf *out)
{
	for (size_t i = 0; i < made->pieces_n; i++) {
		const struct piece *piece = &made->pieces[i];

		if (piece->place == JS_PLACE_NONE)
			js_buf_add(out, made->literals.data + piece->at, piece->len);
		else
			js_place_add(out, piece->place, values);
	}
	return out->failed ? JOBSTACK_EBUG : 0;
}

char *const *js_template_argv(struct js_template *made, const struct js_template_values *values)
{
	char *word;

	js_buf_reset(&made->out);
	if (js_template_text(made, values, &made->out) != 0)
		return NULL;
	/* names have no NUL, so that the NULs in the text are the word ends */
	word = made->out.data;
	for (size_t i = 0; i < made->words; i++) {
		made->argv[i] = word;
		word += strlen(word) + 1;
	}
	return made->argv;
}

const char *js_template_program(const struct js_template *made)
{
	return made->program_varies ? NULL : made->literals.data;
}

int js_template_varies(const struct js_template *made)
{
	return made->varies;
}
