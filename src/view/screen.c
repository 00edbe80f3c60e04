/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A screen that is redrawn in place.  Promise: however the process ends, except by SIGKILL, the terminal is restored:
 * its lines, its cursor, its echo.
 *
 * To avoid flicker the screen is not cleared: the cursor moves home, each line ends with "erase to the end of the
 * line", and the last with "erase below".  One write and one tcsetattr restore the terminal; a signal handler may call
 * both.
 */
#include "view/screen.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/signal.h"
#include "view/term.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define ENTER "\033[?1049h\033[?25l"
#define LEAVE "\033[?25h\033[?1049l"

static struct termios before;
static const volatile int *stop_flag;
static volatile sig_atomic_t screen_is_taken, raw, stopped, resized;
static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGQUIT},
		 awaited[] = {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGWINCH};

/* Calls only async-signal-safe functions, too. */
static int write_terminal(const char *text)
{
	return js_file_write_all(STDOUT_FILENO, text, strlen(text));
}

/* Calls only async-signal-safe functions. */
static void restore_terminal(void)
{
	int saved = errno;

	if (screen_is_taken) {
		screen_is_taken = 0;
		(void)write_terminal(LEAVE);
	}
	if (raw) {
		raw = 0;
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
	}
	errno = saved;
}

/* Reads keys without Enter and echo; Ctrl-C and Ctrl-Z stay signals.  A process in the background must not change the
 * terminal: the kernel would stop it. */
static void take_terminal(void)
{
	struct termios now;

	if (tcgetpgrp(STDIN_FILENO) == getpgrp() && tcgetattr(STDIN_FILENO, &before) == 0) {
		now = before;
		now.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		now.c_cc[VMIN] = 0;
		now.c_cc[VTIME] = 0;
		raw = tcsetattr(STDIN_FILENO, TCSANOW, &now) == 0;
	}
	screen_is_taken = 1;
	(void)write_terminal(ENTER);
}

static void handle_deadly_signal(int number)
{
	restore_terminal();
	(void)signal(number, SIG_DFL);
	(void)raise(number);
}

static void handle_flag_signal(int number)
{
	if (number == SIGTSTP)
		stopped = 1;
	else
		resized = 1;
}

void view_screen_begin(const volatile int *stop)
{
	static int begun;

	stop_flag = stop;
	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
		js_signal_catch(deadly[i], handle_deadly_signal);
	js_signal_catch(SIGTSTP, handle_flag_signal);
	js_signal_catch(SIGWINCH, handle_flag_signal);
	if (!begun)
		(void)atexit(restore_terminal);
	begun = 1;
	take_terminal();
}

void view_screen_end(void)
{
	restore_terminal();
}

/* The real size of the window, whatever $COLUMNS says: a wider line would wrap and displace the others. */
void view_screen_size(unsigned *columns, unsigned *rows)
{
	struct winsize size = {0};

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0)
		size.ws_row = 24;
	*columns = size.ws_col;
	*rows = size.ws_row;
}

static unsigned count_lines(const char *text)
{
	unsigned n = 0;

	for (; *text != '\0'; n++)
		text += strcspn(text, "\n") + (strchr(text, '\n') != NULL);
	return n;
}

int view_screen_draw(const char *text)
{
	unsigned columns, lines_left, more;
	struct js_buf out = {0};
	char rest[40];
	int status;

	view_screen_size(&columns, &lines_left);
	more = lines_left > 1 && count_lines(text) > lines_left ? count_lines(text) - lines_left + 1 : 0;
	(void)snprintf(rest, sizeof(rest), "(%u more lines)", more);
	js_buf_str(&out, "\033[H");
	while (*text != '\0' && lines_left > 0) {
		size_t len;

		if (more > 0 && lines_left == 1)
			text = rest;
		len = strcspn(text, "\n");
		view_cut_bytes(&out, text, len, columns);
		/* on a full line, this would erase the last character */
		if (columns == 0 || view_width(text, len) < columns)
			js_buf_str(&out, "\033[K");
		text += len + (text[len] == '\n');
		lines_left--;
		if (*text != '\0' && lines_left > 0)
			js_buf_str(&out, "\r\n");
	}
	if (lines_left > 0)
		js_buf_str(&out, "\r\n\033[J");
	status = out.failed ? 0 : write_terminal(out.data);
	js_buf_free(&out);
	return status;
}

/* Ctrl-Z: restores the terminal and stops the process.  After fg, it continues here. */
static void suspend_process(void)
{
	stopped = 0;
	restore_terminal();
	js_signal_catch(SIGTSTP, SIG_DFL);
	(void)raise(SIGTSTP);
	js_signal_catch(SIGTSTP, handle_flag_signal);
	take_terminal();
}

/* Was q, Ctrl-C or Ctrl-D typed?  Other keys are ignored, and so is the end of the input. */
static int quit_was_typed(void)
{
	char keys[64];
	ssize_t n = read(STDIN_FILENO, keys, sizeof(keys));

	for (ssize_t i = 0; i < n; i++)
		if (keys[i] == 'q' || keys[i] == 'Q' || keys[i] == 3 || keys[i] == 4)
			return 1;
	return 0;
}

enum view_screen_event view_screen_wait(int64_t until_us)
{
	sigset_t watched, old;

	/* a signal that comes between the check of its flag and the wait must end the wait */
	(void)sigemptyset(&watched);
	for (size_t i = 0; i < sizeof(awaited) / sizeof(awaited[0]); i++)
		(void)sigaddset(&watched, awaited[i]);
	for (;;) {
		struct pollfd keys = {STDIN_FILENO, POLLIN, 0};
		int64_t left = until_us - js_clock_mono_us();
		struct timespec wait = {left / 1000000, left % 1000000 * 1000};
		int n = 0;

		(void)sigprocmask(SIG_BLOCK, &watched, &old);
		if (*stop_flag == 0 && !stopped && !resized && left > 0)
			n = ppoll(&keys, raw ? 1 : 0, &wait, &old);
		(void)sigprocmask(SIG_SETMASK, &old, NULL);
		if (*stop_flag != 0 || (n > 0 && (keys.revents & (POLLHUP | POLLERR)) != 0) ||
		    (n > 0 && quit_was_typed()))
			return VIEW_SCREEN_LEAVE;
		if (stopped || resized) {
			if (stopped)
				suspend_process();
			resized = 0;
			return VIEW_SCREEN_DRAW;
		}
		if (left <= 0)
			return VIEW_SCREEN_TIME;
	}
}
