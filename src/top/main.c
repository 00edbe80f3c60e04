/* SPDX-License-Identifier: BSD-2-Clause
 *
 * jobstack-top, which `jobstack top` starts with the stack to begin with, or "": keys, and what they do.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/signal.h"
#include "proc/child.h"
#include "top/feed.h"
#include "top/page.h"
#include "top/terminal.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ESC 27
#define SAY(u, ...) (void)snprintf((u)->said, sizeof((u)->said), __VA_ARGS__)
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static volatile int stop, suspend;

struct ui {
	struct feed_want want;
	enum feed_view first; /* the view in which it began: there q leaves */
	int leaves;
	struct feed_picture *picture; /* NULL: not read yet */
	struct jobstack_error trouble;
	int64_t silent_us;
	struct page page;
	size_t at[FEED_VIEWS], top;			 /* the chosen row of each view; the first line that is shown */
	const char *help;				 /* shown in place of the page, or NULL */
	char filter[100], stack[JOBSTACK_STACK_MAX + 1]; /* of the command that runs */
	char said[1000];				 /* the last line */
};

static const char keys[] = "? help  Enter open  q back  / filter  l log  r requeue  K kill  p pause";
static const char help[] = "arrows, j k   choose a line (PgUp, PgDn, Home, End)\n"
			   "Enter         open the stack or the entry\n"
			   "q, Esc        go back, or leave\n"
			   "/             show only lines with a text\n"
			   "l             page the output of the entry\n"
			   "r             requeue the stack's dead entries, the group or the entry\n"
			   "K, c          kill the entry that runs, cancel the entry that does not\n"
			   "p, u          pause the stack, resume it\n"
			   "m             limit how many of its entries run at once\n";

/* Only notes the signal: ncurses may not be called here.  wait_key() acts on it within a quarter of a second. */
static void handle_signal(int number)
{
	if (number == SIGTSTP)
		suspend = 1;
	else
		stop = number;
}

/* Returns what the chosen line shows; NULL: no line can be chosen. */
static const struct page_row *chosen_row(const struct ui *u)
{
	return u->page.n > 0 ? &u->page.row[u->at[u->want.view]] : NULL;
}

/* Makes the page anew from the picture: after a new picture, a new filter, or another size of the terminal.  The stack
 * that was chosen stays so, wherever it stands now. */
static void make_page(struct ui *u)
{
	const struct page_row *chosen = u->want.view == FEED_STACKS ? chosen_row(u) : NULL;
	size_t *at = &u->at[u->want.view];
	char name[JOBSTACK_STACK_MAX + 1];

	if (u->picture == NULL)
		return;
	(void)snprintf(name, sizeof(name), "%s", chosen != NULL ? chosen->stack : "");
	page_make(&u->page, u->picture, u->filter, (unsigned)COLS);
	for (size_t i = 0; i < u->page.n && *name != '\0'; i++)
		if (strcmp(u->page.row[i].stack, name) == 0)
			*at = i;
	if (*at >= u->page.n)
		*at = u->page.n > 0 ? u->page.n - 1 : 0;
}

/* Draws the first line, which names the view, and below it what is wrong with the database, if anything. */
static void draw_head(const struct ui *u, int *row)
{
	char entry[40] = "";

	if (u->want.view == FEED_ENTRY)
		(void)snprintf(entry, sizeof(entry), ", entry %" PRIu64, u->want.entry);
	terminal_print((*row)++, A_REVERSE, "%s%s%s%s", u->want.view == FEED_STACKS ? "all stacks" : u->want.stack,
		       entry, *u->filter != '\0' ? ", only lines with: " : "", u->filter);
	if (u->silent_us > 0)
		terminal_print((*row)++, A_BOLD, "the database has not answered for %" PRId64 " s%s%s",
			       u->silent_us / JS_SECOND_US, u->trouble.code != 0 ? ": " : "", u->trouble.text);
	else if (u->trouble.code != 0 && u->trouble.code != JOBSTACK_ESTOPPED)
		terminal_print((*row)++, A_BOLD, "%s", u->trouble.text);
}

