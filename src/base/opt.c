/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Option tables over getopt_long.  Promise: nothing is printed here; a wrong option is an error in words.
 *
 * getopt_long keeps its place in optind and in variables of its own, so its tables can be made anew for each option.
 * What is added to it: options of another program (JS_OPT_OTHER), -h as a synonym, a bare number as the value of an
 * option whose value may be missing, and words for what it only refuses.
 */
#include "base/opt.h"

#include "base/error.h"
#include "base/near.h"
#include "base/num.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#define OPTIONS_MAX 96 /* in a table */
#define HELP_COLUMN 28 /* where the help of an option begins */
#define HELP_WIDTH 120
#define FEW 18 /* as many options are shown without a selection */

/* Options of other programs, and the options here that do the same. */
static const char *const foreign[][2] = {{"workers", "slots"},	      {"threads", "slots"}, {"cpus-per-task", "slots"},
					 {"retries", "max-attempts"}, {"format", "json"},   {"name", "stack"},
					 {"queue", "stack"},	      {"states", "state"},  {"print0", "null"}};

static int has_letter(const struct js_opt *o)
{
	return o->key > 0 && o->key < 256;
}

static const struct js_opt *find_table_option(const struct js_opts *opts, const char *name)
{
	for (const struct js_opt *o = opts->table; o->name != NULL; o++)
		if (strcmp(o->name, name) == 0)
			return o;
	return NULL;
}

/* The option that was probably meant by an unknown one, or NULL. */
static const char *suggest_option(const struct js_opts *opts, const char *name)
{
	struct js_near near = JS_NEAR_INIT(name);

	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		if (strcmp(foreign[i][0], name) == 0 && find_table_option(opts, foreign[i][1]) != NULL)
			return foreign[i][1];
	for (const struct js_opt *o = opts->table; o->name != NULL && name[1] != '\0'; o++)
		if (o->help != NULL)
			js_near_try(&near, o->name);
	return near.best;
}

