/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Other programs, run to their end.  Promises: no shell is between; whatever the program does, the time limit ends it
 * with what it has started; what it prints is kept or passed on, never lost.
 */
#define _GNU_SOURCE
#include "cli/command.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/num.h"
#include "cli/cli.h"
#include "cli/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_MS 20
#define KILL_US (2 * JS_SECOND_US)
#define START_US (5 * JS_SECOND_US) /* so long a process is asked for */
#define START_NAP_US (JS_SECOND_US / 4)
#define KEPT_MAX (UINT64_C(4) << 20) /* what a program prints beyond is passed over */

/* --------------------------------------------------------------------------------------------------------- words */

void cli_words_add(struct cli_words *words, const char *word)
{
	char **more;

	if (words->n + 1 >= words->room) {
		more = realloc(words->at, (words->room + 32) * sizeof(*more));
		if (more == NULL) {
			words->failed = 1;
			return;
		}
		words->at = more;
		words->room += 32;
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
		cli_quote_line(out, words->at[i], strlen(words->at[i]));
	}
}

/* ------------------------------------------------------------------------------------------------------- running */

int cli_command_there(const char *name)
{
	const char *path = getenv("PATH"), *end;
	struct js_buf file = {0};
	int found = 0;

	for (; path != NULL && *path != '\0' && !found; path = *end == '\0' ? end : end + 1) {
		end = path + strcspn(path, ":");
		js_buf_reset(&file);
		js_buf_printf(&file, "%.*s/%s", (int)(end - path), path, name);
		found = !file.failed && access(file.data, X_OK) == 0;
	}
	js_buf_free(&file);
	return found;
}

/* One run: the pipes of its output, and the file of its input. */
struct running {
	const struct cli_command *c;
	pid_t pid;
	int input, out[2], err[2]; /* -1: none */
};