/* Draws the page from line TOP on, which is moved so far that the chosen line is visible, and no further. */
static void draw_screen(struct ui *u)
{
	const struct page_row *chosen = u->help == NULL ? chosen_row(u) : NULL;
	const char *text = u->help != NULL ? u->help : u->picture == NULL ? "reading ...\n" : u->page.text.data;
	int row = 0;
	size_t body;

	(void)erase();
	draw_head(u, &row);
	body = LINES > row + 2 ? (size_t)(LINES - row - 1) : 1;
	if (chosen == NULL || u->at[u->want.view] == 0 || u->page.lines <= body)
		u->top = 0;
	else if (u->top + body > u->page.lines)
		u->top = u->page.lines - body;
	if (chosen != NULL && chosen->line < u->top)
		u->top = chosen->line;
	if (chosen != NULL && chosen->line >= u->top + body)
		u->top = chosen->line - body + 1;
	for (size_t i = 0, len; text != NULL && *text != '\0' && row < LINES - 1; i++, text += len + 1) {
		len = strcspn(text, "\n");
		if (i >= u->top)
			terminal_print(row++, chosen != NULL && chosen->line == i ? A_REVERSE : 0, "%.*s", (int)len,
				       text);
	}
	if (LINES > 1)
		terminal_print(LINES - 1, *u->said != '\0' ? A_BOLD : 0, "%s", *u->said != '\0' ? u->said : keys);
	(void)refresh();
}

/* Shows new pictures until a key is typed.  A picture of what was wanted before (another number) is dropped.  Returns
 * ERR if it is time to leave. */
static int wait_key(struct ui *u)
{
	int key = ERR;

	while (key == ERR && stop == 0 && !u->leaves) {
		struct feed_picture *p = feed_take(&u->trouble, &u->silent_us);

		if (p != NULL && p->of.number == u->want.number) {
			struct feed_picture *old = u->picture;

			u->picture = p;
			make_page(u);
			feed_free(old);
		} else
			feed_free(p);
		draw_screen(u);
		key = terminal_key(&u->leaves);
		if (suspend) {
			suspend = 0;
			(void)endwin();
			js_signal_catch(SIGTSTP, SIG_DFL);
			(void)raise(SIGTSTP);
			js_signal_catch(SIGTSTP, handle_signal);
		}
		if (key == KEY_RESIZE) {
			make_page(u);
			key = ERR;
		}
	}
	return key == '\r' || key == KEY_ENTER ? '\n' : key;
}

/* Lets a line be typed behind the words that are said.  Returns whether it was ended by Enter. */
static int type_line(struct ui *u, char line[], size_t size)
{
	const size_t words = strlen(u->said);
	size_t n = 0;
	int key = 0;

	for (line[0] = '\0'; key != '\n' && key != ESC && key != ERR; line[n] = '\0') {
		(void)snprintf(u->said + words, sizeof(u->said) - words, "%s_", line);
		key = wait_key(u);
		if (key == KEY_BACKSPACE || key == 127 || key == '\b')
			while (n > 0 && ((unsigned char)line[--n] & 0xc0) == 0x80) /* all bytes of a character */
				;
		else if (key >= ' ' && key < 256 && n + 1 < size)
			line[n++] = (char)key;
	}
	u->said[0] = '\0';
	return key == '\n';
}

/* Goes to another view, and asks for its picture.  A new number tells the answer from that to an earlier question. */
static void open_view(struct ui *u, enum feed_view view, uint64_t entry)
{
	u->at[view] = view > u->want.view ? 0 : u->at[view];
	u->want.view = view;
	u->want.entry = entry;
	u->want.number++;
	u->filter[0] = '\0';
	page_free(&u->page);
	feed_free(u->picture);
	u->picture = NULL;
	feed_want(&u->want);
}