/* An option that is not in the table, or the beginning of several that are. */
static void refuse_unknown(const struct js_opts *opts, const char *word, int letter, struct jobstack_error *error)
{
	char name[40], typed[44];
	const char *best;
	int several = 0;

	if (letter != 0)
		(void)snprintf(name, sizeof(name), "%c", letter);
	else
		(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	(void)snprintf(typed, sizeof(typed), letter != 0 ? "-%s" : "--%s", name);
	for (const struct js_opt *o = opts->table; letter == 0 && o->name != NULL; o++)
		several += strncmp(o->name, name, strlen(name)) == 0;
	best = several == 0 ? suggest_option(opts, name) : NULL;
	if (several > 0)
		js_error_why(error, JOBSTACK_EUSAGE, JOBSTACK_WHY_OPTION, "the option %s is ambiguous", typed);
	else
		js_error_why(error, JOBSTACK_EUSAGE, JOBSTACK_WHY_OPTION, "there is no option %s%s%s%s", typed,
			     best == NULL ? "" : " (did you mean --", best == NULL ? "" : best,
			     best == NULL ? "" : "?)");
}

static void add_words(struct js_buf *line, char *const *words, char *const *end)
{
	for (; words != end && *words != NULL; words++) {
		js_buf_char(line, ' ');
		js_buf_shell_word(line, *words, strlen(*words));
	}
}

/* Returns whether the word NAME, of LEN bytes, stands in NAMES. */
static int is_among(const char *names, const char *name, size_t len)
{
	for (; *names != '\0'; names += strcspn(names, " "), names += strspn(names, " "))
		if (strcspn(names, " ") == len && strncmp(names, name, len) == 0)
			return 1;
	return 0;
}

/* Answers the option of another program that is the word AT: why, and the whole line to type.  Returns whether there is
 * an answer. */
static int answer_option(const struct js_opts *opts, char *const argv[], int at, struct jobstack_error *error)
{
	const char *name = argv[at] + 1 + (argv[at][1] == '-'), *with, *value;
	const size_t len = argv[at][1] == '-' ? strcspn(name, "=") : 1;
	const struct js_opt *answers = find_table_option(opts, JS_OPT_ANSWERS);
	const struct js_opt_answer *a = answers != NULL ? answers->take : NULL;
	struct js_buf line = {0}, put = {0};

	while (a != NULL && a->names != NULL && !is_among(a->names, name, len))
		a++;
	if (a == NULL || a->names == NULL)
		return 0;
	value = name[len] != '\0' ? name + len + (name[len] == '=') : a->takes ? argv[at + 1] : NULL;
	for (with = a->with != NULL ? a->with : ""; *with != '\0'; with++)
		if (*with == '%' && value != NULL)
			js_buf_shell_word(&put, value, strlen(value));
		else
			js_buf_char(&put, *with);
	js_buf_str(&line, put.len > 0 && put.data[0] == '^' ? put.data + 1 : "");
	js_buf_str(&line, opts->command);
	add_words(&line, argv + 1, argv + at);
	if (put.len > 0 && put.data[0] != '^')
		js_buf_printf(&line, " %s", put.data);
	add_words(&line, argv + at + 1 + (value != NULL && value == argv[at + 1]), NULL);
	(void)js_error_set(error, JOBSTACK_EUSAGE, "there is no option %.*s here: %s%s%s",
			   (int)(name - argv[at] + (int)len), argv[at], a->why, a->with != NULL ? "; type: " : "",
			   a->with != NULL ? line.data : "");
	js_buf_free(&line);
	js_buf_free(&put);
	return 1;
}

/* The table as getopt_long wants it. */
struct tables {
	struct option longs[OPTIONS_MAX + 1];
	char shorts[3 * OPTIONS_MAX + 4];
	int help; /* the key that -h stands for; 0: -h is an option of its own, or there is no help */
};

static void add_letter(char *shorts, size_t *n, int key, int takes)
{
	shorts[(*n)++] = (char)key;
	for (int i = 0; i < (takes == no_argument ? 0 : takes == required_argument ? 1 : 2); i++)
		shorts[(*n)++] = ':';
}

/* -h is added as a synonym of --help where the table does not use it otherwise. */
static void make_tables(const struct js_opts *opts, struct tables *t)
{
	const struct js_opt *help = find_table_option(opts, "help");
	size_t n = 0, s = 0;

	if (opts->first_word_ends)
		t->shorts[s++] = '+';
	t->shorts[s++] = ':'; /* a missing argument is reported as : */
	for (const struct js_opt *o = opts->table; o->name != NULL && n < OPTIONS_MAX; o++, n++) {
		int takes = o->arg == NULL ? no_argument : o->arg[0] == '[' ? optional_argument : required_argument;

		t->longs[n] = (struct option){o->name, takes, NULL, o->key != 0 ? o->key : JS_OPT_ROW + (int)n};
		if (has_letter(o))
			add_letter(t->shorts, &s, o->key, takes);
	}
	t->longs[n] = (struct option){NULL, 0, NULL, 0};
	t->help = help == NULL || memchr(t->shorts, 'h', s) != NULL ? 0 : help->key;
	if (t->help != 0)
		t->shorts[s++] = 'h';
	t->shorts[s] = '\0';
}

/* Describes what getopt_long refused at WORD.  KEY is ':' if a value is missing, else a question mark. */
static void refuse_option(const struct js_opts *opts, const char *word, int key, struct jobstack_error *error)
{
	if (key == ':')
		(void)js_error_why(error, JOBSTACK_EUSAGE, JOBSTACK_WHY_OPTION, "the option %.100s needs a value",
				   word);
	else if (optopt > 0 && optopt < 256 && strncmp(word, "--", 2) != 0)
		refuse_unknown(opts, word, optopt, error);
	else if (optopt != 0)
		(void)js_error_why(error, JOBSTACK_EUSAGE, JOBSTACK_WHY_OPTION, "the option %.100s takes no value",
				   word);
	else
		refuse_unknown(opts, word, 0, error);
}

/* Returns whether WORD, which getopt takes for the next word, is the value of an option that may have none. */
static int is_bare_number(const char *word)
{
	return word != NULL && *word != '\0' && word[strspn(word, "0123456789.")] == '\0';
}

/* Returns whether WORD is an option of another program: none of the table's, in a table that allows that
 * (JS_OPT_OTHER). */
static int is_others_option(const struct js_opts *opts, const char *word)
{
	const char *name = word + 1 + (word[1] == '-');
	const struct js_opt *o = opts->table;
	size_t len = strcspn(name, "=");

	if (word[0] != '-' || *name == '\0' || strcmp(word, "-h") == 0)
		return 0;
	for (; o->name != NULL && o->key != JS_OPT_OTHER; o++)
		if (word[1] != '-' ? o->key == word[1] : strlen(o->name) == len && strncmp(o->name, name, len) == 0)
			return 0;
	return o->name != NULL;
}

int js_opt_next(const struct js_opts *opts, int argc, char *const argv[], const char **arg,
		struct jobstack_error *error)
{
	struct tables tables;
	int key, word;

	make_tables(opts, &tables);
	opterr = 0;
	if (optind == 0) /* getopt prepares itself, also for a first word that it does not see */
		(void)getopt_long(1, argv, tables.shorts, tables.longs, NULL);
	word = optind;
	if (optind < argc && is_others_option(opts, argv[optind])) {
		*arg = argv[optind++];
		return JS_OPT_OTHER;
	}
	key = getopt_long(argc, argv, tables.shorts, tables.longs, NULL);
	*arg = key == -1 || key == '?' || key == ':' || optarg != NULL ? optarg : "";
	if (key == 'h' && tables.help != 0)
		return tables.help;
	if (key != '?' && key != ':') {
		if (key != -1 && optarg == NULL && js_opt_row(opts, key)->arg != NULL && is_bare_number(argv[optind]))
			*arg = argv[optind++];
		return key;
	}
	word = optind > word ? optind - 1 : word;
	if (!answer_option(opts, argv, word, error))
		refuse_option(opts, argv[word], key, error);
	return '?';
}

int js_opt_once(const char *option, const char *before, const char *arg, struct jobstack_error *error)
{
	if (before == NULL || strcmp(before, arg) == 0)
		return 0;
	return js_error_set(error, JOBSTACK_EUSAGE, "%s is given twice, with \"%.200s\" and \"%.200s\": give it once",
			    option, before, arg);
}

const struct js_opt *js_opt_row(const struct js_opts *opts, int key)
{
	const struct js_opt *o = opts->table;

	if (key >= JS_OPT_ROW)
		return o + (key - JS_OPT_ROW);
	while (o->key != key)
		o++;
	return o;
}

int js_opt_refuse(const struct js_opt *o, const char *wants, const char *arg, struct jobstack_error *error)
{
	const char letter[2] = {(char)(has_letter(o) ? o->key : '\0'), '\0'};

	return js_error_why(error, JOBSTACK_EUSAGE, JOBSTACK_WHY_OPTION, "%s%s takes %s, not \"%.100s%s\"",
			    has_letter(o) ? "-" : "--", has_letter(o) ? letter : o->name, wants, arg,
			    strlen(arg) > 100 ? "..." : "");
}

static int refuse_empty(const struct js_opt *o, const struct js_take *t, struct jobstack_error *error)
{
	if (t->wants != NULL)
		return js_error_why(error, JOBSTACK_EUSAGE, JOBSTACK_WHY_OPTION, "--%s takes %s, not \"\"", o->name,
				    t->wants);
	return js_error_why(error, JOBSTACK_EUSAGE, JOBSTACK_WHY_OPTION, "--%s needs a %s, but got an empty string",
			    o->name, o->arg);
}

/* The place of ARG in "one, two or three"; -1: it is not there. */
static int find_choice(const char *words, const char *arg)
{
	for (int i = 0; *words != '\0'; i++) {
		size_t len = strcspn(words, " ,");

		if (strlen(arg) == len && strncmp(words, arg, len) == 0)
			return i;
		words += len;
		words += strspn(words, " ,");
		words += strncmp(words, "or ", 3) == 0 ? 3 : 0;
	}
	return -1;
}

/* A value that is refused may be stored, too: the error ends the command anyway. */
int js_opt_take(const struct js_opt *o, const struct js_take *t, const char *arg, struct jobstack_error *error)
{
	const char **word = t->to, *before = t->is == JS_ONCE ? *word : NULL;
	uint64_t bytes = 0;
	int64_t us = 0;
	char text[80];
	int bad = 0;

	switch (t->is) {
	case JS_FLAG: *(int *)t->to = 1; break;
	case JS_WORD: *word = arg; break;
	case JS_NAME: *word = arg; return *arg != '\0' ? 0 : refuse_empty(o, t, error);
	case JS_ONCE:
		*word = arg;
		(void)snprintf(text, sizeof(text), "--%s", o->name);
		return js_opt_once(text, before, arg, error);
	case JS_NUMBER: bad = js_num_u64(arg, t->low, t->high, t->to) != 0; break;
	case JS_CHOICE:
		*(int *)t->to = find_choice(t->wants, arg);
		bad = *(int *)t->to < 0;
		break;
	case JS_TIME:
		bad = js_num_duration(arg, &us) != 0 || us < (int64_t)t->low;
		*(int64_t *)t->to = us;
		break;
	case JS_SIZE:
		bad = (t->high != 0 || strcmp(arg, "none") != 0) &&
		      (js_num_size(arg, &bytes) != 0 || bytes < t->low || bytes > INT64_MAX);
		*(int64_t *)t->to = (int64_t)bytes;
	}
	if (!bad)
		return 0;
	(void)snprintf(text, sizeof(text), "a whole number from %llu to %llu", (unsigned long long)t->low,
		       (unsigned long long)t->high);
	return js_opt_refuse(o, t->wants != NULL ? t->wants : text, arg, error);
}

/* Returns the help of an option, NULL if it has none, or has only few users and not ALL are shown. */
static const char *shown_help(const struct js_opt *o, int all)
{
	return o->help == NULL || *o->help != '~' ? o->help : all ? o->help + 1 : NULL;
}

/* Appends TEXT, which begins at column INDENT, and breaks its lines at blanks.  A line that begins with a blank is kept
 * as it is. */
static void add_text(struct js_buf *buf, const char *text, size_t indent, size_t width)
{
	size_t column = indent;
	int as_is = *text == ' ';

	for (; *text != '\0'; text++) {
		const int ends = *text == '\n' && (as_is || column == indent || text[1] == ' ' || text[1] == '\n');

		if (ends || (!as_is && strchr(" \n", *text) != NULL && column + 1 + strcspn(text + 1, " \n") > width)) {
			js_buf_printf(buf, "\n%*s", (int)indent, "");
			column = indent;
			as_is = ends && text[1] == ' ';
		} else {
			js_buf_char(buf, *text == '\n' ? ' ' : *text);
			column++;
		}
	}
}

/* Appends the option with its HELP. */
static void add_option(struct js_buf *text, const struct js_opt *o, const char *help, size_t width)
{
	size_t start = text->len, used;

	if (has_letter(o))
		js_buf_printf(text, "  -%c, --%s", o->key, o->name);
	else
		js_buf_printf(text, "      --%s", o->name);
	if (o->arg != NULL && o->arg[0] == '[')
		js_buf_printf(text, "[=%s", o->arg + 1);
	else if (o->arg != NULL)
		js_buf_printf(text, " %s", o->arg);
	used = text->len - start;
	if (used + 2 > HELP_COLUMN)
		js_buf_printf(text, "\n%*s", HELP_COLUMN, "");
	else
		js_buf_printf(text, "%*s", (int)(HELP_COLUMN - used), "");
	add_text(text, help, HELP_COLUMN, width);
	js_buf_char(text, '\n');
}

void js_opt_help(const struct js_opts *opts, unsigned columns, int all, struct js_buf *text)
{
	const size_t width = columns > 2 * HELP_COLUMN && columns < HELP_WIDTH ? columns : HELP_WIDTH;
	size_t n = 0;

	for (const struct js_opt *o = opts->table; o->name != NULL; o++)
		n += o->help != NULL;
	all |= n <= FEW;
	js_buf_printf(text, "usage: %s ", opts->command);
	add_text(text, opts->usage, strlen("usage: "), width);
	js_buf_str(text, "\n\n");
	add_text(text, opts->about, 0, width);
	js_buf_str(text, "\n\n");
	for (const struct js_opt *o = opts->table; o->name != NULL; o++)
		if (shown_help(o, all) != NULL)
			add_option(text, o, shown_help(o, all), width);
	if (!all)
		js_buf_printf(text, "`%s --help-all` shows all %zu options.\n", opts->command, n);
	if (opts->notes != NULL) {
		js_buf_char(text, '\n');
		add_text(text, opts->notes, 0, width);
		js_buf_char(text, '\n');
	}
}

/* Adds a field behind a tab, with the characters replaced that would end it. */
static void add_spec_field(struct js_buf *buf, const char *text)
{
	js_buf_char(buf, '\t');
	for (; text != NULL && *text != '\0'; text++) {
		if (*text == '\n' || *text == '\t' || *text == '\\')
			js_buf_printf(buf, "\\%c", *text == '\n' ? 'n' : *text == '\t' ? 't' : '\\');
		else
			js_buf_char(buf, *text);
	}
}

static void add_spec_record(struct js_buf *buf, const char *kind, const char *text)
{
	js_buf_str(buf, kind);
	add_spec_field(buf, text);
	js_buf_char(buf, '\n');
}

void js_opt_spec(const struct js_opts *opts, struct js_buf *text)
{
	add_spec_record(text, "title", opts->command);
	add_spec_record(text, "usage", opts->usage);
	add_spec_record(text, "about", opts->about);
	for (const struct js_opt *o = opts->table; o->name != NULL; o++) {
		const char letter[2] = {(char)(has_letter(o) ? o->key : '\0'), '\0'};

		if (o->help == NULL)
			continue;
		js_buf_str(text, "option");
		add_spec_field(text, letter);
		add_spec_field(text, o->name);
		add_spec_field(text, o->arg);
		add_spec_field(text, shown_help(o, 1));
		js_buf_char(text, '\n');
	}
	if (opts->notes != NULL)
		add_spec_record(text, "notes", opts->notes);
}
