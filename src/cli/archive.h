/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The archive of what was pruned: a file of JSON lines, one per attempt, that is only appended to.  A line is what
 * `jobstack export` prints, behind the name of the stack.
 */
#pragma once

#include "cli/cli.h"
#include "show/fields.h"

#include <sys/types.h>

struct cli_archive {
	const struct cli *cli;
	const char *path;
	int fd;
	off_t size; /* what is on the disk for good */
	int failed; /* it could not be written, which was printed */
	struct show_fields fields;
	off_t written;	     /* behind SIZE, and not synced */
	struct js_buf lines; /* not written yet */
};

/* Opens (or makes) the archive PATH, and locks it: 0, or the exit status, with the reason printed.  A file that is not
 * an archive is not touched; an incomplete last line is removed, since its entry was not pruned.  End it with
 * cli_archive_end in any case. */
int cli_archive_begin(struct cli_archive *archive, const struct cli *cli, const char *path);

/* For jobstack_prune, with a struct cli_archive as CTX.  Adds an attempt.  cli_archive_sync syncs all that was added to
 * the disk.  Not 0: that failed, which was printed, and the file is as it was after the last sync. */
int cli_archive_add(void *archive, const struct jobstack_item *item);
int cli_archive_sync(void *archive);

void cli_archive_end(struct cli_archive *archive);
