/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The archive of what was pruned: a file of JSON lines, an entry a line, that is only appended to.
 */
#pragma once

#include "cli/cli.h"
#include "view/whole.h"

#include <sys/types.h>

struct cli_archive {
	const struct cli *cli;
	const char *path;
	int fd;
	off_t size; /* what is on the disk for good */
	int failed; /* it could not be written, and that has been told */
	struct view_whole whole;
	uint64_t entry;	  /* in `whole`; 0: none */
	uint32_t attempt; /* its last */
	struct js_buf lines;
};

/* Opens (or makes) the archive PATH, alone: 0, or the exit status, having told why.  What is no archive is not touched;
 * a last line that was cut short is taken away, since its entry was not pruned.  End it with cli_archive_end in any
 * case. */
int cli_archive_begin(struct cli_archive *archive, const struct cli *cli, const char *path);

/* Takes the next attempt of the entry, or of the next one; not 0 without memory. */
int cli_archive_add(struct cli_archive *archive, const struct jobstack_item *item);

/* Writes what was taken, and sees it onto the disk.  Not 0: it could not, which has been told, and the file is as it
 * was. */
int cli_archive_keep(struct cli_archive *archive);

void cli_archive_end(struct cli_archive *archive);
