/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Lists of words, and other programs run with them (proc/child.h).
 */
#include "frame/command.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "proc/child.h"
#include "show/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

volatile int cli_stop;

/* How long to try again if the machine has no process to give.  A chain of jobs must not end for that. */
#define PATIENCE_US (5 * JS_SECOND_US)

/* A failure is only noted in FAILED, so a line can be put together without a check after each word. */
void cli_words_add(struct cli_words *words, const char *word)
{
	if (js_array_grow(&words->at, &words->capacity, words->n + 2, sizeof(*words->at)) != 0) {
		words->failed = 1;
		return;
	}
	words->at[words->n] = strdup(word);
	if (words->at[words->n] == NULL)
		words->failed = 1;
	else
		words->at[++words->n] = NULL;
}

void cli_words_format(struct cli_words *words, const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		words->failed = 1;
	else {
		cli_words_add(words, text);
		free(text);
	}
	va_end(args);
}

void cli_words_all(struct cli_words *words, const struct cli_words *more)
{
	for (size_t i = 0; i < more->n; i++)
		cli_words_add(words, more->at[i]);
	words->failed |= more->failed;
}

void cli_words_free(struct cli_words *words)
{
	for (size_t i = 0; i < words->n; i++)
		free(words->at[i]);
	free(words->at);
	*words = (struct cli_words){NULL, 0, 0, 0};
}

/* A backslash is kept as it is in '...'; elsewhere it makes the next byte literal. */
int cli_words_split(struct cli_words *words, const char *text)
{
	static const char blank[] = " \t\n\r";
	struct js_buf word = {0};
	char quote = '\0';

	for (text += strspn(text, blank); *text != '\0'; text += strspn(text, blank)) {
		js_buf_reset(&word);
		js_buf_str(&word, "");
		for (; *text != '\0' && (quote != '\0' || strchr(blank, *text) == NULL); text++) {
			if (quote == '\0' && (*text == '\'' || *text == '"'))
				quote = *text;
			else if (*text == quote && quote != '\0')
				quote = '\0';
			else if (*text == '\\' && quote != '\'' && text[1] != '\0')
				js_buf_char(&word, *++text);
			else
				js_buf_char(&word, *text);
		}
		words->failed |= word.failed;
		cli_words_add(words, word.data != NULL ? word.data : "");
	}
	js_buf_free(&word);
	return quote == '\0' ? 0 : -1;
}

void cli_words_quote(struct js_buf *out, const struct cli_words *words)
{
	for (size_t i = 0; i < words->n; i++) {
		if (i > 0)
			js_buf_char(out, ' ');
		show_quote_line(out, words->at[i], strlen(words->at[i]));
	}
}

int cli_command(const struct cli_command *command, struct jobstack_error *error)
{
	const struct js_child child = {.argv = (const char *const *)(uintptr_t)command->words->at,
				       .env = command->env,
				       .input = command->input,
				       .patience_us = PATIENCE_US,
				       .stop = &cli_stop};
	int status = 0;

	if (command->words->failed || command->words->n == 0)
		return js_error_memory(error);
	JS_TRY(js_child_run(&child, command->out, command->err, command->limit_us, &status, error));
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

const char *cli_first_line(struct js_buf *said, const char *none)
{
	if (said->len == 0)
		return none;
	said->data[strcspn(said->data, "\n")] = '\0';
	return said->data;
}
