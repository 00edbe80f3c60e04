/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The terminal.  Promise: however the process ends, except by SIGKILL, the terminal is restored.
 */
#include "top/terminal.h"

#include "base/bar.h"
#include "base/signal.h"
#include "base/utf8.h"
#include "show/term.h"

#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void handle_deadly_signal(int number)
{
	(void)signal(number, SIG_DFL);
	(void)endwin(); /* not safe in a handler, but nothing is left to lose */
	(void)raise(number);
}

int terminal_begin(void)
{
	static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGQUIT};

	(void)setlocale(LC_CTYPE, "");
	if (newterm(NULL, stdout, stdin) == NULL)
		return -1;
	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
		js_signal_catch(deadly[i], handle_deadly_signal);
	(void)cbreak();
	(void)noecho();
	(void)keypad(stdscr, TRUE);
	(void)set_escdelay(50);
	(void)curs_set(0);
	if (show_colours(stdout) && has_colors()) {
		(void)start_color();
		(void)use_default_colors();
		for (short colour = 1; colour < 8; colour++)
			(void)init_pair(colour, colour, -1);
	}
	timeout(250);
	return 0;
}

int terminal_key(int *gone)
{
	struct pollfd p = {STDIN_FILENO, POLLIN, 0};
	int key = getch();

	*gone = key == ERR && poll(&p, 1, 0) == 1 && (p.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
	return key;
}

/* Translates show_paint's colours, "\033[Nm", into ncurses' attributes: 1 is bold, 31 and so on colours, 0 the end. */
void terminal_print(int row, chtype look, const char *format, ...)
{
	struct js_buf cut = {0};
	char *text = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) >= 0 && row < LINES)
		show_cut_bytes(&cut, text, strlen(text), (unsigned)COLS);
	va_end(args);
	(void)move(row, 0);
	(void)attrset((int)look);
	for (size_t at = 0, step; at < cut.len; at += step) {
		const char *c = cut.data + at;

		step = js_utf8_shown(c, cut.len - at);
		if (*c == '\033') {
			char *end;
			long code = strtol(c + 2, &end, 10);

			step = (size_t)(end - c) + 1;
			if (look == 0)
				(void)attrset(code == 1 ? (int)A_BOLD : code > 30 ? COLOR_PAIR(code - 30) : 0);
		} else if (step == 1 || (step > 1 && js_bar_utf8()))
			(void)addnstr(c, (int)step);
		else {
			(void)addch('?');
			step = step > 0 ? step : 1;
		}
	}
	for (int x = getcurx(stdscr); look != 0 && cut.len > 0 && x > 0 && x < COLS; x++)
		(void)addch(' ');
	js_buf_free(&cut);
	free(text);
}
