/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A picture: lines below what a terminal shows already, replaced in place.  The watch of `jobstack status -w`, the
 * display of `jobstack run` and all progress lines are pictures.  A picture changes nothing about the terminal (neither
 * its modes nor its screen), so nothing has to be restored when the process stops or ends in whatever way.
 */
#pragma once

#include "base/buf.h"

/* Start it as {.fd = a terminal's descriptor}; free TEXT at the end. */
struct show_picture {
	int fd;
	int up;		    /* the terminal shows TEXT; the caller may set it to 0 if other text stands below it now */
	struct js_buf text; /* the lines as they were written */
};

/* The size of the terminal FD; 80 columns and 24 rows if it does not know. */
void show_picture_size(int fd, unsigned *columns, unsigned *rows);

/* Replaces the picture by TEXT, lines with a newline between them.  Each is cut to the width.  If they are more than
 * fit, the last one says how many.  Returns -1 if the terminal takes nothing (it may be gone). */
int show_picture_draw(struct show_picture *picture, const char *text);

/* Erases the picture, before anything else is written to the terminal.  show_picture_show writes the lines again, below
 * what was written. */
int show_picture_erase(struct show_picture *picture);
int show_picture_show(struct show_picture *picture);