/* Runs a command on the stack; what it prints last is said.  If it PAGES, it has the terminal until a key is typed. */
static void run_command(struct ui *u, int pages, const char *const words[])
{
	static const char end[] = "\n[any key goes back to jobstack top] ";
	struct jobstack_error error = JOBSTACK_ERROR_INIT;
	struct js_buf out = {0};
	const char *last;
	char c;

	if (pages) { /* on our own screen, emptied: nothing above may look like its output */
		(void)erase();
		(void)refresh();
		(void)reset_shell_mode();
		js_signal_catch(SIGTSTP, SIG_DFL); /* Ctrl-Z stops both */
	}
	(void)feed_command(u->stack, words, pages ? NULL : &out, pages ? NULL : &stop, &error);
	if (pages) {
		stop = stop == SIGINT ? 0 : stop; /* that was for the command */
		(void)js_file_write_all(STDOUT_FILENO, end, sizeof(end) - 1);
		(void)reset_prog_mode(); /* keys come at once */
		(void)!(stop == 0 && read(STDIN_FILENO, &c, 1) == 1);
		(void)clearok(curscr, TRUE);
		js_signal_catch(SIGTSTP, handle_signal);
	}
	while (out.len > 0 && out.data[out.len - 1] == '\n')
		out.data[--out.len] = '\0';
	last = out.len > 0 ? strrchr(out.data, '\n') : NULL;
	SAY(u, "%s", error.code != 0 ? error.text : last != NULL ? last + 1 : out.len > 0 ? out.data : "");
	js_buf_free(&out);
	feed_want(&u->want);
}

/* Runs COMMAND for WHICH entries and REASON, "" or an option, if that is confirmed. */
static void ask_and_run(struct ui *u, const char *command, const char *which, const char *reason)
{
	SAY(u, "run `jobstack %s -s %s %s%s%s`? (y/n)", command, u->stack, which, *reason != '\0' ? " " : "", reason);
	if (wait_key(u) == 'y') /* kill may wait for a worker far away */
		run_command(u, command[0] == 'k', WORDS(command, which, *reason != '\0' ? reason : NULL));
	else
		SAY(u, "nothing was changed");
}

/* Requeues what is chosen: a group, which is all dead entries that ended in its way; an entry; or all dead entries of a
 * stack. */
static void ask_requeue(struct ui *u, const struct page_row *row)
{
	const struct figures_failure *g = row->group;
	char which[40] = "--state=dead", reason[300] = "";

	if (g != NULL && (g->f.signal > 0 || g->f.exit_code >= 0))
		(void)snprintf(which, sizeof(which), "--%s=%" PRId32, g->f.signal > 0 ? "signal" : "exit",
			       g->f.signal > 0 ? g->f.signal : g->f.exit_code);
	else if (g == NULL && row->entry != 0)
		(void)snprintf(which, sizeof(which), "%" PRIu64, row->entry);
	if (g != NULL && !g->f.various && g->reason[0] != '\0')
		(void)snprintf(reason, sizeof(reason), "--reason=%s", g->reason);
	ask_and_run(u, "requeue", which, reason);
}

/* Handles a key for what is chosen. */
static void act_on(struct ui *u, int key, const struct page_row *row)
{
	char limit[100] = "max-running=", entry[24];
	const size_t name = strlen(limit);

	(void)snprintf(u->stack, sizeof(u->stack), "%s", row->stack);
	(void)snprintf(entry, sizeof(entry), "%" PRIu64, row->entry);
	if (key == 'r')
		ask_requeue(u, row);
	else if ((key == 'K' || key == 'c') && row->entry != 0)
		ask_and_run(u, key == 'K' ? "kill" : "cancel", entry, "");
	else if (key == 'p' || key == 'u' || key == 'R')
		run_command(u, 0, WORDS(key == 'p' ? "pause" : "resume"));
	else if (key == 'm') {
		SAY(u, "how many entries of %s may run at once (none: no limit)? ", u->stack);
		if (type_line(u, limit + name, sizeof(limit) - name))
			run_command(u, 0, WORDS("set", limit, "--quiet"));
	} else if (key == 'l' && row->entry != 0)
		run_command(u, 1, WORDS("logs", entry));
	else if (key == '\n' && (u->want.view == FEED_STACKS || (u->want.view == FEED_STACK && row->entry != 0))) {
		(void)snprintf(u->want.stack, sizeof(u->want.stack), "%s", row->stack);
		open_view(u, u->want.view + 1, row->entry);
	}
}

