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
	int failed; /* it could not be written, which was printed */
	struct view_whole whole;
	uint64_t entry;	  /* in `whole`; 0: none */
	uint32_t attempt; /* its last */
	struct js_buf lines;
};

/* Opens (or makes) the archive PATH, and locks it: 0, or the exit status, with the reason printed.  A file that is not
 * an archive is not touched; an incomplete last line is removed, since its entry was not pruned.  End it with
 * cli_archive_end in any case. */
int cli_archive_begin(struct cli_archive *archive, const struct cli *cli, const char *path);

/* Adds the next attempt of the entry, or the first one of the next entry; not 0 without memory. */
int cli_archive_add(struct cli_archive *archive, const struct jobstack_item *item);

/* Writes what was added, and syncs it to the disk.  Not 0: that failed, which was printed, and the file is as before.
 */
int cli_archive_keep(struct cli_archive *archive);

void cli_archive_end(struct cli_archive *archive);
