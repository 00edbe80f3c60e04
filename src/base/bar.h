/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A progress bar: what is done, what runs, what is dead, and what is left.
 *
 *   [#################====!            ]     plain text
 *   [████████████████▌▒▒▒▒!            ]     JS_BAR_UTF8: eighths of a column; with JS_BAR_COLOURS green, yellow, red
 *
 * js_bar_draw(&out, &(struct js_bar){.all = 600, .done = 365, .running = 8, .dead = 2}, 40, style);
 */
#pragma once

#include "base/buf.h"

#include <stdint.h>

/* Leave out of ALL what has moved to another stack; count as DONE what is done and pruned. */
struct js_bar {
	uint64_t all, done, running, dead;
};

/* Returns whether the environment asks for UTF-8 (LC_ALL, LC_CTYPE, LANG: the first that is set). */
int js_bar_utf8(void);

enum { JS_BAR_UTF8 = 1, JS_BAR_COLOURS = 2 };

/* Appends a bar of WIDTH columns, brackets included; nothing below 3 columns. */
void js_bar_draw(struct js_buf *out, const struct js_bar *bar, unsigned width, int style);