/* Moves the choice by so many lines, to the first or last one at most. */
static void move_choice(struct ui *u, int64_t by)
{
	const int64_t to = (int64_t)u->at[u->want.view] + by, last = (int64_t)u->page.n - 1;

	u->at[u->want.view] = (size_t)(to < 0 ? 0 : to > last && last >= 0 ? last : to);
}

/* Keys that work in every view; all others are for the chosen line, or for the view as a whole. */
static void handle_key(struct ui *u, int key)
{
	u->said[0] = '\0';
	if (key == 'k' || key == KEY_UP)
		move_choice(u, -1);
	else if (key == 'j' || key == KEY_DOWN)
		move_choice(u, 1);
	else if (key == KEY_PPAGE || key == KEY_NPAGE)
		move_choice(u, key == KEY_PPAGE ? 4 - LINES : LINES - 4);
	else if (key == KEY_HOME || key == KEY_END)
		move_choice(u, key == KEY_HOME ? INT32_MIN : INT32_MAX);
	else if (key == '?') {
		u->help = help;
		(void)wait_key(u);
		u->help = NULL;
	} else if (key == '/') {
		SAY(u, "show only lines with: ");
		if (type_line(u, u->filter, sizeof(u->filter)) == 0)
			u->filter[0] = '\0';
		make_page(u);
	} else if ((key == 'q' || key == ESC) && *u->filter != '\0') {
		u->filter[0] = '\0';
		make_page(u);
	} else if ((key == 'q' || key == ESC) && u->want.view == u->first)
		u->leaves = 1;
	else if (key == 'q' || key == ESC)
		open_view(u, u->want.view - 1, 0);
	else if (chosen_row(u) != NULL)
		act_on(u, key, chosen_row(u));
	else if (u->want.view != FEED_STACKS) /* a stack of which no line can be chosen */
		act_on(u, key, &(const struct page_row){.stack = u->want.stack, .entry = u->want.entry});
}

/* A person who calls this program means `jobstack top`, which has the options and the help. */
static void become_command(const char *word, const char *next)
{
	char path[PATH_MAX + 16];

	(void)snprintf(path, sizeof(path), "%s/jobstack", js_child_program_dir());
	(void)execl(path, path, "top", word, next, NULL);
	(void)fprintf(stderr, "jobstack top: start it with `jobstack top`\n");
	_exit(JS_EXIT_USAGE);
}

/* It ends by _exit: the reading thread may be waiting for a server, and ncurses keeps memory.  A signal that ended it
 * is raised again, when the terminal is as it was. */
int main(int argc, char **argv)
{
	static struct ui u;
	int err;

	js_file_hold_streams();
	js_signal_catch(SIGINT, handle_signal);
	js_signal_catch(SIGTERM, handle_signal);
	js_signal_catch(SIGHUP, handle_signal);
	js_signal_catch(SIGTSTP, handle_signal); /* the handler of ncurses may block */
	if (argc != 2 || argv[1][0] == '-')
		become_command(argc > 1 ? argv[1] : NULL, argc > 2 ? argv[2] : NULL);
	if (terminal_begin() != 0) {
		(void)fprintf(stderr, "jobstack top: $TERM is not known here: `jobstack status` works without it\n");
		_exit(JS_EXIT_USAGE); /* ncurses leaves memory behind */
	}
	u.first = u.want.view = *argv[1] != '\0' ? FEED_STACK : FEED_STACKS;
	(void)snprintf(u.want.stack, sizeof(u.want.stack), "%s", argv[1]);
	err = feed_begin(&u.want);
	while (err == 0 && stop == 0 && !u.leaves)
		handle_key(&u, wait_key(&u));
	(void)endwin();
	if (err != 0)
		(void)fprintf(stderr, "jobstack top: %s\n", js_error_process_words(err));
	if (stop != 0) {
		(void)signal(stop, SIG_DFL);
		(void)raise(stop);
	}
	_exit(err != 0 ? JS_EXIT_BUG : JS_EXIT_OK); /* the other thread may be waiting for a server */
}