static void close_one(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

/* A memory file with the input: nobody has to feed it. */
static int open_input(const struct js_buf *input)
{
	int fd;

	if (input == NULL)
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	fd = memfd_create("jobstack", MFD_CLOEXEC);
	if (fd >= 0 && (js_file_write_all(fd, input->data, input->len) != 0 || lseek(fd, 0, SEEK_SET) != 0))
		close_one(&fd);
	return fd;
}

/* Starts it in a process group of its own, with the signals as they usually are. */
static int start(struct running *r)
{
	extern char **environ;
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t defaults, none;
	int rc;

	(void)sigemptyset(&none);
	(void)sigemptyset(&defaults);
	(void)sigaddset(&defaults, SIGPIPE);
	(void)sigaddset(&defaults, SIGCHLD);
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawnattr_init(&attributes);
	rc = posix_spawn_file_actions_adddup2(&actions, r->input, STDIN_FILENO);
	if (rc == 0 && r->out[1] >= 0)
		rc = posix_spawn_file_actions_adddup2(&actions, r->out[1], STDOUT_FILENO);
	if (rc == 0 && r->err[1] >= 0)
		rc = posix_spawn_file_actions_adddup2(&actions, r->err[1], STDERR_FILENO);
	if (rc == 0)
		rc = posix_spawnattr_setsigdefault(&attributes, &defaults);
	if (rc == 0)
		rc = posix_spawnattr_setsigmask(&attributes, &none);
	if (rc == 0)
		rc = posix_spawnattr_setflags(&attributes,
					      POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
	if (rc == 0)
		rc = posix_spawnp(&r->pid, r->c->words->at[0], &actions, &attributes, r->c->words->at,
				  r->c->env != NULL ? r->c->env : environ);
	(void)posix_spawnattr_destroy(&attributes);
	(void)posix_spawn_file_actions_destroy(&actions);
	return rc;
}

/* The same; a machine that gives no process may give one in a moment, and a chain of jobs is not to end for that. */
static int start_patiently(struct running *r)
{
	int64_t until = js_clock_mono_us() + START_US;
	int rc;

	for (;;) {
		rc = start(r);
		if ((rc != EAGAIN && rc != ENOMEM) || js_clock_mono_us() >= until || cli_stop != 0)
			return rc;
		js_clock_nap(START_NAP_US, &cli_stop);
	}
}

/* Reads what is there; closes at the end. */
static void drain(int *fd, struct js_buf *to)
{
	char block[4096];
	ssize_t n = read(*fd, block, sizeof(block));

	if (n > 0 && to->len < KEPT_MAX)
		js_buf_add(to, block, (size_t)n);
	if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
		close_one(fd);
}

/* Waits for a short while, or until something was printed. */
static void listen_to(struct running *r)
{
	struct pollfd p[2] = {{r->out[0], POLLIN, 0}, {r->err[0], POLLIN, 0}};

	if (r->out[0] < 0 && r->err[0] < 0)
		js_clock_nap(INT64_C(1000) * LOOK_MS / 2, NULL);
	else if (poll(p, 2, LOOK_MS) > 0) {
		if (p[0].revents != 0)
			drain(&r->out[0], r->c->out);
		if (p[1].revents != 0)
			drain(&r->err[0], r->c->err);
	}
}

/* What is still in the pipes; who inherited them may hold them open for long. */
static void drain_rest(struct running *r)
{
	struct pollfd p;

	for (int which = 0; which < 2; which++) {
		int *fd = which == 0 ? &r->out[0] : &r->err[0];

		while (*fd >= 0) {
			p = (struct pollfd){*fd, POLLIN, 0};
			if (poll(&p, 1, 0) <= 0)
				break;
			drain(fd, which == 0 ? r->c->out : r->c->err);
		}
	}
}

/* To its end.  *LATE: it was ended by us. */
static int await(struct running *r, int *late)
{
	int64_t began = js_clock_mono_us(), told = 0;
	int status = 0, killed = 0;

	*late = 0;
	while (waitpid(r->pid, &status, WNOHANG) == 0) {
		int64_t now = js_clock_mono_us();

		if (told == 0 && (cli_stop != 0 || (r->c->limit_us > 0 && now - began > r->c->limit_us))) {
			(void)kill(-r->pid, SIGTERM);
			(void)kill(-r->pid, SIGCONT);
			told = now;
			*late = 1;
		} else if (told != 0 && !killed && now - told > KILL_US) {
			(void)kill(-r->pid, SIGKILL);
			killed = 1;
		}
		listen_to(r);
	}
	if (*late)
		(void)kill(-r->pid, SIGKILL); /* what it has left */
	drain_rest(r);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int cli_command(const struct cli_command *command, struct jobstack_error *error)
{
	struct running r = {command, 0, -1, {-1, -1}, {-1, -1}};
	const char *name = command->words->n > 0 ? command->words->at[0] : "";
	char limit[64];
	int rc = ENOMEM, status = 0, late = 0;

	if (command->words->failed || command->words->n == 0)
		return js_error_memory(error);
	r.input = open_input(command->input);
	if (r.input < 0 || (command->out != NULL && pipe2(r.out, O_CLOEXEC) != 0) ||
	    (command->err != NULL && pipe2(r.err, O_CLOEXEC) != 0))
		rc = errno;
	else
		rc = start_patiently(&r);
	close_one(&r.input);
	close_one(&r.out[1]);
	close_one(&r.err[1]);
	if (rc == 0)
		status = await(&r, &late);
	close_one(&r.out[0]);
	close_one(&r.err[0]);
	if (rc == ENOENT)
		return js_error_set(error, JOBSTACK_EMISSING, "%s can't be run: %s", name,
				    strchr(name, '/') == NULL ? "it is not in $PATH" : strerror(rc));
	if (rc != 0)
		return js_error_why(error, js_error_process_code(rc), js_error_process_why(rc), "%s can't be run: %s",
				    name, js_error_process_words(rc));
	if (late && cli_stop != 0)
		return js_error_set(error, JOBSTACK_ESTOPPED, "stopped while %s ran", name);
	js_num_duration_text(command->limit_us, limit, sizeof(limit));
	return late ? js_error_why(error, JOBSTACK_EFILE, JS_WHY_LATE, "%s did not end within %s", name, limit)
		    : status;
}
